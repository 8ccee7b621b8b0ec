//! Unpacks untrusted archives.
//!
//! Every name is checked before anything is written: no absolute name, no `..`, no device. Files are written first
//! and links are created last, so that nothing is ever written through a link of the archive; a link may only
//! point inside. The unpacked bytes are limited. Owners and set-id bits are not restored.

use std::fs::{self, File, Permissions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

/// The maximum number of bytes unpacked from one archive.
const MAX_UNPACKED: u64 = 8 << 30;
/// The maximum number of entries in one archive.
const MAX_ENTRIES: usize = 500_000;

/// The format of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArchiveKind {
    Zip,
    TarGz,
    TarBz2,
    TarZst,
    /// Not an archive: the program itself.
    Bare,
}

impl ArchiveKind {
    /// Detects the kind from the first bytes, because file names are less reliable.
    pub(crate) fn detect(file: &Path) -> io::Result<Self> {
        let mut magic = Vec::new();
        File::open(file)?.take(4).read_to_end(&mut magic)?;
        Ok(match magic.as_slice() {
            [b'P', b'K', 3 | 5, 4 | 6] => Self::Zip,
            [0x1f, 0x8b, ..] => Self::TarGz,
            [b'B', b'Z', b'h', _] => Self::TarBz2,
            [0x28, 0xb5, 0x2f, 0xfd] => Self::TarZst,
            _ => Self::Bare,
        })
    }
}

/// Unpacks into an existing directory. The first `strip` components of every name are dropped.
pub(crate) fn unpack(archive: &Path, kind: ArchiveKind, target: &Path, strip: usize) -> Result<(), String> {
    let open = || File::open(archive).map(BufReader::new).map_err(|error| error.to_string());
    let mut unpacker = Unpacker { target, strip, links: Vec::new(), bytes: 0, entries: 0 };
    match kind {
        ArchiveKind::Zip => unpacker.zip(open()?)?,
        ArchiveKind::TarGz => unpacker.tar(flate2::read::MultiGzDecoder::new(open()?))?,
        ArchiveKind::TarBz2 => unpacker.tar(bzip2::read::MultiBzDecoder::new(open()?))?,
        ArchiveKind::TarZst => unpacker.tar(zstd::stream::read::Decoder::new(open()?).map_err(text)?)?,
        ArchiveKind::Bare => return Err("a bare program is not an archive".to_owned()),
    }
    unpacker.make_links()
}

/// A link to create once every file is written.
enum Link {
    Symbolic { path: PathBuf, target: PathBuf },
    Hard { path: PathBuf, existing: PathBuf },
}

struct Unpacker<'a> {
    target: &'a Path,
    strip: usize,
    links: Vec<Link>,
    bytes: u64,
    entries: usize,
}

impl Unpacker<'_> {
    fn tar(&mut self, reader: impl Read) -> Result<(), String> {
        let mut archive = tar::Archive::new(reader);
        for entry in archive.entries().map_err(text)? {
            let mut entry = entry.map_err(text)?;
            let name = entry.path().map_err(text)?.into_owned();
            let Some(path) = self.place(&name)? else { continue };
            let mode = entry.header().mode().unwrap_or(0o644);
            match entry.header().entry_type() {
                tar::EntryType::Directory => self.directory(&path)?,
                tar::EntryType::Regular | tar::EntryType::Continuous => self.file(&path, mode, &mut entry)?,
                tar::EntryType::Symlink => {
                    let target =
                        entry.link_name().map_err(text)?.ok_or("a link without a target")?.into_owned();
                    self.symbolic(&name, path, target)?;
                }
                tar::EntryType::Link => {
                    let existing =
                        entry.link_name().map_err(text)?.ok_or("a link without a target")?.into_owned();
                    let existing = self.place(&existing)?.ok_or_else(|| refused(&name, "links outside"))?;
                    self.links.push(Link::Hard { path, existing });
                }
                tar::EntryType::XGlobalHeader => {}
                other => return Err(refused(&name, &format!("is of kind {other:?}"))),
            }
        }
        Ok(())
    }

    fn zip(&mut self, reader: impl Read + io::Seek) -> Result<(), String> {
        let mut archive = zip::ZipArchive::new(reader).map_err(text)?;
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index).map_err(text)?;
            let name = PathBuf::from(entry.name().map_err(text)?.into_owned());
            let Some(path) = self.place(&name)? else { continue };
            let mode = entry.unix_mode().unwrap_or(0o644);
            if entry.is_dir() {
                self.directory(&path)?;
            } else if entry.is_symlink() {
                let mut target = String::new();
                (&mut entry).take(4096).read_to_string(&mut target).map_err(text)?;
                self.symbolic(&name, path, target.into())?;
            } else {
                self.file(&path, mode, &mut entry)?;
            }
        }
        Ok(())
    }

    /// Where an entry goes, or `None` when stripping leaves nothing of its name.
    fn place(&mut self, name: &Path) -> Result<Option<PathBuf>, String> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(format!("the archive has more than {MAX_ENTRIES} entries"));
        }
        // Only Windows tools write backslashes as separators; on Unix they would become part of the name.
        if name.to_string_lossy().contains('\\') {
            return Err(refused(name, "contains a backslash"));
        }
        let mut parts = Vec::new();
        for component in name.components() {
            match component {
                Component::Normal(part) => parts.push(part),
                Component::CurDir => {}
                _ => return Err(refused(name, "leaves the target directory")),
            }
        }
        if parts.len() <= self.strip {
            return Ok(None);
        }
        Ok(Some(self.target.join(parts[self.strip..].iter().collect::<PathBuf>())))
    }

    fn directory(&self, path: &Path) -> Result<(), String> {
        fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn file(&mut self, path: &Path, mode: u32, content: &mut impl Read) -> Result<(), String> {
        let fail = |error: io::Error| format!("writing {}: {error}", path.display());
        if let Some(parent) = path.parent() {
            self.directory(parent)?;
        }
        let mut file = File::create(path).map_err(fail)?;
        let room = MAX_UNPACKED - self.bytes;
        let written = io::copy(&mut content.take(room + 1), &mut file).map_err(fail)?;
        self.bytes += written;
        if written > room {
            return Err(format!("the archive unpacks to more than {MAX_UNPACKED} bytes"));
        }
        let mode = 0o644 | (mode & 0o111);
        file.set_permissions(Permissions::from_mode(mode)).map_err(fail)
    }

    fn symbolic(&mut self, name: &Path, path: PathBuf, target: PathBuf) -> Result<(), String> {
        let from =
            path.parent().and_then(|parent| parent.strip_prefix(self.target).ok()).unwrap_or(Path::new(""));
        let mut depth = from.components().count();
        for component in target.components() {
            match component {
                Component::Normal(_) => depth += 1,
                Component::CurDir => {}
                Component::ParentDir if depth > 0 => depth -= 1,
                _ => return Err(refused(name, "links outside the target directory")),
            }
        }
        self.links.push(Link::Symbolic { path, target });
        Ok(())
    }

    fn make_links(self) -> Result<(), String> {
        let root = self.target.canonicalize().map_err(text)?;
        let inside = |path: &Path| path.canonicalize().is_ok_and(|real| real.starts_with(&root));
        for link in &self.links {
            let (Link::Symbolic { path, .. } | Link::Hard { path, .. }) = link;
            if let Some(parent) = path.parent() {
                self.directory(parent)?;
                if !inside(parent) {
                    return Err(refused(path, "lies behind a link"));
                }
            }
            let made = match link {
                Link::Symbolic { path, target } => symlink(target, path),
                Link::Hard { existing, .. } if !inside(existing) => {
                    return Err(refused(path, "links outside"));
                }
                Link::Hard { path, existing } => fs::hard_link(existing, path),
            };
            made.map_err(|error| format!("linking {}: {error}", path.display()))?;
        }
        // Links that are harmless one by one can lead outside together, so they are followed once all exist.
        for link in &self.links {
            if let Link::Symbolic { path, .. } = link
                && path.exists()
                && !inside(path)
            {
                return Err(refused(path, "leads outside"));
            }
        }
        Ok(())
    }
}

fn refused(name: &Path, why: &str) -> String {
    format!("the archive is refused: {:?} {why}", name.display().to_string())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn tar_gz(entries: &[(&str, tar::EntryType, &str)]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut gzip = flate2::write::GzEncoder::new(file.reopen().unwrap(), flate2::Compression::fast());
        for (name, kind, content) in entries {
            // The header is written by hand, because the builder refuses the names that this test needs.
            let mut header = tar::Header::new_gnu();
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(*kind);
            header.set_mode(0o4755);
            let is_link = matches!(kind, tar::EntryType::Symlink | tar::EntryType::Link);
            if is_link {
                header.as_mut_bytes()[157..157 + content.len()].copy_from_slice(content.as_bytes());
            }
            let body = if is_link { "" } else { content };
            header.set_size(body.len() as u64);
            header.set_cksum();
            gzip.write_all(header.as_bytes()).unwrap();
            gzip.write_all(body.as_bytes()).unwrap();
            gzip.write_all(&vec![0; (512 - body.len() % 512) % 512]).unwrap();
        }
        gzip.write_all(&[0; 1024]).unwrap();
        gzip.finish().unwrap();
        file
    }

    fn unpacked(entries: &[(&str, tar::EntryType, &str)]) -> Result<tempfile::TempDir, String> {
        let archive = tar_gz(entries);
        let target = tempfile::tempdir().unwrap();
        let kind = ArchiveKind::detect(archive.path()).unwrap();
        assert_eq!(kind, ArchiveKind::TarGz);
        unpack(archive.path(), kind, target.path(), 0)?;
        Ok(target)
    }

    #[test]
    fn files_keep_their_executable_bit_and_lose_set_id() {
        let target = unpacked(&[
            ("./bin/tool", tar::EntryType::Regular, "#!/bin/sh\n"),
            ("lib/link", tar::EntryType::Symlink, "../bin/tool"),
        ])
        .unwrap();
        let mode = target.path().join("bin/tool").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755);
        assert_eq!(fs::read_to_string(target.path().join("lib/link")).unwrap(), "#!/bin/sh\n");
    }

    #[test]
    fn entries_that_leave_the_target_are_refused() {
        let cases: [&[(&str, tar::EntryType, &str)]; 7] = [
            &[("../evil", tar::EntryType::Regular, "x")],
            &[("a/../../evil", tar::EntryType::Regular, "x")],
            &[("/etc/evil", tar::EntryType::Regular, "x")],
            &[("link", tar::EntryType::Symlink, "../..")],
            &[("link", tar::EntryType::Symlink, "/etc")],
            &[("hard", tar::EntryType::Link, "../../etc/passwd")],
            &[("device", tar::EntryType::Char, "")],
        ];
        for entries in cases {
            let error = unpacked(entries).unwrap_err();
            assert!(error.contains("refused"), "{entries:?}: {error}");
        }
    }

    #[test]
    fn a_link_inside_cannot_be_used_as_a_step_to_the_outside() {
        // Each link's own target is inside; together they would lead outside.
        let error = unpacked(&[
            ("a/b/c", tar::EntryType::Directory, ""),
            ("hop", tar::EntryType::Symlink, "a/b/c"),
            ("hop/out", tar::EntryType::Symlink, "../../../.."),
        ])
        .unwrap_err();
        assert!(error.contains("refused") || error.contains("linking"), "{error}");
    }

    #[test]
    fn links_that_lead_outside_only_together_are_refused() {
        let error = unpacked(&[
            ("d/e/up", tar::EntryType::Symlink, "../.."),
            ("out", tar::EntryType::Symlink, "d/e/up/.."),
        ])
        .unwrap_err();
        assert!(error.contains("leads outside"), "{error}");
    }

    #[test]
    fn zip_names_are_checked_too() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut zip = zip::ZipWriter::new(file.reopen().unwrap());
        zip.start_file("../evil", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(b"x").unwrap();
        zip.finish().unwrap();
        let target = tempfile::tempdir().unwrap();
        assert_eq!(ArchiveKind::detect(file.path()).unwrap(), ArchiveKind::Zip);
        assert!(unpack(file.path(), ArchiveKind::Zip, target.path(), 0).unwrap_err().contains("refused"));
    }
}
