//! `sandbox-agent fs`: the files of a server.

mod archive;
mod list;
mod transfer;
mod watch;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Value, json};

pub(super) use self::transfer::file_body;
use super::client::{Request, Server, ServerAddress};
use super::error::CliError;
use super::output::{Format, print_json, print_line};
use super::style::name;

#[derive(Debug, Args)]
pub(super) struct FsArguments {
    #[command(subcommand)]
    command: FsCommand,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    server: ServerAddress,
}

#[derive(Debug, Subcommand)]
enum FsCommand {
    /// List a directory
    Ls {
        /// The directory [default: the workspace]
        path: Option<OsString>,
        /// Kind, size and time of each entry
        #[arg(short, long)]
        long: bool,
        /// All below it as well
        #[arg(short, long)]
        recursive: bool,
    },
    /// Print files
    Cat {
        /// The files
        #[arg(required = true)]
        paths: Vec<OsString>,
    },
    /// Store a file
    Put {
        /// The file here; - is standard input
        file: PathBuf,
        /// Its path on the server; a slash at the end keeps its name
        path: OsString,
        /// Fail if there is one already
        #[arg(long)]
        no_clobber: bool,
        /// Fail unless the one that is there has this ETag
        #[arg(long, value_name = "ETAG", conflicts_with = "no_clobber")]
        if_match: Option<String>,
    },
    /// Fetch a file
    Get {
        /// Its path on the server
        path: OsString,
        /// The file or directory here; - is standard output [default: its name, in this directory]
        file: Option<PathBuf>,
    },
    /// Remove files and directories
    Rm {
        /// What to remove
        #[arg(required = true)]
        paths: Vec<OsString>,
        /// Directories with all that is in them
        #[arg(short, long)]
        recursive: bool,
    },
    /// Move or rename
    Mv {
        /// What to move
        from: String,
        /// Where to
        to: String,
        /// Replace what is there
        #[arg(short, long)]
        force: bool,
    },
    /// Make directories, with their parents
    Mkdir {
        /// The directories
        #[arg(required = true)]
        paths: Vec<OsString>,
    },
    /// Describe an entry
    Stat {
        /// Its path
        path: OsString,
    },
    /// Copy a directory to the server
    Upload {
        /// The directory here
        directory: PathBuf,
        /// Where its content goes [default: the workspace]
        path: Option<OsString>,
        /// Compress it on the way
        #[arg(short = 'z', long)]
        compress: bool,
    },
    /// Copy a directory from the server
    Download {
        /// Its path on the server [default: the workspace]
        path: Option<OsString>,
        /// Where its content goes
        #[arg(default_value = ".")]
        directory: PathBuf,
        /// Compress it on the way
        #[arg(short = 'z', long)]
        compress: bool,
    },
    /// Print changes as they happen
    Watch {
        /// The directory [default: the workspace]
        path: Option<OsString>,
        /// Its own entries alone
        #[arg(long)]
        shallow: bool,
    },
}

impl FsArguments {
    pub(super) const fn format(&self) -> Format {
        Format::of(self.json)
    }
}

pub(super) async fn run(arguments: FsArguments) -> Result<(), CliError> {
    let format = arguments.format();
    let remote = Remote(arguments.server.server()?);
    match arguments.command {
        FsCommand::Ls { path, long, recursive } => {
            let request = remote.at_or_workspace(Method::GET, "entries", path.as_ref());
            let style = if long { list::Detail::Long } else { list::Detail::Names };
            list::run(
                &remote.0,
                if recursive { request.query("recursive", "true") } else { request },
                style,
                format,
            )
            .await
        }
        FsCommand::Cat { paths } => {
            for path in paths {
                transfer::print(&remote, &path).await?;
            }
            Ok(())
        }
        FsCommand::Put { file, path, no_clobber, if_match } => {
            let condition = match if_match {
                Some(etag) => transfer::Condition::Matches(etag),
                None if no_clobber => transfer::Condition::Absent,
                None => transfer::Condition::None,
            };
            transfer::put(&remote, &file, path, condition, format).await
        }
        FsCommand::Get { path, file } => transfer::get(&remote, &path, file, format).await,
        FsCommand::Rm { paths, recursive } => {
            let of = |path: &OsString| {
                let request = remote.at(Method::DELETE, "entry", path);
                if recursive { request.query("recursive", "true") } else { request }
            };
            each(&paths, of, "removed", format).await
        }
        FsCommand::Mkdir { paths } => {
            each(&paths, |path: &OsString| remote.at(Method::POST, "mkdir", path), "made", format).await
        }
        FsCommand::Mv { from, to, force } => {
            let body = json!({"from": from, "to": to, "overwrite": force});
            let moved = remote.0.request(Method::POST, "/v1/fs/move").json_body(&body).json().await?;
            told(&moved, format, || format!("moved {} to {}", word(&moved, "from"), word(&moved, "to")))
        }
        FsCommand::Stat { path } => {
            let found = remote.at(Method::GET, "stat", &path).json().await?;
            told(&found, format, || {
                let line = |name: &str| format!("{name}: {}", word(&found, name));
                format!(
                    "{}\n{}\nsize: {}\n{}\n{}",
                    line("path"),
                    line("entryType"),
                    found["size"],
                    line("modified"),
                    line("mode")
                )
            })
        }
        FsCommand::Upload { directory, path, compress } => {
            let request = remote.at_or_workspace(Method::POST, "upload-batch", path.as_ref());
            archive::upload(request, directory, archive::Packing::of(compress), format).await
        }
        FsCommand::Download { path, directory, compress } => {
            let request = remote.at_or_workspace(Method::GET, "download-batch", path.as_ref());
            archive::download(&remote.0, request, directory, archive::Packing::of(compress), format).await
        }
        FsCommand::Watch { path, shallow } => {
            let request = remote.at_or_workspace(Method::GET, "watch", path.as_ref());
            let request = if shallow { request.query("recursive", "false") } else { request };
            watch::run(&remote.0, request.into_target(), format).await
        }
    }
}

/// The files of a server.
#[derive(Debug)]
struct Remote(Server);

impl Remote {
    /// A request about a path, byte by byte as it was given.
    fn at(&self, method: Method, endpoint: &str, path: &OsString) -> Request {
        self.0.request(method, format!("/v1/fs/{endpoint}")).query("path", path.as_bytes())
    }

    fn at_or_workspace(&self, method: Method, endpoint: &str, path: Option<&OsString>) -> Request {
        match path {
            Some(path) => self.at(method, endpoint, path),
            None => self.0.request(method, format!("/v1/fs/{endpoint}")),
        }
    }
}

/// Does the same to each path; the first that fails ends it.
async fn each(
    paths: &[OsString],
    request: impl Fn(&OsString) -> Request,
    done: &str,
    format: Format,
) -> Result<(), CliError> {
    for path in paths {
        let answer = request(path).json().await?;
        told(&answer, format, || format!("{done} {}", word(&answer, "path")))?;
    }
    Ok(())
}

fn told(answer: &Value, format: Format, text: impl Fn() -> String) -> Result<(), CliError> {
    match format {
        Format::Json => print_json(answer),
        Format::Text => print_line(text()),
    }
}

/// Part of an answer on one line: names can hold anything.
fn word(answer: &Value, part: &str) -> String {
    name(answer[part].as_str().unwrap_or_default())
}
