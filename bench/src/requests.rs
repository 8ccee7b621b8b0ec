//! Requests and their answers: many at once, and one at a time.

use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::Result;
use crate::agent;
use crate::http::{Connection, post};
use crate::servers::Server;
use crate::statistics::Spread;

/// How many answers a second come back when `connections` ask at once.
pub(crate) async fn throughput(
    server: &Server,
    path: &str,
    connections: usize,
    time: Duration,
) -> Result<f64> {
    let next_id = Arc::new(AtomicU64::new(1_000_000));
    let until = Instant::now() + time;
    let tasks = (0..connections).map(|_| {
        let (next_id, address, path, token) =
            (Arc::clone(&next_id), server.address.clone(), path.to_owned(), server.token);
        tokio::spawn(async move {
            let mut connection = Connection::open(&address).await?;
            let mut count = 0_u64;
            while Instant::now() < until {
                let id = next_id.fetch_add(1, Ordering::Relaxed);
                connection.send(&post(&path, &request(id), token)).await?;
                count += 1;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(count)
        })
    });
    let tasks: Vec<_> = tasks.collect();
    let started = Instant::now();
    let mut total = 0;
    for task in tasks {
        total += task.await??;
    }
    #[allow(clippy::cast_precision_loss)]
    Ok(total as f64 / started.elapsed().as_secs_f64())
}

/// How long one answer takes, in microseconds, with nothing else going on.
pub(crate) async fn latency(server: &Server, path: &str, count: u64) -> Result<f64> {
    let mut connection = Connection::open(&server.address).await?;
    let mut times = Vec::new();
    for id in 0..count {
        let message = post(path, &request(5_000_000 + id), server.token);
        let started = Instant::now();
        connection.send(&message).await?;
        times.push(started.elapsed().as_secs_f64() * 1e6);
    }
    Ok(Spread::of(times).median)
}

/// How long an answer takes through the agent's pipes alone.
pub(crate) fn pipe_latency(count: u64) -> Result<f64> {
    let (mut agent, mut stdin, stdout) = agent::start()?;
    let mut stdout = BufReader::new(stdout);
    let mut times = Vec::new();
    let mut line = String::new();
    for id in 0..count {
        let started = Instant::now();
        writeln!(stdin, "{}", request(id))?;
        line.clear();
        stdout.read_line(&mut line)?;
        times.push(started.elapsed().as_secs_f64() * 1e6);
    }
    drop(stdin);
    agent.wait()?;
    Ok(Spread::of(times).median)
}

fn request(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"echo","params":{{}}}}"#)
}
