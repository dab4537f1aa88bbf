//! The tidy check as a test, so that no run of the tests passes without it. Its rules are tested beside them.

#[test]
fn the_repository_is_tidy() {
    let findings = xtask::tidy::check(&xtask::root()).expect("the tree can be read");
    let listed: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{} to mend:\n{}", findings.len(), listed.join("\n"));
}
