//! A turn: the answer to one prompt.
//!
//! A turn runs in its own task besides the dispatch loop. It ends with exactly one response: a stop reason,
//! `cancelled` after `session/cancel` or `$/cancel_request`, or a JSON-RPC error.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agent_client_protocol::v1::Responder;
use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, PromptRequest, PromptResponse, SessionInfoUpdate, SessionUpdate, StopReason,
    UsageUpdate,
};
use agent_client_protocol::{Error, JsonRpcRequest, RequestCancellation};
use tokio::sync::watch;

use crate::agent::{Agent, ToClient, not_found};
use crate::extension::ExitNow;
use crate::prompts;
use crate::session::{RunningTurn, Session, SessionNumber};

/// The maximum number of unwritten updates before a turn waits.
const MAX_UNWRITTEN_UPDATES: usize = 256;
/// A chunk of at least this size is written before the next one is made.
const LARGE_CHUNK: usize = 64 * 1024;
/// The simulated size of the context window.
pub(crate) const CONTEXT_SIZE: u64 = 200_000;

/// How a turn ends successfully.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The turn ends with this stop reason.
    Stop(StopReason),
    /// The turn ends with `end_turn`, and then the process exits with this code.
    Exit(i32),
}

/// The ordinary ending.
pub(crate) const DONE: Ending = Ending::Stop(StopReason::EndTurn);

/// Why a turn ends early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The client cancelled the turn.
    Cancelled,
    /// The turn sends this text and ends.
    Say(String),
    /// The prompt is answered with this error.
    Fail(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Fail(error)
    }
}

/// The result of a prompt command.
pub(crate) type Outcome = Result<Ending, Stop>;

/// Starts a turn in its own task, which sends the response.
pub(crate) fn start(
    agent: &Arc<Agent>,
    request: PromptRequest,
    responder: Responder<PromptResponse>,
    client: &ToClient,
) -> Result<(), Error> {
    let begun = agent.change_session(&request.session_id, |number, session| begin(number, session, &request));
    let (number, turn_number, stop) = match begun {
        Ok(begun) => begun,
        Err(error) => return responder.respond_with_error(error),
    };
    let turn = Turn {
        agent: Arc::clone(agent),
        client: client.clone(),
        session: number,
        number: turn_number,
        prompt: request,
        stop,
        request: responder.cancellation(),
        tool_calls: AtomicU64::new(0),
    };
    client.0.spawn(async move {
        let result = turn.run().await;
        let exit = match result {
            Ok(Ending::Exit(code)) => Some(code),
            Ok(Ending::Stop(_)) | Err(_) => None,
        };
        let answer = result.map(|ending| {
            PromptResponse::new(match ending {
                Ending::Stop(reason) => reason,
                Ending::Exit(_) => StopReason::EndTurn,
            })
        });
        // Both calls fail only if the connection is closed, and then no client is waiting.
        let _ = responder.respond_with_result(answer);
        if let Some(code) = exit {
            let _ = turn.client.notify(ExitNow { code, stderr_message: String::new() });
        }
        Ok(())
    })
}

fn begin(
    number: SessionNumber,
    session: &mut Session,
    request: &PromptRequest,
) -> Result<(SessionNumber, u64, watch::Receiver<bool>), Error> {
    if !session.active {
        return Err(not_found(&request.session_id));
    }
    if session.turn.is_some() {
        return Err(Error::invalid_request()
            .data(format!("{} is still answering a prompt; cancel it or wait for its answer", number.id())));
    }
    let (stop, receiver) = watch::channel(false);
    session.turns += 1;
    session.turn = Some(RunningTurn { number: session.turns, stop });
    for block in &request.prompt {
        session.record(&SessionUpdate::UserMessageChunk(ContentChunk::new(block.clone())));
    }
    Ok((number, session.turns, receiver))
}

/// The prompt, and everything that a prompt command needs to answer it.
pub(crate) struct Turn {
    pub(crate) agent: Arc<Agent>,
    pub(crate) client: ToClient,
    pub(crate) session: SessionNumber,
    /// Counts the prompts of the session, from 1.
    pub(crate) number: u64,
    pub(crate) prompt: PromptRequest,
    /// Set by `session/cancel`, `session/close` and `session/delete`.
    stop: watch::Receiver<bool>,
    /// Set by `$/cancel_request`.
    request: RequestCancellation,
    tool_calls: AtomicU64,
}

impl Turn {
    async fn run(&self) -> Result<Ending, Error> {
        let text = self.text();
        let outcome = match self.give_title(&text).await {
            Ok(()) => prompts::answer(self, &text).await,
            Err(stop) => Err(stop),
        };
        let outcome = match outcome {
            Err(Stop::Say(reason)) => self.say(reason).await.map(|()| DONE),
            other => other,
        };
        let outcome = match outcome {
            Ok(ending) => self.report_usage().await.map(|()| ending),
            stopped => stopped,
        };
        self.finish();
        match outcome {
            Ok(ending) => Ok(ending),
            Err(Stop::Cancelled) => Ok(Ending::Stop(StopReason::Cancelled)),
            Err(Stop::Fail(error)) => Err(error),
            // Sending the text was cancelled or failed, so there is nothing left to send.
            Err(Stop::Say(_)) => Ok(DONE),
        }
    }

    /// Frees the session for the next prompt. The session may be deleted or busy with another turn by now.
    fn finish(&self) {
        let _ = self.agent.change_session(&self.session.id(), |_, session| {
            session.turn.take_if(|turn| turn.number == self.number);
            Ok(())
        });
    }

    /// The prompt's text blocks, joined by newlines.
    pub(crate) fn text(&self) -> String {
        let texts = self.prompt.prompt.iter().filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Uses the first prompt of a session as its title.
    async fn give_title(&self, text: &str) -> Result<(), Stop> {
        let title: String = text.lines().next().unwrap_or_default().trim().chars().take(60).collect();
        let untitled = self.agent.read_session(&self.session.id(), |session| session.title.is_none())?;
        if untitled && !title.is_empty() {
            self.set_title(&title).await?;
        }
        Ok(())
    }

    /// Sets the session's title and notifies the client.
    pub(crate) async fn set_title(&self, title: &str) -> Result<(), Stop> {
        let updated_at = self.agent.change_session(&self.session.id(), |_, session| {
            session.title = Some(title.to_owned());
            Ok(session.updated_at())
        })?;
        let info = SessionInfoUpdate::new().title(title.to_owned()).updated_at(updated_at);
        self.update(SessionUpdate::SessionInfoUpdate(info)).await
    }

    /// Simulates token usage: one token per four bytes of the prompt, and 100 for every answer.
    async fn report_usage(&self) -> Result<(), Stop> {
        let spent = self.text().len() as u64 / 4 + 100;
        let used = self.agent.change_session(&self.session.id(), |_, session| {
            session.used = (session.used + spent).min(CONTEXT_SIZE);
            Ok(session.used)
        })?;
        self.update(SessionUpdate::UsageUpdate(UsageUpdate::new(used, CONTEXT_SIZE))).await
    }

    /// Fails if the client has cancelled the turn.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if *self.stop.borrow() || self.request.is_cancelled() { Err(Stop::Cancelled) } else { Ok(()) }
    }

    /// Waits until the client cancels the turn.
    async fn cancelled(&self) {
        let mut stop = self.stop.clone();
        tokio::select! {
            // An error means that the session was deleted, which cancels the turn as well.
            _ = stop.wait_for(|stopped| *stopped) => {}
            () = self.request.cancelled() => {}
        }
    }

    /// Waits for `work` or for cancellation, whichever is first.
    pub(crate) async fn until_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = self.cancelled() => Err(Stop::Cancelled),
            done = work => Ok(done),
        }
    }

    /// Sends an update, records it in the history, and waits if the client is slow to read.
    pub(crate) async fn update(&self, update: SessionUpdate) -> Result<(), Stop> {
        self.check()?;
        let large = matches!(&update, SessionUpdate::AgentMessageChunk(chunk)
            if matches!(&chunk.content, ContentBlock::Text(text) if text.text.len() >= LARGE_CHUNK));
        self.agent.record(self.session, &update);
        self.agent.flow.queued();
        self.client.update(self.session, update)?;
        let limit = if large { 0 } else { MAX_UNWRITTEN_UPDATES };
        self.until_cancelled(self.agent.flow.settle(limit)).await
    }

    /// Sends one chunk of the answer.
    pub(crate) async fn say(&self, text: impl Into<String>) -> Result<(), Stop> {
        self.say_content(ContentBlock::from(text)).await
    }

    /// Sends one chunk of the answer with any kind of content.
    pub(crate) async fn say_content(&self, content: ContentBlock) -> Result<(), Stop> {
        let chunk = ContentChunk::new(content).message_id(self.message_id().as_str());
        self.update(SessionUpdate::AgentMessageChunk(chunk)).await
    }

    /// Sends one chunk of reasoning.
    pub(crate) async fn think(&self, text: &str) -> Result<(), Stop> {
        let id = format!("{}-thought", self.message_id());
        let chunk = ContentChunk::new(text.into()).message_id(id.as_str());
        self.update(SessionUpdate::AgentThoughtChunk(chunk)).await
    }

    /// Sends a request to the client and waits for the response. An error response is a value and does not end the
    /// turn.
    ///
    /// Cancellation drops the request, and the SDK then notifies the client.
    pub(crate) async fn ask<R: JsonRpcRequest>(
        &self,
        request: R,
    ) -> Result<Result<R::Response, Error>, Stop> {
        self.check()?;
        self.until_cancelled(self.client.0.send_request(request).block_task()).await
    }

    /// The id of this turn's message.
    fn message_id(&self) -> String {
        format!("mock-message-{}", self.number)
    }

    /// The id of this turn's next tool call.
    pub(crate) fn next_tool_call(&self) -> String {
        format!("mock-tool-{}-{}", self.number, self.tool_calls.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
