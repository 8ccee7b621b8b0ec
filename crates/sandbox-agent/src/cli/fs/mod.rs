//! `sandbox-agent fs`: the files on a server.

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
use super::style::printable;

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
        /// Print the type, size and modification time of each entry
        #[arg(short, long)]
        long: bool,
        /// Include all subdirectories, and print paths instead of names
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
        /// The local file; - is standard input
        file: PathBuf,
        /// The path on the server; with a slash at the end, the file keeps its name
        path: OsString,
        /// Fail if the file exists
        #[arg(long)]
        no_clobber: bool,
        /// Fail unless the existing file has this ETag
        #[arg(long, value_name = "ETAG", conflicts_with = "no_clobber")]
        if_match: Option<String>,
    },
    /// Fetch a file
    Get {
        /// The path on the server
        path: OsString,
        /// The local file or directory; - is standard output [default: the same name in the current directory]
        file: Option<PathBuf>,
    },
    /// Remove files and directories
    Rm {
        /// The paths to remove
        #[arg(required = true)]
        paths: Vec<OsString>,
        /// Remove directories with their contents
        #[arg(short, long)]
        recursive: bool,
    },
    /// Move or rename
    Mv {
        /// The path to move
        from: String,
        /// The new path
        to: String,
        /// Replace an existing file
        #[arg(short, long)]
        force: bool,
    },
    /// Create directories and their parents
    Mkdir {
        /// The directories
        #[arg(required = true)]
        paths: Vec<OsString>,
    },
    /// Show the metadata of a file or directory
    Stat {
        /// The path on the server
        path: OsString,
    },
    /// Copy a directory to the server
    Upload {
        /// The local directory
        directory: PathBuf,
        /// The target directory on the server [default: the workspace]
        path: Option<OsString>,
        /// Compress the transfer
        #[arg(short = 'z', long)]
        compress: bool,
    },
    /// Copy a directory from the server
    Download {
        /// The directory on the server [default: the workspace]
        path: Option<OsString>,
        /// The local target directory
        #[arg(default_value = ".")]
        directory: PathBuf,
        /// Compress the transfer
        #[arg(short = 'z', long)]
        compress: bool,
    },
    /// Print changes as they happen
    Watch {
        /// The directory [default: the workspace]
        path: Option<OsString>,
        /// Do not include subdirectories
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
            let detail = if long { list::Detail::Long } else { list::Detail::Names };
            let listed = path.unwrap_or_default().to_string_lossy().into_owned();
            let (request, naming) = if recursive {
                (request.query("recursive", "true"), list::Naming::Path { listed })
            } else {
                (request, list::Naming::Name)
            };
            list::run(&remote.0, request, &naming, detail, format).await
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
            let request = |path: &OsString| {
                let request = remote.at(Method::DELETE, "entry", path);
                if recursive { request.query("recursive", "true") } else { request }
            };
            for_each_path(&paths, request, "removed", format).await
        }
        FsCommand::Mkdir { paths } => {
            let request = |path: &OsString| remote.at(Method::POST, "mkdir", path);
            for_each_path(&paths, request, "created", format).await
        }
        FsCommand::Mv { from, to, force } => {
            let body = json!({"from": from, "to": to, "overwrite": force});
            let moved = remote.0.request(Method::POST, "/v1/fs/move").json_body(&body).json().await?;
            print_result(&moved, format, || {
                format!("moved {} to {}", text_field(&moved, "from"), text_field(&moved, "to"))
            })
        }
        FsCommand::Stat { path } => {
            let found = remote.at(Method::GET, "stat", &path).json().await?;
            print_result(&found, format, || {
                let line = |name: &str| format!("{name}: {}", text_field(&found, name));
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

/// The files on a server.
#[derive(Debug)]
struct Remote(Server);

impl Remote {
    /// A request for a path, which need not be UTF-8.
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

/// Sends a request for each path. Stops at the first error.
async fn for_each_path(
    paths: &[OsString],
    request: impl Fn(&OsString) -> Request,
    done: &str,
    format: Format,
) -> Result<(), CliError> {
    for path in paths {
        let answer = request(path).json().await?;
        print_result(&answer, format, || format!("{done} {}", text_field(&answer, "path")))?;
    }
    Ok(())
}

fn print_result(answer: &Value, format: Format, text: impl Fn() -> String) -> Result<(), CliError> {
    match format {
        Format::Json => print_json(answer),
        Format::Text => print_line(text()),
    }
}

/// A field of a response as printable text on one line: file names can contain anything.
fn text_field(answer: &Value, field: &str) -> String {
    printable(answer[field].as_str().unwrap_or_default())
}
