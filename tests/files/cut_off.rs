//! Clients that disconnect during a transfer, at the level of raw bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use test_harness::files::{Server, Tar, eventually, names, snapshot};

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(test_harness::files::PATIENCE)).unwrap();
    stream
}

fn head(server: &Server, line: &str, headers: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", server.address)
}

/// How a client disconnects.
#[derive(Clone, Copy, Debug)]
enum Disconnect {
    /// Closes its sending side, although the body is incomplete.
    Half,
    /// Closes the connection.
    Gone,
}

async fn cut_off_put(headers: &str, half: &[u8], disconnect: Disconnect) {
    let server = Server::start();
    server.put("folder/file", "the old file").await.json();
    let before = snapshot(&server.workspace());
    for target in ["folder/file", "folder/new/deep/file"] {
        let mut stream = connect(&server);
        let line = format!("PUT /v1/fs/file?path={target}");
        stream.write_all(head(&server, &line, headers).as_bytes()).unwrap();
        stream.write_all(half).unwrap();
        // A temporary file next to the old one shows that the upload is in progress.
        eventually("the upload", || (snapshot(&server.workspace()) != before).then_some(())).await;
        match disconnect {
            Disconnect::Half => stream.shutdown(Shutdown::Write).unwrap(),
            Disconnect::Gone => drop(stream),
        }
        eventually("the old state", || (snapshot(&server.workspace()) == before).then_some(())).await;
        assert_eq!(server.read("folder/file").await.text(), "the old file");
    }
}

#[tokio::test]
async fn an_interrupted_upload_leaves_the_old_file_and_nothing_else() {
    cut_off_put("Content-Length: 2000000\r\n", &vec![b'x'; 1_000_000], Disconnect::Gone).await;
}

#[tokio::test]
async fn an_upload_shorter_than_its_announced_length_is_not_stored() {
    cut_off_put("Content-Length: 2000000\r\n", &vec![b'x'; 1_000_000], Disconnect::Half).await;
}

#[tokio::test]
async fn a_chunked_upload_without_its_last_chunk_is_not_stored() {
    let chunk = [b"10000\r\n".as_slice(), &[b'x'; 0x10000], b"\r\n"].concat();
    cut_off_put("Transfer-Encoding: chunked\r\n", &chunk.repeat(8), Disconnect::Gone).await;
    cut_off_put("Transfer-Encoding: chunked\r\n", &chunk.repeat(8), Disconnect::Half).await;
}

#[tokio::test]
async fn a_complete_upload_is_stored_even_if_its_client_has_disconnected() {
    let server = Server::start();
    for number in 0..10 {
        let mut stream = connect(&server);
        let line = format!("PUT /v1/fs/file?path=file-{number}");
        stream.write_all(head(&server, &line, "Content-Length: 300000\r\n").as_bytes()).unwrap();
        stream.write_all(&vec![b'x'; 300_000]).unwrap();
        // The whole body is sent, and the client does not wait for the answer.
        drop(stream);
        let path = server.at(&format!("file-{number}"));
        eventually("the file", || path.metadata().is_ok_and(|file| file.len() == 300_000).then_some(()))
            .await;
    }
    assert_eq!(names(&server.workspace()).len(), 10);
}

#[tokio::test]
async fn a_client_that_waits_for_100_continue_is_refused_before_it_sends() {
    let server = Server::start();
    std::fs::create_dir(server.at("directory")).unwrap();
    let mut stream = connect(&server);
    let headers = "Content-Length: 1000000000\r\nExpect: 100-continue\r\n";
    stream.write_all(head(&server, "PUT /v1/fs/file?path=directory", headers).as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(std::str::from_utf8(&answer).unwrap(), "HTTP/1.1 409");
}

#[tokio::test]
async fn an_interrupted_archive_upload_leaves_nothing() {
    let server = Server::start();
    server.put("target/kept", "kept").await.json();
    let before = snapshot(&server.workspace());
    let archive = Tar::default().file("kept", b"replaced").file("large", &vec![b'x'; 2_000_000]).bytes();
    for target in ["target", "new/target"] {
        let mut stream = connect(&server);
        let headers = format!("Content-Type: application/x-tar\r\nContent-Length: {}\r\n", archive.len());
        let line = format!("POST /v1/fs/upload-batch?path={target}");
        stream.write_all(head(&server, &line, &headers).as_bytes()).unwrap();
        stream.write_all(&archive[..archive.len() / 2]).unwrap();
        eventually("the unpacking", || (snapshot(&server.workspace()) != before).then_some(())).await;
        drop(stream);
        eventually("the old state", || (snapshot(&server.workspace()) == before).then_some(())).await;
    }
}

#[tokio::test]
async fn files_left_by_a_killed_server_are_not_listed_and_are_removed_at_the_next_start() {
    let mut server = Server::start();
    server.put("folder/file", "the old file").await.json();
    std::os::unix::fs::symlink("folder/file", server.at("link")).unwrap();
    let before = snapshot(&server.workspace());
    let half = |target: &str, content_type: &str, body: &[u8]| {
        let mut stream = connect(&server);
        let headers = format!("Content-Type: {content_type}\r\nContent-Length: 2000000\r\n");
        stream.write_all(head(&server, target, &headers).as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        stream
    };
    let archive = Tar::default().file("inside", &vec![b'x'; 100_000]).bytes();
    let streams = [
        half("PUT /v1/fs/file?path=link", "application/octet-stream", &[b'x'; 1000]),
        half("PUT /v1/fs/file?path=new/deep/file", "application/octet-stream", &[b'x'; 1000]),
        half("POST /v1/fs/upload-batch?path=folder", "application/x-tar", &archive[..50_000]),
    ];
    let leftovers = || {
        let all = snapshot(&server.workspace()).into_iter().map(|(path, _)| path);
        all.filter(|path| path.display().to_string().contains(".sandbox-agent-")).collect::<Vec<_>>()
    };
    eventually("the three uploads", || (leftovers().len() >= 3).then_some(())).await;
    let listing = server.get("/v1/fs/entries?path=.&recursive=true").await;
    assert!(listing.text().contains("folder") && !listing.text().contains(".sandbox-agent-"), "{listing:?}");
    let packed = server.get("/v1/fs/download-batch?path=.").await;
    let packed = String::from_utf8_lossy(&packed.body).into_owned();
    assert!(packed.contains("folder/file") && !packed.contains(".sandbox-agent-"));
    server.kill_and_restart();
    drop(streams);
    let after = snapshot(&server.workspace());
    let is_left = |path: &std::path::Path| path.display().to_string().contains(".sandbox-agent-");
    assert!(!after.iter().any(|(path, _)| is_left(path)), "{after:?}");
    assert!(before.iter().all(|entry| after.contains(entry)), "{after:?}");
    assert_eq!(names(&server.data().join("uploads")), Vec::<String>::new());
}
