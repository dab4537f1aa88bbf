//! The rules of a protected site, and which of them counts for a request.

use std::collections::BTreeSet;

use jari_units::RoomId;
use thiserror::Error;

use crate::host::Host;
use crate::pattern::{Letters, Pattern};
use crate::target::{Target, Unclear};

/// Rules at most: every reading of a request's path is compared with each.
const RULES_MAX: usize = 100;
/// Excluded patterns of a rule at most.
const EXCLUDED_MAX: usize = 50;

/// A room guards the paths of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// `None`: every host.
    pub host: Option<Host>,
    pub path: Pattern,
    /// Of those paths, which need no pass: pictures, styles.
    pub exclude: Vec<Pattern>,
    pub room: RoomId,
}

/// All rules of a site. The most specific of those that match counts: with a host before without, an exact path before
/// one with stars, then the one that writes out more; among equals the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The most specific first.
    rules: Vec<Rule>,
    hosts: BTreeSet<Host>,
}

/// Why rules make no site.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RulesError {
    #[error("there is no rule")]
    None,
    #[error("there are more than {RULES_MAX} rules")]
    TooMany,
    #[error("the rule for {0} excludes more than {EXCLUDED_MAX} patterns")]
    TooManyExcluded(String),
    #[error("two rules are for {0}")]
    Twice(String),
}

/// What the rules say of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement<'a> {
    /// Nobody guards it.
    Open,
    /// A pass of this room is needed.
    Guarded(&'a RoomId),
    /// It is addressed to a host that no rule names. What would answer it is not known here, so nothing does (421).
    Misdirected,
}

impl Rules {
    /// Orders the rules.
    ///
    /// # Errors
    /// Where there is none, too many, or two for the same.
    pub fn new(mut rules: Vec<Rule>) -> Result<Rules, RulesError> {
        match rules.len() {
            0 => return Err(RulesError::None),
            count if count > RULES_MAX => return Err(RulesError::TooMany),
            _ => {}
        }
        let mut seen = BTreeSet::new();
        for rule in &rules {
            let name = rule.name();
            if rule.exclude.len() > EXCLUDED_MAX {
                return Err(RulesError::TooManyExcluded(name));
            }
            if !seen.insert(name.clone()) {
                return Err(RulesError::Twice(name));
            }
        }
        let hosts = rules.iter().filter_map(|rule| rule.host.clone()).collect();
        rules.sort_by_key(|rule| std::cmp::Reverse((rule.host.is_some(), rule.path.specificity())));
        Ok(Rules { rules, hosts })
    }

    /// Which room guards a request.
    ///
    /// # Errors
    /// [`Unclear::TwoRooms`]: readers of the path could take it for one of two rooms.
    pub fn judge(&self, host: &Host, target: &Target) -> Result<Judgement<'_>, Unclear> {
        // An upstream that does not look at the host would answer with the site of another.
        if !self.hosts.is_empty() && !self.hosts.contains(host) {
            return Ok(Judgement::Misdirected);
        }
        let mut guard = None;
        for (letters, path) in target.readings() {
            let Some(room) = self.room(host, path, *letters) else { continue };
            match guard {
                Some(other) if other != room => return Err(Unclear::TwoRooms),
                _ => guard = Some(room),
            }
        }
        Ok(guard.map_or(Judgement::Open, Judgement::Guarded))
    }

    fn room(&self, host: &Host, path: &str, letters: Letters) -> Option<&RoomId> {
        let meant = |rule: &&Rule| {
            rule.host.as_ref().is_none_or(|of| of == host) && rule.path.matches(path, letters)
        };
        let rule = self.rules.iter().find(meant)?;
        let excluded = rule.exclude.iter().any(|pattern| pattern.matches(path, letters));
        (!excluded).then_some(&rule.room)
    }

    /// The rules, the most specific first.
    #[must_use]
    pub fn all(&self) -> &[Rule] {
        &self.rules
    }

    /// The hosts that rules name.
    #[must_use]
    pub fn hosts(&self) -> &BTreeSet<Host> {
        &self.hosts
    }
}

impl Rule {
    /// Host and path, for people.
    #[must_use]
    pub fn name(&self) -> String {
        let host = self.host.as_ref().map_or("", Host::as_str);
        format!("{host}{}", self.path)
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
