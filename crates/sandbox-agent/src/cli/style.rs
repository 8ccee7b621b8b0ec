//! Colours on a terminal, unless `NO_COLOR` is set. Also removes control characters, so that an agent's text cannot
//! control the terminal.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::IsTerminal;

/// A text style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Bold,
    Dim,
    Italic,
    Red,
    Green,
    Yellow,
    Cyan,
}

impl Style {
    /// The escape sequence that starts the style.
    pub(super) const fn start(self) -> &'static str {
        match self {
            Self::Bold => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Italic => "\x1b[3m",
            Self::Red => "\x1b[31m",
            Self::Green => "\x1b[32m",
            Self::Yellow => "\x1b[33m",
            Self::Cyan => "\x1b[36m",
        }
    }
}

/// The escape sequence that ends all styles.
pub(super) const RESET: &str = "\x1b[0m";

/// Whether a stream is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    Off,
    On,
}

impl Colour {
    /// On for a terminal, unless `NO_COLOR` is set to a non-empty value or the terminal supports no colours.
    pub(super) fn of(stream: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        if stream.is_terminal() && !refused && !dumb { Self::On } else { Self::Off }
    }

    /// Text in a style.
    pub(super) fn paint(self, style: Style, text: impl Display) -> String {
        match self {
            Self::Off => text.to_string(),
            Self::On => format!("{}{text}{RESET}", style.start()),
        }
    }
}

/// Text that cannot control a terminal: all control characters except line breaks and tabs are removed.
pub(super) fn without_control(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_unsafe) {
        Cow::Owned(text.chars().filter(|c| !is_unsafe(*c)).collect())
    } else {
        text.into()
    }
}

/// The text on one line, truncated to this many characters.
pub(super) fn one_line(text: &str, max_length: usize) -> String {
    let plain: String =
        text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !is_unsafe(*c)).collect();
    let mut line = plain.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(max_length) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// A name with all control characters replaced, so that it fits on one line and cannot control a terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn is_unsafe(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_an_agent_cannot_control_the_terminal() {
        assert_eq!(without_control("a\x1b[2Jb\r\u{9b}c\td\n"), "a[2Jbc\td\n");
        assert!(matches!(without_control("plain ü"), Cow::Borrowed(_)));
        assert_eq!(one_line(" two\n\x1b li\x07nes ", 40), "two lines");
        assert_eq!(printable("a  b\nc\x1b"), "a  b?c?");
        assert_eq!(one_line("abcdef", 3), "abc…");
    }

    #[test]
    fn text_is_unchanged_without_colours() {
        assert_eq!(Colour::Off.paint(Style::Red, "x"), "x");
        assert_eq!(Colour::On.paint(Style::Red, "x"), "\x1b[31mx\x1b[0m");
    }
}
