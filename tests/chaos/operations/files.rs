//! Files that are written, read, moved and removed concurrently. Each file describes its own content, so that a
//! mixture of two writes, or a part of one, is noticed.

use std::io::{Read, Write};
use std::sync::Arc;

use serde_json::json;
use test_harness::files::Tar;

use crate::random::Random;
use crate::round::Round;
use crate::wire::{Ask, connect};

/// All file names. There must be no other file after a round.
const NAMES: [&str; 6] = ["a", "b", "a/x", "a/y", "b/x", "b/y/z"];
/// The parts of the names.
pub(crate) const PARTS: [&str; 5] = ["a", "b", "x", "y", "z"];

/// The possible errors of an operation when others change the same files.
const RACES: &[&str] = &[
    "already_exists",
    "changed_meanwhile",
    "file_not_found",
    "move_into_itself",
    "not_empty",
    "precondition_failed",
    "wrong_kind",
];

/// `SIZE:` and that many equal letters.
fn content(random: &mut Random) -> Vec<u8> {
    let (size, letter) = (random.size(0..300_000), *random.pick(b"abcdefghijklmnop"));
    let mut content = format!("{size}:").into_bytes();
    content.resize(content.len() + size, letter);
    content
}

/// Whether these bytes are the complete content of one write.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    let Some(colon) = bytes.iter().take(10).position(|byte| *byte == b':') else { return false };
    let size = std::str::from_utf8(&bytes[..colon]).ok().and_then(|size| size.parse::<usize>().ok());
    let rest = &bytes[colon + 1..];
    size == Some(rest.len()) && rest.windows(2).all(|pair| pair[0] == pair[1])
}

fn file(name: &str) -> String {
    format!("/v1/fs/file?path={name}")
}

pub(super) fn write(round: &Arc<Round>, random: &mut Random) {
    let name = *random.pick(&NAMES);
    round.note(format!("write {name}"));
    let mut ask = Ask::new("PUT", file(name)).body("application/octet-stream", content(random));
    if random.one_in(4) {
        ask = ask.header("If-None-Match", "*");
    }
    round.ask(&ask, &[200], RACES);
}

pub(super) fn read(round: &Arc<Round>, random: &mut Random) {
    let name = *random.pick(&NAMES);
    round.note(format!("read {name}"));
    if random.one_in(3) {
        round.ask(&Ask::new("GET", format!("/v1/fs/entries?path={name}")), &[200], RACES);
    }
    let Some(answer) = round.ask(&Ask::new("GET", file(name)), &[200], RACES) else { return };
    if !is_whole(&answer.body) {
        let (size, start) = (answer.body.len(), answer.text().chars().take(30).collect::<String>());
        round.violated(format!("{name} is not what any client has written: {size} bytes, {start}"));
    }
}

/// Moves and removes, also of folders with files that are being written.
pub(super) fn change(round: &Arc<Round>, random: &mut Random) {
    let (name, other) = (*random.pick(&NAMES), *random.pick(&NAMES));
    round.note(format!("move or remove {name}, {other}"));
    match random.number(0..4) {
        0 => {
            let target = format!("/v1/fs/entry?path={name}&recursive={}", random.one_in(2));
            round.ask(&Ask::new("DELETE", target), &[200], RACES);
        }
        1 => drop(round.ask(&Ask::new("POST", format!("/v1/fs/mkdir?path={name}")), &[200], RACES)),
        _ => {
            let body = json!({"from": name, "to": other, "overwrite": random.one_in(2)}).to_string();
            round.ask(&Ask::new("POST", "/v1/fs/move").json(body), &[200], RACES);
        }
    }
}

/// Archives in both directions.
pub(super) fn archives(round: &Arc<Round>, random: &mut Random) {
    let name = *random.pick(&["a", "b"]);
    round.note(format!("an archive of {name}"));
    if random.one_in(2) {
        let target = format!(
            "/v1/fs/download-batch?path={name}&format={}",
            random.pick(&["tar", "tar.gz", "tar.zst"])
        );
        // An archive that fails after its head has been sent can only be cut.
        if let Err(error) = Ask::new("GET", target).send(round.port)
            && crate::wire::is_hang(&error)
        {
            round.failed("an archive", &error);
        }
        return;
    }
    let archive =
        Tar::default().file("x", &content(random)).directory("y").file("y/z", &content(random)).bytes();
    let target = format!("/v1/fs/upload-batch?path={name}");
    // A directory may have got the name of one of its files.
    let codes = [RACES, &["archive_rejected"]].concat();
    round.ask(&Ask::new("POST", target).body("application/x-tar", archive), &[200], &codes);
}

/// Uploads, downloads and watches that are cut, or stay open until the end of the round.
pub(super) fn cut(round: &Arc<Round>, random: &mut Random) {
    let name = *random.pick(&NAMES);
    let ask = match random.number(0..5) {
        0 => Ask::new("GET", file(name)),
        1 => Ask::new("GET", "/v1/fs/download-batch?path=."),
        2 => Ask::new("GET", "/v1/fs/watch?path=.").header("Accept", "text/event-stream"),
        3 => Ask::new("POST", "/v1/fs/upload-batch?path=a").body("application/x-tar", random.bytes(50_000)),
        _ => Ask::new("PUT", file(name)).body("application/octet-stream", content(random)),
    };
    round.note(format!("{} {}, cut", ask.method, ask.target));
    let Ok(mut connection) = connect(round.port) else { return };
    let bytes = ask.bytes();
    // Without the last byte of a body, so that nothing is stored; the others are complete.
    let end = if ask.body.is_some() { bytes.len() - 1 } else { bytes.len() };
    let _ = connection.write_all(&bytes[..end]);
    if ask.body.is_none() {
        let _ = connection.read(&mut [0; 100]);
    }
    if random.one_in(2) {
        round.hold(connection);
    }
}

#[test]
fn a_part_or_a_mixture_of_files_is_not_whole() {
    assert!(is_whole(b"0:") && is_whole(b"3:aaa"));
    assert!(!is_whole(b"3:aa") && !is_whole(b"3:aab") && !is_whole(b"") && !is_whole(b"3:aaa2:bb"));
}
