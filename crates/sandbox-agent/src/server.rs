//! Starting the server and ending it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use acp_http_adapter::Bridge;
use agent_catalog::{Catalog, CatalogError};
use http_edge::Edge;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::launcher::CatalogLauncher;
use crate::notify::Notifier;
use crate::routes::{Configuration, Files, Services};
use crate::settings::{EffectiveLimits, ServerArguments, Settings, SettingsError};

/// How long ending all agents may take; within the ten seconds that most orchestrators give.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(8);
/// How long connections may take to finish after that.
const DRAIN: Duration = Duration::from_secs(1);

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    #[error("{0}")]
    Settings(#[from] SettingsError),
    #[error("{0}")]
    Catalog(#[from] CatalogError),
    #[error("cannot serve files: {0}; see --workspace and --fs-root")]
    Files(#[from] sandbox_fs::Error),
    #[error("cannot keep configuration: {0}; see --data-dir")]
    Configuration(#[from] sandbox_config::Error),
    #[error("cannot listen on {address}: {reason}; is another server running? choose another --port")]
    Listen { address: String, reason: io::Error },
    #[error("cannot start: {0}")]
    Runtime(#[from] io::Error),
}

/// Runs the server until it is told to stop.
pub(crate) fn run(arguments: &ServerArguments) -> Result<(), ServerError> {
    let settings = Settings::settle(arguments)?;
    crate::logs::start(&settings.log_filter, settings.log_format);
    hide_from_agents();
    if settings.token_in_command_line {
        tracing::warn!(
            "the token is in the command line, where every process here can read it; use --token-file"
        );
    }
    let runtime = runtime()?;
    let result = runtime.block_on(run_until_told(settings));
    // Whatever still blocks a thread (a slow disk) must not keep the process.
    runtime.shutdown_timeout(Duration::from_millis(200));
    result
}

/// Half of the processors are for the server, at least one: the agents need theirs, and a second thread that is woken for
/// every message costs more than it does. What could hold a thread up (files, installs) has threads of its own.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    tokio::runtime::Builder::new_multi_thread().worker_threads((processors / 2).max(1)).enable_all().build()
}

/// An agent runs as the same user. Not being dumpable keeps it from reading this process's environment and memory.
pub(crate) fn hide_from_agents() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
    {
        tracing::warn!(%error, "agents can read this process's memory");
    }
}

async fn run_until_told(settings: Settings) -> Result<(), ServerError> {
    // First of all: whoever sees the server ready may tell it to stop.
    let told_to_stop = Signals::register()?;
    let stop_with_stdin = settings.stop_with_stdin;
    let running = Running::start(settings).await?;
    // On standard output, for whoever started this to read the port from.
    // In one piece: a reader that has its line may close the pipe.
    announce(&mut io::stdout().lock(), running.address());
    tracing::info!(address = %running.address(), version = crate::routes::VERSION, "ready");
    let notifier = Notifier::from_environment();
    notifier.ready(running.address());
    notifier.feed_watchdog();

    tokio::select! {
        () = told_to_stop.wait() => {}
        () = standard_input_ends(), if stop_with_stdin => {}
    }
    tracing::info!("stopping");
    notifier.stopping();
    running.stop().await;
    tracing::info!("stopped");
    Ok(())
}

/// A server that serves.
#[derive(Debug)]
pub(crate) struct Running {
    address: SocketAddr,
    bridge: Bridge,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    #[cfg(feature = "otlp")]
    exporting: crate::otlp::Exporting,
}

impl Running {
    /// Listens and serves, in the background.
    pub(crate) async fn start(settings: Settings) -> Result<Self, ServerError> {
        let listener = listen(&settings.addresses).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let limits = EffectiveLimits::of(&settings.limits, &settings.files);
        let files = Files::open(&settings.files, stop.clone())?;
        let configuration = Configuration::open(&settings.catalog.data_dir, files.workspace())?;
        let catalog = Catalog::new(settings.catalog)?;
        let bridge = Bridge::new(settings.limits, Arc::new(CatalogLauncher::new(catalog.clone())));
        let services = Services { bridge: bridge.clone(), catalog, files, configuration, limits };
        let (router, measures) = crate::routes::all(services);
        let edge = Edge::new(router, settings.exposure).measured(measures);
        #[cfg(feature = "otlp")]
        let (edge, exporting) = crate::otlp::attach(edge);
        let (serving, stopped) = (bridge.clone(), stop.clone());
        let serving = tokio::spawn(async move {
            serving.serve(listener, edge, stopped, SHUTDOWN_LIMIT + DRAIN).await;
        });
        Ok(Self {
            address,
            bridge,
            stop,
            serving,
            #[cfg(feature = "otlp")]
            exporting,
        })
    }

    /// Where it listens.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends every agent, then the connections.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        if tokio::time::timeout(SHUTDOWN_LIMIT, self.bridge.shut_down()).await.is_err() {
            tracing::error!("some agents did not end in time; their supervisors finish the work");
        }
        let _ = tokio::time::timeout(DRAIN, self.serving).await;
        #[cfg(feature = "otlp")]
        self.exporting.finish().await;
    }
}

/// Says where the server is, in one write. Whoever reads only the first line and closes the pipe, or gave no pipe at
/// all, must not end the server by it, as a failing `println!` would.
fn announce(out: &mut impl io::Write, address: SocketAddr) {
    let text = format!("listening on http://{address}\ninspector at http://{address}/ui/\n");
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        tracing::debug!(%error, "nobody reads standard output");
    }
}

async fn listen(addresses: &[SocketAddr]) -> Result<TcpListener, ServerError> {
    TcpListener::bind(addresses).await.map_err(|reason| {
        let address = addresses.first().map_or_else(String::new, ToString::to_string);
        ServerError::Listen { address, reason }
    })
}

/// The signals that end the server.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn register() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn wait(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Waits until whoever started the server has let go of its input: by closing it, or by ending in any way at all.
async fn standard_input_ends() {
    let (tell, told) = oneshot::channel();
    // A thread that nobody waits for: a read that blocks would keep the runtime from ending.
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = tell.send(());
    });
    let _ = told.await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe whose reader left after so many writes.
    struct Pipe(usize, Vec<String>);

    impl io::Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.1.len() == self.0 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.1.push(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_address_is_said_in_one_write_and_a_closed_pipe_ends_nothing() {
        let address = "127.0.0.1:2468".parse().unwrap();
        let mut open = Pipe(2, Vec::new());
        announce(&mut open, address);
        assert_eq!(open.1, ["listening on http://127.0.0.1:2468\ninspector at http://127.0.0.1:2468/ui/\n"]);
        let mut closed = Pipe(0, Vec::new());
        announce(&mut closed, address);
        assert!(closed.1.is_empty());
    }
}
