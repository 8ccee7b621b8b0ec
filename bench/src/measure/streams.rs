//! Streams of small events: the rate that reaches every reader, and whether events are missing.

use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::context::{Context, Side};
use crate::http::{Connection, get_stream, post};
use crate::report::{Goal, Row, Samples};
use crate::servers::Server;
use crate::{Result, agent};

/// How long a reader waits for more after the agent's last event.
const SILENCE: Duration = Duration::from_secs(1);

pub(crate) async fn measure(context: &Context) -> Result<Vec<Row>> {
    let mut servers = Vec::new();
    for side in context.servers() {
        let server = Server::start(side, context).await?;
        server.open("bench").await?;
        servers.push((side, server));
    }
    let mut rows = Vec::new();
    for readers in [1, 8] {
        let mut samples = Samples::default();
        let mut lost = [Lost::default(); Side::ALL.len()];
        for _ in 0..context.rounds {
            samples.push(Side::Limit, limit(readers, context.stretch).await.map(|streamed| streamed.rate));
            for (side, server) in &servers {
                let streamed = bridge(server, readers, context.stretch).await;
                if let Ok(streamed) = &streamed {
                    lost[side.index()].add(streamed.lost);
                }
                samples.push(*side, streamed.map(|streamed| streamed.rate));
            }
        }
        for side in context.servers() {
            let lost = lost[side.index()];
            samples.note(side, lost.to_string());
            if lost.missing > 0 {
                samples.falls_short(side);
            }
        }
        let what = format!("events of 200 bytes per second, at the slowest of {readers} reader(s)");
        rows.push(Row::new(what, "/s", Goal::RatioAtLeastWithoutLoss(0.8), samples));
    }
    Ok(rows)
}

/// The result of one stream.
struct Streamed {
    /// Events per second at the slowest reader.
    rate: f64,
    lost: Lost,
}

/// Missing events, and how many of them the server announced as gaps.
#[derive(Debug, Clone, Copy, Default)]
struct Lost {
    sent: u64,
    missing: u64,
    announced: u64,
}

impl Lost {
    fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.missing += other.missing;
        self.announced += other.announced;
    }
}

impl std::fmt::Display for Lost {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.missing == 0 {
            return formatter.write_str("none lost");
        }
        #[allow(clippy::cast_precision_loss)]
        let percent = self.missing as f64 * 100.0 / self.sent as f64;
        write!(formatter, "{percent:.2} % lost")?;
        if self.announced > 0 {
            write!(formatter, ", all but {} told", self.missing.saturating_sub(self.announced))?;
        }
        Ok(())
    }
}

/// Streams through a server to some readers.
async fn bridge(server: &Server, readers: usize, time: Duration) -> Result<Streamed> {
    let (tell, told) = watch::channel(None);
    let mut tasks = Vec::new();
    for _ in 0..readers {
        let stream = attach(server, "bench").await?;
        tasks.push(tokio::spawn(read(stream, told.clone())));
    }
    let started = Instant::now();
    let mut asking = Connection::open(&server.address).await?;
    let message = agent::request(agent::now_ns(), &format!("stream:{}", time.as_millis()));
    let answer = asking.send(&post(server, "/v1/acp/bench", &message)).await?;
    tell.send_replace(agent::number_after(&answer, r#""count":"#));
    finish(tasks, started).await
}

/// Like [`bridge`], but through the limit program.
async fn limit(readers: usize, time: Duration) -> Result<Streamed> {
    let server = Server::limit_stream(readers, time)?;
    let (_tell, told) = watch::channel(None);
    let mut tasks = Vec::new();
    let started = Instant::now();
    for _ in 0..readers {
        tasks.push(tokio::spawn(read(TcpStream::connect(&server.address).await?, told.clone())));
    }
    finish(tasks, started).await
}

/// Opens an instance's stream without replay, and waits until it is open.
pub(crate) async fn attach(server: &Server, instance: &str) -> Result<TcpStream> {
    attach_to(server, &format!("/v1/acp/{instance}?replay=none")).await
}

/// Like [`attach`], for a stream at any path.
pub(crate) async fn attach_to(server: &Server, path: &str) -> Result<TcpStream> {
    let request = get_stream(server, path);
    let mut stream = Connection::open(&server.address).await?.into_stream(&request).await?;
    // The server sends its first bytes once the reader is attached; a server without `replay` sends more.
    let mut scratch = vec![0; 64 << 10];
    while let Ok(count) = tokio::time::timeout(Duration::from_millis(200), stream.read(&mut scratch)).await {
        if count? == 0 {
            return Err("the stream ended before it began".into());
        }
    }
    Ok(stream)
}

struct Received {
    events: u64,
    /// The number of events that the agent reports as sent.
    sent: u64,
    announced: u64,
    last: Instant,
}

async fn finish(tasks: Vec<tokio::task::JoinHandle<Result<Received>>>, started: Instant) -> Result<Streamed> {
    let (mut slowest, mut lost) = (f64::INFINITY, Lost::default());
    for task in tasks {
        let Received { events, sent, announced, last } = task.await??;
        #[allow(clippy::cast_precision_loss)]
        let rate = events as f64 / (last - started).as_secs_f64();
        slowest = slowest.min(rate);
        lost.add(Lost { sent, missing: sent.saturating_sub(events), announced });
    }
    Ok(Streamed { rate: slowest, lost })
}

/// Reads until the answer with the agent's own count arrives on the stream, or until nothing more arrives.
async fn read(mut stream: TcpStream, told: watch::Receiver<Option<u64>>) -> Result<Received> {
    let finder = memchr::memmem::Finder::new(b"\ndata: ");
    let (mut buffer, mut received) =
        (Vec::with_capacity(512 << 10), Received { events: 0, sent: 0, announced: 0, last: Instant::now() });
    loop {
        buffer.reserve(256 << 10);
        match tokio::time::timeout(SILENCE, stream.read_buf(&mut buffer)).await {
            Ok(Ok(0)) => return Err("the stream ended early".into()),
            Ok(count) => _ = count?,
            // The answer itself may be lost; then its caller has it.
            Err(_silence) => match *told.borrow() {
                Some(sent) => return Ok(Received { sent, ..received }),
                None => continue,
            },
        }
        received.last = Instant::now();
        // Only complete events are counted; the rest waits.
        let Some(end) = memchr::memmem::rfind(&buffer, b"\n\n") else { continue };
        let frames = &buffer[..end];
        let gaps = Gaps::in_frames(frames);
        received.announced += gaps.events;
        received.events += finder.find_iter(frames).count() as u64 - gaps.count;
        // The answer is the agent's last message; searching for it everywhere would cost more than counting.
        let last = memchr::memmem::rfind(frames, b"\n\n").map_or(frames, |at| &frames[at..]);
        if let Some(sent) = agent::number_after(last, r#""result":{"count":"#) {
            // The answer is an event too.
            return Ok(Received { sent, events: received.events - 1, ..received });
        }
        buffer.drain(..end);
    }
}

/// The `gap` events in some frames.
#[derive(Debug, Default)]
struct Gaps {
    count: u64,
    /// The number of events that they announce as lost.
    events: u64,
}

impl Gaps {
    fn in_frames(frames: &[u8]) -> Self {
        let mut gaps = Self::default();
        for at in memchr::memmem::find_iter(frames, b"event: gap\ndata: ") {
            let data = frames[at + 17..].split(|byte| *byte == b'\n').next().unwrap_or_default();
            let gap: serde_json::Value = serde_json::from_slice(data).unwrap_or_default();
            gaps.count += 1;
            if let (Some(after), Some(next)) = (gap["after"].as_u64(), gap["next"].as_u64()) {
                gaps.events += next - after - 1;
            }
        }
        gaps
    }
}
