//! What is possible at all: bare axum handlers, and a program that frames lines and writes them to sockets.

use std::io::{BufReader, Read, Write};
use std::net::TcpListener;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path};
use axum::routing::{get, post};

use crate::{Result, agent};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// Answers every POST at once with a body like the agent's, or with its own body, and GETs with so many bytes.
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
            .route("/healthz", get(async || "ok"))
            .layer(DefaultBodyLimit::disable());
        axum::serve(listener, routes).await?;
        Ok(())
    })
}

/// Waits for as many connections as told, starts the agent's stream, and writes the same event bytes to each.
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
    let mut number = 1_700_000_000_000_000_u64;
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
