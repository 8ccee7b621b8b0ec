//! The agent on its own pipes, without a server in between.

use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::{Result, agent};

/// An agent whose pipes belong to this runtime, like a client's.
pub(crate) struct Direct {
    child: Child,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

impl Direct {
    pub(crate) fn start() -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        let (stdin, stdout) =
            (child.stdin.take().ok_or("no stdin")?, child.stdout.take().ok_or("no stdout")?);
        Ok(Self { child, stdin, stdout })
    }

    pub(crate) async fn ask(&mut self, id: usize, method: &str) -> Result<()> {
        let mut line = agent::request(id as u64, method);
        line.push('\n');
        Ok(self.stdin.write_all(line.as_bytes()).await?)
    }

    pub(crate) async fn end(mut self) -> Result<()> {
        drop(self.stdin);
        self.child.wait().await?;
        Ok(())
    }
}
