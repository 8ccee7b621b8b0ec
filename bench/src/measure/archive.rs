//! Ten thousand small files in one archive, against `tar x`.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Result;
use crate::context::{Context, Side};
use crate::http::{Connection, upload};
use crate::report::{Goal, Row, Samples};
use crate::servers::Server;

const FILES: usize = 10_000;
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn measure(context: &Context) -> Result<Vec<Row>> {
    let archive = context.scratch.join("files.tar");
    std::fs::write(&archive, pack()?)?;
    let mut servers = Vec::new();
    for side in context.servers() {
        servers.push((side, Server::start(side, context).await?));
    }
    let mut samples = Samples::default();
    for _ in 0..context.rounds {
        samples.push(Side::Limit, unpacked(&archive, &context.folder("unpacked")?));
        for (side, server) in
            servers.iter().filter(|(side, _)| !samples.has_failed(*side)).collect::<Vec<_>>()
        {
            samples.push(*side, uploaded(server, &archive, &context.folder("unpacked")?).await);
        }
    }
    context.folder("unpacked")?;
    let what = "archive of 10,000 files of 1 kB unpacked, of tar x";
    Ok(vec![Row::new(what, "files/s", Goal::RatioAtLeast(0.7), samples)])
}

fn pack() -> Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    for number in 0..FILES {
        let mut header = tar::Header::new_gnu();
        header.set_size(1000);
        header.set_mode(0o644);
        header.set_cksum();
        let name = format!("folder-{}/file-{number}.txt", number / 100);
        builder.append_data(&mut header, name, &[b'x'; 1000][..])?;
    }
    Ok(builder.into_inner()?)
}

fn unpacked(archive: &Path, into: &Path) -> Result<f64> {
    let started = Instant::now();
    let status = Command::new("tar").arg("xf").arg(archive).arg("-C").arg(into).status()?;
    if !status.success() {
        return Err("tar failed".into());
    }
    Ok(rate(started))
}

async fn uploaded(server: &Server, archive: &Path, into: &Path) -> Result<f64> {
    let body = std::fs::read(archive)?;
    let path = format!("POST /v1/fs/upload-batch?path={}", into.display());
    let head = upload(server, &path, "application/x-tar", body.len() as u64);
    let mut connection = Connection::open(&server.address).await?;
    let started = Instant::now();
    let sending = async {
        connection.write(&head).await?;
        // A server that refuses sends its answer before it closes the connection.
        let _ = connection.write(&body).await;
        connection.receive().await
    };
    tokio::time::timeout(TIMEOUT, sending).await??;
    let rate = rate(started);
    if !into.join("folder-99/file-9999.txt").is_file() {
        return Err("the last file is missing".into());
    }
    Ok(rate)
}

#[allow(clippy::cast_precision_loss)]
fn rate(started: Instant) -> f64 {
    FILES as f64 / started.elapsed().as_secs_f64()
}
