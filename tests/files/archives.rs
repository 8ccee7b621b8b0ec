//! `POST /v1/fs/upload-batch` and `GET /v1/fs/download-batch` with ordinary archives.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::symlink;

use reqwest::Method;
use serde_json::json;

use test_harness::files::{Answer, Server, Tar, gzip, names, query, zstd};

fn sample() -> Vec<u8> {
    Tar::default()
        .directory("folder/")
        .file("folder/a.txt", b"first")
        .file("folder/a.txt", b"second")
        .symlink("folder/link", "a.txt")
        .hard_link("folder/hard", "folder/a.txt")
        .file("implied/b.txt", b"b")
        .bytes()
}

/// The entries of an archive: names with contents or link targets.
fn listed(archive: impl Read) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in tar::Archive::new(archive).entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut content = String::new();
        entry.read_to_string(&mut content).unwrap();
        if let Some(target) = entry.link_name().unwrap() {
            content = format!("-> {}", target.display());
        }
        found.insert(entry.path().unwrap().display().to_string(), content);
    }
    found
}

#[tokio::test]
async fn an_archive_is_unpacked_as_by_tar_with_every_compression() {
    let server = Server::start();
    let plain = sample();
    for (target, media_type, archive) in [
        ("plain", "application/x-tar", plain.clone()),
        ("gzip", "application/gzip", gzip(&plain)),
        ("x-gzip", "application/x-gzip; charset=binary", gzip(&plain)),
        ("combined", "application/x-tar+gzip", gzip(&plain)),
        ("zstd", "application/zstd", zstd(&plain)),
    ] {
        let answer = server.unpack(target, media_type, archive).await.json();
        assert_eq!((&answer["count"], &answer["truncated"]), (&json!(6), &json!(false)), "{media_type}");
        assert_eq!(answer["paths"][1], server.shown(&format!("{target}/folder/a.txt")));
        let read = |path: &str| std::fs::read_to_string(server.at(target).join(path)).unwrap();
        assert_eq!(read("folder/a.txt"), "second");
        assert_eq!(read("folder/link"), "second");
        assert_eq!(read("folder/hard"), "second");
        assert_eq!(read("implied/b.txt"), "b");
        assert_eq!(names(&server.at(target)), ["folder", "implied"], "leftover files");
    }
}

#[tokio::test]
async fn an_archive_without_a_path_is_merged_into_the_workspace() {
    let server = Server::start();
    server.put("folder/a.txt", "old").await.json();
    server.put("folder/kept", "kept").await.json();
    let request = server.request(Method::POST, "/v1/fs/upload-batch");
    let answer = Answer::of(request.header("content-type", "application/x-tar").body(sample())).await;
    assert_eq!(answer.json()["count"], 6);
    assert_eq!(server.read("folder/a.txt").await.text(), "second");
    assert_eq!(server.read("folder/kept").await.text(), "kept");
}

#[tokio::test]
async fn only_the_first_1024_paths_are_listed() {
    let server = Server::start();
    let archive = (0..1030).fold(Tar::default(), |tar, number| tar.file(&format!("f{number}"), b"")).bytes();
    let answer = server.unpack("many", "application/x-tar", archive).await.json();
    assert_eq!(answer["paths"].as_array().unwrap().len(), 1024);
    assert_eq!((&answer["count"], &answer["truncated"]), (&json!(1030), &json!(true)));
    assert_eq!(names(&server.at("many")).len(), 1030);
}

#[tokio::test]
async fn a_content_type_other_than_an_archive_is_refused() {
    let server = Server::start();
    for media_type in ["application/zip", "application/octet-stream", "multipart/form-data; boundary=x"] {
        server.unpack("x", media_type, sample()).await.problem(415, "unsupported_media_type");
    }
    let untyped = server.request(Method::POST, "/v1/fs/upload-batch?path=x").body(sample());
    Answer::of(untyped).await.problem(415, "unsupported_media_type");
    assert_eq!(names(&server.workspace()), [""; 0]);
}

#[tokio::test]
async fn an_archive_that_does_not_match_its_content_type_is_refused_and_leaves_nothing() {
    let server = Server::start();
    for (media_type, body) in [
        ("application/x-tar", b"no archive at all, and longer than one block of it ".repeat(20)),
        ("application/x-tar", gzip(&sample())),
        ("application/gzip", sample()),
        ("application/zstd", gzip(&sample())),
        ("application/x-tar", sample()[..700].to_vec()),
        ("application/gzip", gzip(&sample())[..60].to_vec()),
    ] {
        server.unpack("new/target", media_type, body).await.problem(400, "archive_rejected");
        assert_eq!(names(&server.workspace()), [""; 0], "{media_type}");
    }
    server.put("file", "x").await.json();
    server.unpack("file", "application/x-tar", sample()).await.problem(409, "wrong_kind");
}

#[tokio::test]
async fn a_directory_is_sent_as_an_archive() {
    let server = Server::start();
    server.put("folder/a.txt", "a").await.json();
    server.put("folder/deep/b.txt", "b").await.json();
    symlink("a.txt", server.at("folder/link")).unwrap();
    let target =
        |format: &str| format!("/v1/fs/download-batch{}", query(&[("path", "folder"), ("format", format)]));
    let expected: BTreeMap<String, String> =
        [("a.txt", "a"), ("deep", ""), ("deep/b.txt", "b"), ("link", "-> a.txt")]
            .map(|(name, content)| (name.to_owned(), content.to_owned()))
            .into();

    let plain = server.get(&target("tar")).await;
    assert_eq!((plain.status, plain.header("content-type")), (200, "application/x-tar"));
    assert_eq!(plain.header("content-disposition"), "attachment; filename=\"folder.tar\"");
    let inside = |listed: BTreeMap<String, String>| {
        listed.into_iter().filter(|(name, _)| name != "./").collect::<BTreeMap<_, _>>()
    };
    assert_eq!(inside(listed(plain.body.as_slice())), expected);

    let compressed = server.get(&target("tar.gz")).await;
    assert_eq!(compressed.header("content-type"), "application/gzip");
    assert_eq!(compressed.header("content-disposition"), "attachment; filename=\"folder.tar.gz\"");
    let decoder = flate2::read::MultiGzDecoder::new(compressed.body.as_slice());
    assert_eq!(inside(listed(decoder)), expected);
}

#[tokio::test]
async fn the_archive_format_can_be_negotiated() {
    let server = Server::start();
    let accept = |value: &'static str| {
        Answer::of(server.request(Method::GET, "/v1/fs/download-batch").header("accept", value))
    };
    assert_eq!(accept("*/*").await.header("content-type"), "application/x-tar");
    assert_eq!(accept("application/gzip").await.header("content-type"), "application/gzip");
    assert_eq!(accept("application/gzip, */*;q=0.1").await.header("content-type"), "application/gzip");
    accept("text/html").await.problem(406, "not_acceptable");
    let problem = server.get("/v1/fs/download-batch?format=zip").await.problem(400, "invalid_parameter");
    assert_eq!(problem["parameter"], "format");
}

#[tokio::test]
async fn only_a_directory_is_packed() {
    let server = Server::start();
    server.put("file", "x").await.json();
    server.get("/v1/fs/download-batch?path=file").await.problem(409, "wrong_kind");
    server.get("/v1/fs/download-batch?path=none").await.problem(404, "file_not_found");
}

#[tokio::test]
async fn an_uploaded_archive_downloads_unchanged() {
    let server = Server::start();
    for number in 0..300 {
        std::fs::create_dir_all(server.at(&format!("from/{}", number % 7))).unwrap();
        let content = vec![u8::try_from(number % 251).unwrap(); number * 97];
        std::fs::write(server.at(&format!("from/{}/{number}", number % 7)), content).unwrap();
    }
    let archive = server.get("/v1/fs/download-batch?path=from&format=tar.gz").await;
    server.unpack("to", "application/gzip", archive.body).await.json();
    let relative = |side: &str| {
        let base = server.at(side);
        let all = test_harness::files::snapshot(&base).into_iter();
        all.map(|(path, content)| (path.strip_prefix(&base).unwrap().to_owned(), content)).collect::<Vec<_>>()
    };
    assert_eq!(relative("to"), relative("from"));
}
