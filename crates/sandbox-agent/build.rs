//! Lays out the files of the inspector and the API document for embedding, each compressed.
//!
//! The inspector is built by npm, and `cargo build` must work without it: then a page that says how to build it takes
//! its place. This never runs npm.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let built = here.join("../../packages/inspector/dist");
    let fallback = here.join("ui-fallback");
    // Cargo can only watch for the inspector's arrival in a folder that exists. Where it cannot be made (a read-only
    // source tree), nothing will arrive in it either.
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
    // What the linker of the static binary reads, of which Cargo knows nothing.
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

/// Copies a folder, every file compressed under its own name.
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
