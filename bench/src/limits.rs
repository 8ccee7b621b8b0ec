//! The upper bounds: bare axum handlers, and a program that frames lines and writes them to sockets.

use std::io::{BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use tokio::sync::Notify;

use crate::{Result, agent};

/// Event ids are microseconds since 1970: 16 digits.
const FIRST_EVENT: u64 = 1_700_000_000_000_000;
const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// Answers every POST at once: with a body like the agent's, with the request's body, or with 202 and an event on
/// a stream. Answers a GET with the number of bytes in its path.
pub(crate) fn serve_http() -> Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("listening on http://{}", listener.local_addr()?);
        let answer = |_body: Bytes| async { (JSON, r#"{"jsonrpc":"2.0","id":1234567,"result":{}}"#) };
        let mirror = |body: Bytes| async { (JSON, body) };
        let bytes = |Path(count): Path<usize>| async move { vec![b'x'; count] };
        let routes = Router::new()
            .route("/", post(answer))
            .route("/mirror", post(mirror))
            .route("/bytes/{count}", get(bytes))
            .route("/events", get(follow).post(take))
            .route("/healthz", get(async || "ok"))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::new(Events::default()));
        axum::serve(listener, routes).await?;
        Ok(())
    })
}

/// Events for the only reader of the stream.
#[derive(Default)]
struct Events {
    frames: Mutex<Frames>,
    more: Notify,
}

#[derive(Default)]
struct Frames {
    bytes: Vec<u8>,
    /// The number of events so far.
    count: u64,
}

/// Accepts a request and writes an event like the agent's answer, in a frame as long as a server's.
async fn take(State(events): State<Arc<Events>>, body: Bytes) -> StatusCode {
    let Some(id) = agent::number_after(&body, r#""id":"#) else { return StatusCode::BAD_REQUEST };
    {
        let mut frames = events.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let number = FIRST_EVENT + frames.count;
        frames.count += 1;
        // Writing to memory cannot fail.
        let _ = write!(
            frames.bytes,
            "event: message\nid: {number}\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n\n"
        );
    }
    events.more.notify_one();
    StatusCode::ACCEPTED
}

/// The stream: all waiting events as one chunk.
async fn follow(State(events): State<Arc<Events>>) -> impl IntoResponse {
    let stream = futures_util::stream::unfold(events, |events| async {
        loop {
            let waiting = {
                let mut frames = events.frames.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(&mut frames.bytes)
            };
            if !waiting.is_empty() {
                return Some((Ok::<_, std::convert::Infallible>(Bytes::from(waiting)), events));
            }
            events.more.notified().await;
        }
    });
    ([("content-type", "text/event-stream")], Body::from_stream(stream))
}

/// Waits for the given number of connections, starts the agent's stream, and writes the same event bytes to each.
pub(crate) fn serve_stream(arguments: &[String]) -> Result<()> {
    let readers: usize = arguments.first().ok_or("how many readers?")?.parse()?;
    let milliseconds: u64 = arguments.get(1).ok_or("how many milliseconds?")?.parse()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("listening on http://{}", listener.local_addr()?);
    let mut sockets = Vec::new();
    for _ in 0..readers {
        let (socket, _) = listener.accept()?;
        socket.set_nodelay(true)?;
        sockets.push(socket);
    }
    let (mut agent, mut stdin, stdout) = agent::start()?;
    writeln!(stdin, "{}", agent::request(1, &format!("stream:{milliseconds}")))?;
    let mut output = BufReader::with_capacity(256 << 10, stdout);
    let (mut read, mut partial, mut frames) = (vec![0; 256 << 10], Vec::new(), Vec::new());
    let mut number = FIRST_EVENT;
    loop {
        let count = output.read(&mut read)?;
        if count == 0 {
            break;
        }
        partial.extend_from_slice(&read[..count]);
        frames.clear();
        let mut done = 0;
        let mut last = false;
        while let Some(end) = memchr::memchr(b'\n', &partial[done..]) {
            write!(frames, "event: message\nid: {number}\ndata: ")?;
            frames.extend_from_slice(&partial[done..done + end]);
            frames.extend_from_slice(b"\n\n");
            last |= memchr::memmem::find(&partial[done..done + end], br#""result""#).is_some();
            number += 1;
            done += end + 1;
        }
        partial.drain(..done);
        for socket in &mut sockets {
            socket.write_all(&frames)?;
        }
        if last {
            break;
        }
    }
    drop(stdin);
    agent.wait()?;
    Ok(())
}
