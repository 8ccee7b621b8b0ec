//! A reader that reconnects: the time until it has caught up, compared with a plain download of the same size.

use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;

use crate::context::{Context, Side};
use crate::http::{Connection, get, post};
use crate::report::{Goal, Row, Samples, percentile};
use crate::servers::Server;
use crate::{Result, agent};

const MISSED: u64 = 10_000;
/// A catch-up takes milliseconds; a single one would be mostly noise.
const REPEATS: usize = 10;
const TIMEOUT: Duration = Duration::from_secs(3);

pub(crate) async fn measure(context: &Context) -> Result<Vec<Row>> {
    let limit = Server::start(Side::Limit, context).await?;
    let mut servers = Vec::new();
    for side in context.servers() {
        servers.push((side, Server::start(side, context).await?));
    }
    let mut samples = Samples::default();
    // An estimate, used until a catch-up has shown the real size.
    let mut bytes = 2_500_000;
    for round in 0..context.rounds {
        for (side, server) in &servers {
            let caught_up = catch_up(server, &format!("away-{round}")).await;
            if *side == Side::Ours
                && let Ok(caught_up) = &caught_up
            {
                bytes = caught_up.bytes;
            }
            if let Ok(CaughtUp { events, .. }) = &caught_up
                && *events < MISSED
            {
                samples.note(*side, format!("only {events} of {MISSED} events came"));
            }
            samples.push(*side, caught_up.map(|caught_up| caught_up.milliseconds));
        }
        samples.push(Side::Limit, download(&limit, bytes).await);
    }
    let what = "back after 10,000 missed events until caught up, of a plain download of the bytes";
    Ok(vec![Row::new(what, "ms", Goal::RatioAtMost(1.5), samples)])
}

struct CaughtUp {
    milliseconds: f64,
    bytes: usize,
    events: u64,
}

async fn catch_up(server: &Server, instance: &str) -> Result<CaughtUp> {
    server.open(instance).await?;
    let path = format!("/v1/acp/{instance}");
    let message = agent::request(agent::now_ns(), &format!("burst:{MISSED}"));
    Connection::open(&server.address).await?.send(&post(server, &path, &message)).await?;
    let first = replay(server, &path, "").await?;
    let cursor = format!("last-event-id: {}\r\n", first.first_id);
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        times.push(replay(server, &path, &cursor).await?.milliseconds);
    }
    Ok(CaughtUp { milliseconds: percentile(&times, 50), bytes: first.bytes, events: first.events - 1 })
}

struct Replayed {
    milliseconds: f64,
    bytes: usize,
    /// The events before the final answer, including the answer to the instance's first request.
    events: u64,
    first_id: u64,
}

async fn replay(server: &Server, path: &str, cursor: &str) -> Result<Replayed> {
    let request = get(server, path, &format!("accept: text/event-stream\r\n{cursor}"));
    let started = Instant::now();
    let mut stream = Connection::open(&server.address).await?.into_stream(&request).await?;
    let mut buffer = Vec::with_capacity(4 << 20);
    loop {
        if tokio::time::timeout(TIMEOUT, stream.read_buf(&mut buffer)).await?? == 0 {
            return Err("the stream ended early".into());
        }
        let tail = &buffer[buffer.len().saturating_sub(400)..];
        if memchr::memmem::find(tail, br#""result":{"count":"#).is_some() && tail.ends_with(b"\r\n") {
            break;
        }
    }
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    let events = memchr::memmem::find_iter(&buffer, b"\ndata: ").count() as u64;
    let first_id = agent::number_after(&buffer, "\nid: ").ok_or("no event has an id")?;
    Ok(Replayed { milliseconds, bytes: buffer.len(), events: events - 1, first_id })
}

async fn download(server: &Server, bytes: usize) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..=REPEATS {
        let request = get(server, &format!("/bytes/{bytes}"), "");
        let started = Instant::now();
        Connection::open(&server.address).await?.download(&request).await?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    Ok(percentile(&times, 50))
}
