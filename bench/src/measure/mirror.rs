//! Large messages echoed by the agent, compared with the agent's pipes alone.

use std::io::{BufRead, BufReader, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::context::{Context, Side};
use crate::http::{Connection, post};
use crate::report::{Goal, Row, Samples};
use crate::servers::Server;
use crate::{Result, agent};

const SIZE: usize = 1_000_000;
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn measure(context: &Context) -> Result<Vec<Row>> {
    let mut servers = Vec::new();
    for side in context.servers() {
        let server = Server::start(side, context).await?;
        server.open("bench").await?;
        servers.push((side, server));
    }
    let mut rows = Vec::new();
    for (at_once, how) in [(1, "one at a time"), (8, "8 at once")] {
        let mut samples = Samples::default();
        for _ in 0..context.rounds {
            let pipes = tokio::task::spawn_blocking({
                let time = context.stretch;
                move || through_pipes(at_once, time)
            });
            samples.push(Side::Limit, pipes.await?.map(megabytes));
            for (side, server) in &servers {
                let rate = mirror(server, "/v1/acp/bench", SIZE, at_once, context.stretch).await;
                samples.push(*side, rate.map(megabytes));
            }
        }
        let what = format!("messages of 1 MB there and back, {how}, of the agent's pipes alone");
        rows.push(Row::new(what, "MB/s each way", Goal::RatioAtLeast(0.5), samples));
    }
    Ok(rows)
}

#[allow(clippy::cast_precision_loss)]
fn megabytes(messages: f64) -> f64 {
    messages * SIZE as f64 / 1e6
}

/// A request whose answer is about as long as the request.
fn message(id: u64, size: usize) -> String {
    let text = "x".repeat(size.saturating_sub(80).max(1));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"mirror","params":{{"text":"{text}"}}}}"#)
}

/// Round trips per second through a server, for messages of one size.
#[allow(clippy::cast_precision_loss)]
pub(crate) async fn mirror(
    server: &Server,
    path: &str,
    size: usize,
    at_once: usize,
    time: Duration,
) -> Result<f64> {
    let mut clients = Vec::new();
    for number in 0..at_once as u64 {
        // A connection reuses its id: its answer arrives before the id is used again.
        let id = 1_000_000 + number;
        clients.push((Connection::open(&server.address).await?, id, post(server, path, &message(id, size))));
    }
    let started = Instant::now();
    let until = started + time;
    let mut tasks = Vec::new();
    for (mut connection, id, request) in clients {
        tasks.push(tokio::spawn(async move {
            let mut count = 0_u64;
            while count == 0 || Instant::now() < until {
                let answer = connection.send_in_place(&request).await?;
                if agent::number_after(&answer[..answer.len().min(100)], r#""id":"#) != Some(id) {
                    return Err("an answer to another request came".into());
                }
                count += 1;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(count)
        }));
    }
    let mut total = 0;
    for task in tasks {
        total += tokio::time::timeout(TIMEOUT, task).await???;
    }
    Ok(total as f64 / started.elapsed().as_secs_f64())
}

/// Messages per second through the pipes of an agent, with this many written before their answers are read.
#[allow(clippy::cast_precision_loss)]
fn through_pipes(at_once: usize, time: Duration) -> Result<f64> {
    let (mut agent, mut stdin, stdout) = agent::start()?;
    let mut stdout = BufReader::with_capacity(256 << 10, stdout);
    let line = message(1_000_000, SIZE) + "\n";
    // Wait for the first answer, which shows that the agent is running.
    stdin.write_all(line.as_bytes())?;
    stdout.skip_until(b'\n')?;
    // The agent reads no requests while it writes answers, so reading must not wait for writing.
    let (next, wanted) = mpsc::channel();
    let writer =
        std::thread::spawn(move || wanted.into_iter().try_for_each(|()| stdin.write_all(line.as_bytes())));
    let started = Instant::now();
    let until = started + time;
    for _ in 0..at_once {
        next.send(())?;
    }
    let (mut open, mut count) = (at_once, 0_u64);
    while open > 0 {
        if stdout.skip_until(b'\n')? < SIZE / 2 {
            return Err("an answer is too short".into());
        }
        count += 1;
        if Instant::now() < until {
            next.send(())?;
        } else {
            open -= 1;
        }
    }
    let rate = count as f64 / started.elapsed().as_secs_f64();
    drop(next);
    writer.join().map_err(|_panic| "the writer failed")??;
    agent.wait()?;
    Ok(rate)
}
