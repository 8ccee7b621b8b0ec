//! Streams of small events: how many a second reach every reader, and whether any is missing.

use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::Result;
use crate::http::{Connection, get_stream, post};
use crate::servers::Server;

/// What one reader got.
pub(crate) struct Received {
    pub(crate) events: u64,
    pub(crate) lost: Lost,
}

/// Events that did not arrive, and how many of them the server said were gone.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lost {
    pub(crate) missing: u64,
    pub(crate) announced: u64,
}

impl std::ops::AddAssign for Lost {
    fn add_assign(&mut self, other: Self) {
        self.missing += other.missing;
        self.announced += other.announced;
    }
}

/// Streams from the bridge to some readers; events a second at the slowest of them, and how many got lost.
pub(crate) async fn bridge(
    server: &Server,
    path: &str,
    readers: usize,
    time: Duration,
) -> Result<(f64, Lost)> {
    let mut tasks = Vec::new();
    for _ in 0..readers {
        let connection = Connection::open(&server.address).await?;
        let stream =
            connection.into_stream(&get_stream(&format!("{path}?replay=none"), server.token)).await?;
        tasks.push(tokio::spawn(read(stream)));
    }
    // Every reader must be attached before the stream begins.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let id = u64::try_from(time.as_millis())? * 1000 + 7;
    let started = Instant::now();
    let mut asking = Connection::open(&server.address).await?;
    asking
        .send(&post(path, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"stream"}}"#), server.token))
        .await?;
    finish(tasks, started).await
}

/// The same through the limit program.
pub(crate) async fn limit(server: &Server, readers: usize) -> Result<(f64, Lost)> {
    let mut tasks = Vec::new();
    let started = Instant::now();
    for _ in 0..readers {
        tasks.push(tokio::spawn(read(TcpStream::connect(&server.address).await?)));
    }
    finish(tasks, started).await
}

async fn finish(
    tasks: Vec<tokio::task::JoinHandle<Result<Received>>>,
    started: Instant,
) -> Result<(f64, Lost)> {
    let (mut slowest, mut lost) = (u64::MAX, Lost::default());
    for task in tasks {
        let received = task.await??;
        slowest = slowest.min(received.events);
        lost += received.lost;
    }
    #[allow(clippy::cast_precision_loss)]
    Ok((slowest as f64 / started.elapsed().as_secs_f64(), lost))
}

/// Reads until the answer with the agent's own count comes, and compares.
async fn read(mut stream: TcpStream) -> Result<Received> {
    let finder = memchr::memmem::Finder::new(b"\ndata: ");
    let (mut buffer, mut events, mut announced) = (Vec::with_capacity(512 << 10), 0, 0);
    loop {
        buffer.reserve(256 << 10);
        if stream.read_buf(&mut buffer).await? == 0 {
            return Err("the stream ended early".into());
        }
        if let Some(at) = memchr::memmem::rfind(&buffer, br#""result":{"count":"#) {
            let digits: Vec<u8> = buffer[at + 18..].iter().copied().take_while(u8::is_ascii_digit).collect();
            let complete = buffer.len() > at + 18 + digits.len();
            if complete {
                let gaps = Gaps::in_frames(&buffer);
                announced += gaps.events;
                events += finder.find_iter(&buffer).count() as u64 - gaps.count - 1;
                let sent: u64 = String::from_utf8(digits)?.parse()?;
                let lost = Lost { missing: sent.saturating_sub(events), announced };
                return Ok(Received { events, lost });
            }
            continue;
        }
        // Only whole events are counted; the rest waits for its end.
        let Some(end) = memchr::memmem::rfind(&buffer, b"\n\n") else { continue };
        let gaps = Gaps::in_frames(&buffer[..end]);
        announced += gaps.events;
        events += finder.find_iter(&buffer[..end]).count() as u64 - gaps.count;
        buffer.drain(..end);
    }
}

/// The `gap` events among some frames.
#[derive(Debug, Default)]
struct Gaps {
    count: u64,
    /// How many events they say are gone.
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
