//! Starts and stops the server.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use acp_http_adapter::{AcpDoor, DoorSettings};
use acp_instances::{Instances, Shutdown};
use agent_catalog::CatalogError;
use http_server::HttpServer;
use journal::OpenError;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::engine::{Engine, WrapEngine, prepare_to_launch};
use crate::notify::Notifier;
use crate::routes::{Configuration, Files, JournalState, Services};
use crate::settings::{
    EffectiveLimits, EngineSettings, JournalSettings, ServerArguments, Settings, SettingsError,
};

/// How long the shutdown of all agents may take; less than the ten seconds that most orchestrators allow.
pub(crate) const SHUTDOWN_LIMIT: Duration = Duration::from_secs(8);
/// How long connections may take to finish after the agents have ended.
const DRAIN: Duration = Duration::from_secs(1);

/// How clients of the server list the agents.
const LIST_HINT: &str = "GET /v1/agents lists the available agents";

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    #[error("{0}")]
    Settings(#[from] SettingsError),
    #[error("{0}")]
    Catalog(#[from] CatalogError),
    #[error("cannot serve files: {0}; see --workspace and --fs-root")]
    Files(#[from] sandbox_fs::Error),
    #[error("cannot open the configuration store: {0}; see --data-dir")]
    Configuration(#[from] sandbox_config::Error),
    #[error("cannot listen on {address}: {reason}; is another server running? choose another --port")]
    Listen { address: String, reason: io::Error },
    #[error("cannot open the journal: {0}; see --journal")]
    Journal(#[from] OpenError),
    #[error("cannot start: {0}")]
    Runtime(#[from] io::Error),
}

/// Runs the server until it is stopped by a signal or by the end of standard input.
pub(crate) fn run(arguments: &ServerArguments, wrap: WrapEngine) -> Result<(), ServerError> {
    let settings = Settings::resolve(arguments)?;
    crate::logs::start(&settings.log_filter, settings.engine.log_format);
    hide_from_agents();
    prepare_to_launch(settings.engine.confinement);
    if settings.token_in_command_line {
        tracing::warn!(
            "the token is on the command line, where every process on this machine can read it; use --token-file"
        );
    }
    let runtime = runtime()?;
    let result = runtime.block_on(run_until_stopped(settings, wrap));
    // A thread that is still blocked (on a slow disk) must not keep the process alive.
    runtime.shutdown_timeout(Duration::from_millis(200));
    result
}

/// The runtime of the server. It uses half of the processors, at least one: the agents need the others, and waking
/// a second thread for every message costs more than it gains. Blocking work (files, installs) has its own threads.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    tokio::runtime::Builder::new_multi_thread().worker_threads((processors / 2).max(1)).enable_all().build()
}

/// Makes this process not dumpable, so that agents, which run as the same user, cannot read its environment and
/// memory.
pub(crate) fn hide_from_agents() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
    {
        tracing::warn!(%error, "agents can read this process's memory");
    }
}

async fn run_until_stopped(settings: Settings, wrap: WrapEngine) -> Result<(), ServerError> {
    // Register before the server is ready, because from then on a signal must shut it down gracefully.
    let signals = Signals::register()?;
    let stop_with_stdin = settings.stop_with_stdin;
    let running = RunningServer::start(settings, wrap).await?;
    // The address goes to standard output, so that the parent process can read the port.
    announce(&mut io::stdout().lock(), running.address());
    tracing::info!(address = %running.address(), version = crate::routes::VERSION, "ready");
    let notifier = Notifier::from_environment();
    notifier.ready(running.address());
    notifier.feed_watchdog();

    tokio::select! {
        () = signals.wait() => {}
        () = standard_input_ends(), if stop_with_stdin => {}
    }
    tracing::info!("stopping");
    notifier.stopping();
    running.stop().await;
    tracing::info!("stopped");
    Ok(())
}

/// A server that is accepting requests.
#[derive(Debug)]
struct RunningServer {
    address: SocketAddr,
    instances: Arc<dyn Instances>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    exporting: crate::otlp::Exporting,
}

impl RunningServer {
    /// Starts to listen and serves in the background.
    async fn start(settings: Settings, wrap: WrapEngine) -> Result<Self, ServerError> {
        let listener = listen(&settings.addresses).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let EngineSettings { limits, catalog, .. } = settings.engine;
        let door_settings = DoorSettings {
            max_message_bytes: limits.max_message_bytes,
            connections: settings.connections,
            ..DoorSettings::default()
        };
        let effective = EffectiveLimits::of(&limits, &settings.files, settings.connections);
        let data_dir = catalog.data_dir.clone();
        let journal = open_journal(settings.journal).await?;
        let (opened, journal) = match journal {
            OpenedJournal::On(opened) => (Some(opened), JournalState::On),
            OpenedJournal::Without(state) => (None, state),
        };
        let engine = Engine::new(limits, catalog, LIST_HINT, opened, wrap)?;
        let instances = Arc::clone(&engine.instances);
        let files = Files::open(&settings.files, &data_dir, instances.memory(), stop.clone())?;
        let configuration = Configuration::open(&data_dir, files.workspace())?;
        let door = AcpDoor::new(Arc::clone(&instances), door_settings);
        let services =
            Services { engine, door: door.clone(), files, configuration, limits: effective, journal };
        let (router, metrics) = crate::routes::build_router(services);
        let server = HttpServer::new(router, settings.exposure).with_metrics(metrics);
        let (server, exporting) = crate::otlp::attach(server);
        let stopped = stop.clone();
        let serving = tokio::spawn(async move {
            door.serve(listener, server, stopped, SHUTDOWN_LIMIT + DRAIN).await;
        });
        Ok(Self { address, instances, stop, serving, exporting })
    }

    /// The address that the server listens on.
    const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Shuts down all agents, then the connections.
    async fn stop(self) {
        self.stop.cancel();
        let ending = self.instances.shutdown(Shutdown::End);
        match tokio::time::timeout(SHUTDOWN_LIMIT, ending).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "not all agents could be shut down"),
            Err(_) => {
                tracing::error!("some agents did not end in time; their supervisors will end them");
            }
        }
        let _ = tokio::time::timeout(DRAIN, self.serving).await;
        self.exporting.finish().await;
    }
}

/// The outcome of opening the journal.
enum OpenedJournal {
    On(journal::Opened),
    Without(JournalState),
}

/// Opens the journal. A journal that another server uses is an error only if it was named: two servers may share a data
/// directory.
async fn open_journal(settings: Option<JournalSettings>) -> Result<OpenedJournal, ServerError> {
    let Some(JournalSettings { options, is_required }) = settings else {
        return Ok(OpenedJournal::Without(JournalState::Off));
    };
    let directory = options.directory.clone();
    let opening = tokio::task::spawn_blocking(move || journal::Journal::open(options));
    match opening.await.map_err(io::Error::other)? {
        Ok(opened) => {
            for set_aside in &opened.set_aside {
                tracing::error!(
                    path = %set_aside.path.display(), reason = set_aside.reason,
                    "a damaged file of the journal was set aside; what could be read is served"
                );
            }
            tracing::info!(
                directory = %directory.display(), instances = opened.streams.len(),
                "messages are kept in the journal; --journal off turns it off"
            );
            Ok(OpenedJournal::On(opened))
        }
        Err(error @ OpenError::Locked { .. }) if !is_required => {
            tracing::warn!(%error, "running without a journal: events are lost when this server ends");
            Ok(OpenedJournal::Without(JournalState::Locked))
        }
        Err(error) => Err(error.into()),
    }
}

/// Prints the server's address in one write. A closed standard output, or a reader that closes the pipe after the first
/// line, must not end the server, as a failing `println!` would.
fn announce(out: &mut impl io::Write, address: SocketAddr) {
    let text = format!("listening on http://{address}\ninspector at http://{address}/ui/\n");
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        tracing::debug!(%error, "standard output is closed");
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

/// Waits until the parent process closes its end of standard input or exits.
async fn standard_input_ends() {
    let (ended, end) = oneshot::channel();
    // Use a thread outside the runtime, because a blocked read would prevent the runtime from shutting down.
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe whose reader closes it after this many writes.
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
    fn the_address_is_printed_in_one_write_and_a_closed_pipe_is_ignored() {
        let address = "127.0.0.1:2468".parse().unwrap();
        let mut open = Pipe(2, Vec::new());
        announce(&mut open, address);
        assert_eq!(open.1, ["listening on http://127.0.0.1:2468\ninspector at http://127.0.0.1:2468/ui/\n"]);
        let mut closed = Pipe(0, Vec::new());
        announce(&mut closed, address);
        assert!(closed.1.is_empty());
    }
}
