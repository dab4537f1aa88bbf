//! What a node of several serves: roles that can be scaled each by itself. Decides no routing; `router.rs` does.

use std::fmt;

/// One of the things a node can be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Visitors' API, pages and streams, tenants' API, operators' API and page.
    Web,
    /// The check of passes.
    Gate,
    /// Ticks: calling people in order.
    Admitter,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Web, Role::Gate, Role::Admitter];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Web => "web",
            Role::Gate => "gate",
            Role::Admitter => "admitter",
        }
    }
}

/// The roles of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles([bool; Role::ALL.len()]);

impl Roles {
    pub const ALL: Roles = Roles([true; Role::ALL.len()]);

    #[must_use]
    pub fn has(self, role: Role) -> bool {
        self.0[role as usize]
    }
}

impl Default for Roles {
    /// All of them.
    fn default() -> Self {
        Roles::ALL
    }
}

impl FromIterator<Role> for Roles {
    fn from_iter<T: IntoIterator<Item = Role>>(roles: T) -> Self {
        let mut has = [false; Role::ALL.len()];
        for role in roles {
            has[role as usize] = true;
        }
        Roles(has)
    }
}

impl fmt::Display for Roles {
    /// `web, gate, admitter`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has: Vec<_> = Role::ALL.into_iter().filter(|role| self.has(*role)).collect();
        let words: Vec<_> = has.into_iter().map(Role::as_str).collect();
        f.write_str(&words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_told_in_one_order() {
        let two: Roles = [Role::Admitter, Role::Web].into_iter().collect();
        assert_eq!(two.to_string(), "web, admitter");
        assert!(two.has(Role::Web) && !two.has(Role::Gate));
        assert_eq!(Roles::default().to_string(), "web, gate, admitter");
    }
}
