//! Idle cost: an idle server, and one with many idle instances.

use std::time::Duration;

use futures_util::future::try_join_all;

use crate::context::{Context, Side};
use crate::report::{Goal, Row, Samples};
use crate::servers::Server;
use crate::{Result, process};

/// The number of instances in a fresh server.
const INSTANCES: usize = 1000;
/// The number of instances opened concurrently.
const AT_ONCE: usize = 8;
/// How long processor time is measured.
const WATCHED: Duration = Duration::from_secs(5);

pub(crate) async fn measure(context: &Context) -> Result<Vec<Row>> {
    let (mut resident, mut binary) = (Samples::default(), Samples::default());
    let (mut instance, mut supervisor, mut time) =
        (Samples::default(), Samples::default(), Samples::default());
    for side in context.servers() {
        for _ in 0..context.rounds {
            let server = Server::start(side, context).await?;
            resident.push(side, resident_mb(&server).await);
        }
        let program = match side {
            Side::Peer => context.programs.peer.as_ref(),
            Side::Glibc => Some(&context.programs.glibc),
            _ => Some(&context.programs.ours),
        };
        if let Some(program) = program {
            binary.push(side, megabytes(std::fs::metadata(program)?.len()));
        }
        let measured = with_instances(side, context).await;
        match measured {
            Ok(crowd) => {
                instance.push(side, Ok(crowd.instance_kb));
                time.push(side, Ok(crowd.processor_ms));
                if let Some(kilobytes) = crowd.supervisor_kb {
                    supervisor.push(side, Ok(kilobytes));
                }
            }
            Err(error) => instance.push(side, Err(error)),
        }
    }
    Ok(vec![
        Row::new("memory of a server at rest (RSS)", "MB", Goal::AtMost(8.0), resident),
        Row::new("size of the binary", "MB", Goal::AtMost(12.0), binary),
        Row::new("memory of an idle instance in the server", "kB", Goal::AtMost(25.0), instance),
        Row::new(
            "memory of an idle instance's supervisor process (proportional share)",
            "kB",
            Goal::AtMost(500.0),
            supervisor,
        ),
        Row::new(
            "processor time of a server with 1,000 idle instances, in 5 s",
            "ms",
            Goal::AtMost(0.0),
            time,
        ),
    ])
}

async fn resident_mb(server: &Server) -> Result<f64> {
    // Memory use settles shortly after the start.
    tokio::time::sleep(Duration::from_millis(300)).await;
    megabytes(process::resident_kb(server.pid())? * 1024)
}

#[allow(clippy::cast_precision_loss, clippy::unnecessary_wraps)]
fn megabytes(bytes: u64) -> Result<f64> {
    Ok(bytes as f64 / 1e6)
}

/// A fresh server with many instances.
struct Crowd {
    instance_kb: f64,
    /// The memory of one supervisor; only our own server has supervisors.
    supervisor_kb: Option<f64>,
    processor_ms: f64,
}

#[allow(clippy::cast_precision_loss)]
async fn with_instances(side: Side, context: &Context) -> Result<Crowd> {
    let server = Server::start(side, context).await?;
    // The first instance initialises everything that is shared.
    server.open("first").await?;
    let before = process::anonymous_kb(server.pid())?;
    open_many(&server, INSTANCES).await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let after = process::anonymous_kb(server.pid())?;
    let supervisor_kb = if side == Side::Peer { None } else { Some(share_of_children(&server)?) };
    let used = process::processor_ms(server.pid())?;
    tokio::time::sleep(WATCHED).await;
    let processor_ms = (process::processor_ms(server.pid())? - used) as f64;
    let instance_kb = after.saturating_sub(before) as f64 * 1.024 / INSTANCES as f64;
    Ok(Crowd { instance_kb, supervisor_kb, processor_ms })
}

/// The mean memory of some children: their private memory and their share of shared memory.
#[allow(clippy::cast_precision_loss)]
fn share_of_children(server: &Server) -> Result<f64> {
    let children = process::children(server.pid())?;
    let some: Vec<u64> =
        children.iter().take(50).map(|child| process::proportional_kb(*child)).collect::<Result<_>>()?;
    Ok(some.iter().sum::<u64>() as f64 * 1.024 / some.len() as f64)
}

/// Opens the instances `many-0`, `many-1`, and so on.
pub(crate) async fn open_many(server: &Server, count: usize) -> Result<()> {
    open_range(server, 0..count).await
}

/// Opens some of them, a few at a time.
pub(crate) async fn open_range(server: &Server, mut range: std::ops::Range<usize>) -> Result<()> {
    loop {
        let names: Vec<String> =
            range.by_ref().take(AT_ONCE).map(|number| format!("many-{number}")).collect();
        if names.is_empty() {
            return Ok(());
        }
        try_join_all(names.iter().map(|name| server.open(name))).await?;
    }
}
