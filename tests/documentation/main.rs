//! Runs every command in the documentation, unchanged.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may fail loudly")]

mod blocks;
mod make_run;
mod page;

use blocks::{RunMode, project};

/// One test per page, so that pages run concurrently and a failure names its page.
macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        $(#[test]
        fn $test() {
            page::run($page);
        })*

        #[test]
        fn every_page_with_commands_is_run() {
            let found: Vec<String> = blocks::pages().into_iter().map(|(page, _)| page).collect();
            assert_eq!(found, [$($page),*], "a page with shell blocks needs a line in this file");
        }
    };
}

// Sorted by name. `a_real_` marks pages that use package registries.
pages! {
    the_readme_leads_to_a_streamed_answer: "README.md",
    the_api_document_is_as_described: "docs/api.md",
    the_page_on_the_command_line_begins_with_an_answer: "docs/cli.md",
    the_page_on_configuration_entries_holds: "docs/config.md",
    the_page_on_files_holds: "docs/files.md",
    moving_from_the_older_api_is_as_described: "docs/migrating.md",
    the_quickstart_leads_to_an_answer_of_a_real_agent: "docs/quickstart.md",
    the_scripted_model_is_as_described: "docs/scripted-model.md",
    the_security_model_is_as_described: "docs/security.md",
    troubleshooting_is_as_described: "docs/troubleshooting.md",
    the_examples_have_a_page: "examples/README.md",
}

/// The blocks that are not run with their pages, and why. Additions need a good reason.
#[test]
fn the_blocks_that_are_not_run_are_listed() {
    let not_run: Vec<(String, String)> = blocks::pages()
        .into_iter()
        .flat_map(|(page, text)| {
            let blocks = blocks::of(&text).into_iter().filter(|block| block.mode == RunMode::Elsewhere);
            blocks.map(move |block| (page.clone(), block.text)).collect::<Vec<_>>()
        })
        .collect();
    let known = [
        // In `make_run`.
        ("README.md", "make run"),
        // Runs these tests.
        ("README.md", "make test"),
        // Runs `make_run`, and more.
        ("README.md", "make test-builds"),
        // In `make_run`.
        ("docs/quickstart.md", "make run"),
    ];
    assert_eq!(not_run, known.map(|(page, text)| (page.to_owned(), text.to_owned())));
}

#[test]
fn the_readme_has_two_commands_for_everything() {
    let makefile = std::fs::read_to_string(project().join("Makefile")).unwrap();
    let readme = std::fs::read_to_string(project().join("README.md")).unwrap();
    for target in ["run", "test"] {
        let command = format!("make {target}");
        assert!(blocks::of(&readme).iter().any(|block| block.text == command), "{command}");
        assert!(makefile.lines().any(|line| line.starts_with(&format!("{target}:"))), "{command}");
    }
}

/// Links between pages must have existing targets.
#[test]
fn every_link_between_pages_leads_to_a_file() {
    let mut broken = Vec::new();
    let mut pages = blocks::every_page();
    assert!(pages.len() > 10);
    for (name, text) in pages.drain(..) {
        let folder = project().join(&name).parent().unwrap().to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or_default();
            if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
                continue;
            }
            if !folder.join(path).exists() {
                broken.push(format!("{name}: {link}"));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}
