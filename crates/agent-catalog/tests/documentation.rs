//! The generated page about agents matches the manifest.

use std::path::Path;

#[test]
fn the_page_about_agents_is_not_stale() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md");
    let expected = agent_catalog::agents_markdown();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&page, &expected).unwrap();
    }
    let actual = std::fs::read_to_string(&page).unwrap_or_default();
    assert!(
        actual == expected,
        "docs/agents.md is stale; run: BLESS=1 cargo test -p agent-catalog --test documentation"
    );
}
