//! Colour, where it helps: on a terminal, unless `NO_COLOR` is set. And what keeps an agent's text from steering the
//! terminal it is shown on.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::IsTerminal;

/// How text is set off.
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
    /// The sequence that starts it.
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

/// Ends every style.
pub(super) const PLAIN: &str = "\x1b[0m";

/// Whether a stream gets colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    Off,
    On,
}

impl Colour {
    /// For this stream: on a terminal, unless `NO_COLOR` says no (any text but none) or the terminal cannot.
    pub(super) fn of(stream: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        if stream.is_terminal() && !refused && !dumb { Self::On } else { Self::Off }
    }

    /// Text in a style.
    pub(super) fn paint(self, style: Style, text: impl Display) -> String {
        match self {
            Self::Off => text.to_string(),
            Self::On => format!("{}{text}{PLAIN}", style.start()),
        }
    }
}

/// Text that cannot steer a terminal: line breaks and tabs stay, every other control character goes.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    if text.chars().any(steers) {
        Cow::Owned(text.chars().filter(|c| !steers(*c)).collect())
    } else {
        text.into()
    }
}

/// The same on one line, cut where it gets long.
pub(super) fn one_line(text: &str, longest: usize) -> String {
    let plain: String =
        text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !steers(*c)).collect();
    let mut line = plain.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(longest) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// A name as it is, but for characters that would steer a terminal or break the line; JSON has it letter by letter.
pub(super) fn name(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn steers(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_says_cannot_steer_the_terminal() {
        assert_eq!(harmless("a\x1b[2Jb\r\u{9b}c\td\n"), "a[2Jbc\td\n");
        assert!(matches!(harmless("plain ü"), Cow::Borrowed(_)));
        assert_eq!(one_line(" two\n\x1b li\x07nes ", 40), "two lines");
        assert_eq!(name("a  b\nc\x1b"), "a  b?c?");
        assert_eq!(one_line("abcdef", 3), "abc…");
    }

    #[test]
    fn without_colour_text_stays_as_it_is() {
        assert_eq!(Colour::Off.paint(Style::Red, "x"), "x");
        assert_eq!(Colour::On.paint(Style::Red, "x"), "\x1b[31mx\x1b[0m");
    }
}
