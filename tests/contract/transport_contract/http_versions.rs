//! HTTP/1.1 and HTTP/2 without TLS.

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;

use test_harness::Server;
use test_harness::rpc::call;

async fn connect(server: &Server) -> http2::SendRequest<Full<Bytes>> {
    let connection = tokio::net::TcpStream::connect(("127.0.0.1", server.port)).await.unwrap();
    let (sender, driver) = http2::handshake(TokioExecutor::new(), TokioIo::new(connection)).await.unwrap();
    tokio::spawn(driver);
    sender
}

fn request(server: &Server, method: &str, path: &str, body: String) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri(format!("http://127.0.0.1:{}{path}", server.port))
        .header("content-type", "application/json")
        .body(Full::from(body))
        .unwrap()
}

#[tokio::test]
async fn many_requests_and_a_stream_share_one_h2c_connection() {
    let server = Server::start();
    let mut sender = connect(&server).await;
    let post = |id: u64, params: serde_json::Value| {
        request(&server, "POST", "/v1/acp/a?agent=fault", call(id, "echo", params))
    };
    let first = sender.send_request(post(0, json!({}))).await.unwrap();
    assert_eq!((first.status().as_u16(), first.version()), (200, hyper::Version::HTTP_2));
    first.into_body().collect().await.unwrap();

    let stream = sender.send_request(request(&server, "GET", "/v1/acp/a", String::new())).await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let mut stream = stream.into_body();
    let answers: Vec<_> = (1..=20).map(|id| sender.send_request(post(id, json!(id)))).collect();
    for answer in answers {
        assert_eq!(answer.await.unwrap().status(), 200);
    }
    let mut text = String::new();
    while text.matches("event: message").count() < 21 {
        let frame = tokio::time::timeout(test_harness::SOON, stream.frame()).await.expect("a frame comes");
        text.push_str(std::str::from_utf8(frame.unwrap().unwrap().data_ref().unwrap()).unwrap());
    }
}

#[tokio::test]
async fn errors_are_problems_over_h2c_too() {
    let server = Server::start();
    let mut sender = connect(&server).await;
    let answer = sender.send_request(request(&server, "GET", "/v1/nothing", String::new())).await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["content-type"]),
        (404, &"application/problem+json".parse().unwrap())
    );
}

#[test]
fn http_1_connections_are_kept_alive_for_several_requests() {
    let server = Server::start();
    server.open("a", "fault");
    let mut connection = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let mut answers = std::io::BufReader::new(connection.try_clone().unwrap());
    for id in 0..20 {
        let body = call(id, "echo", json!(id));
        let head = format!(
            "POST /v1/acp/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        std::io::Write::write_all(&mut connection, head.as_bytes()).unwrap();
        let answer = test_harness::Response::read(&mut answers).expect(200);
        assert_eq!(answer.json()["result"], id);
    }
}
