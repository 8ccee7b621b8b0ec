//! `docs/deploying.md`, and the blocks of code in it.

pub const PAGE: &str = include_str!("../../../docs/deploying.md");

/// The blocks of a language in the page, in order.
pub fn blocks(language: &str) -> Vec<&'static str> {
    let opened = PAGE.split("```").skip(1).step_by(2);
    opened.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).map(str::trim_end).collect()
}
