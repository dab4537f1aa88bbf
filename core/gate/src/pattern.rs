//! What paths a rule means: exact (`/checkout`), a prefix (`/tickets/*`) or a glob (`/*/seats`). Decides nothing.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::spelling::fold;

/// Bytes of a pattern at most: longer than any folder that people name.
const PATTERN_MAX_BYTES: usize = 512;
/// Stars of a pattern at most: each may multiply the work of a match that fails.
const STARS_MAX: usize = 4;

/// A pattern of paths. `*` stands for any text, slashes too; a slash at the end counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    folded: String,
}

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PatternError {
    #[error("does not begin with '/'")]
    NoSlash,
    #[error("is longer than {PATTERN_MAX_BYTES} bytes")]
    TooLong,
    #[error("has more than {STARS_MAX} stars")]
    Stars,
    #[error(
        "is not a plain path: write it decoded, without '%', '?', '#', ';', '\\', '//' and '..'"
    )]
    NotPlain,
}

/// How a text was read: patterns are compared in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Letters {
    AsTheyAre,
    /// See [`fold`].
    Folded,
}

impl Pattern {
    /// Whether a reading of a path is meant.
    pub(crate) fn matches(&self, path: &str, letters: Letters) -> bool {
        let pattern = match letters {
            Letters::AsTheyAre => &self.text,
            Letters::Folded => &self.folded,
        };
        let trimmed = path.trim_end_matches('/');
        let whole = glob(pattern.trim_end_matches('/'), trimmed) || glob(pattern, path);
        // `/tickets/*` means `/tickets` too: what lists the folder.
        let folder = || pattern.strip_suffix("/*").is_some_and(|folder| glob(folder, trimmed));
        whole || folder()
    }

    /// The higher, the more is said: no star before stars, then by what is written out.
    pub(crate) fn specificity(&self) -> (bool, usize) {
        let stars = self.stars();
        (stars == 0, self.text.chars().count() - stars)
    }

    fn stars(&self) -> usize {
        self.text.matches('*').count()
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Pattern, PatternError> {
        if !text.starts_with('/') {
            return Err(PatternError::NoSlash);
        }
        if text.len() > PATTERN_MAX_BYTES {
            return Err(PatternError::TooLong);
        }
        let folded = fold(text);
        let odd = |c: char| c.is_control() || matches!(c, '%' | '?' | '#' | ';' | '\\');
        let dots = |text: &str| {
            text.split('/').any(|segment| !segment.is_empty() && segment.bytes().all(|b| b == b'.'))
        };
        let plain = |text: &str| !text.contains(odd) && !text.contains("//") && !dots(text);
        if !plain(text)
            || !plain(&folded)
            || folded.matches('/').count() != text.matches('/').count()
        {
            return Err(PatternError::NotPlain);
        }
        let pattern = Pattern { text: text.to_owned(), folded };
        if pattern.stars() > STARS_MAX || pattern.folded.matches('*').count() != pattern.stars() {
            return Err(PatternError::Stars);
        }
        Ok(pattern)
    }
}

/// Whether `*` in `pattern` can be replaced so that `text` results. Bytes suffice: both are UTF-8.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    // The last star, and up to where it has eaten: the only point worth going back to.
    let mut star = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, t));
            p += 1;
        } else if pattern.get(p) == Some(&text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((at, eaten)) = star {
            star = Some((at, eaten + 1));
            (p, t) = (at + 1, eaten + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_prefix_and_glob() {
        for (pattern, path, want) in [
            ("/checkout", "/checkout", true),
            ("/checkout", "/checkout/", true),
            ("/checkout/", "/checkout", true),
            ("/checkout", "/checkouts", false),
            ("/checkout", "/checkout/x", false),
            ("/tickets/*", "/tickets/1/seats", true),
            ("/tickets/*", "/tickets/", true),
            ("/tickets/*", "/tickets", true),
            ("/tickets/*", "/tickets-old", false),
            ("/tickets*", "/tickets-old", true),
            ("/*", "/", true),
            ("/*", "/x", true),
            ("/*/seats", "/a/b/seats", true),
            ("/*/seats", "/seats", false),
            ("/*/seats/*", "/a/seats", true),
            ("/a*b*c", "/a-b-b-c", true),
            ("/a*b*c", "/a-b-b-d", false),
            ("/예매/*", "/예매/1", true),
            ("/", "/", true),
            ("/", "/x", false),
        ] {
            let pattern: Pattern = pattern.parse().expect("a pattern");
            assert_eq!(pattern.matches(path, Letters::AsTheyAre), want, "{pattern} {path}");
        }
    }

    #[test]
    fn letters_count_only_where_they_are_compared_as_they_are() {
        let pattern: Pattern = "/Tickets/*".parse().expect("a pattern");
        assert!(pattern.matches("/tickets/1", Letters::Folded));
        assert!(!pattern.matches("/tickets/1", Letters::AsTheyAre));
    }

    #[test]
    fn what_is_no_plain_path_is_refused() {
        let long = format!("/{}", "a".repeat(PATTERN_MAX_BYTES));
        for (text, want) in [
            ("tickets", PatternError::NoSlash),
            ("", PatternError::NoSlash),
            ("/%74ickets", PatternError::NotPlain),
            ("/a?b", PatternError::NotPlain),
            ("/a;b", PatternError::NotPlain),
            ("/a//b", PatternError::NotPlain),
            ("/a/../b", PatternError::NotPlain),
            ("/a\\b", PatternError::NotPlain),
            ("/a\n", PatternError::NotPlain),
            ("/a／b", PatternError::NotPlain),
            ("/*/*/*/*/*", PatternError::Stars),
            (&long, PatternError::TooLong),
        ] {
            assert_eq!(text.parse::<Pattern>(), Err(want), "{text}");
        }
    }
}
