//! Starting the server and ending it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use acp_http_adapter::{AcpDoor, DoorSettings};
use acp_instances::{Instances, Shutdown};
use agent_catalog::CatalogError;
use http_server::HttpServer;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::engine::{Engine, Wrap};
use crate::notify::Notifier;
use crate::routes::{Configuration, Files, Services};
use crate::settings::{EffectiveLimits, EngineSettings, ServerArguments, Settings, SettingsError};

/// How long ending all agents may take; within the ten seconds that most orchestrators give.
pub(crate) const SHUTDOWN_LIMIT: Duration = Duration::from_secs(8);
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

/// Runs the server until a signal, or the end of standard input, stops it.
pub(crate) fn run(arguments: &ServerArguments, wrap: Wrap) -> Result<(), ServerError> {
    let settings = Settings::settle(arguments)?;
    crate::logs::start(&settings.log_filter, settings.engine.log_format);
    hide_from_agents();
    if settings.token_in_command_line {
        tracing::warn!(
            "the token is in the command line, where every process here can read it; use --token-file"
        );
    }
    let runtime = runtime()?;
    let result = runtime.block_on(run_until_stopped(settings, wrap));
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

async fn run_until_stopped(settings: Settings, wrap: Wrap) -> Result<(), ServerError> {
    // Before the server is ready: from then on a signal must stop it in good order.
    let signals = Signals::register()?;
    let stop_with_stdin = settings.stop_with_stdin;
    let running = Running::start(settings, wrap).await?;
    // On standard output, so that the program that started this can read the port.
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

/// A server that serves.
#[derive(Debug)]
struct Running {
    address: SocketAddr,
    instances: Arc<dyn Instances>,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    exporting: crate::otlp::Exporting,
}

impl Running {
    /// Listens and serves, in the background.
    async fn start(settings: Settings, wrap: Wrap) -> Result<Self, ServerError> {
        let listener = listen(&settings.addresses).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let EngineSettings { limits, catalog, .. } = settings.engine;
        let door_settings =
            DoorSettings { max_message_bytes: limits.max_message_bytes, ..DoorSettings::default() };
        let effective = EffectiveLimits::of(&limits, &settings.files);
        let files = Files::open(&settings.files, stop.clone())?;
        let configuration = Configuration::open(&catalog.data_dir, files.workspace())?;
        let engine = Engine::new(limits, catalog, wrap)?;
        let instances = Arc::clone(&engine.instances);
        let door = AcpDoor::new(Arc::clone(&instances), door_settings);
        let services = Services { engine, door: door.clone(), files, configuration, limits: effective };
        let (router, metrics) = crate::routes::all(services);
        let server = HttpServer::new(router, settings.exposure).with_metrics(metrics);
        let (server, exporting) = crate::otlp::attach(server);
        let stopped = stop.clone();
        let serving = tokio::spawn(async move {
            door.serve(listener, server, stopped, SHUTDOWN_LIMIT + DRAIN).await;
        });
        Ok(Self { address, instances, stop, serving, exporting })
    }

    /// Where it listens.
    const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends every agent, then the connections.
    async fn stop(self) {
        self.stop.cancel();
        let ending = self.instances.shutdown(Shutdown::End);
        match tokio::time::timeout(SHUTDOWN_LIMIT, ending).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "not every agent could be ended"),
            Err(_) => {
                tracing::error!("some agents did not end in time; their supervisors finish the work");
            }
        }
        let _ = tokio::time::timeout(DRAIN, self.serving).await;
        self.exporting.finish().await;
    }
}

/// Prints where the server is, in one write. A reader that closes the pipe after the first line, or a missing pipe, must
/// not end the server, as a failing `println!` would.
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

/// Waits until the program that started the server closes its end of standard input, or ends.
async fn standard_input_ends() {
    let (ended, end) = oneshot::channel();
    // A thread outside the runtime: a blocked read would keep the runtime from ending.
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
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
