//! `fs`: single files and entries.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use crate::support::{Place, Terminal};
use test_harness::{Server, eventually};

#[test]
fn a_file_is_put_printed_described_and_fetched_again() {
    let server = Server::start();
    let place = Place::of(&server);
    place.file("notes.txt", "some notes\n");
    let stored = place.run(&["fs", "put", "notes.txt", "a/b/"]).done();
    assert!(stored.output.ends_with("a/b/notes.txt (11 B)\n"), "{}", stored.output);
    assert_eq!(
        place.run(&["fs", "cat", "a/b/notes.txt", "a/b/notes.txt"]).done().output,
        "some notes\nsome notes\n"
    );
    let stat = place.run(&["fs", "stat", "a/b/notes.txt", "--json"]).done().json();
    assert_eq!((&stat["size"], &stat["entryType"]), (&json!(11), &json!("file")));
    let text = place.run(&["fs", "stat", "a/b/notes.txt"]).done().output;
    assert!(text.contains("entryType: file\nsize: 11\n"), "{text}");
    std::fs::create_dir(place.path("here")).unwrap();
    for target in [&["copy.txt"][..], &["here"], &[]] {
        place.run(&[&["fs", "get", "a/b/notes.txt"], target].concat()).done();
    }
    for copy in ["copy.txt", "here/notes.txt", "notes.txt"] {
        assert_eq!(std::fs::read_to_string(place.path(copy)).unwrap(), "some notes\n", "{copy}");
    }
    assert_eq!(place.run(&["fs", "get", "a/b/notes.txt", "-"]).done().output, "some notes\n");
}

#[test]
fn standard_input_can_be_stored_without_knowing_its_length() {
    let server = Server::start();
    let place = Place::of(&server);
    let mut command = place.command_under(&["env"], &["fs", "put", "-", "piped", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for _ in 0..100 {
        input.write_all(&[b'x'; 10_000]).unwrap();
    }
    drop(input);
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success());
    let answer: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(answer["bytesWritten"], 1_000_000);
    assert!(answer["etag"].is_string());
    place.run(&["fs", "put", "-", "folder/"]).exits(2).says("standard input has no name");
}

#[test]
fn a_file_is_not_replaced_without_permission_to_overwrite() {
    let server = Server::start();
    let place = Place::of(&server);
    place.file("one", "1");
    place.file("two", "2");
    let first = place.run(&["fs", "put", "one", "target", "--no-clobber", "--json"]).done().json();
    place.run(&["fs", "put", "two", "target", "--no-clobber"]).exits(1).says("412");
    place.run(&["fs", "put", "two", "target", "--if-match", "\"other\""]).exits(1).says("412");
    assert_eq!(place.run(&["fs", "cat", "target"]).done().output, "1");
    place.run(&["fs", "put", "two", "target", "--if-match", first["etag"].as_str().unwrap()]).done();
    assert_eq!(place.run(&["fs", "cat", "target"]).done().output, "2");
}

#[test]
fn directories_are_created_listed_moved_and_removed() {
    let server = Server::start();
    let place = Place::of(&server);
    place.run(&["fs", "mkdir", "w/a", "w/b"]).done();
    place.file("f", "12345");
    place.run(&["fs", "put", "f", "w/a/f"]).done();
    assert_eq!(place.run(&["fs", "ls", "w"]).done().output, "a/\nb/\n");
    assert_eq!(place.run(&["fs", "ls", "-r", "w"]).done().output, "w/a/\nw/a/f\nw/b/\n");
    let from_workspace = place.run(&["fs", "ls", "-r"]).done().output;
    assert!(from_workspace.lines().any(|line| line == "w/a/f"), "{from_workspace}");
    assert_eq!(place.run(&["fs", "cat", "w/a/f"]).done().output, "12345");
    let all = place.run(&["fs", "ls", "w", "--recursive", "--json"]).done().json();
    let names: Vec<&str> =
        all.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "f", "b"]);
    let long = place.run(&["fs", "ls", "-l", "w/a"]).done().output;
    let (heading, entry) = long.split_once('\n').unwrap();
    assert_eq!(heading.split_whitespace().collect::<Vec<_>>(), ["TYPE", "SIZE", "MODIFIED", "NAME"]);
    assert!(entry.starts_with("file                  5  20") && entry.ends_with("  f\n"), "{long:?}");
    assert_eq!(heading.find("NAME"), entry.find("f\n"), "{long}");
    let long = place.run(&["fs", "ls", "-l", "-r", "w"]).done().output;
    assert!(long.lines().any(|line| line.starts_with("file") && line.ends_with("  w/a/f")), "{long}");
    place.run(&["fs", "mv", "w/a/f", "w/b/g"]).done();
    place.run(&["fs", "put", "f", "w/a/f"]).done();
    place.run(&["fs", "mv", "w/a/f", "w/b/g"]).exits(1).says("409");
    let moved = place.run(&["fs", "mv", "w/a/f", "w/b/g", "--force"]).done().output;
    assert!(moved.starts_with("moved ") && moved.contains(" to "), "{moved}");
    place.run(&["fs", "rm", "w"]).exits(1).says("409");
    place.run(&["fs", "rm", "w/b/g", "w/a"]).done();
    place.run(&["fs", "rm", "-r", "w"]).done();
    place.run(&["fs", "ls", "w"]).exits(3).says("404");
}

#[test]
fn a_long_listing_is_complete() {
    let server = Server::start();
    let place = Place::of(&server);
    let folder = server.folder().join("many");
    std::fs::create_dir(&folder).unwrap();
    for index in 0..4500 {
        std::fs::write(folder.join(format!("f{index:04}")), "").unwrap();
    }
    let text = place.run(&["fs", "ls", "many"]).done().output;
    let names: Vec<&str> = text.lines().collect();
    assert_eq!((names.len(), names[0], names[4499]), (4500, "f0000", "f4499"));
    assert_eq!(place.run(&["fs", "ls", "many", "--json"]).done().json().as_array().unwrap().len(), 4500);
}

#[test]
fn names_that_are_not_utf_8_can_be_used() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let server = Server::start();
    let place = Place::of(&server);
    let name = OsStr::from_bytes(b"odd\xff&name");
    std::fs::write(server.folder().join(name), "odd").unwrap();
    let mut command = place.command_under(&["env"], &["fs", "cat"]);
    let printed = command.arg(name).stderr(Stdio::inherit()).output().unwrap();
    assert_eq!(printed.stdout, b"odd");
}

#[test]
fn missing_local_and_remote_files_have_their_own_exit_codes() {
    let server = Server::start();
    let place = Place::of(&server);
    place.run(&["fs", "put", "absent", "target"]).exits(3).says("absent");
    place.run(&["fs", "put", ".", "target"]).exits(2).says("fs upload");
    place.run(&["fs", "get", "absent"]).exits(3).says("404");
    assert!(!place.path("absent").exists());
    place.run(&["fs", "get", "/"]).exits(2);
    place.run(&["fs", "upload", "absent"]).exits(3);
    let reported = place.run(&["fs", "stat", "absent", "--json"]).exits(3).errors;
    let reported: serde_json::Value = serde_json::from_str(&reported).unwrap();
    assert_eq!(reported["problem"]["type"], "urn:sandbox-agent:error:file_not_found");
    drop(server);
    place.run(&["fs", "ls"]).exits(5).says("sandbox-agent server");
}

#[test]
fn changes_are_printed_as_they_happen() {
    let server = Server::start();
    let place = Place::of(&server);
    std::fs::create_dir(server.folder().join("watched")).unwrap();
    let text = place.begin(&["fs", "watch", "watched"]);
    let lines = place.begin(&["fs", "watch", "watched", "--json"]);
    // A watch prints nothing until a change happens, so changes are made until one is seen.
    let mut count = 0;
    eventually("both see a change", || {
        count += 1;
        std::fs::write(server.folder().join(format!("watched/f{count}")), "").unwrap();
        (text.output().contains("created ") && lines.output().contains(r#""event":"created""#)).then_some(())
    });
    assert!(text.output().lines().next().unwrap().contains("watched/f"), "{}", text.output());
}

#[test]
fn long_transfers_show_their_progress_only_on_a_terminal() {
    let server = Server::start();
    let place = Place::of(&server);
    let made = std::process::Command::new("mkfifo").arg(place.path("source")).status().unwrap();
    assert!(made.success());
    let terminal = Terminal::start(&place, &["fs", "put", "source", "target"]);
    let mut source = std::fs::File::options().write(true).open(place.path("source")).unwrap();
    // Progress appears only after a while.
    eventually("the rate is shown", || {
        source.write_all(&[b'x'; 1000]).unwrap();
        terminal.screen().contains("iB/s").then_some(())
    });
    drop(source);
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("stored "), "{screen}");
    let silent = place.run(&["fs", "get", "target"]).done();
    assert_eq!(silent.errors, "");
}
