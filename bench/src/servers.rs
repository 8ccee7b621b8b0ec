//! Starts and stops the measured sides as processes.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::context::{Context, Side};
use crate::http::{Connection, get, post};
use crate::{PEER_AGENT, Result, agent};

const TOKEN: &str = "bench-token";
/// How long a server may take to start.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The server that requests are sent to.
#[derive(Debug)]
pub(crate) struct Target {
    /// `host:port`.
    pub(crate) address: String,
    /// The bearer token that the server requires.
    pub(crate) token: Option<&'static str>,
}

impl Target {
    /// An already running server, for a profiler.
    pub(crate) fn at(address: &str) -> Self {
        Self { address: address.to_owned(), token: Some(TOKEN) }
    }
}

/// A server under measurement.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    target: Target,
    /// The name of the agent that this server starts.
    agent: &'static str,
    /// The path of the server's health check.
    health: &'static str,
}

impl Server {
    /// Starts a side and waits until it answers.
    pub(crate) async fn start(side: Side, context: &Context) -> Result<Self> {
        Self::start_with(side, context, &[]).await
    }

    /// Like [`Server::start`], with environment variables for the agents.
    pub(crate) async fn start_with(
        side: Side,
        context: &Context,
        variables: &[(&str, &str)],
    ) -> Result<Self> {
        let server = Self::spawn(side, context, variables)?;
        server.wait_until_up().await?;
        Ok(server)
    }

    /// Starts a side without waiting.
    pub(crate) fn spawn(side: Side, context: &Context, variables: &[(&str, &str)]) -> Result<Self> {
        // Each server has its own data directory, so that none benefits from an earlier one's files.
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let data = context.folder(&format!("data-{}", COUNT.fetch_add(1, Ordering::Relaxed)))?;
        let address = free_address()?;
        let port = address.rsplit(':').next().unwrap_or_default().to_owned();
        let (mut command, token, agent, health) = match side {
            Side::Limit => {
                let mut command = Command::new(std::env::current_exe()?);
                command.arg("limit-http");
                return Self::start_announced(command);
            }
            Side::Peer => {
                let slot = data.join("sandbox-agent/bin/agent_processes");
                std::fs::create_dir_all(&slot)?;
                symlink(std::env::current_exe()?, slot.join(PEER_AGENT))?;
                let mut command =
                    Command::new(context.programs.peer.as_ref().ok_or("the peer is not installed")?);
                command.args(["server", "--no-token", "--no-telemetry", "--port", &port]);
                command.env("XDG_DATA_HOME", &data).env("HOME", &data).current_dir(&data);
                (command, None, "mock", "/v1/health")
            }
            Side::Ours | Side::Glibc => {
                let program =
                    if side == Side::Ours { &context.programs.ours } else { &context.programs.glibc };
                let mut command = Command::new(program);
                let agent = format!("bench={} agent", std::env::current_exe()?.display());
                command.args(["server", "--port", &port, "--agent", &agent, "--data-dir"]).arg(&data);
                command.env("SANDBOX_AGENT_TOKEN", TOKEN).env("SANDBOX_AGENT_CONFIG", "/dev/null");
                command.current_dir(&data);
                (command, Some(TOKEN), "bench", "/healthz")
            }
        };
        command.envs(variables.iter().copied());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Self { child, target: Target { address, token }, agent, health })
    }

    /// The program that copies lines to this many readers.
    pub(crate) fn limit_stream(readers: usize, time: Duration) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["limit-stream", &readers.to_string(), &time.as_millis().to_string()]);
        Self::start_announced(command)
    }

    /// nginx, with its own configuration.
    pub(crate) async fn nginx(context: &Context) -> Result<Self> {
        let address = free_address()?;
        let folder = &context.scratch;
        let configuration = format!(
            "daemon off; worker_processes auto; pid {0}/nginx.pid; error_log /dev/null; events {{}}\n\
             http {{ access_log off; sendfile on; tcp_nopush on; client_body_temp_path {0}/nginx; \
             proxy_temp_path {0}/nginx; fastcgi_temp_path {0}/nginx; uwsgi_temp_path {0}/nginx; \
             scgi_temp_path {0}/nginx; server {{ listen {address}; root {0}; }} }}\n",
            folder.display()
        );
        let file = folder.join("nginx.conf");
        std::fs::write(&file, configuration)?;
        std::fs::write(folder.join("healthz"), "ok")?;
        let mut command = Command::new(context.programs.nginx.as_ref().ok_or("nginx is not installed")?);
        // As root, nginx switches to another user, who may not be able to read this folder.
        if rustix::process::geteuid().is_root() {
            command.args(["-g", "user root;"]);
        }
        let child = command.arg("-c").arg(&file).stdin(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let target = Target { address, token: None };
        let server = Self { child, target, agent: "", health: "/healthz" };
        server.wait_until_up().await?;
        Ok(server)
    }

    fn start_announced(mut command: Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let line = lines.next().ok_or("the server printed nothing")??;
        let address = line.strip_prefix("listening on http://").ok_or("no address")?.to_owned();
        let target = Target { address, token: None };
        Ok(Self { child, target, agent: "", health: "/healthz" })
    }

    /// Polls the health check until it answers 200.
    pub(crate) async fn wait_until_up(&self) -> Result<()> {
        let deadline = Instant::now() + TIMEOUT;
        let request = get(self, self.health, "");
        loop {
            if let Ok(mut connection) = Connection::open(&self.address).await
                && connection.send(&request).await.is_ok()
            {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err("the server did not come up".into());
            }
            tokio::task::yield_now().await;
        }
    }

    /// Creates an instance by sending its first request.
    pub(crate) async fn open(&self, name: &str) -> Result<()> {
        let path = format!("/v1/acp/{name}?agent={}", self.agent);
        let first = post(self, &path, &agent::request(1, "echo"));
        Connection::open(&self.address).await?.send(&first).await?;
        Ok(())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl std::ops::Deref for Server {
    type Target = Target;

    fn deref(&self) -> &Target {
        &self.target
    }
}

/// An address that was free a moment ago.
fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.pid()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
