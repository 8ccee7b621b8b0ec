//! Clients that do not read the archive that they asked for.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use reqwest::Method;

use test_harness::files::{Options, PATIENCE, Server};

const MEBIBYTE: u64 = 1 << 20;

/// Asks for an archive of the whole workspace, and reads nothing.
fn unread(server: &Server) -> TcpStream {
    let mut connection = TcpStream::connect(&server.address).unwrap();
    // Small, so that the kernel does not take megabytes for each of many clients.
    rustix::net::sockopt::set_socket_recv_buffer_size(&connection, 4 << 10).unwrap();
    let target = "/v1/fs/download-batch?format=tar";
    write!(connection, "GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).unwrap();
    connection
}

fn with_large_file(flags: &[&str]) -> Server {
    let server = Server::start_with(&Options::flags(flags));
    // A sparse file has no blocks, so this takes neither time nor disk space.
    std::fs::File::create(server.at("sparse")).unwrap().set_len(8 << 30).unwrap();
    std::fs::create_dir(server.at("small")).unwrap();
    std::fs::write(server.at("small/file"), "x").unwrap();
    server
}

/// The bytes that the server has charged to its memory account.
async fn accounted(server: &Server) -> u64 {
    let metrics = server.get("/metrics").await;
    let line = |line: &str| line.strip_prefix("sandbox_agent_memory_used_bytes ")?.parse().ok();
    metrics.text().lines().find_map(line).expect("the account is exposed")
}

#[tokio::test]
async fn unread_files_are_charged() {
    let server = with_large_file(&[]);
    let ask = |_| {
        let mut connection = TcpStream::connect(&server.address).unwrap();
        let target = "/v1/fs/file?path=sparse";
        write!(connection, "GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).unwrap();
        connection
    };
    let waiting: Vec<_> = (0..100).map(ask).collect();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while accounted(&server).await < 100 * (500 << 10) {
        assert!(tokio::time::Instant::now() < deadline, "{} bytes accounted", accounted(&server).await);
    }
    drop(waiting);
}

/// Waits until so many archives are being sent.
async fn begun(server: &Server, count: usize) {
    let sent = r#"request_duration_seconds_count{route="/v1/fs/download-batch",method="GET",class="2xx"} "#;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let metrics = server.get("/metrics").await;
        let line = metrics.text().lines().find_map(|line| Some(line.split_once(sent)?.1.to_owned()));
        if line.is_some_and(|found| found == count.to_string()) {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{count} downloads do not begin");
    }
}

async fn download(server: &Server) -> bool {
    let request = server.request(Method::GET, "/v1/fs/download-batch?path=small&format=tar");
    let answer = tokio::time::timeout(Duration::from_secs(15), request.send()).await;
    match answer {
        Ok(answer) => answer.unwrap().bytes().await.unwrap().len() > 1000,
        Err(_elapsed) => false,
    }
}

#[tokio::test]
async fn unread_downloads_leave_their_slots_to_others() {
    let server = with_large_file(&["--memory-budget", "64MiB"]);
    let waiting: Vec<_> = (0..64).map(|_| unread(&server)).collect();
    begun(&server, 64).await;
    assert!(download(&server).await, "an archive can be downloaded");
    let (resident, accounted) = (server.memory("VmRSS"), accounted(&server).await);
    println!("{} unread downloads: {} of {} MiB", waiting.len(), accounted / MEBIBYTE, resident / MEBIBYTE);
    assert!(resident <= accounted * 3 / 2 + 40 * MEBIBYTE, "{resident} bytes for {accounted} accounted");
}

#[tokio::test]
async fn unread_downloads_end_when_their_clients_take_nothing_for_too_long() {
    let server = with_large_file(&["--send-timeout", "2s"]);
    // More than may be transferred at the same time.
    let waiting: Vec<_> = (0..140).map(|_| unread(&server)).collect();
    begun(&server, 128).await;
    assert!(download(&server).await, "an archive can be downloaded");
    drop(waiting);
}
