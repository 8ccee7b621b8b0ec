//! `acp-http-adapter`: the HTTP endpoint for a single agent, without the rest of the product.
//!
//! Every server id runs the command given after `--`. The adapter listens only on loopback. For tokens, several
//! agents or files, use `sandbox-agent`.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use acp_http_adapter::{AcpDoor, DoorSettings};
use acp_instances::{
    BoxFuture, Caller, Instances, Launcher, Limits, LocalInstances, Prepared, Shutdown, StartFailure,
    StartStep,
};
use clap::Parser;
use http_server::serve::with_fallbacks;
use http_server::{Exposure, HttpServer};
use process_supervisor::LaunchSpec;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

const DRAIN: Duration = Duration::from_secs(1);

/// Puts one ACP agent process behind HTTP, at /v1/acp/{server_id} on loopback.
#[derive(Debug, Parser)]
#[command(name = "acp-http-adapter", version)]
struct Arguments {
    /// Port to listen on; 0 picks a free one
    #[arg(long, default_value_t = 2468)]
    port: u16,
    /// The agent's command with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<std::ffi::OsString>,
}

/// The launcher of the only agent.
struct OneAgent(LaunchSpec);

impl Launcher for OneAgent {
    fn default_agent(&self) -> Option<&str> {
        Some("agent")
    }

    fn resolve<'a>(
        &'a self,
        agent: &'a str,
        _caller: &'a Caller,
    ) -> BoxFuture<'a, Result<String, StartFailure>> {
        let only =
            || StartFailure::new(StartStep::UnknownAgent, "there is one agent here, and it needs no name");
        Box::pin(std::future::ready(if agent == "agent" { Ok(agent.to_owned()) } else { Err(only()) }))
    }

    fn prepare<'a>(&'a self, _agent: &'a str) -> BoxFuture<'a, Result<Prepared, StartFailure>> {
        Box::pin(std::future::ready(Ok(Prepared::without_lease(self.0.clone()))))
    }
}

/// musl's allocator has one lock for all threads, and glibc's is slower for the allocations of a request; see
/// `bench/RESULTS.md`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    process_supervisor::become_supervisor_if_asked();
    process_supervisor::become_init_if_first_process();
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("acp-http-adapter: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> std::io::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(tracing::Level::INFO).init();
    process_supervisor::adopt_orphans()?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run_until_signal(arguments))
}

async fn run_until_signal(arguments: Arguments) -> std::io::Result<()> {
    let mut words = arguments.command.into_iter();
    let spec = LaunchSpec {
        program: words.next().unwrap_or_default(),
        arguments: words.collect(),
        environment: std::env::vars_os().collect(),
        directory: None,
    };
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port))).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let instances: Arc<dyn Instances> =
        Arc::new(LocalInstances::new(Limits::default(), Arc::new(OneAgent(spec))));
    let door = AcpDoor::new(Arc::clone(&instances), DoorSettings::default());
    let exposure = Exposure { token: None, loopback_only: true, origins: Vec::new() };
    let stop = CancellationToken::new();
    let server = HttpServer::new(with_fallbacks(door.routes().into_router()), exposure);
    let stopped = stop.clone();
    let serving = tokio::spawn(async move { door.serve(listener, server, stopped, DRAIN * 8).await });
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    stop.cancel();
    if let Err(error) = instances.shutdown(Shutdown::End).await {
        tracing::error!(%error, "cannot end the agents");
    }
    let _ = tokio::time::timeout(DRAIN, serving).await;
    Ok(())
}
