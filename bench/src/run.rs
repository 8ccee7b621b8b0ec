//! The measurement: all sides in one run, interleaved, several rounds, medians with spread.

use std::time::Duration;

use crate::Result;
use crate::http::{Connection, post};
use crate::requests;
use crate::servers::Server;
use crate::statistics::Spread;
use crate::streams;

const ROUNDS: usize = 5;
const PATH: &str = "/v1/acp/bench";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let binary = arguments.first().map_or("target/release/sandbox-agent", String::as_str);
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure(binary))
}

async fn measure(binary: &str) -> Result<()> {
    let scratch = std::env::temp_dir().join(format!("sandbox-agent-bench-{}", std::process::id()));
    let ours = Server::ours(binary, &scratch.to_string_lossy())?;
    let limit = Server::limit_http()?;
    println!("| what | ratio, median (least to most) | ours | limit |");
    println!("|---|---|---|---|");
    let idle = ours.resident_kb()?;
    open(&ours, PATH).await?;

    let (mut ratios, mut own, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let time = Duration::from_secs(2);
        let limit = requests::throughput(&limit, "/", 64, time).await?;
        let us = requests::throughput(&ours, PATH, 64, time).await?;
        ratios.push(us / limit);
        own.push(us);
        bare.push(limit);
    }
    row("requests a second, 64 at once, of bare axum", ratios, own, bare);

    let (mut ratios, mut own, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let limit = requests::latency(&limit, "/", 5000).await? + requests::pipe_latency(5000)?;
        let us = requests::latency(&ours, PATH, 5000).await?;
        ratios.push(us / limit);
        own.push(us);
        bare.push(limit);
    }
    row("microseconds for one answer, of bare axum plus pipe", ratios, own, bare);

    for readers in [1, 8] {
        let (mut ratios, mut own, mut bare, mut lost) =
            (Vec::new(), Vec::new(), Vec::new(), streams::Lost::default());
        for _ in 0..ROUNDS {
            let time = Duration::from_secs(2);
            let server = Server::limit_stream(readers, 2_000_007)?;
            let (limit, _) = streams::limit(&server, readers).await?;
            drop(server);
            let (us, missing) = streams::bridge(&ours, PATH, readers, time).await?;
            ratios.push(us / limit);
            own.push(us);
            bare.push(limit);
            lost += missing;
        }
        let streams::Lost { missing, announced } = lost;
        let what =
            format!("events a second to {readers} readers; {missing} missing, {announced} announced by gaps");
        row(&what, ratios, own, bare);
    }
    let before = ours.resident_kb()?;
    for number in 0..100 {
        open(&ours, &format!("/v1/acp/idle-{number}")).await?;
    }
    let after = ours.resident_kb()?;
    println!("| idle memory of the server, kB | - | {idle} | - |");
    println!("| kB an idle instance | - | {} | - |", after.saturating_sub(before) / 100);
    let _ = std::fs::remove_dir_all(scratch);
    Ok(())
}

async fn open(server: &Server, path: &str) -> Result<()> {
    let first =
        post(&format!("{path}?agent=bench"), r#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#, server.token);
    Connection::open(&server.address).await?.send(&first).await?;
    Ok(())
}

fn row(what: &str, ratios: Vec<f64>, ours: Vec<f64>, limit: Vec<f64>) {
    let (ours, limit) = (Spread::of(ours).median, Spread::of(limit).median);
    println!("| {what} | {} | {ours:.0} | {limit:.0} |", Spread::of(ratios));
}
