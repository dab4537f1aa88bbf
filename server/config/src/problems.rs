//! What is wrong with a configuration: which key, what it was, what is allowed, and how to mend it.

use std::fmt;

use thiserror::Error;

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path in the TOML file (`http.listen`), or the file itself where it cannot be read.
    pub key: String,
    /// The value as given; empty where it is not the value that is wrong.
    pub value: String,
    /// Where it was given: `default`, the file's name, a variable, a flag.
    pub origin: String,
    pub wrong: String,
    pub fix: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { key, value, origin, wrong, fix } = self;
        write!(f, "{key}")?;
        if !value.is_empty() {
            write!(f, " = {value}")?;
        }
        write!(f, " ({origin}): {wrong}; {fix}")
    }
}

/// All problems of a configuration: files and unknown keys first, then values in the order of `default.toml`. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct ConfigErrors {
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.problems.len();
        write!(f, "the configuration has {count} problem{}", if count == 1 { "" } else { "s" })?;
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}
