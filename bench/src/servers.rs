//! The sides as processes: started, found by the line they print, and ended.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::Result;

/// A server under measurement.
pub(crate) struct Server {
    child: Child,
    /// `host:port`.
    pub(crate) address: String,
    /// Its bearer token.
    pub(crate) token: Option<&'static str>,
}

impl Server {
    fn start(mut command: Command, token: Option<&'static str>) -> Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let address = loop {
            let line = lines.next().ok_or("the server said nothing")??;
            if let Some(address) = line.strip_prefix("listening on http://") {
                break address.to_owned();
            }
        };
        Ok(Self { child, address, token })
    }

    /// Ours, as users run it: with a token and default logs.
    pub(crate) fn ours(binary: &str, scratch: &str) -> Result<Self> {
        let mut command = Command::new(binary);
        let agent = format!("bench={} agent", std::env::current_exe()?.display());
        command.args(["server", "--port", "0", "--data-dir", scratch, "--agent", &agent]);
        command.env("SANDBOX_AGENT_TOKEN", "bench-token").env("SANDBOX_AGENT_CONFIG", "/dev/null");
        Self::start(command, Some("bench-token"))
    }

    pub(crate) fn limit_http() -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("limit-http");
        Self::start(command, None)
    }

    pub(crate) fn limit_stream(readers: usize, id: u64) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["limit-stream", &readers.to_string(), &id.to_string()]);
        Self::start(command, None)
    }

    /// The memory that is its own, in kB.
    pub(crate) fn resident_kb(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
        Ok(line.split_ascii_whitespace().nth(1).ok_or("no number")?.parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}
