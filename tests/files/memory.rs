//! Memory use is independent of file sizes.

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use reqwest::{Body, Method};

use test_harness::files::{Server, file};

const SIZE: u64 = 2 << 30;
const PIECE: usize = 1 << 20;
const MAY_GROW: u64 = 16 << 20;

#[tokio::test]
async fn two_gibibytes_are_uploaded_and_downloaded_in_constant_memory() {
    let server = Server::start();
    // The first requests create threads and buffers that stay.
    server.put("warm", vec![0; 4 * PIECE]).await.json();
    assert_eq!(server.read("warm").await.body.len(), 4 * PIECE);
    let before = server.memory("VmRSS");

    let piece = Bytes::from(vec![7; PIECE]);
    let pieces = stream::iter((0..SIZE / PIECE as u64).map(move |_| Ok::<_, std::io::Error>(piece.clone())));
    let written = server.put("large", Body::wrap_stream(pieces)).await.json();
    assert_eq!(written["bytesWritten"], SIZE);
    let after_upload = server.memory("VmHWM").saturating_sub(before);
    assert!(after_upload < MAY_GROW, "an upload took {after_upload} bytes of memory");

    let response = server.request(Method::GET, &file("large")).send().await.unwrap();
    assert_eq!(response.content_length(), Some(SIZE));
    let mut received = 0;
    let mut body = response.bytes_stream();
    while let Some(piece) = body.next().await {
        let piece = piece.unwrap();
        assert_eq!((piece.first(), piece.last()), (Some(&7), Some(&7)));
        received += piece.len() as u64;
    }
    assert_eq!(received, SIZE);
    let after_download = server.memory("VmHWM").saturating_sub(before);
    assert!(after_download < MAY_GROW, "a download took {after_download} bytes of memory");
}

#[tokio::test]
async fn a_reader_that_stops_reading_does_not_fill_the_memory() {
    let server = Server::start();
    server.put("warm", vec![0; 4 * PIECE]).await.json();
    assert_eq!(server.read("warm").await.body.len(), 4 * PIECE);
    // A sparse file has no blocks, so this takes neither time nor disk space.
    std::fs::File::create(server.at("sparse")).unwrap().set_len(64 * SIZE).unwrap();
    let before = server.memory("VmRSS");
    let mut readers = Vec::new();
    for _ in 0..4 {
        let response = server.request(Method::GET, &file("sparse")).send().await.unwrap();
        assert_eq!(response.content_length(), Some(64 * SIZE));
        let mut body = response.bytes_stream();
        assert!(!body.next().await.unwrap().unwrap().is_empty());
        readers.push(body);
    }
    // Other clients are served in the meantime.
    for _ in 0..50 {
        assert_eq!(server.read("warm").await.body.len(), 4 * PIECE);
    }
    let grown = server.memory("VmHWM").saturating_sub(before);
    assert!(grown < MAY_GROW, "{} waiting readers took {grown} bytes of memory", readers.len());
}
