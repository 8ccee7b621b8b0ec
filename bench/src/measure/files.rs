//! Large files: downloads compared with nginx's sendfile, uploads with `cp`.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Result;
use crate::context::{Context, Side};
use crate::http::{Connection, get, upload};
use crate::report::{Goal, Row, Samples};
use crate::servers::Server;

const BYTES: u64 = 1 << 30;
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn measure(context: &Context) -> Result<Vec<Row>> {
    let file = context.scratch.join("gigabyte");
    write_file(&file)?;
    let nginx = Server::nginx(context).await;
    let mut servers = Vec::new();
    for side in context.servers() {
        servers.push((side, Server::start(side, context).await?));
    }
    let (mut down, mut up) = (Samples::default(), Samples::default());
    for _ in 0..context.rounds {
        match &nginx {
            Ok(nginx) => down.push(Side::Limit, download(nginx, "/gigabyte").await),
            Err(error) => down.push(Side::Limit, Err(error.to_string().into())),
        }
        for (side, server) in servers.iter().filter(|(side, _)| !down.has_failed(*side)).collect::<Vec<_>>() {
            down.push(*side, download(server, &format!("/v1/fs/file?path={}", file.display())).await);
        }
    }
    for _ in 0..context.rounds {
        let copy = context.scratch.join("copy");
        up.push(Side::Limit, copied(&file, &copy));
        std::fs::remove_file(&copy)?;
        for (side, server) in servers.iter().filter(|(side, _)| !up.has_failed(*side)).collect::<Vec<_>>() {
            up.push(*side, put(server, &copy).await);
            let _ = std::fs::remove_file(&copy);
        }
    }
    std::fs::remove_file(&file)?;
    Ok(vec![
        Row::new("GET of a file of 1 GiB, of nginx with sendfile", "MB/s", Goal::RatioAtLeast(0.7), down),
        Row::new("PUT of a file of 1 GiB, of cp", "MB/s", Goal::RatioAtLeast(0.6), up),
    ])
}

fn write_file(path: &Path) -> Result<()> {
    let mut file = std::fs::File::create(path)?;
    let block: Vec<u8> =
        (0..1 << 20).map(|index: u32| index.to_le_bytes()[0] ^ index.to_le_bytes()[1]).collect();
    for _ in 0..BYTES >> 20 {
        file.write_all(&block)?;
    }
    // Sync now, so that its write-back does not disturb the measurement.
    file.sync_all()?;
    Ok(())
}

async fn download(server: &Server, path: &str) -> Result<f64> {
    let mut connection = Connection::open(&server.address).await?;
    let started = Instant::now();
    let received = tokio::time::timeout(TIMEOUT, connection.download(&get(server, path, ""))).await??;
    if received as u64 != BYTES {
        return Err(format!("{received} bytes came").into());
    }
    Ok(rate(started))
}

fn copied(from: &Path, to: &Path) -> Result<f64> {
    let started = Instant::now();
    // On a file system that shares blocks, `cp` would copy nothing.
    let status = Command::new("cp").arg("--reflink=never").arg(from).arg(to).status()?;
    if !status.success() {
        return Err("cp failed".into());
    }
    Ok(rate(started))
}

async fn put(server: &Server, to: &Path) -> Result<f64> {
    let head =
        upload(server, &format!("PUT /v1/fs/file?path={}", to.display()), "application/octet-stream", BYTES);
    let block = vec![b'x'; 256 << 10];
    let mut connection = Connection::open(&server.address).await?;
    let started = Instant::now();
    let sending = async {
        connection.write(&head).await?;
        for _ in 0..BYTES / block.len() as u64 {
            // A server that refuses sends its answer before it closes the connection.
            if connection.write(&block).await.is_err() {
                break;
            }
        }
        connection.receive().await
    };
    tokio::time::timeout(TIMEOUT, sending).await??;
    let rate = rate(started);
    if std::fs::metadata(to)?.len() != BYTES {
        return Err("the file is not whole".into());
    }
    Ok(rate)
}

#[allow(clippy::cast_precision_loss)]
fn rate(started: Instant) -> f64 {
    BYTES as f64 / 1e6 / started.elapsed().as_secs_f64()
}
