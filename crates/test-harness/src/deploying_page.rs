//! The code blocks in `docs/deploying.md`, for the tests that run them.

pub const PAGE: &str = include_str!("../../../docs/deploying.md");

/// The page's code blocks in this language, in order.
pub fn blocks(language: &str) -> Vec<&'static str> {
    let opened = PAGE.split("```").skip(1).step_by(2);
    opened.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).map(str::trim_end).collect()
}
