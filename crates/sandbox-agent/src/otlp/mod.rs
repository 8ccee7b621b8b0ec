//! Request spans for an OpenTelemetry collector, if the environment names one. Without that variable the server never
//! opens a connection to report anything.
//!
//! The exporter is our own: OTLP over HTTP as JSON. The binary already contains an HTTP client and a JSON serializer,
//! and one kind of span needs no more. A span contains the method, the route, the path without its query string, the
//! status and the request's id. It never contains headers, query strings, bodies or messages of agents.

mod settings;
mod span;

use std::time::{Duration, SystemTime};

use http_server::{Answered, HttpServer, RequestListener};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::settings::Collector;
use self::span::Span;

/// How many spans may wait to be sent. Further spans are dropped, so that tracing never uses much memory.
const WAITING: usize = 4096;
/// The most spans in one request.
const BATCH: usize = 512;
/// How long a span waits for more spans before it is sent.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a collector may take to answer.
const SEND_LIMIT: Duration = Duration::from_secs(10);
/// How long sending the last spans may take when the server stops.
const FLUSH_LIMIT: Duration = Duration::from_secs(1);

/// The task that sends spans. It ends when the server that produces them is dropped.
#[derive(Debug, Default)]
pub(crate) struct Exporting(Option<JoinHandle<()>>);

/// Adds an exporter to a server, if the environment names a collector.
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
    /// Waits until the last spans are sent, at most for [`FLUSH_LIMIT`].
    pub(crate) async fn finish(self) {
        if let Some(task) = self.0 {
            let _ = tokio::time::timeout(FLUSH_LIMIT, task).await;
        }
    }
}

struct Listener(mpsc::Sender<Span>);

impl RequestListener for Listener {
    fn answered(&self, request: &Answered<'_>) {
        // A request that the client does not sample is not sampled here either, so that traces are never partial.
        if request.trace.is_none_or(http_server::TraceContext::is_sampled) {
            // A full queue means that the collector is slow; the span is dropped.
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
        // A failure is logged once, not for every batch.
        match result {
            Ok(()) => failing = false,
            Err(error) if !failing => {
                tracing::warn!(error = %error.without_url(), "the collector does not accept spans");
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
