//! Request spans for an OpenTelemetry collector, if the environment names one. Without that variable the server never
//! opens a connection to report anything.
//!
//! The exporter is our own, OTLP over HTTP as JSON: the client for HTTP and the writer of JSON are in the binary
//! anyway, and one kind of span needs no more. A span has the method, the route, the path without its query, the
//! status and the request's id. Headers, queries, bodies and what agents say are never part of it.

mod settings;
mod span;

use std::time::{Duration, SystemTime};

use http_server::{Answered, HttpServer, RequestListener};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::settings::Collector;
use self::span::Span;

/// Spans that may wait to be sent. More are dropped: watching must not take memory from what is watched.
const WAITING: usize = 4096;
/// Spans that go out together.
const BATCH: usize = 512;
/// How long a span waits for others to go with.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a collector may take.
const SEND_LIMIT: Duration = Duration::from_secs(10);
/// How long the last spans may take when the server stops.
const FLUSH_LIMIT: Duration = Duration::from_secs(1);

/// The task that sends. Ends when the server that feeds it is gone.
#[derive(Debug, Default)]
pub(crate) struct Exporting(Option<JoinHandle<()>>);

/// Puts an exporter behind a server, if the environment names a collector.
pub(crate) fn attach(server: HttpServer) -> (HttpServer, Exporting) {
    let Some(collector) = Collector::from_environment() else { return (server, Exporting::default()) };
    let client = agent_catalog::build_client(Vec::new(), || reqwest::Client::builder().timeout(SEND_LIMIT));
    let client = match client {
        Ok(client) => client,
        Err(error) => {
            tracing::warn!(%error, "spans are not exported");
            return (server, Exporting::default());
        }
    };
    tracing::info!(collector = collector.shown(), "exporting request spans");
    let (sender, spans) = mpsc::channel(WAITING);
    let task = tokio::spawn(export(spans, collector, client));
    (server.with_listener(Listener(sender)), Exporting(Some(task)))
}

impl Exporting {
    /// Waits for the last spans to be sent, but not for long.
    pub(crate) async fn finish(self) {
        if let Some(task) = self.0 {
            let _ = tokio::time::timeout(FLUSH_LIMIT, task).await;
        }
    }
}

struct Listener(mpsc::Sender<Span>);

impl RequestListener for Listener {
    fn answered(&self, request: &Answered<'_>) {
        // Whoever is not sampled by its caller is not sampled here: a trace is whole or not there.
        if request.trace.is_none_or(http_server::TraceContext::is_sampled) {
            // A full queue means a slow collector; its spans are what is given up.
            let _ = self.0.try_send(Span::of(request, SystemTime::now()));
        }
    }
}

async fn export(mut spans: mpsc::Receiver<Span>, collector: Collector, client: reqwest::Client) {
    let mut failing = false;
    while let Some(first) = spans.recv().await {
        let mut batch = vec![first];
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while batch.len() < BATCH {
            match tokio::time::timeout_at(deadline, spans.recv()).await {
                Ok(Some(span)) => batch.push(span),
                Ok(None) | Err(_) => break,
            }
        }
        let result = send(&collector, &client, &batch).await;
        // Said once, not with every batch.
        match result {
            Ok(()) => failing = false,
            Err(error) if !failing => {
                tracing::warn!(error = %error.without_url(), "the collector does not take spans");
                failing = true;
            }
            Err(_) => {}
        }
    }
}

async fn send(collector: &Collector, client: &reqwest::Client, batch: &[Span]) -> Result<(), reqwest::Error> {
    let document = span::document(&collector.service_name, batch);
    let request = client.post(collector.url.clone()).headers(collector.headers.clone()).json(&document);
    request.send().await?.error_for_status().map(drop)
}
