//! Scaling: throughput and memory over the number of instances and over the message size, as plots.

use std::path::Path;
use std::time::Duration;

use super::idle::open_range;
use super::mirror::mirror;
use super::requests::{path_of, throughput};
use crate::context::{Context, Side};
use crate::report::{Plot, Row, Unit};
use crate::servers::Server;
use crate::{Result, process};

const INSTANCES: [usize; 7] = [1, 3, 10, 30, 100, 300, 1000];
const SIZES: [usize; 6] = [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
const STRETCH: Duration = Duration::from_millis(1000);
const AT_ONCE: usize = 8;

pub(crate) async fn measure(context: &Context) -> Result<Vec<Row>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("plots");
    let number = ("instances", Unit::Count);
    let mut throughputs = Plot::new(
        "Requests per second, 64 at once, spread over instances",
        number,
        ("requests per second", Unit::Count),
    );
    let mut memory =
        Plot::new("Memory of the server over its instances", number, ("resident memory", Unit::Bytes));
    for side in context.sides() {
        // The line of a side that fails ends there.
        if let Err(error) = over_instances(side, context, &mut throughputs, &mut memory).await {
            eprintln!("growth over instances, {}: {error}", side.name());
        }
    }
    throughputs.write(&folder.join("instances-throughput.svg"))?;
    memory.write(&folder.join("instances-memory.svg"))?;

    let size = ("size of a message, there and back", Unit::Bytes);
    let mut throughputs = Plot::new(
        "Messages per second, 8 at once, over their size",
        size,
        ("messages per second", Unit::Count),
    );
    let mut memory =
        Plot::new("Memory of the server over the size of messages", size, ("resident memory", Unit::Bytes));
    for side in context.sides() {
        if let Err(error) = over_sizes(side, context, &mut throughputs, &mut memory).await {
            eprintln!("growth over sizes, {}: {error}", side.name());
        }
    }
    throughputs.write(&folder.join("sizes-throughput.svg"))?;
    memory.write(&folder.join("sizes-memory.svg"))?;
    Ok(Vec::new())
}

#[allow(clippy::cast_precision_loss)]
async fn over_instances(
    side: Side,
    context: &Context,
    throughputs: &mut Plot,
    memory: &mut Plot,
) -> Result<()> {
    let server = Server::start(side, context).await?;
    let mut open = 0;
    for count in INSTANCES {
        if side != Side::Limit {
            open_range(&server, open..count).await?;
            open = count;
        }
        let paths: Vec<String> = (0..count).map(|number| path_of(side, &format!("many-{number}"))).collect();
        let rate = throughput(&server, &paths, "echo", 64, STRETCH).await?;
        throughputs.add(side, count as f64, rate);
        memory.add(side, count as f64, process::resident_kb(server.pid())? as f64 * 1024.0);
    }
    Ok(())
}

#[allow(clippy::cast_precision_loss)]
async fn over_sizes(side: Side, context: &Context, throughputs: &mut Plot, memory: &mut Plot) -> Result<()> {
    for size in SIZES {
        // A new server for each size, so that its memory is that of this size.
        let server = Server::start(side, context).await?;
        let path = match side {
            Side::Limit => "/mirror".to_owned(),
            _ => {
                server.open("bench").await?;
                "/v1/acp/bench".to_owned()
            }
        };
        let rate = mirror(&server, &path, size, AT_ONCE, STRETCH).await?;
        throughputs.add(side, size as f64, rate);
        memory.add(side, size as f64, process::peak_kb(server.pid())? as f64 * 1024.0);
    }
    Ok(())
}
