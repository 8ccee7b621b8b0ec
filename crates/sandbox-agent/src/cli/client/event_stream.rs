//! A stream of events that survives broken connections: it reconnects with `Last-Event-ID`, so that no event is lost or
//! repeated.

use std::time::Duration;

use reqwest::{Method, Response};
use tokio::time::Instant;

use super::sse::{Event, Parser};
use super::{CliError, Server};

/// The server sends at least a heartbeat every 15 s; after this much silence the connection counts as broken.
const IDLE_TIMEOUT: Duration = Duration::from_secs(45);
/// How long to try to reconnect.
const RECONNECT_LIMIT: Duration = Duration::from_secs(60);
const FIRST_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(5);

/// What a stream covers, which decides when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Scope {
    /// One instance: the stream ends with its exit.
    Instance,
    /// Several instances: the stream does not end.
    Endless,
    /// Events without ids that are not replayed. The stream does not end. After a reconnect, an `overflow` event stands
    /// for the events that were missed.
    Live,
}

/// A reader of a stream.
#[derive(Debug)]
pub(in crate::cli) struct EventStream {
    server: Server,
    target: String,
    scope: Scope,
    cursor: Option<String>,
    connection: Option<(Response, Parser)>,
    /// How many events without an id arrived since the cursor. The server repeats them after a reconnect.
    after_cursor: usize,
    /// How many repeated events have to be skipped.
    repeats: usize,
    has_ended: bool,
}

impl EventStream {
    /// Opens the stream, after the cursor if there is one. Fails at once if the server cannot be reached.
    pub(in crate::cli) async fn open(
        server: &Server,
        target: String,
        scope: Scope,
        cursor: Option<String>,
    ) -> Result<Self, CliError> {
        let server = server.clone();
        let mut events = Self {
            server,
            target,
            scope,
            cursor,
            connection: None,
            after_cursor: 0,
            repeats: 0,
            has_ended: false,
        };
        events.connect().await?;
        Ok(events)
    }

    /// The next event; `None` at the end of the stream.
    pub(in crate::cli) async fn next(&mut self) -> Result<Option<Event>, CliError> {
        loop {
            if self.has_ended {
                return Ok(None);
            }
            let Some((response, parser)) = &mut self.connection else {
                self.reconnect().await?;
                if self.scope == Scope::Live {
                    return Ok(Some(Event {
                        name: "overflow".into(),
                        data: "{}".into(),
                        ..Event::default()
                    }));
                }
                continue;
            };
            if let Some(event) = parser.next() {
                if let Some(event) = self.accept(event) {
                    return Ok(Some(event));
                }
                continue;
            }
            match tokio::time::timeout(IDLE_TIMEOUT, response.chunk()).await {
                Ok(Ok(Some(bytes))) => parser.push(&bytes),
                Ok(Ok(None) | Err(_)) | Err(_) => self.connection = None,
            }
        }
    }

    /// Skips repeated events, and stores the position of new ones.
    fn accept(&mut self, event: Event) -> Option<Event> {
        if event.id.is_some() || event.name == "gap" {
            self.repeats = 0;
        } else if self.repeats > 0 {
            self.repeats -= 1;
            return None;
        }
        match &event.id {
            Some(id) => {
                self.cursor = Some(id.clone());
                self.after_cursor = 0;
            }
            None => self.after_cursor += 1,
        }
        if self.scope == Scope::Instance && event.name == "exit" {
            self.has_ended = true;
        }
        Some(event)
    }

    async fn connect(&mut self) -> Result<(), CliError> {
        let mut request = self.server.request(Method::GET, self.target.clone()).accept("text/event-stream");
        if let Some(cursor) = &self.cursor {
            request = request.header("last-event-id", cursor)?;
        }
        let response = request.send().await?;
        if response.status().as_u16() == 204 {
            // There are no events after the cursor, and there will be none.
            self.has_ended = true;
        }
        self.connection = Some((response, Parser::default()));
        Ok(())
    }

    async fn reconnect(&mut self) -> Result<(), CliError> {
        self.repeats = if self.scope == Scope::Live { 0 } else { self.after_cursor };
        let deadline = Instant::now() + RECONNECT_LIMIT;
        let mut delay = FIRST_DELAY;
        loop {
            tokio::time::sleep(delay).await;
            let error = match self.connect().await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let is_transient = match &error {
                CliError::Unreachable { .. } | CliError::ConnectionLost { .. } => true,
                CliError::Problem(problem) => problem.status() >= 500,
                _ => false,
            };
            if !is_transient || Instant::now() > deadline {
                return Err(error);
            }
            delay = (delay * 2).min(MAX_DELAY);
        }
    }
}
