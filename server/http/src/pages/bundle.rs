//! Joins the page's script modules into one file, so that a crowd makes one request. No parser: the modules keep to one
//! form (imports on one line each, `export` only before a declaration, no name twice), which a test checks.

/// The modules, each after those that it imports.
const MODULES: [&str; 10] = [
    include_str!("../../../../web/room/call.js"),
    include_str!("../../../../web/room/stream.js"),
    include_str!("../../../../web/room/check.js"),
    include_str!("../../../../web/room/line.js"),
    include_str!("../../../../web/room/texts.js"),
    include_str!("../../../../web/room/connection.js"),
    include_str!("../../../../web/room/tabs.js"),
    include_str!("../../../../web/room/announce.js"),
    include_str!("../../../../web/room/turn.js"),
    include_str!("../../../../web/room/show.js"),
];
const ENTRY: &str = include_str!("../../../../web/room/room.js");

/// Not joined: a worker's own script, which is loaded only where a room asks for its work.
const PROOF: &str = include_str!("../../../../web/room/proof.js");

/// The work before a join.
pub(super) fn proof() -> String {
    let mut script = String::new();
    PROOF.lines().for_each(|line| add(&mut script, line));
    script
}

/// The script of one language, whose messages come first as `TEXTS`.
pub(super) fn script(messages_json: &str) -> String {
    let mut script = format!("const TEXTS = {};\n", messages_json.trim());
    let modules = MODULES.iter().chain([&ENTRY]).flat_map(|module| module.lines());
    modules.filter(|line| !line.starts_with("import ")).for_each(|line| add(&mut script, line));
    script
}

/// A line without what only its writer needs.
fn add(script: &mut String, line: &str) {
    if line.is_empty() || line.trim_start().starts_with("//") {
        return;
    }
    script.push_str(line.strip_prefix("export ").unwrap_or(line));
    script.push('\n');
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn declared(line: &str) -> Option<&str> {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let rest = ["const ", "let ", "function ", "async function ", "class "]
            .iter()
            .find_map(|keyword| line.strip_prefix(keyword))?;
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|n| !n.is_empty())
    }

    #[test]
    fn no_two_modules_declare_the_same_name() {
        let mut names = HashSet::new();
        for name in MODULES.iter().chain([&ENTRY]).flat_map(|m| m.lines()).filter_map(declared) {
            assert!(names.insert(name), "{name} is declared twice");
        }
        assert!(names.contains("Connection") && names.contains("follow"), "{names:?}");
    }

    /// A worker of any age reads it: no module, and no word that only a module has.
    #[test]
    fn the_work_is_a_plain_script() {
        let script = proof();
        assert!(script.contains("async function solve(") && !script.contains("\n//"));
        for word in ["import ", "export ", "/*"] {
            assert!(!PROOF.lines().any(|line| line.starts_with(word)), "{word}");
        }
    }

    #[test]
    fn modules_keep_to_the_form_that_can_be_joined() {
        for line in MODULES.iter().chain([&ENTRY]).flat_map(|module| module.lines()) {
            assert!(!line.starts_with("import ") || line.ends_with(".js\";"), "{line}");
            assert!(!line.starts_with("export {") && !line.starts_with("export default"), "{line}");
            assert!(!line.contains("/*"), "block comments are not stripped: {line}");
        }
        let script = script("{}");
        assert!(script.starts_with("const TEXTS = {};\n"));
        assert!(!script.contains("\nimport ") && !script.contains("\nexport "));
    }
}
