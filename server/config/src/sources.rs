//! Where a configuration comes from beside the built-in default. Only `from_process` looks at the process.

use std::path::PathBuf;

/// The file that is read when it is there and no other is named.
const FILE_DEFAULT: &str = "jari.toml";

/// Names the file to read; a flag goes before it.
const FILE_VARIABLE: &str = "JARI_CONFIG";

/// What flags set, by key, as texts. Later ones go before earlier ones.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    pub(crate) given: Vec<Override>,
}

#[derive(Clone, Debug)]
pub(crate) struct Override {
    pub(crate) flag: String,
    pub(crate) key: String,
    pub(crate) text: String,
}

impl Overrides {
    /// Sets `key` where a value was given; `flag` names it in messages: `.with("--listen", "http.listen", args.listen)`.
    #[must_use]
    pub fn with(mut self, flag: &str, key: &str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            let (flag, key, text) = (flag.to_owned(), key.to_owned(), value.to_string());
            self.given.push(Override { flag, key, text });
        }
        self
    }
}

/// What [`Config::load`](crate::Config::load) reads.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub(crate) file: Option<NamedFile>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) overrides: Overrides,
}

#[derive(Clone, Debug)]
pub(crate) struct NamedFile {
    pub(crate) path: PathBuf,
    /// Named by somebody, so that its absence is an error.
    pub(crate) required: bool,
}

impl Sources {
    /// The file is `file` (`--config`), else what `JARI_CONFIG` names, else `jari.toml` in the working directory if it
    /// is there. `environment` is all variables of the process; those that do not begin with `JARI__` are left alone.
    pub fn new(
        file: Option<PathBuf>,
        environment: impl IntoIterator<Item = (String, String)>,
        overrides: Overrides,
    ) -> Sources {
        let environment: Vec<_> = environment.into_iter().collect();
        let by_variable = environment.iter().find(|(name, _)| name == FILE_VARIABLE);
        let by_variable =
            by_variable.filter(|(_, value)| !value.is_empty()).map(|(_, value)| value.into());
        let named = file.or(by_variable).map(|path| NamedFile { path, required: true });
        let default = || NamedFile { path: FILE_DEFAULT.into(), required: false };
        Sources { file: Some(named.unwrap_or_else(default)), environment, overrides }
    }

    /// As [`Sources::new`], with the variables of this process.
    #[must_use]
    pub fn from_process(file: Option<PathBuf>, overrides: Overrides) -> Sources {
        // A variable that is not text cannot be one of ours.
        let texts = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Sources::new(file, texts, overrides)
    }
}
