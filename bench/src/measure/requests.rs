//! Requests and their answers: many concurrently, and one at a time.

use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::Result;
use crate::agent;
use crate::context::{Context, Side};
use crate::http::{Connection, post};
use crate::report::{Goal, Row, Samples, percentile};
use crate::servers::{Server, Target};

const AT_ONCE: usize = 64;
const ONE_AFTER_THE_OTHER: u64 = 5000;

pub(crate) async fn measure(context: &Context) -> Result<Vec<Row>> {
    let mut servers = Vec::new();
    for side in context.sides() {
        let server = Server::start(side, context).await?;
        if side != Side::Limit {
            server.open("bench").await?;
        }
        servers.push((side, server));
    }
    let (mut many, mut single) = (Samples::default(), Samples::default());
    for _ in 0..context.rounds {
        for (side, server) in &servers {
            let paths = [path_of(*side, "bench")];
            many.push(*side, throughput(server, &paths, "echo", AT_ONCE, context.stretch).await);
        }
    }
    for _ in 0..context.rounds {
        for (side, server) in &servers {
            let own = latency(server, &path_of(*side, "bench")).await;
            let pipe = if *side == Side::Limit { pipe_latency()? } else { 0.0 };
            single.push(*side, own.map(|own| own + pipe));
        }
    }
    let what = "requests per second, 64 at once, of bare axum";
    let one = "one request at a time, p50, of bare axum plus a round trip through the agent's pipes";
    Ok(vec![
        Row::new(what, "/s", Goal::RatioAtLeast(0.75), many),
        Row::new(one, "us", Goal::RatioAtMost(1.25), single),
    ])
}

/// Puts a server under load for a profiler, and prints the rate: address, path, connections, seconds.
pub(crate) fn load(arguments: &[String]) -> Result<()> {
    let [address, path, connections, seconds] = arguments else {
        return Err("load needs an address, a path, connections and seconds".into());
    };
    let (target, time) = (Target::at(address), Duration::from_secs(seconds.parse()?));
    let connections = connections.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let rate =
        runtime.block_on(throughput(&target, std::slice::from_ref(path), "echo", connections, time))?;
    println!("{rate:.0} requests per second");
    Ok(())
}

/// The path for requests to an instance of a side.
pub(crate) fn path_of(side: Side, instance: &str) -> String {
    match side {
        Side::Limit => "/".to_owned(),
        _ => format!("/v1/acp/{instance}"),
    }
}

/// The answers per second of some concurrent connections, each always to the same instance.
pub(crate) async fn throughput(
    server: &Target,
    paths: &[String],
    method: &'static str,
    connections: usize,
    time: Duration,
) -> Result<f64> {
    let next_id = Arc::new(AtomicU64::new(agent::now_ns() % 1_000_000_000_000));
    let started = Instant::now();
    let until = started + time;
    let mut tasks = Vec::new();
    for index in 0..connections {
        let path = paths[index % paths.len()].clone();
        let mut connection = Connection::open(&server.address).await?;
        let template = Template::new(server, &path, method);
        let next_id = Arc::clone(&next_id);
        tasks.push(tokio::spawn(async move {
            let mut template = template;
            let mut count = 0_u64;
            while Instant::now() < until {
                let id = next_id.fetch_add(1, Ordering::Relaxed);
                connection.send(template.numbered(id)).await?;
                count += 1;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(count)
        }));
    }
    let mut total = 0;
    for task in tasks {
        total += task.await??;
    }
    #[allow(clippy::cast_precision_loss)]
    Ok(total as f64 / started.elapsed().as_secs_f64())
}

/// A request with a placeholder for its id, so that making one costs almost nothing.
struct Template {
    bytes: Vec<u8>,
    at: usize,
}

impl Template {
    const DIGITS: u64 = 1_000_000_000_000;

    fn new(server: &Target, path: &str, method: &str) -> Self {
        let bytes = post(server, path, &agent::request(Self::DIGITS, method));
        let at = memchr::memmem::find(&bytes, Self::DIGITS.to_string().as_bytes()).unwrap_or(0);
        Self { bytes, at }
    }

    fn numbered(&mut self, id: u64) -> &[u8] {
        let digits = (Self::DIGITS + id % Self::DIGITS).to_string();
        self.bytes[self.at..self.at + digits.len()].copy_from_slice(digits.as_bytes());
        &self.bytes
    }
}

/// The latency of one answer in microseconds, without other load.
async fn latency(server: &Target, path: &str) -> Result<f64> {
    let mut connection = Connection::open(&server.address).await?;
    let mut template = Template::new(server, path, "echo");
    let first = agent::now_ns() % 1_000_000_000_000;
    let mut times = Vec::new();
    for id in 0..ONE_AFTER_THE_OTHER {
        let message = template.numbered(first + id);
        let started = Instant::now();
        connection.send(message).await?;
        times.push(started.elapsed().as_secs_f64() * 1e6);
    }
    Ok(percentile(&times, 50))
}

/// The latency of an answer through the agent's pipes alone.
fn pipe_latency() -> Result<f64> {
    let (mut agent, mut stdin, stdout) = agent::start()?;
    let mut stdout = BufReader::new(stdout);
    let (mut times, mut line) = (Vec::new(), String::new());
    for id in 0..ONE_AFTER_THE_OTHER {
        let mut request = agent::request(id, "echo");
        request.push('\n');
        let started = Instant::now();
        stdin.write_all(request.as_bytes())?;
        line.clear();
        stdout.read_line(&mut line)?;
        times.push(started.elapsed().as_secs_f64() * 1e6);
    }
    drop(stdin);
    agent.wait()?;
    Ok(percentile(&times, 50))
}
