//! A thousand live instances, each with a reader: whether it works, and the latency of a request among them.

use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;

use super::idle::open_many;
use crate::context::{Context, Side};
use crate::http::{Connection, get_stream, post};
use crate::report::{Goal, Row, Samples, percentile};
use crate::servers::Server;
use crate::{Result, agent};

const INSTANCES: usize = 1000;
/// The rate of requests per second. They are sent at fixed times, however fast the answers arrive.
const RATE: u32 = 500;
const REQUESTS: usize = 2000;
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) async fn measure(context: &Context) -> Result<Vec<Row>> {
    let mut samples = Samples::default();
    for side in context.servers() {
        let ratio = measure_side(side, context).await;
        if let Ok((one, crowd)) = &ratio {
            samples.note(side, format!("p99 {one:.0} us with one, {crowd:.0} us with all"));
        }
        samples.push(side, ratio.map(|(one, crowd)| crowd / one));
    }
    let what = "1,000 live instances with a reader each, 500 requests per second: p99 of that with one";
    Ok(vec![Row::new(what, "times", Goal::AtMost(3.0), samples)])
}

async fn measure_side(side: Side, context: &Context) -> Result<(f64, f64)> {
    let server = Server::start(side, context).await?;
    open_many(&server, 1).await?;
    let mut readers = vec![follow(&server, 0).await?];
    let one = load(&server, 1).await?;
    super::idle::open_range(&server, 1..INSTANCES).await?;
    for number in 1..INSTANCES {
        readers.push(follow(&server, number).await?);
    }
    let crowd = load(&server, INSTANCES).await?;
    // The task of a disconnected reader would have ended.
    if readers.iter().any(tokio::task::JoinHandle::is_finished) {
        return Err("a reader was cut off".into());
    }
    for reader in readers {
        reader.abort();
    }
    Ok((one, crowd))
}

/// Reads an instance's stream until it ends.
async fn follow(server: &Server, number: usize) -> Result<tokio::task::JoinHandle<()>> {
    let request = get_stream(server, &format!("/v1/acp/many-{number}"));
    let mut stream = Connection::open(&server.address).await?.into_stream(&request).await?;
    Ok(tokio::spawn(async move {
        let mut scratch = [0; 4096];
        while stream.read(&mut scratch).await.is_ok_and(|count| count > 0) {}
    }))
}

/// Sends requests at a steady rate, to one instance after the other; returns the p99 of their latency in
/// microseconds.
async fn load(server: &Server, instances: usize) -> Result<f64> {
    let pool = tokio::sync::Mutex::new(Vec::new());
    let pool = std::sync::Arc::new(pool);
    let mut tasks = Vec::new();
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / RATE);
    let first = agent::now_ns();
    for number in 0..REQUESTS {
        ticks.tick().await;
        let path = format!("/v1/acp/many-{}", number % instances);
        let request = post(server, &path, &agent::request(first + number as u64, "echo"));
        let (pool, address) = (std::sync::Arc::clone(&pool), server.address.clone());
        tasks.push(tokio::spawn(async move {
            let idle = pool.lock().await.pop();
            let mut connection = match idle {
                Some(connection) => connection,
                None => Connection::open(&address).await?,
            };
            let started = Instant::now();
            tokio::time::timeout(TIMEOUT, connection.send(&request)).await??;
            let time = started.elapsed().as_secs_f64() * 1e6;
            pool.lock().await.push(connection);
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(time)
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.push(task.await??);
    }
    Ok(percentile(&times, 99))
}
