//! Node.js and the npm packages of a folder: looked for, and installed as the folder's lock says. Knows no page, no test.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::command::{command, output, run};

/// What the builder of the page needs; the browser tests use what came with it: the test runner's reporters, `fetch`.
const MIN: (u32, u32) = (20, 19);

/// # Errors
/// Where Node.js is missing or too old.
pub(crate) fn require(root: &Path) -> Result<()> {
    let missing = || format!("this needs Node.js {}.{} or newer with npm", MIN.0, MIN.1);
    let version = output(&mut command(root, "node", &["--version"])).with_context(missing)?;
    match parsed(&version) {
        Some(version) if version >= MIN => Ok(()),
        _ => bail!("{}; this is {}", missing(), version.trim()),
    }
}

fn parsed(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim().strip_prefix('v')?.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

/// Installs a folder's packages. npm writes a copy of the lock into what it installed: equal packages need no second
/// installation.
///
/// # Errors
/// Where npm cannot get them.
pub(crate) fn packages(folder: &Path) -> Result<()> {
    let modified = |file: &str| folder.join(file).metadata().and_then(|file| file.modified()).ok();
    let (installed, locked) =
        (modified("node_modules/.package-lock.json"), modified("package-lock.json"));
    if installed.is_some() && installed >= locked {
        println!("the packages of {} are there", folder.display());
        return Ok(());
    }
    run(&mut command(folder, "npm", &["ci", "--no-audit", "--no-fund"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_s_version_is_read() {
        assert_eq!(parsed("v20.20.2\n"), Some((20, 20)));
        assert_eq!(parsed("20"), None);
    }
}
