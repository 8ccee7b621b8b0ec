//! The latency of one line from the agent to a reader, and of the first token of an answer.

use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt};

use super::streams::attach;
use crate::context::{Context, Side};
use crate::direct::Direct;
use crate::http::{Connection, post};
use crate::report::{Goal, Row, Samples, percentile};
use crate::servers::Server;
use crate::{Result, agent};

/// The number of lines. The agent sends one per millisecond.
const LINES: usize = 1500;
const PROMPTS: usize = 40;
/// A line that takes longer counts as lost.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) async fn measure(context: &Context) -> Result<Vec<Row>> {
    let mut servers = Vec::new();
    for side in context.servers() {
        let server = Server::start(side, context).await?;
        server.open("bench").await?;
        servers.push((side, server));
    }
    let (mut delays, mut firsts) = (Samples::default(), Samples::default());
    for _ in 0..context.rounds {
        delays.push(Side::Limit, direct_delay().await);
        firsts.push(Side::Limit, direct_first().await);
        for (side, server) in &servers {
            delays.push(*side, bridge_delay(server).await);
            firsts.push(*side, bridge_first(server).await);
        }
    }
    Ok(vec![
        Row::new("agent's line to its reader, p99, of direct stdio", "us", Goal::RatioAtMost(2.0), delays),
        Row::new(
            "prompt to first token, agent thinks 10 ms, p50, of direct stdio",
            "us",
            Goal::RatioAtMost(1.1),
            firsts,
        ),
    ])
}

async fn direct_delay() -> Result<f64> {
    let mut direct = Direct::start()?;
    direct.ask(1, &format!("paced:{LINES}")).await?;
    let delays = delays(&mut direct.stdout, LINES).await?;
    direct.end().await?;
    Ok(percentile(&delays, 99))
}

async fn bridge_delay(server: &Server) -> Result<f64> {
    let mut stream = attach(server, "bench").await?;
    let mut asking = Connection::open(&server.address).await?;
    let message = agent::request(agent::now_ns(), &format!("paced:{LINES}"));
    let request = post(server, "/v1/acp/bench", &message);
    let asked = tokio::spawn(async move { asking.send(&request).await.map(|_| ()) });
    let delays = delays(&mut stream, LINES).await?;
    asked.await??;
    Ok(percentile(&delays, 99))
}

async fn direct_first() -> Result<f64> {
    let mut direct = Direct::start()?;
    let mut times = Vec::new();
    for id in 0..PROMPTS {
        let started = Instant::now();
        direct.ask(id, "think").await?;
        delays(&mut direct.stdout, 1).await?;
        times.push(started.elapsed().as_secs_f64() * 1e6);
        pause().await;
    }
    direct.end().await?;
    Ok(percentile(&times, 50))
}

async fn bridge_first(server: &Server) -> Result<f64> {
    let mut stream = attach(server, "bench").await?;
    let mut times = Vec::new();
    let mut asking = Connection::open(&server.address).await?;
    for _ in 0..PROMPTS {
        let request = post(server, "/v1/acp/bench", &agent::request(agent::now_ns(), "think"));
        let started = Instant::now();
        asking.write(&request).await?;
        delays(&mut stream, 1).await?;
        times.push(started.elapsed().as_secs_f64() * 1e6);
        asking.receive().await?;
        pause().await;
    }
    Ok(percentile(&times, 50))
}

/// Waits a moment, so that one exchange is over before the next begins.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}

/// The age of stamped lines when they arrive, in microseconds.
async fn delays(from: &mut (impl AsyncRead + Unpin), count: usize) -> Result<Vec<f64>> {
    let (mut buffer, mut delays) = (Vec::with_capacity(64 << 10), Vec::new());
    while delays.len() < count {
        if tokio::time::timeout(TIMEOUT, from.read_buf(&mut buffer)).await?? == 0 {
            return Err("the stream ended early".into());
        }
        let now = agent::now_ns();
        let Some(end) = memchr::memrchr(b'\n', &buffer) else { continue };
        for at in memchr::memmem::find_iter(&buffer[..end], br#""at":"#) {
            let stamp = agent::number_after(&buffer[at..end], r#""at":"#).ok_or("a line without a stamp")?;
            #[allow(clippy::cast_precision_loss)]
            delays.push(now.saturating_sub(stamp) as f64 / 1000.0);
        }
        buffer.drain(..end);
    }
    Ok(delays)
}
