//! A stream of events that survives cut connections: it comes back with `Last-Event-ID`, so nothing is lost and
//! nothing comes twice.

use std::time::Duration;

use reqwest::{Method, Response};
use tokio::time::Instant;

use super::sse::{Event, Parser};
use super::{CliError, Server};

/// The server says something every 15 s; silence for so long is a cut.
const SILENCE: Duration = Duration::from_secs(45);
/// How long to try coming back.
const PATIENCE: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What a stream is about, which decides when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Scope {
    /// One instance: its exit is the end.
    Instance,
    /// Many instances: there is no end.
    Endless,
    /// What happens while one looks: it has no end, no numbers and no past. After a cut, what was missed is told as
    /// an `overflow`.
    Live,
}

/// A reader of a stream.
#[derive(Debug)]
pub(in crate::cli) struct Feed {
    server: Server,
    target: String,
    scope: Scope,
    cursor: Option<String>,
    connection: Option<(Response, Parser)>,
    /// How many events without an id came since the cursor; they come again after a cut.
    after_cursor: usize,
    /// How many of them are still to come again.
    repeats: usize,
    has_ended: bool,
}

impl Feed {
    /// Opens the stream behind a cursor, if there is one. A server that is not there is an error at once.
    pub(in crate::cli) async fn open(
        server: &Server,
        target: String,
        scope: Scope,
        cursor: Option<String>,
    ) -> Result<Self, CliError> {
        let server = server.clone();
        let mut feed = Self {
            server,
            target,
            scope,
            cursor,
            connection: None,
            after_cursor: 0,
            repeats: 0,
            has_ended: false,
        };
        feed.connect().await?;
        Ok(feed)
    }

    /// The next event; none when there will be no more.
    pub(in crate::cli) async fn next(&mut self) -> Result<Option<Event>, CliError> {
        loop {
            if self.has_ended {
                return Ok(None);
            }
            let Some((response, parser)) = &mut self.connection else {
                self.come_back().await?;
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
                if let Some(event) = self.admit(event) {
                    return Ok(Some(event));
                }
                continue;
            }
            match tokio::time::timeout(SILENCE, response.chunk()).await {
                Ok(Ok(Some(bytes))) => parser.push(&bytes),
                Ok(Ok(None) | Err(_)) | Err(_) => self.connection = None,
            }
        }
    }

    /// Drops what was had before, and remembers where this is.
    fn admit(&mut self, event: Event) -> Option<Event> {
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
            // There is nothing behind the cursor, and there will not be.
            self.has_ended = true;
        }
        self.connection = Some((response, Parser::default()));
        Ok(())
    }

    async fn come_back(&mut self) -> Result<(), CliError> {
        self.repeats = if self.scope == Scope::Live { 0 } else { self.after_cursor };
        let give_up = Instant::now() + PATIENCE;
        let mut pause = FIRST_PAUSE;
        loop {
            tokio::time::sleep(pause).await;
            let error = match self.connect().await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            let is_passing = match &error {
                CliError::Unreachable { .. } | CliError::Broken { .. } => true,
                CliError::Refused(refusal) => refusal.status() >= 500,
                _ => false,
            };
            if !is_passing || Instant::now() > give_up {
                return Err(error);
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
