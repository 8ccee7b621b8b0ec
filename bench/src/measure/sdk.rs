//! Requests as sent by our TypeScript SDK in Node: `Prefer: respond-async` and a new `Idempotency-Key` with every
//! POST, on connections that began with a GET; the answers arrive on the instance's stream.

use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::streams::attach_to;
use crate::context::{Context, Side};
use crate::http::{Connection, get, post_with};
use crate::report::{Goal, Row, Samples};
use crate::servers::Server;
use crate::{Result, agent};

/// Requests in flight, each on its own connection.
const AT_ONCE: usize = 64;
/// How long the last answers may take after the measured time.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The headers of Node's `fetch` and the SDK, in addition to those of every POST here.
const HEADERS: &str = "connection: keep-alive\r\nprefer: respond-async\r\n\
    idempotency-key: kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\r\naccept: */*\r\naccept-language: *\r\n\
    sec-fetch-mode: cors\r\nuser-agent: node\r\naccept-encoding: gzip, deflate\r\n";

pub(crate) async fn measure(context: &Context) -> Result<Vec<Row>> {
    let mut servers = Vec::new();
    for side in context.sides() {
        let server = Server::start(side, context).await?;
        if side != Side::Limit {
            server.open("bench").await?;
        }
        servers.push((Routes::of(side), side, server));
    }
    let mut samples = Samples::default();
    for _ in 0..context.rounds {
        for (routes, side, server) in &servers {
            let served = load(server, routes, context.stretch).await;
            if let Ok(Served { in_body: true, .. }) = &served {
                samples.note(*side, "ignores `Prefer` and answers in the body".to_owned());
            }
            samples.push(*side, served.map(|served| served.rate));
        }
    }
    let what =
        "requests as the SDK sends them (a new key, 202, answer on the stream), 64 at once, of bare axum";
    Ok(vec![Row::new(what, "/s", Goal::RatioAtLeast(0.75), samples)])
}

/// A side's paths for the SDK's requests.
struct Routes {
    /// The list of instances, which the SDK requests first.
    list: &'static str,
    messages: &'static str,
    stream: &'static str,
}

impl Routes {
    const fn of(side: Side) -> Self {
        match side {
            Side::Limit => Self { list: "/healthz", messages: "/events", stream: "/events" },
            _ => Self { list: "/v1/acp", messages: "/v1/acp/bench", stream: "/v1/acp/bench?replay=none" },
        }
    }
}

struct Served {
    /// Answers per second.
    rate: f64,
    /// True if answers arrived in response bodies. The stream is read then too, but not waited for.
    in_body: bool,
}

async fn load(server: &Server, routes: &Routes, time: Duration) -> Result<Served> {
    let stream = attach_to(server, routes.stream).await?;
    let (answered, answers): (Vec<_>, Vec<_>) = (0..AT_ONCE).map(|_| watch::channel(0)).unzip();
    let reader = tokio::spawn(read_answers(stream, answered));
    let first = agent::now_ns() % 1_000_000_000_000 / AT_ONCE as u64 * AT_ONCE as u64;
    let mut clients = Vec::new();
    for (slot, answer) in answers.into_iter().enumerate() {
        let mut connection = Connection::open(&server.address).await?;
        connection.send(&get(server, routes.list, "accept: application/json\r\n")).await?;
        let message = Message::new(server, routes.messages);
        clients.push(Client { connection, message, answer, next_id: first + slot as u64 });
    }
    let started = Instant::now();
    let tasks = clients.into_iter().map(|client| tokio::spawn(client.run(started + time)));
    let served = tokio::time::timeout(time + TIMEOUT, finish(tasks.collect(), started)).await;
    reader.abort();
    served.map_err(|_elapsed| "an answer is missing")?
}

async fn finish(tasks: Vec<tokio::task::JoinHandle<Result<Counts>>>, started: Instant) -> Result<Served> {
    let mut total = Counts::default();
    for task in tasks {
        let Counts { answers, in_body } = task.await??;
        total.answers += answers;
        total.in_body += in_body;
    }
    #[allow(clippy::cast_precision_loss)]
    let rate = total.answers as f64 / started.elapsed().as_secs_f64();
    Ok(Served { rate, in_body: total.in_body > 0 })
}

#[derive(Default)]
struct Counts {
    answers: u64,
    in_body: u64,
}

/// One connection with one request in flight.
struct Client {
    connection: Connection,
    message: Message,
    /// The last id answered on the stream.
    answer: watch::Receiver<u64>,
    /// The ids of different clients differ modulo [`AT_ONCE`].
    next_id: u64,
}

impl Client {
    async fn run(mut self, until: Instant) -> Result<Counts> {
        let mut counts = Counts::default();
        while Instant::now() < until {
            let id = Message::FIRST_ID + self.next_id;
            self.next_id += AT_ONCE as u64;
            let body = self.connection.send_in_place(self.message.with(id)).await?;
            if body.is_empty() {
                self.answer.wait_for(|answered| *answered == id).await?;
            } else {
                counts.in_body += 1;
            }
            counts.answers += 1;
        }
        Ok(counts)
    }
}

/// A POST with placeholders for its key and its id, so that making one costs little.
struct Message {
    bytes: Vec<u8>,
    key: usize,
    id: usize,
    random: RandomState,
}

impl Message {
    /// All ids have as many digits as this one.
    const FIRST_ID: u64 = 1_000_000_000_000;

    fn new(server: &Server, path: &str) -> Self {
        let bytes = post_with(server, path, HEADERS, &agent::request(Self::FIRST_ID, "echo"));
        let place = |text: &str| memchr::memmem::find(&bytes, text.as_bytes()).unwrap_or(0);
        let (key, id) = (place("kkkkkkkk"), place(&Self::FIRST_ID.to_string()));
        Self { bytes, key, id, random: RandomState::new() }
    }

    /// The POST with this id and a new key: 32 random digits, like the SDK's.
    fn with(&mut self, id: u64) -> &[u8] {
        let key = [self.random.hash_one((id, 0)), self.random.hash_one((id, 1))];
        // Both texts are exactly as long as their placeholders.
        let _ = write!(&mut self.bytes[self.key..self.key + 32], "{:016x}{:016x}", key[0], key[1]);
        let _ = write!(&mut self.bytes[self.id..self.id + 13], "{id}");
        &self.bytes
    }
}

/// Reads the stream and notifies each client when its answer has arrived.
async fn read_answers(mut stream: TcpStream, answered: Vec<watch::Sender<u64>>) -> Result<()> {
    let mut buffer = Vec::with_capacity(256 << 10);
    while stream.read_buf(&mut buffer).await? > 0 {
        // An incomplete event waits for the rest.
        let Some(end) = memchr::memmem::rfind(&buffer, b"\n\n") else { continue };
        for at in memchr::memmem::find_iter(&buffer[..end], br#""id":"#) {
            if let Some(id) = agent::number_after(&buffer[at..end], r#""id":"#) {
                let slot = usize::try_from(id % AT_ONCE as u64)?;
                answered[slot].send_replace(id);
            }
        }
        buffer.drain(..end);
    }
    Err("the stream ended early".into())
}
