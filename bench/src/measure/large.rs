//! Measures the server's peak memory when an agent sends 1,100 events of 1 MB each.

use std::time::Duration;

use crate::context::Context;
use crate::http::{Connection, post};
use crate::report::{Goal, Row, Samples};
use crate::servers::Server;
use crate::{Result, agent, process};

const EVENTS: u64 = 1100;
const TIMEOUT: Duration = Duration::from_secs(60);
/// The default of `--replay-bytes` in MB, plus an allowance for all other memory: the idle server, the message that is
/// being read, and the newest message.
const BOUND_MB: f64 = 67.1 + 20.0;

pub(crate) async fn measure(context: &Context) -> Result<Vec<Row>> {
    let mut samples = Samples::default();
    for side in context.servers() {
        let server = Server::start(side, context).await?;
        samples.push(side, peak(&server).await);
    }
    let what = "1,100 events of 1 MB: the most memory the server took (`--replay-bytes` is 67 MB)";
    Ok(vec![Row::new(what, "MB", Goal::AtMost(BOUND_MB), samples)])
}

async fn peak(server: &Server) -> Result<f64> {
    server.open("bench").await?;
    let message = agent::request(agent::now_ns(), &format!("large:{EVENTS}"));
    let request = post(server, "/v1/acp/bench", &message);
    let mut connection = Connection::open(&server.address).await?;
    tokio::time::timeout(TIMEOUT, connection.send(&request)).await??;
    // From KiB to MB.
    #[allow(clippy::cast_precision_loss)]
    Ok(process::peak_kb(server.pid())? as f64 * 1.024 / 1000.0)
}
