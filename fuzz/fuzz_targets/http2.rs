//! Frames of HTTP/2, valid and not: the server answers or closes the connection, forgets its requests when it ends, and
//! goes on to serve others.

#![no_main]

use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::routing::{any, get};
use bytes::Bytes;
use http_server::{Exposure, HttpServer};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// How long the server may take to close a connection whose client sends no more.
const LIMIT: Duration = Duration::from_secs(15);
/// How many bytes of frames are sent at most.
const MAX_BYTES: usize = 1 << 20;

#[derive(Debug, Arbitrary)]
struct Input {
    frames: Vec<Repeated>,
    /// Bytes behind the frames, which need not be one.
    rest: Vec<u8>,
}

#[derive(Debug, Arbitrary)]
struct Repeated {
    times: u8,
    /// The stream number grows with each repetition.
    counts_up: bool,
    kind: u8,
    flags: u8,
    stream: u8,
    payload: Payload,
}

#[derive(Debug, Arbitrary)]
enum Payload {
    Bytes(Vec<u8>),
    Number(u32),
    Setting { identifier: u8, value: u32 },
    Request { method: Method, path: Path, field: Vec<u8> },
}

#[derive(Debug, Arbitrary)]
enum Method {
    Get,
    Post,
}

#[derive(Debug, Arbitrary)]
enum Path {
    /// Answers with the body of the request.
    Echo,
    /// Never answers.
    Wait,
    /// Answers with more than any window has room for.
    Large,
    Unknown,
}

thread_local! {
    static SERVER: RefCell<Option<TestServer>> = const { RefCell::new(None) };
}

fuzz_target!(|input: Input| {
    SERVER.with_borrow_mut(|server| server.get_or_insert_with(TestServer::start).try_out(&input));
});

/// The requests that are being handled, and wait for something.
type Open = Arc<AtomicUsize>;

struct Handling(Open);

impl Drop for Handling {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn wait(State(open): State<Open>) {
    open.fetch_add(1, Ordering::SeqCst);
    let _handling = Handling(open);
    std::future::pending().await
}

struct TestServer {
    /// One thread: an input always does the same.
    runtime: Runtime,
    address: SocketAddr,
    open: Open,
}

impl TestServer {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let open = Open::default();
        let router = Router::new()
            .route("/echo", any(async |body: Bytes| body))
            .route("/wait", any(wait))
            .route("/large", get(async || Body::from(vec![b'l'; 300_000])))
            .with_state(Arc::clone(&open));
        let server = HttpServer::new(router, Exposure { loopback_only: true, ..Exposure::default() });
        runtime.spawn(http_server::serve::serve(listener, server, CancellationToken::new(), LIMIT));
        Self { runtime, address, open }
    }

    fn try_out(&self, input: &Input) {
        self.runtime.block_on(async {
            self.attack(&input.bytes()).await;
            assert_eq!(&self.status().await, b"HTTP/1.1 200", "the server does not serve others");
            for _ in 0..1000 {
                if self.open.load(Ordering::SeqCst) == 0 {
                    return;
                }
                tokio::task::yield_now().await;
            }
            panic!("requests have outlived their connection");
        });
    }

    /// Sends the frames and no more, and reads until the server closes the connection.
    async fn attack(&self, bytes: &[u8]) {
        let (mut reading, mut writing) = self.connect().await.into_split();
        let send = async {
            // This fails as soon as the server closes the connection.
            let _ = writing.write_all(PREFACE).await;
            let _ = writing.write_all(bytes).await;
            let _ = writing.shutdown().await;
        };
        let receive = async {
            let mut buffer = vec![0; 64 << 10];
            while reading.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
        };
        let both = async { tokio::join!(send, receive) };
        tokio::time::timeout(LIMIT, both).await.expect("the server closes the connection");
    }

    /// The beginning of the answer to a request of HTTP/1.1.
    async fn status(&self) -> [u8; 12] {
        let ask = async {
            let mut connection = self.connect().await;
            let request = b"GET /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
            connection.write_all(request).await.expect("the server reads");
            let mut status = [0; 12];
            connection.read_exact(&mut status).await.expect("the server answers");
            status
        };
        tokio::time::timeout(LIMIT, ask).await.expect("the server answers in time")
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("the server accepts")
    }
}

impl Input {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for repeated in &self.frames {
            let payload = repeated.payload.bytes();
            let Ok(length) = u32::try_from(payload.len()) else { continue };
            for index in 0..=u32::from(repeated.times) {
                if bytes.len() + payload.len() > MAX_BYTES {
                    break;
                }
                let stream = u32::from(repeated.stream) + if repeated.counts_up { 2 * index } else { 0 };
                bytes.extend_from_slice(&length.to_be_bytes()[1..]);
                // One more kind than there are: unknown frames are ignored.
                bytes.extend_from_slice(&[repeated.kind % 11, repeated.flags]);
                bytes.extend_from_slice(&stream.to_be_bytes());
                bytes.extend_from_slice(&payload);
            }
        }
        bytes.extend_from_slice(&self.rest);
        bytes
    }
}

impl Payload {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Number(number) => number.to_be_bytes().to_vec(),
            Self::Setting { identifier, value } => [&[0, *identifier][..], &value.to_be_bytes()].concat(),
            Self::Request { method, path, field } => {
                let method = if matches!(method, Method::Get) { "GET" } else { "POST" };
                let path = match path {
                    Path::Echo => "/echo",
                    Path::Wait => "/wait",
                    Path::Large => "/large",
                    Path::Unknown => "/unknown",
                };
                let fields = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "127.0.0.1")];
                let block = fields.map(|(name, value)| literal(name, value)).concat();
                [&block[..], field].concat()
            }
        }
    }
}

/// A header field that is not added to the compression table. The texts are shorter than 127 bytes.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| [u8::try_from(text.len()).expect("a short text")];
    [&[0][..], &length(name), name.as_bytes(), &length(value), value.as_bytes()].concat()
}
