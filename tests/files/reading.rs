//! `GET` and `HEAD /v1/fs/file`.

use std::os::unix::fs::symlink;
use std::time::Duration;

use reqwest::Method;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use test_harness::files::{Answer, Server, file};

#[tokio::test]
async fn a_file_is_sent_as_raw_bytes_with_its_version() {
    let server = Server::start();
    let content: Vec<u8> = (0..=255).cycle().take(700_000).collect();
    std::fs::write(server.at("data.bin"), &content).unwrap();
    let answer = server.read("data.bin").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body, content);
    assert_eq!(answer.header("content-length"), "700000");
    assert_eq!(answer.header("accept-ranges"), "bytes");
    assert!(answer.header("etag").starts_with('"'));
    assert!(answer.header("last-modified").ends_with(" GMT"));
}

#[tokio::test]
async fn files_written_by_an_agent_cannot_run_in_a_browser() {
    let server = Server::start();
    let name = "evil\"; x=\u{e9}.html";
    server.put(name, "<script>alert(1)</script>").await.json();
    for target in [file(name), "/v1/fs/download-batch".to_owned()] {
        let answer = server.get(&target).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("content-security-policy"), "sandbox");
        assert!(answer.header("content-disposition").starts_with("attachment"));
    }
    let answer = server.read(name).await;
    assert_eq!(answer.header("content-type"), "application/octet-stream");
    assert_eq!(
        answer.header("content-disposition"),
        "attachment; filename=\"evil__ x__.html\"; filename*=UTF-8''evil%22%3B%20x%3D%C3%A9.html"
    );
}

#[tokio::test]
async fn head_is_get_without_the_bytes() {
    let server = Server::start();
    std::fs::write(server.at("a"), "0123456789").unwrap();
    let head = Answer::of(server.request(Method::HEAD, &file("a")).header("range", "bytes=0-1")).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    let get = server.read("a").await;
    for name in
        ["content-length", "etag", "last-modified", "content-type", "accept-ranges", "content-disposition"]
    {
        assert_eq!(head.header(name), get.header(name), "{name}");
    }
    assert_eq!(Answer::of(server.request(Method::HEAD, &file("none"))).await.status, 404);
}

#[tokio::test]
async fn a_range_is_sent_as_a_part() {
    let server = Server::start();
    std::fs::write(server.at("a"), "0123456789").unwrap();
    for (range, content, content_range) in [
        ("bytes=0-3", "0123", "bytes 0-3/10"),
        ("bytes=4-", "456789", "bytes 4-9/10"),
        ("bytes=-3", "789", "bytes 7-9/10"),
        ("bytes=8-100", "89", "bytes 8-9/10"),
        ("bytes=2-3,4-5", "2345", "bytes 2-5/10"),
        ("bytes=0-0,50-60", "0", "bytes 0-0/10"),
    ] {
        let answer = server.read_with("a", "range", range).await;
        assert_eq!((answer.status, answer.text()), (206, content), "{range}");
        assert_eq!(answer.header("content-range"), content_range, "{range}");
        assert_eq!(answer.header("content-length"), content.len().to_string(), "{range}");
    }
    for ignored in ["bytes=5-2", "lines=0-1", "bytes=0-1,8-9", "nonsense"] {
        let answer = server.read_with("a", "range", ignored).await;
        assert_eq!((answer.status, answer.text()), (200, "0123456789"), "{ignored}");
    }
}

#[tokio::test]
async fn a_range_outside_the_file_is_416_with_the_size() {
    let server = Server::start();
    std::fs::write(server.at("a"), "0123456789").unwrap();
    std::fs::write(server.at("empty"), "").unwrap();
    for (path, range, content_range) in [
        ("a", "bytes=10-", "bytes */10"),
        ("a", "bytes=-0", "bytes */10"),
        ("empty", "bytes=0-", "bytes */0"),
    ] {
        let answer = server.read_with(path, "range", range).await;
        answer.problem(416, "range_not_satisfiable");
        assert_eq!(answer.header("content-range"), content_range);
    }
}

#[tokio::test]
async fn a_client_that_has_the_current_version_gets_304() {
    let server = Server::start();
    std::fs::write(server.at("a"), "old").unwrap();
    let first = server.read("a").await;
    let (etag, date) = (first.header("etag"), first.header("last-modified"));
    let weak = format!("W/{etag}");
    for (name, value) in [
        ("if-none-match", etag),
        ("if-none-match", &weak),
        ("if-none-match", "*"),
        ("if-none-match", &format!("\"other\", {etag}")),
        ("if-modified-since", date),
    ] {
        let answer = server.read_with("a", name, value).await;
        assert_eq!((answer.status, answer.body.len()), (304, 0), "{name}: {value}");
        assert_eq!(answer.header("etag"), etag);
    }
    std::fs::write(server.at("a"), "new").unwrap();
    assert_eq!(server.read_with("a", "if-none-match", etag).await.text(), "new");
    server.read_with("a", "if-match", etag).await.problem(412, "precondition_failed");
    let unreadable = server.read_with("a", "if-none-match", "unquoted").await.problem(400, "invalid_header");
    assert_eq!(unreadable["header"], "if-none-match");
}

#[tokio::test]
async fn a_download_is_resumed_only_if_the_file_is_still_the_same() {
    let server = Server::start();
    std::fs::write(server.at("a"), "0123456789").unwrap();
    let etag = server.read("a").await.header("etag").to_owned();
    let resume = |tag: String| {
        let request = server.request(Method::GET, &file("a")).header("range", "bytes=5-");
        Answer::of(request.header("if-range", tag))
    };
    assert_eq!(resume(etag.clone()).await.status, 206);
    std::fs::write(server.at("a"), "abcdefghij").unwrap();
    let changed = resume(etag).await;
    assert_eq!((changed.status, changed.text()), (200, "abcdefghij"));
}

#[tokio::test]
async fn only_regular_files_are_read_and_a_fifo_never_hangs() {
    let server = Server::start();
    std::fs::create_dir(server.at("directory")).unwrap();
    mknodat(CWD, server.at("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    symlink("loop", server.at("loop")).unwrap();
    symlink("fifo", server.at("to-fifo")).unwrap();
    for path in ["directory", "fifo", "to-fifo", "loop", "/dev/zero"] {
        let answer = tokio::time::timeout(Duration::from_secs(10), server.read(path)).await.expect(path);
        answer.problem(409, "wrong_kind");
    }
    server.read("none").await.problem(404, "file_not_found");
    symlink("none", server.at("dangling")).unwrap();
    server.read("dangling").await.problem(404, "file_not_found");
}

#[tokio::test]
async fn a_file_with_generated_contents_is_read_to_its_end() {
    let server = Server::start();
    let answer = server.read("/proc/self/status").await;
    assert_eq!(answer.status, 200);
    assert!(answer.text().starts_with("Name:\tsandbox-agent"), "{}", answer.text());
    assert_eq!(answer.header("accept-ranges"), "none");
    assert!(!answer.headers.contains_key("etag"), "a generated file must have no etag");
}
