use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream as ClientStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::any;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::drain::Drain;
use crate::measures::EdgeMeasures;
use crate::{Code, Exposure, Origin, RouteTable, Token};

/// Long enough for anything that is to happen.
const PATIENCE: Duration = Duration::from_secs(20);
/// Long enough for what was written to be read by itself.
const MOMENT: Duration = Duration::from_millis(20);
/// More than fits the buffers of a connection.
const LARGE: usize = 8 << 20;

/// Says back what it is sent; some bodies get other answers.
#[derive(Debug)]
struct EchoLane {
    /// A permit lets one go that waits.
    gate: Arc<Semaphore>,
    /// Those that wait.
    waiting: Arc<AtomicUsize>,
}

impl Default for EchoLane {
    fn default() -> Self {
        Self { gate: Arc::new(Semaphore::new(0)), waiting: Arc::default() }
    }
}

struct Waits(Arc<AtomicUsize>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Lane for EchoLane {
    type Known = String;
    type Answer = Pin<Box<dyn Future<Output = LaneAnswer> + Send>>;

    fn know(&self, head: &Parts) -> Option<String> {
        assert!(!head.headers.contains_key(http::header::CONTENT_LENGTH));
        head.uri.path().strip_prefix("/v1/lane/").map(str::to_owned)
    }

    fn answer(&self, known: &String, body: &[u8]) -> Self::Answer {
        let echo = Bytes::from([known.as_bytes(), b":", body].concat());
        let gate = Arc::clone(&self.gate);
        let waits = Waits(Arc::clone(&self.waiting));
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let body = body.to_vec();
        Box::pin(async move {
            let _waits = waits;
            match &body[..] {
                b"wait" => gate.acquire().await.unwrap().forget(),
                b"large" => return LaneAnswer::Json(vec![b'x'; LARGE].into()),
                b"accepted" => {
                    let mut response = Response::new(Bytes::new());
                    *response.status_mut() = StatusCode::ACCEPTED;
                    return LaneAnswer::Other(response);
                }
                b"problem" => {
                    return LaneAnswer::Problem(Problem::new(Code::TooManyPending, "no").retry_after(1));
                }
                _ => {}
            }
            LaneAnswer::Json(echo)
        })
    }
}

/// A server whose router names itself.
struct Server {
    address: SocketAddr,
    gate: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    measures: Arc<EdgeMeasures>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Server {
    async fn start(exposure: Exposure) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let measures = Arc::new(EdgeMeasures::new(RouteTable::new(["/v1/lane/{x}"])));
        let router = Router::new().fallback(any(async |body: Bytes| [b"router:", &body[..]].concat()));
        let (stop, lane) = (CancellationToken::new(), EchoLane::default());
        let (gate, waiting) = (Arc::clone(&lane.gate), Arc::clone(&lane.waiting));
        let edge = Edge::new(router, exposure).measured(Arc::clone(&measures)).with_lane(lane);
        let serving = tokio::spawn(crate::serve::serve(listener, edge, stop.clone(), PATIENCE));
        Self { address, gate, waiting, measures, stop, serving }
    }

    fn connect(&self) -> Client {
        let stream = ClientStream::connect(self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client { reader: BufReader::new(stream.try_clone().unwrap()), stream }
    }
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

struct Client {
    stream: ClientStream,
    reader: BufReader<ClientStream>,
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Client {
    fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).unwrap();
    }

    fn answer(&mut self) -> Answer {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.reader.read_line(&mut head).unwrap() > 0, "the connection ended in {head:?}");
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        self.reader.read_exact(&mut body).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head, body: String::from_utf8(body).unwrap() }
    }

    fn ask(&mut self, text: &str) -> Answer {
        self.send(text);
        self.answer()
    }

    fn is_over(&mut self) -> bool {
        self.reader.read(&mut [0]).unwrap() == 0
    }
}

fn post(path: &str, headers: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_request_is_answered_in_the_lane_and_the_next_one_too() {
    let server = Server::start(Exposure::default()).await;
    let mut client = server.connect();
    for body in ["1", "22", "333", "a body that is longer"] {
        let answer = client.ask(&post("/v1/lane/a", "", body));
        assert_eq!((answer.status, answer.body), (200, format!("a:{body}")));
        let names: Vec<_> =
            answer.head.lines().filter_map(|line| line.split_once(": ")).map(|pair| pair.0).collect();
        assert_eq!(names, ["content-type", "x-request-id", "content-length", "date"]);
    }
    assert_eq!(client.ask(&post("/v1/lane/b", "", "x")).body, "b:x", "another head is read");
    let named = client.ask(&post("/v1/lane/b", "x-request-id: mine\r\n", "x"));
    assert!(named.head.contains("x-request-id: mine\r\n"), "{named:?}");
    let accepted = client.ask(&post("/v1/lane/b", "", "accepted"));
    assert!(accepted.head.starts_with("HTTP/1.1 202 Accepted\r\nx-request-id: "), "{accepted:?}");
    assert_eq!(accepted.body, "");
    let problem = client.ask(&post("/v1/lane/b", "x-request-id: mine\r\n", "problem"));
    assert_eq!(problem.status, 429);
    assert!(
        problem.body.contains(r#""requestId":"mine""#) && problem.head.contains("retry-after: 1\r\n"),
        "{problem:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_may_come_in_pieces() {
    let server = Server::start(Exposure::default()).await;
    let request = post("/v1/lane/a", "accept: */*\r\n", "piecemeal");
    let head = request.len() - "piecemeal".len();
    for cut in [1, 4, 6, 30, head - 1, head, head + 1, request.len() - 1] {
        let mut client = server.connect();
        client.send(&request[..cut]);
        tokio::time::sleep(MOMENT).await;
        client.send(&request[cut..]);
        assert_eq!(client.answer().body, "a:piecemeal", "cut at {cut}");
        assert_eq!(client.ask(&request).body, "a:piecemeal", "after it was cut at {cut}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_come_together_are_answered_in_turn_also_by_the_router() {
    let server = Server::start(Exposure::default()).await;
    let mut client = server.connect();
    let mut together: String = (0..50).map(|number| post("/v1/lane/a", "", &number.to_string())).collect();
    together.push_str(&post("/elsewhere", "", "50"));
    together.push_str(&post("/v1/lane/a", "", "51"));
    client.send(&together);
    for number in 0..50 {
        assert_eq!(client.answer().body, format!("a:{number}"));
    }
    assert_eq!(client.answer().body, "router:50");
    assert_eq!(client.answer().body, "router:51", "the connection stays with the router");
}

/// What comes while another request is answered is held within bounds, and the rest waits in the connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_of_requests_may_stand_in_line_behind_one_that_waits() {
    let server = Server::start(Exposure::default()).await;
    let mut client = server.connect();
    client.send(&post("/v1/lane/a", "", "wait"));
    let filler = "x".repeat(3000);
    let sending = {
        let mut stream = client.stream.try_clone().unwrap();
        let line: String =
            (0..40).map(|number| post("/v1/lane/a", "", &format!("{number}{filler}"))).collect();
        std::thread::spawn(move || stream.write_all(line.as_bytes()).unwrap())
    };
    tokio::time::sleep(MOMENT).await;
    server.gate.add_permits(1);
    assert_eq!(client.answer().body, "a:wait");
    for number in 0..40 {
        assert_eq!(client.answer().body, format!("a:{number}{filler}"));
    }
    sending.join().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_plain_goes_to_the_router_whole() {
    let server = Server::start(Exposure::default()).await;
    let long = "x".repeat(HELD);
    let chunked =
        "POST /v1/lane/a HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    for (request, body) in [
        (post("/other", "", "x"), "x"),
        (post("/v1/lane/a", "", ""), ""),
        (post("/v1/lane/a", "", &long), &long[..]),
        (post("/v1/lane/a", &format!("y: {}\r\n", "y".repeat(5000)), "x"), "x"),
        (post("/v1/lane/a", "connection: close\r\n", "x"), "x"),
        (post("/v1/lane/a", "te: trailers\r\n", "x"), "x"),
        (chunked.to_owned(), "x"),
        (post("/v1/lane/a", "", "x").replace("POST", "PUT"), "x"),
        (post("/v1/lane/a", "", "x").replace("1.1", "1.0"), "x"),
        ("GET /v1/lane/a HTTP/1.1\r\nhost: a\r\n\r\n".to_owned(), ""),
    ] {
        let mut client = server.connect();
        let answer = client.ask(&request);
        assert_eq!((answer.status, answer.body), (200, format!("router:{body}")), "{}", request.len());
        let mut client = server.connect();
        assert_eq!(client.ask(&post("/v1/lane/a", "", "first")).body, "a:first");
        assert_eq!(client.ask(&request).body, format!("router:{body}"));
    }
    let mut client = server.connect();
    let expecting = post("/v1/lane/a", "expect: 100-continue\r\n", "x");
    client.send(expecting.strip_suffix("x").unwrap());
    let mut line = String::new();
    client.reader.read_line(&mut line).unwrap();
    assert_eq!(line, "HTTP/1.1 100 Continue\r\n");
    let mut client = server.connect();
    let answer = client.ask(&post("/v1/lane/a", "content-length: 2\r\n", "x"));
    assert_eq!(answer.status, 400, "two lengths");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_head_must_have_the_token_of_its_own() {
    let token = Some(Token::new("secret").unwrap());
    let server = Server::start(Exposure { token, ..Exposure::default() }).await;
    let ask = |token: &str| post("/v1/lane/a", &format!("authorization: Bearer {token}\r\n"), "x");
    let mut client = server.connect();
    assert_eq!(client.ask(&ask("secret")).body, "a:x");
    assert_eq!(client.ask(&ask("secret")).body, "a:x");
    for wrong in ["secres", "secre", "secrett", ""] {
        let answer = client.ask(&ask(wrong));
        assert!(answer.status == 401 && answer.body.contains("unauthorized"), "{answer:?}");
    }
    assert_eq!(client.ask(&post("/v1/lane/a", "", "x")).status, 401);
    assert_eq!(client.ask(&ask("secret")).body, "router:x", "it may come in again, elsewhere");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_an_allowed_origin_may_read_answers_of_the_lane() {
    let origins = vec!["https://page.example".parse::<Origin>().unwrap()];
    let server = Server::start(Exposure { origins, ..Exposure::default() }).await;
    let allowed = "origin: https://page.example\r\n";
    let cors = |head: &str| {
        let lines =
            head.lines().filter(|line| line.starts_with("vary") || line.starts_with("access-control"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let mut client = server.connect();
    for body in ["x", "accepted", "problem"] {
        let in_lane = client.ask(&post("/v1/lane/a", allowed, body));
        let routed = server.connect().ask(&post("/other", allowed, body));
        assert_eq!(cors(&in_lane.head), cors(&routed.head));
        assert_eq!(cors(&in_lane.head).len(), 3, "{in_lane:?}");
    }
    assert_eq!(cors(&client.ask(&post("/v1/lane/a", "", "x")).head), ["vary: Origin"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_takes_its_request_along() {
    let server = Server::start(Exposure::default()).await;
    let mut client = server.connect();
    client.send(&post("/v1/lane/a", "", "wait"));
    until("the request waits", || server.waiting.load(Ordering::SeqCst) == 1).await;
    assert_eq!(server.measures.abandoned.get(), 0);
    drop(client);
    until("the request is dropped", || server.waiting.load(Ordering::SeqCst) == 0).await;
    until("it is counted", || server.measures.abandoned.get() == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_answer_comes_whole_to_a_slow_reader() {
    let server = Server::start(Exposure::default()).await;
    let mut client = server.connect();
    client.send(&post("/v1/lane/a", "", "large"));
    tokio::time::sleep(MOMENT).await;
    let answer = client.answer();
    assert_eq!(answer.body.len(), LARGE);
    assert!(answer.body.bytes().all(|byte| byte == b'x'));
    assert_eq!(client.ask(&post("/v1/lane/a", "", "more")).body, "a:more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_the_end_who_waits_is_answered_and_who_does_not_is_let_go() {
    let server = Server::start(Exposure::default()).await;
    let (mut idle, mut busy) = (server.connect(), server.connect());
    assert_eq!(idle.ask(&post("/v1/lane/a", "", "x")).body, "a:x");
    busy.send(&post("/v1/lane/a", "", "wait"));
    until("the request waits", || server.waiting.load(Ordering::SeqCst) == 1).await;
    server.stop.cancel();
    assert!(idle.is_over());
    assert!(!server.serving.is_finished(), "somebody waits");
    server.gate.add_permits(1);
    let answer = busy.answer();
    assert_eq!(answer.body, "a:wait");
    assert!(answer.head.contains("connection: close\r\n"), "{answer:?}");
    assert!(busy.is_over());
    server.serving.await.unwrap();
}

/// A conversation with an alarm that goes off soon.
async fn hold_for(limit: Duration, sent: &'static str) -> Parting {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    client.write_all(sent.as_bytes()).await.unwrap();
    let edge = Edge::new(Router::new(), Exposure::default()).with_lane(EchoLane::default());
    let mut stream = Counted::new(stream, &edge.measures);
    let (timer, connections) = (ConnectionTimer::default(), Drain::new());
    let mut ticket = connections.ticket();
    let lane = Conversation::new(&mut stream, &edge, &mut ticket, &timer);
    let parting = timer.clone().drive(Box::pin(lane.hold()), limit).await.unwrap();
    drop(client);
    parting
}

#[tokio::test]
async fn who_sends_no_head_for_too_long_is_let_go_and_who_takes_long_for_a_body_is_hypers() {
    let limit = Duration::from_millis(50);
    assert!(matches!(hold_for(limit, "").await, Parting::Over));
    assert!(matches!(hold_for(limit, "POST /v1/lane/a HTTP/1.1\r\n").await, Parting::Over));
    let begun = "POST /v1/lane/a HTTP/1.1\r\ncontent-length: 2\r\n\r\nx";
    assert!(matches!(hold_for(limit, begun).await, Parting::Unusual(read) if read == begun.as_bytes()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_says_it_sends_no_more_behind_two_requests_gets_the_first_answer() {
    let server = Server::start(Exposure::default()).await;
    let mut client = server.connect();
    client.send(&[post("/v1/lane/a", "", "wait"), post("/v1/lane/a", "", "next")].concat());
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    until("the request waits", || server.waiting.load(Ordering::SeqCst) == 1).await;
    tokio::time::sleep(MOMENT).await;
    server.gate.add_permits(1);
    assert_eq!(client.answer().body, "a:wait");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_the_end_a_request_that_was_begun_is_answered_also_by_the_router() {
    let server = Server::start(Exposure::default()).await;
    let (mut lane, mut router) = (server.connect(), server.connect());
    for client in [&mut lane, &mut router] {
        assert_eq!(client.ask(&post("/v1/lane/a", "", "x")).body, "a:x");
        client.send("POST /");
    }
    tokio::time::sleep(MOMENT).await;
    server.stop.cancel();
    tokio::time::sleep(MOMENT).await;
    lane.send(post("/v1/lane/a", "", "y").strip_prefix("POST /").unwrap());
    assert_eq!(lane.answer().body, "a:y");
    router.send(post("/elsewhere", "", "y").strip_prefix("POST /").unwrap());
    assert_eq!(router.answer().body, "router:y");
    assert!(lane.is_over() && router.is_over());
    server.serving.await.unwrap();
}
