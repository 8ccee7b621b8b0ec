//! Prints a turn for people: the agent's answer on standard output, everything else on standard error.
//!
//! That way, a pipe receives only the answer, and a terminal shows both in order.

use std::io::{IsTerminal, Write};

use serde_json::Value;

use super::markdown::Markdown;
use super::question::{FORM, PERMISSION};
use super::tools::{ToolCalls, plan_lines};
use super::view::{OpenedSession, TurnView};
use crate::cli::error::CliError;
use crate::cli::style::{Colour, Style, one_line, without_control};

/// How much is printed besides the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verbosity {
    Quiet,
    Normal,
}

/// Prints a turn to the terminal.
#[derive(Debug)]
pub(super) struct Screen {
    verbosity: Verbosity,
    colour: Colour,
    /// The Markdown renderer; `None` if styles cannot be shown, so that the answer is printed unchanged.
    markdown: Option<Markdown>,
    out_is_terminal: bool,
    /// True when the last line of the answer, or of a thought, has no line break yet.
    out_open: bool,
    thought_open: bool,
    /// True when something else was printed since the last part of the answer.
    interrupted: bool,
    /// The id of the agent's current message, if it has one.
    message: Option<String>,
    tools: ToolCalls,
    plan: Vec<String>,
    hint: Option<String>,
}

impl Screen {
    pub(super) fn new(verbosity: Verbosity) -> Self {
        let out = std::io::stdout();
        let markdown = (Colour::of(&out) == Colour::On).then(Markdown::default);
        Self {
            verbosity,
            colour: Colour::of(&std::io::stderr()),
            markdown,
            out_is_terminal: out.is_terminal(),
            out_open: false,
            thought_open: false,
            interrupted: false,
            message: None,
            tools: ToolCalls::default(),
            plan: Vec::new(),
            hint: None,
        }
    }

    fn print_answer(&mut self, text: &str) -> Result<(), CliError> {
        if text.is_empty() {
            return Ok(());
        }
        self.end_thought();
        if self.interrupted && self.out_open {
            self.end_answer()?;
        }
        self.interrupted = false;
        let shown = if self.out_is_terminal { without_control(text) } else { text.into() };
        let shown = match &mut self.markdown {
            Some(markdown) => markdown.push(&shown).into(),
            None => shown,
        };
        self.out_open = !text.ends_with('\n');
        write(&shown)
    }

    /// Ends the line of the answer.
    fn end_answer(&mut self) -> Result<(), CliError> {
        let mut rest = self.markdown.as_mut().map(Markdown::finish).unwrap_or_default();
        if self.out_open {
            rest.push('\n');
        }
        self.out_open = false;
        write(&rest)
    }

    fn end_thought(&mut self) {
        if std::mem::take(&mut self.thought_open) {
            write_stderr("\n");
        }
    }

    /// Prints lines to standard error.
    fn print_line(&mut self, text: &str) -> Result<(), CliError> {
        if self.verbosity == Verbosity::Quiet {
            return Ok(());
        }
        self.pause()?;
        write_stderr(&format!("{text}\n"));
        Ok(())
    }

    fn print_thought(&mut self, text: &str) -> Result<(), CliError> {
        if self.verbosity == Verbosity::Quiet || text.is_empty() {
            return Ok(());
        }
        if !self.thought_open {
            self.pause()?;
            write_stderr(&self.colour.paint(Style::Dim, "thinking: "));
        }
        self.thought_open = true;
        write_stderr(&self.colour.paint(Style::Dim, without_control(text)));
        Ok(())
    }
}

impl TurnView for Screen {
    fn opened(&mut self, opened: &OpenedSession<'_>) -> Result<(), CliError> {
        let OpenedSession { session, agent, url, can_continue, .. } = opened;
        let url = url.map_or_else(String::new, |url| format!(" --url {url}"));
        self.hint = can_continue
            .then(|| format!("continue with: sandbox-agent prompt {agent} --session {session}{url} \"...\""));
        Ok(())
    }

    fn replayed(&mut self, _: &Value) -> Result<(), CliError> {
        Ok(())
    }

    fn update(&mut self, update: &Value) -> Result<(), CliError> {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => {
                let message = update["messageId"].as_str().map(str::to_owned);
                // Two successive messages are separate paragraphs.
                self.interrupted |= message != self.message;
                self.message = message;
                self.print_answer(&content_text(&update["content"]))
            }
            Some("agent_thought_chunk") => self.print_thought(&content_text(&update["content"])),
            Some("tool_call" | "tool_call_update") => {
                for line in self.tools.update(update, self.colour) {
                    self.print_line(&line)?;
                }
                Ok(())
            }
            Some("plan") => {
                let lines = plan_lines(update, self.colour);
                if lines != self.plan {
                    self.print_line(&lines.join("\n"))?;
                    self.plan = lines;
                }
                Ok(())
            }
            Some("current_mode_update") => {
                let mode = one_line(update["currentModeId"].as_str().unwrap_or_default(), 80);
                self.print_line(&self.colour.paint(Style::Dim, format!("mode: {mode}")))
            }
            Some("notice") => {
                let field = |name: &str| one_line(update[name].as_str().unwrap_or_default(), 400);
                let text = format!("{} {}", field("title"), field("description"));
                self.print_line(&self.colour.paint(Style::Yellow, text.trim_end()))
            }
            // Commands, usage, titles, and updates that newer versions of ACP may add.
            _ => Ok(()),
        }
    }

    fn notification(&mut self, _: &str, _: &Value) -> Result<(), CliError> {
        Ok(())
    }

    fn answered(&mut self, method: &str, params: &Value, answer: &Value) -> Result<(), CliError> {
        let (request, result) = if method == PERMISSION {
            let title = params["toolCall"]["title"].as_str().unwrap_or("a tool call");
            let chosen = answer["outcome"]["optionId"].as_str();
            let options = params["options"].as_array().into_iter().flatten();
            let named = options.filter(|option| option["optionId"].as_str() == chosen);
            let name = named.filter_map(|option| option["name"].as_str()).next();
            (format!("permission for {title}"), name.unwrap_or("not granted").to_owned())
        } else if method == FORM {
            let result = match answer["action"].as_str() {
                Some("accept") => "accepted",
                Some("decline") => "declined",
                _ => "dismissed",
            };
            (params["message"].as_str().unwrap_or("form").to_owned(), result.to_owned())
        } else {
            let result = if answer["status"] == "answered" { "answered" } else { "rejected" };
            (params["prompt"].as_str().unwrap_or("question").to_owned(), result.to_owned())
        };
        let text = format!("? {}: {}", one_line(&request, 160), one_line(&result, 80));
        self.print_line(&self.colour.paint(Style::Yellow, text))
    }

    fn remark(&mut self, text: &str) -> Result<(), CliError> {
        self.print_line(&self.colour.paint(Style::Yellow, without_control(text)))
    }

    fn stopped(&mut self, response: &Value) -> Result<(), CliError> {
        self.end_thought();
        self.end_answer()?;
        let reason = one_line(response["stopReason"].as_str().unwrap_or("unknown"), 80);
        self.print_line(&self.colour.paint(Style::Dim, format!("stop reason: {reason}")))?;
        if let Some(hint) = self.hint.take() {
            self.print_line(&self.colour.paint(Style::Dim, one_line(&hint, 400)))?;
        }
        Ok(())
    }

    fn failed(&mut self, _: &CliError) -> Result<(), CliError> {
        self.end_thought();
        self.end_answer()
    }

    fn pause(&mut self) -> Result<(), CliError> {
        self.end_thought();
        // In a pipe the answer continues on its line; on a terminal the lines would run into each other.
        if self.out_is_terminal {
            self.end_answer()?;
        }
        self.interrupted = true;
        Ok(())
    }
}

/// The text of a content block, or a placeholder for content that a terminal cannot show.
fn content_text(content: &Value) -> String {
    let field = |name: &str| content[name].as_str().unwrap_or_default();
    match field("type") {
        "text" => field("text").to_owned(),
        kind @ ("image" | "audio") => {
            format!("[{kind} {}, {} bytes in base64]", field("mimeType"), field("data").len())
        }
        "resource_link" => format!("[{} {}]", field("name"), field("uri")),
        "resource" => {
            let resource = &content["resource"];
            let uri = resource["uri"].as_str().unwrap_or_default();
            resource["text"].as_str().map_or_else(|| format!("[{uri}]"), |text| format!("[{uri}]\n{text}\n"))
        }
        other => format!("[{}]", one_line(other, 40)),
    }
}

fn write(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Errors are ignored: a closed standard error must not stop the turn.
fn write_stderr(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
