//! A turn for people: what the agent says on standard output, everything else on standard error.
//!
//! So a pipe gets the answer and nothing but the answer, and on a terminal both are seen in their order.

use std::io::{IsTerminal, Write};

use serde_json::Value;

use super::markdown::Markdown;
use super::show::{Opened, Show};
use super::tools::{ToolCalls, plan_lines};
use crate::cli::error::CliError;
use crate::cli::style::{Colour, Style, harmless, one_line};

/// How much is told beside the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verbosity {
    Quiet,
    Normal,
}

/// Where a turn is shown.
#[derive(Debug)]
pub(super) struct Screen {
    verbosity: Verbosity,
    colour: Colour,
    /// Only where styles can be shown; else the agent's words stay as they are.
    markdown: Option<Markdown>,
    out_is_terminal: bool,
    /// Whether the last line of each stream is unfinished.
    out_open: bool,
    thought_open: bool,
    /// Whether something else was told since the agent last spoke.
    interrupted: bool,
    /// The id of the message that the agent speaks, where it says one.
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

    fn say(&mut self, text: &str) -> Result<(), CliError> {
        if text.is_empty() {
            return Ok(());
        }
        self.end_thought();
        if self.interrupted && self.out_open {
            self.end_answer()?;
        }
        self.interrupted = false;
        let shown = if self.out_is_terminal { harmless(text) } else { text.into() };
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
            tell("\n");
        }
    }

    /// Tells something beside the answer, on lines of its own.
    fn line(&mut self, text: &str) -> Result<(), CliError> {
        if self.verbosity == Verbosity::Quiet {
            return Ok(());
        }
        self.pause()?;
        tell(&format!("{text}\n"));
        Ok(())
    }

    fn think(&mut self, text: &str) -> Result<(), CliError> {
        if self.verbosity == Verbosity::Quiet || text.is_empty() {
            return Ok(());
        }
        if !self.thought_open {
            self.pause()?;
            tell(&self.colour.paint(Style::Dim, "thinking: "));
        }
        self.thought_open = true;
        tell(&self.colour.paint(Style::Dim, harmless(text)));
        Ok(())
    }
}

impl Show for Screen {
    fn opened(&mut self, opened: &Opened<'_>) -> Result<(), CliError> {
        let Opened { session, agent, url, can_go_on, .. } = opened;
        let there = url.map_or_else(String::new, |url| format!(" --url {url}"));
        self.hint = can_go_on
            .then(|| format!("go on with: sandbox-agent prompt {agent} --session {session}{there} \"...\""));
        Ok(())
    }

    fn recalled(&mut self, _: &Value) -> Result<(), CliError> {
        Ok(())
    }

    fn update(&mut self, update: &Value) -> Result<(), CliError> {
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => {
                let message = update["messageId"].as_str().map(str::to_owned);
                // Two messages in a row are two paragraphs.
                self.interrupted |= message != self.message;
                self.message = message;
                self.say(&content_text(&update["content"]))
            }
            Some("agent_thought_chunk") => self.think(&content_text(&update["content"])),
            Some("tool_call" | "tool_call_update") => {
                for line in self.tools.take(update, self.colour) {
                    self.line(&line)?;
                }
                Ok(())
            }
            Some("plan") => {
                let lines = plan_lines(update, self.colour);
                if lines != self.plan {
                    self.line(&lines.join("\n"))?;
                    self.plan = lines;
                }
                Ok(())
            }
            Some("current_mode_update") => {
                let mode = one_line(update["currentModeId"].as_str().unwrap_or_default(), 80);
                self.line(&self.colour.paint(Style::Dim, format!("mode: {mode}")))
            }
            Some("notice") => {
                let word = |name: &str| one_line(update[name].as_str().unwrap_or_default(), 400);
                let text = format!("{} {}", word("title"), word("description"));
                self.line(&self.colour.paint(Style::Yellow, text.trim_end()))
            }
            // Commands, usage, titles, and whatever ACP has learnt since.
            _ => Ok(()),
        }
    }

    fn notice(&mut self, _: &str, _: &Value) -> Result<(), CliError> {
        Ok(())
    }

    fn answered(&mut self, method: &str, params: &Value, answer: &Value) -> Result<(), CliError> {
        let (asked, told) = if method == "session/request_permission" {
            let title = params["toolCall"]["title"].as_str().unwrap_or("a tool call");
            let chosen = answer["outcome"]["optionId"].as_str();
            let options = params["options"].as_array().into_iter().flatten();
            let named = options.filter(|option| option["optionId"].as_str() == chosen);
            let name = named.filter_map(|option| option["name"].as_str()).next();
            (format!("permission for {title}"), name.unwrap_or("not given").to_owned())
        } else {
            let told = if answer["status"] == "answered" { "answered" } else { "rejected" };
            (params["prompt"].as_str().unwrap_or("question").to_owned(), told.to_owned())
        };
        let text = format!("? {}: {}", one_line(&asked, 160), one_line(&told, 80));
        self.line(&self.colour.paint(Style::Yellow, text))
    }

    fn remark(&mut self, text: &str) -> Result<(), CliError> {
        self.line(&self.colour.paint(Style::Yellow, harmless(text)))
    }

    fn stopped(&mut self, response: &Value) -> Result<(), CliError> {
        self.end_thought();
        self.end_answer()?;
        let reason = one_line(response["stopReason"].as_str().unwrap_or("unknown"), 80);
        self.line(&self.colour.paint(Style::Dim, format!("stop reason: {reason}")))?;
        if let Some(hint) = self.hint.take() {
            self.line(&self.colour.paint(Style::Dim, one_line(&hint, 400)))?;
        }
        Ok(())
    }

    fn failed(&mut self, _: &CliError) -> Result<(), CliError> {
        self.end_thought();
        self.end_answer()
    }

    fn pause(&mut self) -> Result<(), CliError> {
        self.end_thought();
        // Text in a pipe goes on where it was; on a terminal the lines would run into each other.
        if self.out_is_terminal {
            self.end_answer()?;
        }
        self.interrupted = true;
        Ok(())
    }
}

/// What a content block says, or that it says something that a terminal cannot show.
fn content_text(content: &Value) -> String {
    let word = |name: &str| content[name].as_str().unwrap_or_default();
    match word("type") {
        "text" => word("text").to_owned(),
        kind @ ("image" | "audio") => {
            format!("[{kind} {}, {} bytes in base64]", word("mimeType"), word("data").len())
        }
        "resource_link" => format!("[{} {}]", word("name"), word("uri")),
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

/// Standard error is told what it will take: nobody reading it is no reason to stop.
fn tell(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
