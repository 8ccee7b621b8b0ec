//! Fuzzes paths of clients below a confined root: no path makes the service read or change anything outside
//! of the root.

#![no_main]

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sandbox_agent_fuzz::{SECRET, Sandbox};
use sandbox_fs::{EntriesRequest, FileService, Overwrite, Recursion, UserPath, WriteOptions};

#[derive(Debug, Arbitrary)]
enum Step {
    Write(Name, Vec<u8>),
    Read(Name),
    MakeDirectory(Name),
    Remove(Name, bool),
    Move(Name, Name, bool),
    List(Name),
    Stat(Name),
}

/// Arbitrary bytes, or a path made of pieces that are likely to exist.
#[derive(Debug, Arbitrary)]
enum Name {
    Bytes(Vec<u8>),
    Pieces { is_absolute: bool, pieces: Vec<Piece> },
}

#[derive(Debug, Arbitrary)]
enum Piece {
    Up,
    Here,
    Nothing,
    File,
    Folder,
    Inside,
    Out,
    OutFile,
    UpLink,
    Loop,
    Absolute,
    Outside,
    Root,
    Work,
    Other(Vec<u8>),
}

impl Name {
    fn path(&self, sandbox: &Sandbox) -> Option<UserPath> {
        let name = match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Pieces { is_absolute, pieces } => {
                let pieces: Vec<&[u8]> = pieces.iter().map(Piece::bytes).collect();
                let name = pieces.join(&b'/');
                if *is_absolute {
                    [sandbox.path().as_os_str().as_bytes(), b"/", &name].concat()
                } else {
                    name
                }
            }
        };
        let parsed = UserPath::parse(OsString::from_vec(name.clone()));
        let is_possible = !name.is_empty() && !name.contains(&0) && name.len() < 4096;
        assert_eq!(parsed.is_ok(), is_possible, "{name:?}");
        parsed.ok()
    }
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Up => b"..",
            Self::Here => b".",
            Self::Nothing => b"",
            Self::File => b"file",
            Self::Folder => b"folder",
            Self::Inside => b"in",
            Self::Out => b"out",
            Self::OutFile => b"out-file",
            Self::UpLink => b"up",
            Self::Loop => b"loop",
            Self::Absolute => b"absolute",
            Self::Outside => b"outside",
            Self::Root => b"root",
            Self::Work => b"work",
            Self::Other(bytes) => bytes,
        }
    }
}

fuzz_target!(|steps: Vec<Step>| {
    let sandbox = Sandbox::new();
    for step in steps.iter().take(16) {
        // Every error is allowed; only the effect on the files matters.
        let _ = step.run(&sandbox);
    }
    sandbox.check();
});

impl Step {
    fn run(&self, sandbox: &Sandbox) -> Option<()> {
        let service = &sandbox.service;
        match self {
            Self::Write(name, bytes) => {
                let mut writer = service.begin_write(&name.path(sandbox)?, &WriteOptions::default()).ok()?;
                writer.write_chunk(bytes).ok()?;
                let path = writer.commit().ok().and(name.path(sandbox))?;
                assert_eq!(read(service, &path).as_deref(), Some(&bytes[..]), "what was written can be read");
            }
            Self::Read(name) => {
                let bytes = read(service, &name.path(sandbox)?)?;
                assert!(
                    !bytes.windows(SECRET.len()).any(|part| part == SECRET),
                    "{name:?} leads out of the root"
                );
            }
            Self::MakeDirectory(name) => drop(service.make_directory(&name.path(sandbox)?).ok()?),
            Self::Remove(name, is_recursive) => {
                let recursion = if *is_recursive { Recursion::Recursive } else { Recursion::Single };
                drop(service.remove(&name.path(sandbox)?, recursion).ok()?);
            }
            Self::Move(from, to, replaces) => {
                let overwrite = if *replaces { Overwrite::Replace } else { Overwrite::Refuse };
                drop(service.move_entry(&from.path(sandbox)?, &to.path(sandbox)?, overwrite).ok()?);
            }
            Self::List(name) => {
                let page = service.entries(&name.path(sandbox)?, &EntriesRequest::default()).ok()?;
                assert!(page.entries.is_sorted_by(|one, other| one.name < other.name), "a listing is sorted");
            }
            Self::Stat(name) => drop(service.stat(&name.path(sandbox)?).ok()?),
        }
        Some(())
    }
}

fn read(service: &FileService, path: &UserPath) -> Option<Vec<u8>> {
    let mut reader = service.open_file(path).ok()?.whole();
    let mut bytes = Vec::new();
    while let Some(chunk) = reader.next_chunk().ok()? {
        bytes.extend_from_slice(&chunk);
    }
    Some(bytes)
}
