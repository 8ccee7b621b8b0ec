//! Renders streamed Markdown on a terminal: headings, emphasis and code become styles, list markers become bullets.
//!
//! The renderer never waits for more than a few characters, so that text appears as the agent sends it. Syntax that it
//! does not support (tables, links, HTML) is printed unchanged.

use crate::cli::style::{RESET, Style};

/// The state of the renderer.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    position: Position,
    /// Characters that could still become markup: the start of a line, or a run of `*` or backticks.
    pending: String,
    /// The last character before the pending ones, to distinguish emphasis from multiplication.
    before: Option<char>,
    bold: bool,
    italic: bool,
    heading: bool,
    /// How many backticks started the current code; `None` outside of code.
    code: Option<usize>,
    output: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Position {
    #[default]
    LineStart,
    Text,
    /// The rest of the line that starts or ends a code block.
    Fence,
    CodeStart,
    Code,
}

impl Markdown {
    /// Adds text, and returns the output that is complete so far.
    pub(super) fn push(&mut self, text: &str) -> String {
        for character in text.chars() {
            self.push_character(character);
        }
        std::mem::take(&mut self.output)
    }

    /// Ends the text, and returns the rest of the output. Pending characters were not markup.
    pub(super) fn finish(&mut self) -> String {
        match self.position {
            Position::LineStart | Position::CodeStart => {
                let pending = std::mem::take(&mut self.pending);
                self.output.push_str(&pending);
            }
            Position::Text => self.resolve_pending(' '),
            Position::Fence | Position::Code => {}
        }
        self.end_line();
        let output = std::mem::take(&mut self.output);
        *self = Self::default();
        output
    }

    fn push_character(&mut self, character: char) {
        match self.position {
            Position::LineStart => self.line_start(character),
            Position::Text => self.inline(character),
            Position::Fence if character == '\n' => {
                self.position = if self.code.is_some() { Position::CodeStart } else { Position::LineStart };
            }
            Position::Fence => {}
            Position::CodeStart => self.code_line_start(character),
            Position::Code if character == '\n' => {
                self.end_line();
                self.output.push('\n');
                self.position = Position::CodeStart;
            }
            Position::Code => self.output.push(character),
        }
    }

    /// Decides what kind of line this is, as soon as enough characters are known.
    fn line_start(&mut self, character: char) {
        let indent = self.pending.len() - self.pending.trim_start().len();
        let mark = self.pending[indent..].to_owned();
        let same = mark.chars().next().is_none_or(|first| first == character);
        match (mark.as_str(), character) {
            ("", ' ' | '\t') => self.pending.push(character),
            ("" | "`", '`') | ("", '#' | '-' | '+' | '*') => self.pending.push(character),
            ("``", '`') => {
                self.pending.clear();
                self.code = Some(3);
                self.position = Position::Fence;
            }
            ("", '>') => {
                self.output.push_str(&self.pending);
                self.pending.clear();
                self.styled(Style::Dim, "│");
                self.position = Position::Text;
            }
            (marks, '#') if marks.starts_with('#') && marks.len() < 6 => self.pending.push(character),
            (marks, ' ') if marks.starts_with('#') => {
                self.pending.clear();
                self.heading = true;
                self.restyle();
                self.position = Position::Text;
            }
            ("-" | "+" | "*", ' ') => {
                self.pending.truncate(indent);
                let indent = std::mem::take(&mut self.pending);
                self.output.push_str(&indent);
                self.output.push_str("• ");
                self.position = Position::Text;
            }
            (marks, '-' | '*') if same && marks.starts_with(character) => self.pending.push(character),
            (marks, '\n') if marks.len() >= 3 && marks.starts_with(['-', '*']) => {
                self.pending.clear();
                self.styled(Style::Dim, "────────");
                self.output.push('\n');
            }
            _ => {
                self.position = Position::Text;
                let pending = std::mem::take(&mut self.pending);
                self.before = None;
                pending.chars().for_each(|pending| self.inline(pending));
                self.inline(character);
            }
        }
    }

    fn code_line_start(&mut self, character: char) {
        if character == '`' || (self.pending.is_empty() && character == ' ') {
            self.pending.push(character);
            if self.pending.ends_with("```") {
                self.pending.clear();
                self.code = None;
                self.position = Position::Fence;
            }
            return;
        }
        let pending = std::mem::take(&mut self.pending);
        if character != '\n' || !pending.is_empty() {
            self.output.push_str("    ");
            self.output.push_str(Style::Cyan.start());
        }
        self.output.push_str(&pending);
        self.position = Position::Code;
        self.push_character(character);
    }

    fn inline(&mut self, character: char) {
        let first = self.pending.chars().next();
        if self.is_mark(character) && first.is_none_or(|first| first == character) {
            self.pending.push(character);
            return;
        }
        self.resolve_pending(character);
        if self.is_mark(character) {
            self.pending.push(character);
            return;
        }
        if character == '\n' {
            self.end_line();
            self.output.push('\n');
            self.position = Position::LineStart;
            return;
        }
        self.output.push(character);
        self.before = Some(character);
    }

    fn is_mark(&self, character: char) -> bool {
        character == '`' || (character == '*' && self.code.is_none())
    }

    /// Decides what the pending characters mean, now that the next character is known.
    fn resolve_pending(&mut self, next: char) {
        let pending = std::mem::take(&mut self.pending);
        let count = pending.len();
        if pending.starts_with('`') {
            match self.code {
                None => self.code = Some(count),
                Some(open) if open == count => self.code = None,
                Some(_) => return self.output.push_str(&pending),
            }
            return self.restyle();
        }
        if !pending.starts_with('*') || self.code.is_some() {
            return self.output.push_str(&pending);
        }
        let after_word = self.before.is_some_and(|before| !before.is_whitespace());
        let closes = after_word && count <= 3 && (count < 2 || self.bold) && (count == 2 || self.italic);
        let opens = !next.is_whitespace() && count <= 3;
        if closes || (opens && !(self.bold && count >= 2) && !(self.italic && count != 2)) {
            self.bold ^= count >= 2;
            self.italic ^= count != 2;
            self.restyle();
        } else {
            self.output.push_str(&pending);
        }
    }

    fn restyle(&mut self) {
        self.output.push_str(RESET);
        let styles = [
            (self.bold || self.heading, Style::Bold),
            (self.italic, Style::Italic),
            (self.code.is_some(), Style::Cyan),
        ];
        for (_, style) in styles.into_iter().filter(|(on, _)| *on) {
            self.output.push_str(style.start());
        }
    }

    fn styled(&mut self, style: Style, text: &str) {
        self.output.push_str(style.start());
        self.output.push_str(text);
        self.output.push_str(RESET);
    }

    /// Every style ends with its line.
    fn end_line(&mut self) {
        let in_block = self.position == Position::Code;
        if self.bold || self.italic || self.heading || self.code.is_some() || in_block {
            self.output.push_str(RESET);
        }
        (self.bold, self.italic, self.heading, self.before) = (false, false, false, None);
        if !in_block {
            self.code = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Renders a text at once, with letters instead of the escape sequences.
    fn rendered(text: &str) -> String {
        let mut markdown = Markdown::default();
        let shown = markdown.push(text) + &markdown.finish();
        let letters =
            [("\x1b[0m", "0"), ("\x1b[1m", "B"), ("\x1b[2m", "D"), ("\x1b[3m", "I"), ("\x1b[36m", "C")];
        letters.into_iter().fold(shown, |shown, (code, letter)| shown.replace(code, &format!("<{letter}>")))
    }

    #[test]
    fn markup_becomes_styles() {
        assert_eq!(rendered("# Title\ntext"), "<0><B>Title<0>\ntext");
        assert_eq!(rendered("a **b** c"), "a <0><B>b<0> c");
        assert_eq!(rendered("*it*."), "<0><I>it<0>.");
        assert_eq!(rendered("x `a*b` y"), "x <0><C>a*b<0> y");
        assert_eq!(rendered("- one\n  * two"), "• one\n  • two");
        assert_eq!(rendered("> said"), "<D>│<0> said");
        assert_eq!(rendered("---\n"), "<D>────────<0>\n");
        assert_eq!(rendered("```rust\nlet a;\n\n  b\n```\nend"), "    <C>let a;<0>\n<0>\n    <C>  b<0>\nend");
    }

    #[test]
    fn other_text_is_unchanged() {
        for text in
            ["2 * 3 * 4", "#hash", "-1 and --flag", "a|b\n|-|-|", "snake_case_name", "1. one", "[a](b)", "##"]
        {
            assert_eq!(rendered(text), text, "{text}");
        }
    }

    #[test]
    fn an_unclosed_style_ends_with_its_line() {
        assert_eq!(rendered("**open\nnext"), "<0><B>open<0>\nnext");
    }

    proptest! {
        #[test]
        fn the_result_does_not_depend_on_the_chunks(
            text in "[ab *`#>\\-\n]{0,40}",
            cuts in proptest::collection::vec(0usize..6, 0..20),
        ) {
            let mut whole = Markdown::default();
            let expected = whole.push(&text) + &whole.finish();
            let mut parts = Markdown::default();
            let mut shown = String::new();
            let mut rest = text.as_str();
            for cut in cuts {
                let (first, after) = rest.split_at(cut.min(rest.len()));
                shown += &parts.push(first);
                rest = after;
            }
            shown += &parts.push(rest);
            shown += &parts.finish();
            prop_assert_eq!(shown, expected);
        }
    }
}
