//! Markdown as it streams in, for a terminal: headings, emphasis and code become styles, bullets become bullets.
//!
//! It never waits for more than a few characters, so that text appears as the agent says it. What it does not know
//! (tables, links, HTML) stays as it was written.

use crate::cli::style::{PLAIN, Style};

/// A renderer in the middle of a text.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    place: Place,
    /// What could still become a mark: the beginning of a line, or a run of `*` or backticks.
    held: String,
    /// The last character before what is held, to tell emphasis from multiplication.
    before: Option<char>,
    bold: bool,
    italic: bool,
    heading: bool,
    /// How many backticks began the code that we are in.
    code: Option<usize>,
    output: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    LineStart,
    Text,
    /// The rest of the line that begins or ends a block of code.
    Fence,
    CodeStart,
    Code,
}

impl Markdown {
    /// Takes what comes next and gives what can be shown.
    pub(super) fn push(&mut self, text: &str) -> String {
        for character in text.chars() {
            self.take(character);
        }
        std::mem::take(&mut self.output)
    }

    /// The end of the text: what was held was no mark.
    pub(super) fn finish(&mut self) -> String {
        match self.place {
            Place::LineStart | Place::CodeStart => {
                let held = std::mem::take(&mut self.held);
                self.output.push_str(&held);
            }
            Place::Text => self.settle(' '),
            Place::Fence | Place::Code => {}
        }
        self.end_line();
        let shown = std::mem::take(&mut self.output);
        *self = Self::default();
        shown
    }

    fn take(&mut self, character: char) {
        match self.place {
            Place::LineStart => self.begin(character),
            Place::Text => self.inline(character),
            Place::Fence if character == '\n' => {
                self.place = if self.code.is_some() { Place::CodeStart } else { Place::LineStart };
            }
            Place::Fence => {}
            Place::CodeStart => self.begin_code(character),
            Place::Code if character == '\n' => {
                self.end_line();
                self.output.push('\n');
                self.place = Place::CodeStart;
            }
            Place::Code => self.output.push(character),
        }
    }

    /// Decides what a line is, once enough of it is there.
    fn begin(&mut self, character: char) {
        let indent = self.held.len() - self.held.trim_start().len();
        let mark = self.held[indent..].to_owned();
        let same = mark.chars().next().is_none_or(|first| first == character);
        match (mark.as_str(), character) {
            ("", ' ' | '\t') => self.held.push(character),
            ("" | "`", '`') | ("", '#' | '-' | '+' | '*') => self.held.push(character),
            ("``", '`') => {
                self.held.clear();
                self.code = Some(3);
                self.place = Place::Fence;
            }
            ("", '>') => {
                self.output.push_str(&self.held);
                self.held.clear();
                self.styled(Style::Dim, "│");
                self.place = Place::Text;
            }
            (marks, '#') if marks.starts_with('#') && marks.len() < 6 => self.held.push(character),
            (marks, ' ') if marks.starts_with('#') => {
                self.held.clear();
                self.heading = true;
                self.restyle();
                self.place = Place::Text;
            }
            ("-" | "+" | "*", ' ') => {
                self.held.truncate(indent);
                let indent = std::mem::take(&mut self.held);
                self.output.push_str(&indent);
                self.output.push_str("• ");
                self.place = Place::Text;
            }
            (marks, '-' | '*') if same && marks.starts_with(character) => self.held.push(character),
            (marks, '\n') if marks.len() >= 3 && marks.starts_with(['-', '*']) => {
                self.held.clear();
                self.styled(Style::Dim, "────────");
                self.output.push('\n');
            }
            _ => {
                self.place = Place::Text;
                let held = std::mem::take(&mut self.held);
                self.before = None;
                held.chars().for_each(|held| self.inline(held));
                self.inline(character);
            }
        }
    }

    fn begin_code(&mut self, character: char) {
        if character == '`' || (self.held.is_empty() && character == ' ') {
            self.held.push(character);
            if self.held.ends_with("```") {
                self.held.clear();
                self.code = None;
                self.place = Place::Fence;
            }
            return;
        }
        let held = std::mem::take(&mut self.held);
        if character != '\n' || !held.is_empty() {
            self.output.push_str("    ");
            self.output.push_str(Style::Cyan.start());
        }
        self.output.push_str(&held);
        self.place = Place::Code;
        self.take(character);
    }

    fn inline(&mut self, character: char) {
        let holds = self.held.chars().next();
        if self.is_mark(character) && holds.is_none_or(|held| held == character) {
            self.held.push(character);
            return;
        }
        self.settle(character);
        if self.is_mark(character) {
            self.held.push(character);
            return;
        }
        if character == '\n' {
            self.end_line();
            self.output.push('\n');
            self.place = Place::LineStart;
            return;
        }
        self.output.push(character);
        self.before = Some(character);
    }

    fn is_mark(&self, character: char) -> bool {
        character == '`' || (character == '*' && self.code.is_none())
    }

    /// Decides what the marks that are held mean, now that the next character is known.
    fn settle(&mut self, next: char) {
        let held = std::mem::take(&mut self.held);
        let count = held.len();
        if held.starts_with('`') {
            match self.code {
                None => self.code = Some(count),
                Some(open) if open == count => self.code = None,
                Some(_) => return self.output.push_str(&held),
            }
            return self.restyle();
        }
        if !held.starts_with('*') || self.code.is_some() {
            return self.output.push_str(&held);
        }
        let after_word = self.before.is_some_and(|before| !before.is_whitespace());
        let closes = after_word && count <= 3 && (count < 2 || self.bold) && (count == 2 || self.italic);
        let opens = !next.is_whitespace() && count <= 3;
        if closes || (opens && !(self.bold && count >= 2) && !(self.italic && count != 2)) {
            self.bold ^= count >= 2;
            self.italic ^= count != 2;
            self.restyle();
        } else {
            self.output.push_str(&held);
        }
    }

    fn restyle(&mut self) {
        self.output.push_str(PLAIN);
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
        self.output.push_str(PLAIN);
    }

    /// No style goes beyond its line.
    fn end_line(&mut self) {
        let in_block = self.place == Place::Code;
        if self.bold || self.italic || self.heading || self.code.is_some() || in_block {
            self.output.push_str(PLAIN);
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

    /// Rendered in one go, with the styles in letters.
    fn rendered(text: &str) -> String {
        let mut markdown = Markdown::default();
        let shown = markdown.push(text) + &markdown.finish();
        let letters =
            [("\x1b[0m", "0"), ("\x1b[1m", "B"), ("\x1b[2m", "D"), ("\x1b[3m", "I"), ("\x1b[36m", "C")];
        letters.into_iter().fold(shown, |shown, (code, letter)| shown.replace(code, &format!("<{letter}>")))
    }

    #[test]
    fn marks_become_styles() {
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
    fn what_is_no_mark_stays() {
        for text in
            ["2 * 3 * 4", "#hash", "-1 and --flag", "a|b\n|-|-|", "snake_case_name", "1. one", "[a](b)", "##"]
        {
            assert_eq!(rendered(text), text, "{text}");
        }
    }

    #[test]
    fn a_style_that_is_never_closed_ends_with_its_line() {
        assert_eq!(rendered("**open\nnext"), "<0><B>open<0>\nnext");
    }

    proptest! {
        #[test]
        fn the_result_does_not_depend_on_how_the_text_is_cut(
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
