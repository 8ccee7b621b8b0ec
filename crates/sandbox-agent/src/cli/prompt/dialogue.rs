//! A conversation with an agent: requests and their answers, and everything that happens in between.

use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::incoming::{Incoming, RpcError};
use super::link::Link;
use super::questions::{Questions, Reaction};
use super::show::Show;
use super::transport::Received;
use crate::cli::client::Refusal;
use crate::cli::error::CliError;
use crate::cli::style::harmless;

/// What Ctrl-C does while a request is under way.
#[derive(Debug, Clone, Copy)]
pub(super) enum OnInterrupt<'a> {
    /// Gives up.
    Leave,
    /// Cancels the turn of this session and waits for its end; a second one gives up.
    Cancel(&'a str),
}

/// How an agent's updates are taken while a request is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listening {
    /// They are old news.
    Recalling,
    /// They are the turn.
    Live,
}

/// A conversation.
#[derive(Debug)]
pub(super) struct Dialogue<'s> {
    pub(super) link: Link,
    incoming: Received,
    pub(super) show: &'s mut dyn Show,
    questions: Questions,
    signals: Signals,
    pub(super) listening: Listening,
    /// Whether the user cancelled the turn.
    pub(super) is_cancelled: bool,
}

impl<'s> Dialogue<'s> {
    pub(super) async fn open(
        link: Link,
        show: &'s mut dyn Show,
        questions: Questions,
        signals: Signals,
    ) -> Result<Self, CliError> {
        let incoming = link.listen().await?;
        let listening = Listening::Recalling;
        Ok(Self { link, incoming, show, questions, signals, listening, is_cancelled: false })
    }

    /// Sends a request and waits for its answer, doing meanwhile what the agent wants.
    pub(super) async fn call(
        &mut self,
        method: &str,
        params: &Value,
        on_interrupt: OnInterrupt<'_>,
    ) -> Result<Result<Value, RpcError>, CliError> {
        let request = tokio::select! {
            biased;
            () = self.signals.any() => return Err(CliError::Interrupted),
            request = self.link.request(method, params) => request?,
        };
        loop {
            tokio::select! {
                biased;
                reason = self.signals.next() => match (reason, on_interrupt) {
                    (Told::Interrupt, OnInterrupt::Cancel(session)) if !self.is_cancelled => {
                        self.cancel(session).await?;
                    }
                    _ => return Err(CliError::Interrupted),
                },
                answer = self.questions.answer(), if self.questions.is_asking() => {
                    if let Some((question, answer)) = answer {
                        self.show.answered(&question.method, &question.params, &answer)?;
                        self.link.answer(&question.id, Ok(answer)).await?;
                        self.ask_next()?;
                    }
                }
                incoming = self.incoming.recv() => match incoming {
                    Some(Ok(Incoming::Answer(id, outcome))) if id == request => return Ok(outcome),
                    Some(Ok(Incoming::Failed(id, problem))) if id == request => {
                        return Err(failed(problem));
                    }
                    Some(Ok(incoming)) => self.hear(incoming).await?,
                    Some(Err(error)) => return Err(error),
                    None => return Err(CliError::AgentFailed("the agent's stream ended".to_owned())),
                },
            }
        }
    }

    /// The same where an error of the agent is the end.
    pub(super) async fn demand(
        &mut self,
        method: &str,
        params: &Value,
        on_interrupt: OnInterrupt<'_>,
    ) -> Result<Value, CliError> {
        let outcome = self.call(method, params, on_interrupt).await?;
        outcome.map_err(|error| {
            CliError::AgentFailed(format!(
                "the agent answered {method} with an error: {}",
                harmless(&error.to_string())
            ))
        })
    }

    async fn hear(&mut self, incoming: Incoming) -> Result<(), CliError> {
        match incoming {
            Incoming::Notice { method, params } => match (method.as_str(), self.listening) {
                ("session/update", Listening::Live) => self.show.update(&params["update"]),
                ("session/update", Listening::Recalling) => self.show.recalled(&params["update"]),
                ("$/cancel_request", _) => self.withdraw(&params["requestId"]),
                (method, _) => self.show.notice(method, &params),
            },
            Incoming::Ask { id, method, params } => match self.questions.receive(&id, &method, &params) {
                Reaction::Answer(answer) => {
                    self.show.answered(&method, &params, &answer)?;
                    if let Some(excuse) = self.questions.excuse() {
                        self.show.remark(excuse)?;
                    }
                    self.link.answer(&id, Ok(answer)).await
                }
                Reaction::Wait if self.questions.count() == 1 => self.ask_next(),
                Reaction::Wait => Ok(()),
                Reaction::Unknown => self.link.answer(&id, Err(RpcError::unknown_method(&method))).await,
            },
            Incoming::Answered(id) => self.withdraw(&id),
            Incoming::Ended(end) => Err(ended(&end)),
            Incoming::Gap => {
                self.show.remark("some of what the agent said was lost on the way")?;
                if self.link.is_answer_due().await? {
                    return Ok(());
                }
                Err(CliError::AgentFailed(
                    "the agent's answer was lost on the way; its work is done".to_owned(),
                ))
            }
            // Answers that nobody waits for any more.
            Incoming::Answer(..) | Incoming::Failed(..) => Ok(()),
        }
    }

    fn ask_next(&mut self) -> Result<(), CliError> {
        if self.questions.is_asking() {
            self.show.pause()?;
            self.questions.show();
        }
        Ok(())
    }

    fn withdraw(&mut self, id: &Value) -> Result<(), CliError> {
        if self.questions.withdraw(id) {
            self.show.remark("the question was answered elsewhere, or taken back")?;
            self.ask_next()?;
        }
        Ok(())
    }

    async fn cancel(&mut self, session: &str) -> Result<(), CliError> {
        self.is_cancelled = true;
        self.show.remark("cancelling; press Ctrl-C again to leave at once")?;
        self.link.notify("session/cancel", &json!({"sessionId": session})).await?;
        // ACP wants open permission requests answered as cancelled.
        for (question, answer) in self.questions.give_up() {
            self.link.answer(&question.id, Ok(answer)).await?;
        }
        Ok(())
    }
}

/// Why there will be no answer.
fn failed(problem: Value) -> CliError {
    let refusal = Refusal::told(problem);
    if refusal.code() == "agent_exited" {
        ended(refusal.document())
    } else {
        CliError::Refused(Box::new(refusal))
    }
}

/// How the process ended, in words.
fn ended(end: &Value) -> CliError {
    if end["problem"].is_object() {
        return CliError::Refused(Box::new(Refusal::told(end["problem"].clone())));
    }
    let code = end["code"].as_i64().or(end["exitCode"].as_i64());
    let how = match (code, end["signal"].as_str()) {
        (Some(code), _) => format!("the agent ended with exit code {code}"),
        (_, Some(signal)) => format!("the agent was ended by {signal}"),
        _ => "the agent was closed by somebody else, or its server stopped".to_owned(),
    };
    let tail = end["stderrTail"].as_str().unwrap_or_default().trim_end();
    let words =
        if tail.is_empty() { String::new() } else { format!("; its last words:\n{}", harmless(tail)) };
    CliError::AgentFailed(how + &words)
}

/// The signals that a prompt heeds.
#[derive(Debug)]
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// What a signal says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Interrupt,
    Leave,
}

impl Signals {
    pub(super) fn register() -> Result<Self, CliError> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.interrupt.recv() => Told::Interrupt,
            _ = self.terminate.recv() => Told::Leave,
            _ = self.hangup.recv() => Told::Leave,
        }
    }

    pub(super) async fn any(&mut self) {
        let _ = self.next().await;
    }
}
