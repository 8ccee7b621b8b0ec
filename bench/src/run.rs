//! Runs all measurements, or the named ones, one after the other.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Result;
use crate::context::{Context, Programs};
use crate::measure;
use crate::process;
use crate::report::{Row, write_page};

const ROUNDS: usize = 5;
/// Longer than any measurement takes; one that exceeds it hangs.
const TIMEOUT: Duration = Duration::from_secs(300);

/// `[--rounds N] [NAME...]`: runs everything, or the named measurements. Only a complete run with all sides writes
/// the page.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut rounds, mut names) = (ROUNDS, Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => rounds = words.next().ok_or("--rounds needs a number")?.parse()?,
            name if measure::ALL.iter().any(|one| one.name == name) => names.push(name),
            other => {
                let all: Vec<_> = measure::ALL.iter().map(|one| one.name).collect();
                return Err(
                    format!("there is no measurement {other}; available are {}", all.join(", ")).into()
                );
            }
        }
    }
    process::allow_many_files();
    let target = std::env::current_exe()?;
    let target = target.ancestors().nth(2).ok_or("not in a target folder")?.to_owned();
    let context = Context::new(programs(&target)?, &target, rounds)?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(measure_all(&context, &names))
}

async fn measure_all(context: &Context, names: &[&str]) -> Result<()> {
    let mut rows: Vec<Row> = Vec::new();
    print!("{}", Row::HEAD);
    for measurement in measure::ALL.iter().filter(|one| names.is_empty() || names.contains(&one.name)) {
        match tokio::time::timeout(TIMEOUT, (measurement.measure)(context)).await {
            Ok(Ok(measured)) => {
                for row in measured {
                    println!("{row}");
                    rows.push(row);
                }
            }
            Ok(Err(error)) => return Err(format!("{}: {error}", measurement.name).into()),
            Err(_elapsed) => return Err(format!("{} takes too long", measurement.name).into()),
        }
    }
    if names.is_empty() && context.programs.peer.is_some() && context.programs.nginx.is_some() {
        write_page(&Path::new(env!("CARGO_MANIFEST_DIR")).join("RESULTS.md"), &rows, context.rounds)?;
    }
    Ok(())
}

/// The paths of the programs: those of `bench/setup.sh` and the Makefile, or those in variables.
fn programs(target: &Path) -> Result<Programs> {
    let find = |variable: &str, usual: PathBuf| -> Result<PathBuf> {
        let path = std::env::var_os(variable).map_or(usual, PathBuf::from);
        let found = path.canonicalize();
        found.map_err(|error| {
            format!("{}: {error}; run `make bench`, or set {variable}", path.display()).into()
        })
    };
    let find_if_any = |variable: &str, usual: PathBuf| {
        let found = find(variable, usual);
        found.inspect_err(|error| eprintln!("bench: continuing without {error}")).ok()
    };
    let architecture = std::env::consts::ARCH;
    let npm_architecture = if architecture == "aarch64" { "arm64" } else { "x64" };
    let peer =
        format!("bench-peer/node_modules/@sandbox-agent/cli-linux-{npm_architecture}/bin/sandbox-agent");
    Ok(Programs {
        ours: find(
            "BENCH_OURS",
            target.join(format!("{architecture}-unknown-linux-musl/dist/sandbox-agent")),
        )?,
        glibc: find("BENCH_GLIBC", target.join("release/sandbox-agent"))?,
        peer: find_if_any("BENCH_PEER", target.join(peer)),
        nginx: find_if_any("BENCH_NGINX", PathBuf::from("/usr/sbin/nginx")),
    })
}
