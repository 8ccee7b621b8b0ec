//! Tool calls and plans, formatted for people.

use std::collections::HashMap;

use serde_json::Value;

use crate::cli::style::{Colour, Style, one_line, without_control};

/// The maximum length of a title or a path on a line.
const MAX_LENGTH: usize = 160;
/// How many lines of a failed tool's output are shown.
const FAILURE_LINES: usize = 10;

/// The tool calls of a turn.
#[derive(Debug, Default)]
pub(super) struct ToolCalls(HashMap<String, Call>);

#[derive(Debug, Default)]
struct Call {
    title: String,
    status: Status,
    changes: Vec<String>,
    output: String,
}

/// The status of a call. A line is shown when the call starts and when it ends.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Status {
    #[default]
    New,
    Started,
    Completed,
    Failed,
}

impl ToolCalls {
    /// Applies a `tool_call` or `tool_call_update`, and returns the lines to show for it.
    pub(super) fn update(&mut self, update: &Value, colour: Colour) -> Vec<String> {
        let id = update["toolCallId"].as_str().unwrap_or_default();
        let call = self.0.entry(id.to_owned()).or_default();
        if let Some(title) = update["title"].as_str().filter(|title| !title.is_empty()) {
            call.title = one_line(title, MAX_LENGTH);
        }
        if let Some(content) = update["content"].as_array() {
            call.changes = content.iter().filter_map(change).collect();
            call.output = content.iter().filter_map(|part| part["content"]["text"].as_str()).collect();
        }
        let status = match update["status"].as_str() {
            Some("completed") => Status::Completed,
            Some("failed") => Status::Failed,
            Some("pending" | "in_progress") => Status::Started,
            _ if call.status == Status::New => Status::Started,
            _ => call.status,
        };
        let before = std::mem::replace(&mut call.status, status);
        if before == status { Vec::new() } else { call.lines(colour) }
    }
}

impl Call {
    fn lines(&self, colour: Colour) -> Vec<String> {
        let title = if self.title.is_empty() { "a tool call" } else { &self.title };
        match self.status {
            Status::New | Status::Started => vec![format!("{} {title}", colour.paint(Style::Cyan, "→"))],
            Status::Completed => {
                let mut lines = vec![format!("{} {title}", colour.paint(Style::Green, "✓"))];
                lines.extend(self.changes.iter().map(|change| format!("  {change}")));
                lines
            }
            Status::Failed => {
                let mut lines = vec![format!("{} {title}", colour.paint(Style::Red, "✗"))];
                let output = without_control(&self.output);
                lines.extend(output.lines().take(FAILURE_LINES).map(|line| format!("  {line}")));
                lines
            }
        }
    }
}

/// A file that a tool changed, with the number of added and removed lines.
fn change(part: &Value) -> Option<String> {
    if part["type"] != "diff" {
        return None;
    }
    let (old, new) = (part["oldText"].as_str().unwrap_or_default(), part["newText"].as_str()?);
    let mut counts: HashMap<&str, i64> = HashMap::new();
    old.lines().for_each(|line| *counts.entry(line).or_default() -= 1);
    new.lines().for_each(|line| *counts.entry(line).or_default() += 1);
    let added: i64 = counts.values().filter(|count| **count > 0).sum();
    let removed: i64 = -counts.values().filter(|count| **count < 0).sum::<i64>();
    Some(format!("{} +{added} -{removed}", one_line(part["path"].as_str()?, MAX_LENGTH)))
}

/// A plan, with one line per step.
pub(super) fn plan_lines(update: &Value, colour: Colour) -> Vec<String> {
    let steps = update["entries"].as_array().into_iter().flatten().map(|entry| {
        let content = one_line(entry["content"].as_str().unwrap_or_default(), MAX_LENGTH);
        match entry["status"].as_str() {
            Some("completed") => format!("  {} {content}", colour.paint(Style::Green, "[x]")),
            Some("in_progress") => format!("  {} {content}", colour.paint(Style::Cyan, "[>]")),
            _ => format!("  [ ] {content}"),
        }
    });
    std::iter::once(colour.paint(Style::Bold, "plan:")).chain(steps).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_shown_when_it_starts_and_when_it_ends() {
        let mut calls = ToolCalls::default();
        let mut lines = |update: Value| calls.update(&update, Colour::Off);
        assert_eq!(lines(json!({"toolCallId": "1", "title": "Read\n a", "status": "pending"})), ["→ Read a"]);
        assert!(lines(json!({"toolCallId": "1", "status": "in_progress"})).is_empty());
        let diff = json!([{"type": "diff", "path": "/a", "oldText": "x\ny\n", "newText": "x\nz\nz\n"}]);
        assert!(lines(json!({"toolCallId": "1", "content": diff})).is_empty());
        assert_eq!(lines(json!({"toolCallId": "1", "status": "completed"})), ["✓ Read a", "  /a +2 -1"]);
        let output = json!([{"type": "content", "content": {"type": "text", "text": "no such\x1b file"}}]);
        let failed = lines(json!({"toolCallId": "2", "title": "Run", "status": "failed", "content": output}));
        assert_eq!(failed, ["✗ Run", "  no such file"]);
        assert_eq!(lines(json!({"toolCallId": "3"})), ["→ a tool call"]);
    }

    #[test]
    fn a_plan_shows_the_status_of_each_step() {
        let entry = |status: &str| json!({"content": "Step", "status": status});
        let update = json!({"entries": [entry("completed"), entry("in_progress"), entry("pending")]});
        assert_eq!(plan_lines(&update, Colour::Off), ["plan:", "  [x] Step", "  [>] Step", "  [ ] Step"]);
    }
}
