//! A dialogue with an agent: requests and their answers, and everything that happens in between.

use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::connection::Connection;
use super::incoming::{Incoming, RpcError};
use super::questions::{Questions, Reaction};
use super::transport::IncomingReceiver;
use super::view::TurnView;
use crate::cli::client::ReportedProblem;
use crate::cli::error::CliError;
use crate::cli::style::without_control;

/// What Ctrl-C does while a request is pending.
#[derive(Debug, Clone, Copy)]
pub(super) enum OnInterrupt<'a> {
    /// Exits.
    Exit,
    /// Cancels the turn of this session and waits for its end; a second Ctrl-C exits.
    Cancel(&'a str),
}

/// What an agent's updates belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Updates {
    /// An earlier conversation, which the agent replays.
    Replayed,
    /// The current turn.
    Live,
}

/// A dialogue with one agent.
#[derive(Debug)]
pub(super) struct Dialogue<'s> {
    pub(super) connection: Connection,
    incoming: IncomingReceiver,
    pub(super) view: &'s mut dyn TurnView,
    questions: Questions,
    signals: Signals,
    pub(super) updates: Updates,
    /// True when the user cancelled the turn.
    pub(super) is_cancelled: bool,
}

impl<'s> Dialogue<'s> {
    pub(super) async fn open(
        connection: Connection,
        view: &'s mut dyn TurnView,
        questions: Questions,
        signals: Signals,
    ) -> Result<Self, CliError> {
        let incoming = connection.subscribe().await?;
        let updates = Updates::Replayed;
        Ok(Self { connection, incoming, view, questions, signals, updates, is_cancelled: false })
    }

    /// Sends a request and waits for its answer. Meanwhile it handles the agent's requests and notifications.
    pub(super) async fn call(
        &mut self,
        method: &str,
        params: &Value,
        on_interrupt: OnInterrupt<'_>,
    ) -> Result<Result<Value, RpcError>, CliError> {
        let request = tokio::select! {
            biased;
            () = self.signals.any() => return Err(CliError::Interrupted),
            request = self.connection.request(method, params) => request?,
        };
        loop {
            tokio::select! {
                biased;
                reason = self.signals.next() => match (reason, on_interrupt) {
                    (SignalAction::Interrupt, OnInterrupt::Cancel(session)) if !self.is_cancelled => {
                        self.cancel(session).await?;
                    }
                    _ => return Err(CliError::Interrupted),
                },
                answer = self.questions.answer(), if self.questions.has_open() => {
                    if let Some((question, answer)) = answer {
                        self.view.answered(&question.method, &question.params, &answer)?;
                        self.connection.answer(&question.id, Ok(answer)).await?;
                        self.ask_next()?;
                    }
                }
                incoming = self.incoming.recv() => match incoming {
                    Some(Ok(Incoming::Answer(id, outcome))) if id == request => return Ok(outcome),
                    Some(Ok(Incoming::Failed(id, problem))) if id == request => {
                        return Err(failed(problem));
                    }
                    Some(Ok(incoming)) => self.handle(incoming).await?,
                    Some(Err(error)) => return Err(error),
                    None => return Err(CliError::AgentFailed("the agent's stream ended".to_owned())),
                },
            }
        }
    }

    /// Like [`Dialogue::call`], but an error response from the agent is an error of the command.
    pub(super) async fn call_or_fail(
        &mut self,
        method: &str,
        params: &Value,
        on_interrupt: OnInterrupt<'_>,
    ) -> Result<Value, CliError> {
        let outcome = self.call(method, params, on_interrupt).await?;
        outcome.map_err(|error| {
            CliError::AgentFailed(format!(
                "the agent answered {method} with an error: {}",
                without_control(&error.to_string())
            ))
        })
    }

    /// True when a permission was rejected only because there is no terminal.
    pub(super) fn has_rejected(&self) -> bool {
        self.questions.has_rejected()
    }

    async fn handle(&mut self, incoming: Incoming) -> Result<(), CliError> {
        match incoming {
            Incoming::Notification { method, params } => match (method.as_str(), self.updates) {
                ("session/update", Updates::Live) => {
                    self.questions.observe(&params["update"]);
                    self.view.update(&params["update"])
                }
                ("session/update", Updates::Replayed) => self.view.replayed(&params["update"]),
                ("$/cancel_request", _) => self.withdraw(&params["requestId"]),
                (method, _) => self.view.notification(method, &params),
            },
            Incoming::Request { id, method, params } => match self.questions.receive(&id, &method, &params) {
                Reaction::Answer(answer) => {
                    self.view.answered(&method, &params, &answer)?;
                    if let Some(remark) = self.questions.take_remark() {
                        self.view.remark(remark)?;
                    }
                    self.connection.answer(&id, Ok(answer)).await
                }
                Reaction::AskUser if self.questions.count() == 1 => self.ask_next(),
                Reaction::AskUser => Ok(()),
                Reaction::UnknownMethod => {
                    self.connection.answer(&id, Err(RpcError::unknown_method(&method))).await
                }
            },
            Incoming::Answered(id) => self.withdraw(&id),
            Incoming::Exited(end) => Err(exited(&end)),
            Incoming::Gap => {
                self.view.remark("some messages of the agent were lost")?;
                if self.connection.has_pending_request().await? {
                    return Ok(());
                }
                Err(CliError::AgentFailed("the agent finished its work, but its answer was lost".to_owned()))
            }
            // Answers to requests that are no longer pending.
            Incoming::Answer(..) | Incoming::Failed(..) => Ok(()),
        }
    }

    fn ask_next(&mut self) -> Result<(), CliError> {
        if self.questions.has_open() {
            self.view.pause()?;
            self.questions.show();
        }
        Ok(())
    }

    fn withdraw(&mut self, id: &Value) -> Result<(), CliError> {
        if self.questions.withdraw(id) {
            self.view.remark("the question was answered elsewhere or withdrawn")?;
            self.ask_next()?;
        }
        Ok(())
    }

    async fn cancel(&mut self, session: &str) -> Result<(), CliError> {
        self.is_cancelled = true;
        self.view.remark("cancelling; press Ctrl-C again to exit at once")?;
        self.connection.notify("session/cancel", &json!({"sessionId": session})).await?;
        // ACP requires that open permission requests are answered as cancelled.
        for (question, answer) in self.questions.cancel_all() {
            self.connection.answer(&question.id, Ok(answer)).await?;
        }
        Ok(())
    }
}

/// The error of a request that will get no answer.
fn failed(problem: Value) -> CliError {
    let problem = ReportedProblem::from_document(problem);
    if problem.code() == "agent_exited" {
        exited(problem.document())
    } else {
        CliError::Problem(Box::new(problem))
    }
}

/// The error of an agent that has ended.
fn exited(end: &Value) -> CliError {
    if end["problem"].is_object() {
        return CliError::Problem(Box::new(ReportedProblem::from_document(end["problem"].clone())));
    }
    let code = end["code"].as_i64().or(end["exitCode"].as_i64());
    let how = match (code, end["signal"].as_str()) {
        (Some(code), _) => format!("the agent exited with code {code}"),
        (_, Some(signal)) => format!("the agent was killed by {signal}"),
        _ => "the instance was closed by another client, or the server stopped".to_owned(),
    };
    let tail = end["stderrTail"].as_str().unwrap_or_default().trim_end();
    let output = match tail {
        "" => String::new(),
        _ => format!("; the end of its standard error:\n{}", without_control(tail)),
    };
    CliError::AgentFailed(how + &output)
}

/// The signals that a prompt handles.
#[derive(Debug)]
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

/// What a signal requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignalAction {
    Interrupt,
    Exit,
}

impl Signals {
    pub(super) fn register() -> Result<Self, CliError> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> SignalAction {
        tokio::select! {
            _ = self.interrupt.recv() => SignalAction::Interrupt,
            _ = self.terminate.recv() => SignalAction::Exit,
            _ = self.hangup.recv() => SignalAction::Exit,
        }
    }

    pub(super) async fn any(&mut self) {
        let _ = self.next().await;
    }
}
