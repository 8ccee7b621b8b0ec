//! Installs an archive, or a program that is not archived, from a URL.

use std::path::{Component, Path, PathBuf};

use crate::distribution::BinaryTarget;
use crate::error::{CatalogError, InstallStep};
use crate::install::archive::{ArchiveKind, unpack};
use crate::install::context::{InstallContext, Installed};
use crate::install::download;
use crate::install::npm::make_executable;
use crate::record::{ArtifactKind, RecordedArtifact, RecordedLaunch, Word};

/// Downloads the archive, checks it and unpacks it.
pub(crate) async fn install(
    context: &InstallContext,
    target: &BinaryTarget,
    version: &str,
) -> Result<Installed, CatalogError> {
    let fail = |step, detail| context.failed(step, detail, String::new());
    let command = command_path(&target.cmd).map_err(|detail| fail(InstallStep::ResolveSource, detail))?;

    context.progress.enter(InstallStep::Download, &target.archive);
    let file = context.scratch.path().join("download");
    let client = context.http.get().map_err(|detail| fail(InstallStep::Download, detail))?;
    let downloaded = download::fetch(client, &target.archive, &file, target.sha256.as_deref())
        .await
        .map_err(|detail| fail(InstallStep::Download, detail))?;
    tracing::debug!(agent = %context.agent, bytes = downloaded.bytes, "archive fetched");

    context.progress.enter(InstallStep::Unpack, &target.archive);
    let named = if version.is_empty() { &downloaded.sha256[..12] } else { version };
    let (directory, path) = context.make_version_directory(named)?;
    let program = path.join(&command);
    let placed = {
        let (path, program, origin) = (path.clone(), program.clone(), target.archive.clone());
        tokio::task::spawn_blocking(move || place(&file, &origin, &path, &program)).await
    };
    placed
        .unwrap_or_else(|error| Err(error.to_string()))
        .map_err(|detail| fail(InstallStep::Unpack, detail))?;

    let root = context.data.root();
    let artifact = RecordedArtifact {
        kind: ArtifactKind::AgentProcess,
        path: Word::path(root, &program),
        version: Some(named.to_owned()),
        source: context.source,
        origin: target.archive.clone(),
        sha256: Some(downloaded.sha256.clone()),
    };
    let launch = RecordedLaunch {
        program: Word::path(root, &program),
        args: target.args.iter().cloned().map(Word::Text).collect(),
        env: target.env.clone(),
        search_path: Vec::new(),
        library_path: Vec::new(),
    };
    Ok(Installed { version: named.to_owned(), directory, artifacts: vec![artifact], launch })
}

/// The command's path in the archive. Registry data is untrusted: the path must stay inside.
fn command_path(text: &str) -> Result<PathBuf, String> {
    let mut path = PathBuf::new();
    for component in Path::new(text).components() {
        match component {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            _ => return Err(format!("the command {text:?} leaves the archive")),
        }
    }
    if path.as_os_str().is_empty() { Err("the registry names no command".to_owned()) } else { Ok(path) }
}

fn place(file: &Path, origin: &str, directory: &Path, program: &Path) -> Result<(), String> {
    let kind = ArchiveKind::detect(file).map_err(|error| error.to_string())?;
    match kind {
        ArchiveKind::Packed(format) => unpack(file, format, directory, 0)?,
        // For example the login page of a proxy, which would otherwise be installed as a program that does
        // not start.
        ArchiveKind::Bare if is_named_like_an_archive(origin) => {
            return Err(
                "the download is not an archive that can be unpacked (zip, tar.gz, tar.bz2, tar.zst)"
                    .to_owned(),
            );
        }
        ArchiveKind::Bare => {
            if let Some(parent) = program.parent() {
                std::fs::create_dir_all(parent).map_err(|error| error.to_string())?;
            }
            std::fs::rename(file, program).map_err(|error| format!("{}: {error}", program.display()))?;
        }
    }
    if !program.is_file() {
        return Err(format!(
            "the archive does not contain {:?}",
            program.strip_prefix(directory).unwrap_or(program)
        ));
    }
    make_executable(program).map_err(|error| format!("{}: {error}", program.display()))
}

fn is_named_like_an_archive(origin: &str) -> bool {
    let path = origin.split(['?', '#']).next().unwrap_or(origin).to_ascii_lowercase();
    [".zip", ".gz", ".tgz", ".bz2", ".tbz2", ".tbz", ".zst", ".xz", ".txz", ".tar"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_in_place_of_an_archive_is_not_taken_for_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let (file, program) = (folder.path().join("download"), folder.path().join("agent"));
        std::fs::write(&file, "<html>please log in</html>").unwrap();
        let refused = place(&file, "http://host/agent.tar.gz?x=1", folder.path(), &program).unwrap_err();
        assert!(refused.contains("not an archive"), "{refused}");
        assert!(!program.exists());
        place(&file, "http://host/agent", folder.path(), &program).unwrap();
    }
}
