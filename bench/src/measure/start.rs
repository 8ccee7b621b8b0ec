//! Start times: of the server, and of an agent behind it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::context::{Context, Side};
use crate::report::{Goal, Row, Samples, percentile};
use crate::servers::Server;
use crate::{Result, agent};

const REPEATS: usize = 5;
const DELAY_MS: &str = "10";

pub(crate) async fn measure(context: &Context) -> Result<Vec<Row>> {
    let (mut up, mut first) = (Samples::default(), Samples::default());
    let mut servers = Vec::new();
    for side in context.servers() {
        let server = Server::start_with(side, context, &[(agent::DELAY, DELAY_MS)]).await?;
        // The one-time cost of a server's first instance is not measured here.
        server.open("warm").await?;
        servers.push((side, server));
    }
    for round in 0..context.rounds {
        for side in context.sides() {
            up.push(side, until_healthy(side, context).await);
        }
        first.push(Side::Limit, bare_spawn());
        for (side, server) in &servers {
            first.push(*side, first_post(server, round).await);
        }
    }
    Ok(vec![
        Row::new(
            "start of the server to its first 200, of an empty axum program",
            "ms",
            Goal::RatioAtMost(2.0),
            up,
        ),
        Row::new(
            "first request to a new instance, of a bare start of the agent (which takes 10 ms)",
            "ms",
            Goal::RatioAtMost(1.5),
            first,
        ),
    ])
}

async fn until_healthy(side: Side, context: &Context) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let started = Instant::now();
        let server = Server::spawn(side, context, &[])?;
        server.wait_until_up().await?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    Ok(percentile(&times, 50))
}

async fn first_post(server: &Server, round: usize) -> Result<f64> {
    let mut times = Vec::new();
    for number in 0..REPEATS {
        let started = Instant::now();
        server.open(&format!("first-{round}-{number}")).await?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    Ok(percentile(&times, 50))
}

fn bare_spawn() -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let started = Instant::now();
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("agent").env(agent::DELAY, DELAY_MS).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (mut stdin, stdout) =
            (child.stdin.take().ok_or("no stdin")?, child.stdout.take().ok_or("no stdout")?);
        writeln!(stdin, "{}", agent::request(1, "echo"))?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        drop(stdin);
        child.wait()?;
    }
    Ok(percentile(&times, 50))
}
