//! The change of a file as a unified diff, for a permission request on the terminal.

use serde_json::Value;

use crate::cli::style::{Colour, Style, one_line, without_control};

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 3;
/// How many lines of one diff are shown; the number of the others is reported.
const MAX_LINES: usize = 200;
/// The maximum length of a shown line.
const MAX_LENGTH: usize = 300;
/// The maximum size of the comparison table. Beyond it, the changed part is shown as removed and added as a whole.
const MAX_CELLS: usize = 1 << 20;

/// A line of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

/// The lines to show for a `diff` of a tool call's content; `None` for other content.
pub(super) fn lines(part: &Value, colour: Colour) -> Option<Vec<String>> {
    if part["type"] != "diff" {
        return None;
    }
    let (path, new) = (part["path"].as_str()?, part["newText"].as_str()?);
    let old = part["oldText"].as_str();
    let note = if old.is_none() { " (new file)" } else { "" };
    let mut shown = vec![colour.paint(Style::Bold, format!("{}{note}", one_line(path, MAX_LENGTH)))];
    let old: Vec<&str> = old.unwrap_or_default().lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let mut hunks = hunks(&compare(&old, &new), colour);
    if hunks.is_empty() {
        hunks.push("(no line changes)".to_owned());
    }
    let left_out = hunks.len().saturating_sub(MAX_LINES);
    hunks.truncate(MAX_LINES);
    shown.extend(hunks);
    if left_out > 0 {
        shown.push(colour.paint(Style::Yellow, format!("... {left_out} more lines are not shown")));
    }
    Some(shown)
}

/// Compares two texts by their longest common subsequence of lines.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_middle, tail) = old_rest.split_at(old_rest.len() - end);
    let new_middle = &new_rest[..new_rest.len() - end];
    let mut lines: Vec<Line<'a>> = old[..start].iter().map(|line| Line::Same(line)).collect();
    lines.extend(compare_middle(old_middle, new_middle));
    lines.extend(tail.iter().map(|line| Line::Same(line)));
    lines
}

fn compare_middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let columns = new.len() + 1;
    if (old.len() + 1).saturating_mul(columns) > MAX_CELLS {
        let removed = old.iter().map(|line| Line::Removed(line));
        return removed.chain(new.iter().map(|line| Line::Added(line))).collect();
    }
    // The cell (row, column) has the length of the longest common subsequence of old[row..] and new[column..].
    let mut lengths = vec![0_u32; (old.len() + 1) * columns];
    for row in (0..old.len()).rev() {
        for column in (0..new.len()).rev() {
            lengths[row * columns + column] = if old[row] == new[column] {
                lengths[(row + 1) * columns + column + 1] + 1
            } else {
                lengths[(row + 1) * columns + column].max(lengths[row * columns + column + 1])
            };
        }
    }
    let (mut row, mut column, mut lines) = (0, 0, Vec::new());
    while row < old.len() && column < new.len() {
        if old[row] == new[column] {
            lines.push(Line::Same(old[row]));
            (row, column) = (row + 1, column + 1);
        } else if lengths[(row + 1) * columns + column] >= lengths[row * columns + column + 1] {
            lines.push(Line::Removed(old[row]));
            row += 1;
        } else {
            lines.push(Line::Added(new[column]));
            column += 1;
        }
    }
    lines.extend(old[row..].iter().map(|line| Line::Removed(line)));
    lines.extend(new[column..].iter().map(|line| Line::Added(line)));
    lines
}

/// The changes with their context. Each group of neighbouring changes starts with its line numbers.
fn hunks(lines: &[Line<'_>], colour: Colour) -> Vec<String> {
    let changed: Vec<usize> =
        (0..lines.len()).filter(|index| !matches!(lines[*index], Line::Same(_))).collect();
    let is_near = |index: usize| {
        let next = changed.partition_point(|change| *change < index.saturating_sub(CONTEXT));
        changed.get(next).is_some_and(|change| *change <= index + CONTEXT)
    };
    let (mut old_line, mut new_line, mut was_near, mut shown) = (1, 1, false, Vec::new());
    for (index, line) in lines.iter().enumerate() {
        let near = is_near(index);
        if near && !was_near {
            shown.push(colour.paint(Style::Cyan, format!("@@ -{old_line} +{new_line} @@")));
        }
        was_near = near;
        if near {
            shown.push(match line {
                Line::Same(text) => format!(" {}", printable_line(text)),
                Line::Removed(text) => colour.paint(Style::Red, format!("-{}", printable_line(text))),
                Line::Added(text) => colour.paint(Style::Green, format!("+{}", printable_line(text))),
            });
        }
        old_line += usize::from(!matches!(line, Line::Added(_)));
        new_line += usize::from(!matches!(line, Line::Removed(_)));
    }
    shown
}

/// A line that keeps its indentation and cannot control the terminal.
fn printable_line(text: &str) -> String {
    let mut line = without_control(text).into_owned();
    if let Some((end, _)) = line.char_indices().nth(MAX_LENGTH) {
        line.truncate(end);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn shown(old: &Value, new: &str) -> Vec<String> {
        let part = json!({"type": "diff", "path": "/w/f", "oldText": old, "newText": new});
        lines(&part, Colour::Off).unwrap()
    }

    #[test]
    fn a_change_is_shown_with_its_context_and_line_numbers() {
        let old: String = (1..=20).map(|number| format!("line {number}\n")).collect();
        let new = old.replace("line 2\n", "").replace("line 15\n", "\tfifteen\x1b[2J\nand more\n");
        let expected = [
            "/w/f",
            "@@ -1 +1 @@",
            " line 1",
            "-line 2",
            " line 3",
            " line 4",
            " line 5",
            "@@ -12 +11 @@",
            " line 12",
            " line 13",
            " line 14",
            "-line 15",
            "+\tfifteen[2J",
            "+and more",
            " line 16",
            " line 17",
            " line 18",
        ];
        assert_eq!(shown(&json!(old), &new), expected);
        assert_eq!(shown(&Value::Null, "a\nb"), ["/w/f (new file)", "@@ -1 +1 @@", "+a", "+b"]);
        assert_eq!(shown(&json!("a\n"), "a"), ["/w/f", "(no line changes)"]);
        assert_eq!(lines(&json!({"type": "content"}), Colour::Off), None);
    }

    #[test]
    fn a_long_diff_says_how_much_is_left_out() {
        let new: String = (0..300).map(|number| format!("{number}\n")).collect();
        let all = shown(&json!(""), &new);
        assert_eq!((all.len(), all.last().unwrap().as_str()), (202, "... 101 more lines are not shown"));
    }

    proptest! {
        #[test]
        fn a_comparison_contains_both_texts(old in "[ab\n]{0,30}", new in "[ab\n]{0,30}") {
            let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
            let compared = compare(&old, &new);
            let side = |skip: fn(&Line<'_>) -> bool| -> Vec<&str> {
                let kept = compared.iter().filter(|line| !skip(line));
                kept.map(|line| match line {
                    Line::Same(text) | Line::Removed(text) | Line::Added(text) => *text,
                }).collect()
            };
            prop_assert_eq!(side(|line| matches!(line, Line::Added(_))), old);
            prop_assert_eq!(side(|line| matches!(line, Line::Removed(_))), new);
        }
    }
}
