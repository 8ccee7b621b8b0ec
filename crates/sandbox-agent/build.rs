//! Compresses the files of the inspector and the API document for embedding.
//!
//! The inspector is built by npm, and `cargo build` must work without it. If it was not built, a page that says how to
//! build it is embedded instead. This script never runs npm.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let built = here.join("../../packages/inspector/dist");
    let fallback = here.join("ui-fallback");
    // Cargo can only watch a directory that exists. If it cannot be created (a read-only source tree), the inspector
    // cannot be built there later either.
    let _ = fs::create_dir(&built);
    let chosen = if built.join("index.html").is_file() { &built } else { &fallback };

    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let document = here.join("../../docs/openapi.json");
    compress(&document, &out.join("openapi.json.gz"))
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", document.display())))?;

    let embedded = out.join("inspector");
    match fs::remove_dir_all(&embedded) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => compress_all(chosen, &embedded)?,
    }
    // Input files of the linker script of the static binary, which Cargo does not track.
    let linker = ["start-order.txt", "link.sh", "plain-names.sh"];
    let linker = linker.map(|name| here.join("../../packaging").join(name));
    println!("cargo:rerun-if-env-changed=SANDBOX_AGENT_LINK");
    let others = [built.as_path(), fallback.as_path(), document.as_path(), Path::new("build.rs")];
    for watched in others.into_iter().chain(linker.iter().map(PathBuf::as_path)) {
        println!("cargo:rerun-if-changed={}", watched.display());
    }
    println!("cargo:rustc-env=INSPECTOR_FILES={}", embedded.display());
    Ok(())
}

/// Copies a directory. Every file is compressed and keeps its name.
fn compress_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            compress_all(&entry.path(), &target)?;
        } else {
            compress(&entry.path(), &target)?;
        }
    }
    Ok(())
}

fn compress(from: &Path, to: &Path) -> io::Result<()> {
    let mut encoder = GzEncoder::new(File::create(to)?, Compression::best());
    io::copy(&mut File::open(from)?, &mut encoder)?;
    encoder.finish()?;
    Ok(())
}
