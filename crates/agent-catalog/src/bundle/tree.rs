//! Walks a directory in a stable order, and computes one checksum for all of it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::install::download::hex;
use crate::layout::{PROBE_FILE, RECORD_FILE};

/// An entry of a directory tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    File { executable: bool },
    Link { target: PathBuf },
}

/// True if files of this name are created while an agent runs, and so are not part of the install.
pub(crate) fn is_transient(name: &str) -> bool {
    name == "__pycache__"
        || name == PROBE_FILE
        || name.starts_with(".scratch-")
        || name.starts_with(".write-")
}

/// Every file and link below a directory, sorted by relative path. Empty directories are ignored.
pub(crate) fn walk(root: &Path) -> io::Result<Vec<(PathBuf, Node)>> {
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(relative) = pending.pop() {
        for entry in fs::read_dir(root.join(&relative))? {
            let entry = entry?;
            if entry.file_name().to_str().is_some_and(is_transient) {
                continue;
            }
            let path = relative.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() {
                pending.push(path);
            } else if kind.is_symlink() {
                found.push((path, Node::Link { target: fs::read_link(entry.path())? }));
            } else if kind.is_file() {
                let executable = entry.metadata()?.permissions().mode() & 0o111 != 0;
                found.push((path, Node::File { executable }));
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// One SHA-256 over the names, kinds, executable bits and contents of all entries; the install record is left out.
pub(crate) fn digest(root: &Path) -> io::Result<String> {
    let mut whole = Sha256::new();
    for (path, node) in walk(root)? {
        if path == Path::new(RECORD_FILE) {
            continue;
        }
        let line = match node {
            Node::Link { target } => format!("link {} {}\n", path.display(), target.display()),
            Node::File { executable } => {
                let mode = if executable { "program" } else { "file" };
                format!("{mode} {} {}\n", path.display(), file_digest(&root.join(&path))?)
            }
        };
        whole.update(line);
    }
    Ok(hex(&whole.finalize()))
}

/// A file's SHA-256.
pub(crate) fn file_digest(path: &Path) -> io::Result<String> {
    let mut reader = HashingReader::new(fs::File::open(path)?);
    io::copy(&mut reader, &mut io::sink())?;
    Ok(reader.finish())
}

/// Hashes the bytes that are read through it.
pub(crate) struct HashingReader<R> {
    inner: R,
    digest: Sha256,
}

impl<R: io::Read> HashingReader<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, digest: Sha256::new() }
    }

    pub(crate) fn finish(self) -> String {
        hex(&self.digest.finalize())
    }
}

impl<R: io::Read> io::Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.digest.update(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_notices_content_names_links_and_the_executable_bit_but_not_caches() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        fs::write(root.join("a"), "1").unwrap();
        std::os::unix::fs::symlink("a", root.join("l")).unwrap();
        let first = digest(root).unwrap();
        fs::create_dir(root.join("__pycache__")).unwrap();
        fs::write(root.join("__pycache__/a.pyc"), "x").unwrap();
        fs::write(root.join(RECORD_FILE), "{}").unwrap();
        assert_eq!(digest(root).unwrap(), first);
        fs::set_permissions(root.join("a"), fs::Permissions::from_mode(0o755)).unwrap();
        let second = digest(root).unwrap();
        assert_ne!(first, second);
        fs::write(root.join("a"), "2").unwrap();
        assert_ne!(digest(root).unwrap(), second);
    }
}
