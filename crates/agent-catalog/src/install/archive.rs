//! Unpacks untrusted archives.
//!
//! `sandbox_fs` unpacks them by the same rules as uploads: nothing appears in the target before the whole archive has
//! been checked, and no name or link leads outside. This file detects the format and sets the limits of an install.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sandbox_fs::{ArchiveLimits, Attributes, Backslashes, Error, ExtractOptions, FileFormat};

/// The limits on one archive.
const LIMITS: ArchiveLimits = ArchiveLimits { max_bytes: Some(8 << 30), max_entries: Some(500_000) };

/// The format of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArchiveKind {
    Packed(FileFormat),
    /// Not an archive, but the program itself.
    Bare,
}

impl ArchiveKind {
    /// Detects the kind from the first bytes, because file names are less reliable.
    pub(crate) fn detect(file: &Path) -> io::Result<Self> {
        let mut magic = Vec::new();
        File::open(file)?.take(4).read_to_end(&mut magic)?;
        Ok(match magic.as_slice() {
            [b'P', b'K', 3 | 5, 4 | 6] => Self::Packed(FileFormat::Zip),
            [0x1f, 0x8b, ..] => Self::Packed(FileFormat::TarGzip),
            [b'B', b'Z', b'h', _] => Self::Packed(FileFormat::TarBzip2),
            [0x28, 0xb5, 0x2f, 0xfd] => Self::Packed(FileFormat::TarZstd),
            _ => Self::Bare,
        })
    }
}

/// Unpacks an archive into an existing directory. The first `strip` components of every name are removed.
pub(crate) fn unpack(archive: &Path, format: FileFormat, target: &Path, strip: usize) -> Result<(), String> {
    unpack_within(LIMITS, archive, format, target, strip)
}

fn unpack_within(
    limits: ArchiveLimits,
    archive: &Path,
    format: FileFormat,
    target: &Path,
    strip: usize,
) -> Result<(), String> {
    let file = File::open(archive).map_err(|error| format!("{}: {error}", archive.display()))?;
    let options = ExtractOptions {
        limits,
        strip_components: strip,
        attributes: Attributes::Normalized,
        backslashes: Backslashes::Refuse,
    };
    match sandbox_fs::extract_file(&file, format, target, options) {
        Ok(_) => Ok(()),
        // Replace the error texts of the file service, which are about uploads.
        Err(Error::TooLarge { limit }) => {
            Err(format!("the archive was refused: it unpacks to more than {limit} bytes"))
        }
        Err(Error::TooManyEntries { limit }) => {
            Err(format!("the archive was refused: it has more than {limit} entries"))
        }
        Err(Error::Io { path, source }) => Err(format!("unpacking into {}: {source}", path.display())),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

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
        assert_eq!(kind, ArchiveKind::Packed(FileFormat::TarGzip));
        unpack(archive.path(), FileFormat::TarGzip, target.path(), 0)?;
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
        let cases: [&[(&str, tar::EntryType, &str)]; 9] = [
            &[("../evil", tar::EntryType::Regular, "x")],
            &[("a/../../evil", tar::EntryType::Regular, "x")],
            &[("/etc/evil", tar::EntryType::Regular, "x")],
            &[("..\\evil", tar::EntryType::Regular, "x")],
            &[("C:\\evil", tar::EntryType::Regular, "x")],
            &[("link", tar::EntryType::Symlink, "../..")],
            &[("link", tar::EntryType::Symlink, "/etc")],
            &[("hard", tar::EntryType::Link, "../../etc/passwd")],
            &[("device", tar::EntryType::Char, "")],
        ];
        for entries in cases {
            let error = unpacked(entries).unwrap_err();
            let expected = format!("refused at entry {:?}: ", entries[0].0);
            assert!(error.contains(&expected), "{entries:?}: {error}");
        }
    }

    #[test]
    fn a_link_inside_cannot_be_used_as_a_step_to_the_outside() {
        // Each link's own target is inside the folder, but together the links would lead outside.
        let error = unpacked(&[
            ("a/b/c", tar::EntryType::Directory, ""),
            ("hop", tar::EntryType::Symlink, "a/b/c"),
            ("hop/out", tar::EntryType::Symlink, "../../../.."),
        ])
        .unwrap_err();
        assert!(error.contains("refused at entry \"a/b/c/out\""), "{error}");
    }

    #[test]
    fn links_that_only_together_lead_outside_are_refused() {
        let error = unpacked(&[
            ("d/e/up", tar::EntryType::Symlink, "../.."),
            ("out", tar::EntryType::Symlink, "d/e/up/.."),
        ])
        .unwrap_err();
        assert!(error.contains("refused at entry \"out\""), "{error}");
    }

    #[test]
    fn a_refused_archive_has_created_nothing_outside_of_its_target_and_nothing_in_it() {
        let archive = tar_gz(&[
            ("d/e/up", tar::EntryType::Symlink, "../.."),
            ("out", tar::EntryType::Symlink, "d/e/up/.."),
            ("out/planted/link", tar::EntryType::Symlink, "x"),
        ]);
        let around = tempfile::tempdir().unwrap();
        let target = around.path().join("target");
        fs::create_dir(&target).unwrap();
        unpack(archive.path(), FileFormat::TarGzip, &target, 0).unwrap_err();
        assert_eq!(names(around.path()), ["target"]);
        assert_eq!(names(&target), Vec::<String>::new());
    }

    #[test]
    fn archives_past_a_limit_are_refused() {
        let archive = tar_gz(&[
            ("a", tar::EntryType::Regular, "0123456789"),
            ("b", tar::EntryType::Regular, "0123456789"),
        ]);
        let target = tempfile::tempdir().unwrap();
        let within = |max_bytes, max_entries| {
            let limits = ArchiveLimits { max_bytes: Some(max_bytes), max_entries: Some(max_entries) };
            unpack_within(limits, archive.path(), FileFormat::TarGzip, target.path(), 0)
        };
        assert!(within(19, 2).unwrap_err().contains("refused: it unpacks to more than 19 bytes"));
        assert!(within(20, 1).unwrap_err().contains("refused: it has more than 1 entries"));
        assert_eq!(names(target.path()), Vec::<String>::new());
        within(20, 2).unwrap();
        assert_eq!(names(target.path()), ["a", "b"]);
    }

    #[test]
    fn leading_names_are_dropped() {
        let archive = tar_gz(&[
            ("package", tar::EntryType::Directory, ""),
            ("package/bin/tool", tar::EntryType::Regular, "x"),
            ("package/again", tar::EntryType::Link, "package/bin/tool"),
        ]);
        let target = tempfile::tempdir().unwrap();
        unpack(archive.path(), FileFormat::TarGzip, target.path(), 1).unwrap();
        assert_eq!(names(target.path()), ["again", "bin"]);
        assert_eq!(fs::read_to_string(target.path().join("again")).unwrap(), "x");
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}
