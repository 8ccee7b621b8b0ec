//! Parses the shell blocks of a page. The first line of a block says how the block is run.

use std::fs;
use std::path::PathBuf;

/// How a block is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunMode {
    /// Run to completion; it must succeed.
    Run,
    /// Run to completion, with access to the package registries.
    Network,
    /// Started, and kept running until the page ends.
    Background,
    /// Not run with its page: it builds the server, or runs these tests.
    Elsewhere,
}

/// One block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) mode: RunMode,
    pub(crate) text: String,
    /// The output that the page shows: each line must occur, in this order.
    pub(crate) output: Vec<String>,
}

/// All shell blocks of a page, in order.
pub(crate) fn of(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(fence) = line.trim_start().strip_prefix("```") else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| line.trim_start() != "```").collect();
        let mut words = fence.split_whitespace();
        match (words.next(), words.next()) {
            (Some("sh" | "bash" | "shell" | "console"), mode) => {
                let mode = match mode {
                    None => RunMode::Run,
                    Some("network") => RunMode::Network,
                    Some("background") => RunMode::Background,
                    Some("elsewhere") => RunMode::Elsewhere,
                    Some(other) => panic!("unknown kind of block: `{other}`"),
                };
                blocks.push(Block { mode, text: body.join("\n"), output: Vec::new() });
            }
            (Some("text"), Some("output")) => {
                let block = blocks.last_mut().expect("output follows a command");
                block.output = body.into_iter().map(str::to_owned).collect();
            }
            _ => {}
        }
    }
    blocks
}

/// The tests of these pages are elsewhere: in the packaging tests, which have an archive, an nginx and a
/// harmless `sudo`, and in the container tests.
const RUN_ELSEWHERE: &str = "docs/deploying.md";

/// The pages that have shell blocks, with their paths in the project.
pub(crate) fn pages() -> Vec<(String, String)> {
    every_page().into_iter().filter(|(name, page)| name != RUN_ELSEWHERE && !of(page).is_empty()).collect()
}

/// All pages for users, with their paths in the project, in order.
pub(crate) fn every_page() -> Vec<(String, String)> {
    let project = project();
    let docs = fs::read_dir(project.join("docs")).expect("there is documentation");
    let names = docs.map(|entry| format!("docs/{}", entry.expect("an entry").file_name().to_string_lossy()));
    let mut pages: Vec<_> = names
        .chain(["README.md".to_owned(), "examples/README.md".to_owned()])
        .filter(|name| name.ends_with(".md"))
        .map(|name| (name.clone(), fs::read_to_string(project.join(&name)).expect("a page")))
        .collect();
    pages.sort();
    pages
}

/// The project's root folder.
pub(crate) fn project() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn a_page_is_parsed_into_its_blocks() {
    let page =
        "# A\n```sh\none\ntwo\n```\n```text output\n1\n```\n```json\n{}\n```\n```sh background\nthree\n```\n";
    let blocks = of(page);
    let read: Vec<_> =
        blocks.iter().map(|block| (block.mode, block.text.as_str(), block.output.len())).collect();
    assert_eq!(read, [(RunMode::Run, "one\ntwo", 1), (RunMode::Background, "three", 0)]);
}
