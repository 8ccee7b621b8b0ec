//! Clients of HTTP/2: proper ones, ones that leave, and ones that break the protocol.

use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use test_harness::rpc::call;

use crate::http2::attacks::ATTACKS;
use crate::random::Random;
use crate::round::{CALM, Round};
use crate::wire::PATIENCE;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Several requests and a stream on one connection, which then ends.
pub(super) fn requests(round: &Arc<Round>, random: &mut Random) {
    let server_id = CALM[random.size(0..2)];
    let count = random.size(1..12);
    round.note(format!("{count} requests of HTTP/2 to {server_id}"));
    let bodies: Vec<(String, String)> = (0..count)
        .map(|_| {
            let id = format!("h-{}", round.fresh());
            let body = call(id.as_str(), "echo", json!("e".repeat(random.size(0..40_000))));
            (id, body)
        })
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let run = async { tokio::time::timeout(PATIENCE, converse(round.port, server_id, bodies)).await };
    match runtime.block_on(run) {
        Err(_) => round.violated(format!("requests of HTTP/2 to {server_id} were not answered")),
        Ok(Err(error)) if !round.is_stopping() => round.violated(format!("HTTP/2 to {server_id}: {error}")),
        Ok(_) => {}
    }
}

async fn converse(port: u16, server_id: &str, bodies: Vec<(String, String)>) -> Result<(), Failure> {
    let connection = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
    let (mut sender, driver) =
        http2::handshake::<_, _, Full<Bytes>>(TokioExecutor::new(), TokioIo::new(connection)).await?;
    let driver = tokio::spawn(driver);
    let target = format!("http://127.0.0.1:{port}/v1/acp/{server_id}");
    let stream = Request::get(&target).header("accept", "text/event-stream").body(Full::<Bytes>::default())?;
    let stream = sender.send_request(stream).await?;
    let mut answers = Vec::new();
    for (id, body) in bodies {
        let request = Request::post(&target).header("content-type", "application/json");
        answers.push((id, sender.send_request(request.body(Full::from(Bytes::from(body)))?)));
    }
    for (id, answer) in answers {
        let answer = answer.await?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        let json: serde_json::Value = serde_json::from_slice(&body)?;
        let no_memory = json["type"].as_str().is_some_and(|code| code.ends_with(":memory_budget_exhausted"));
        if !(status == 200 && json["id"] == id.as_str() || status == 503 && no_memory) {
            return Err(format!("the answer to {id} is {status} {json}").into());
        }
    }
    drop(stream);
    driver.abort();
    Ok(())
}

/// Frames that break the protocol.
pub(super) fn frames(round: &Arc<Round>, random: &mut Random) {
    let attack = random.pick(ATTACKS);
    let frames = (attack.make)(random, 200);
    round.note(format!("{} over HTTP/2", attack.name));
    let task = Arc::clone(round);
    round.tasks.start(round.fresh(), attack.name.to_owned(), move || {
        if let Err(failure) = crate::http2::attack(task.port, &frames, attack.well_framed)
            && !task.is_stopping()
        {
            task.violated(format!("{}: {failure}", attack.name));
        }
    });
}
