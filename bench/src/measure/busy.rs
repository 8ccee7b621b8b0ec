//! Many busy instances: their total requests per second, relative to a single instance.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::idle::open_many;
use super::requests::{path_of, throughput};
use crate::context::{Context, Side};
use crate::direct::Direct;
use crate::report::{Goal, Row, Samples, Spread};
use crate::servers::Server;
use crate::{Result, agent};

const INSTANCES: usize = 32;
/// Requests in flight, over all instances.
const AT_ONCE: usize = 64;
/// Below 1, since the limit writes all due requests to an agent at once, while a server receives them one by one.
const GOAL: f64 = 0.5;

pub(crate) async fn measure(context: &Context) -> Result<Vec<Row>> {
    let axum = Server::start(Side::Limit, context).await?;
    let mut servers = Vec::new();
    for side in context.servers() {
        let server = Server::start(side, context).await?;
        open_many(&server, INSTANCES).await?;
        servers.push((side, server));
    }
    let (mut ratios, mut one, mut all) = (Samples::default(), Samples::default(), Samples::default());
    let mut add = |side, rates: Result<Rates>| match rates {
        Ok(rates) => {
            one.push(side, Ok(rates.one));
            all.push(side, Ok(rates.all));
            ratios.push(side, Ok(rates.all / rates.one));
        }
        Err(error) => ratios.push(side, Err(error)),
    };
    for _ in 0..context.rounds {
        add(Side::Limit, limit(&axum, context.stretch).await);
        for (side, server) in &servers {
            add(*side, served(*side, server, context.stretch).await);
        }
    }
    for side in context.sides().filter(|side| !one.values(*side).is_empty()).collect::<Vec<_>>() {
        let (one, all) = (Spread::of(one.values(side)).median, Spread::of(all.values(side)).median);
        ratios.note(side, format!("{one:.0} /s with one, {all:.0} /s with 32"));
    }
    let what = "32 busy instances: requests per second, 64 at once, over those of one instance; \
                limit: the same for bare axum plus the agents' pipes";
    Ok(vec![Row::new(what, "times", Goal::RatioAtLeast(GOAL), ratios)])
}

/// Requests per second.
struct Rates {
    one: f64,
    all: f64,
}

async fn served(side: Side, server: &Server, time: Duration) -> Result<Rates> {
    let paths: Vec<String> = (0..INSTANCES).map(|number| path_of(side, &format!("many-{number}"))).collect();
    Ok(Rates {
        one: throughput(server, &paths[..1], "echo", AT_ONCE, time).await?,
        all: throughput(server, &paths, "echo", AT_ONCE, time).await?,
    })
}

/// A server that does no work: the time of bare axum for a request, plus the time of the agents on bare pipes.
async fn limit(axum: &Server, time: Duration) -> Result<Rates> {
    let http = throughput(axum, &[path_of(Side::Limit, "")], "echo", AT_ONCE, time).await?;
    let both = |pipes: f64| 1.0 / (1.0 / http + 1.0 / pipes);
    Ok(Rates { one: both(piped(1, time).await?), all: both(piped(INSTANCES, time).await?) })
}

/// The requests per second of some agents on their pipes alone.
#[allow(clippy::cast_precision_loss)]
async fn piped(agents: usize, time: Duration) -> Result<f64> {
    let mut running = Vec::new();
    for _ in 0..agents {
        let mut agent = Direct::start()?;
        // The first answer shows that the agent is running; such a short line arrives in one piece.
        agent.ask(1, "echo").await?;
        if agent.stdout.read(&mut [0; 100]).await? == 0 {
            return Err("the agent ended early".into());
        }
        running.push(agent);
    }
    let started = Instant::now();
    let tasks: Vec<_> = running
        .into_iter()
        .map(|agent| tokio::spawn(drive(agent, AT_ONCE / agents, started + time)))
        .collect();
    let mut total = 0;
    for task in tasks {
        total += task.await??;
    }
    Ok(total as f64 / started.elapsed().as_secs_f64())
}

/// Keeps this many requests in flight; returns the number of answers.
async fn drive(mut agent: Direct, at_once: usize, until: Instant) -> Result<u64> {
    let request = agent::request(1_000_000_000_000, "echo") + "\n";
    let requests = request.repeat(at_once);
    agent.stdin.write_all(requests.as_bytes()).await?;
    let (mut open, mut count) = (at_once, 0_u64);
    let mut buffer = vec![0; 64 << 10];
    while open > 0 {
        let read = agent.stdout.read(&mut buffer).await?;
        if read == 0 {
            return Err("the agent ended early".into());
        }
        let came = memchr::memchr_iter(b'\n', &buffer[..read]).count();
        (open, count) = (open - came, count + came as u64);
        if Instant::now() < until {
            agent.stdin.write_all(&requests.as_bytes()[..came * request.len()]).await?;
            open += came;
        }
    }
    agent.end().await?;
    Ok(count)
}
