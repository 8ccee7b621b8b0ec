//! Telling whoever keeps the server running how it is, in the words of `sd_notify`(3).
//!
//! Does nothing unless `NOTIFY_SOCKET` is set. Never waits: a manager that does not read must not hold the server up.

use std::ffi::{OsStr, OsString};
use std::io;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{self, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

/// The variables by which a manager is found. Agents do not get them: what they say is not about the server.
pub(crate) const VARIABLES: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// A manager that wants to be told, if there is one.
#[derive(Debug, Clone)]
pub(crate) struct Notifier {
    manager: Option<Arc<Manager>>,
}

#[derive(Debug)]
struct Manager {
    socket: UnixDatagram,
    address: net::SocketAddr,
}

impl Notifier {
    /// The manager that the environment names.
    pub(crate) fn from_environment() -> Self {
        let manager = variable("NOTIFY_SOCKET").and_then(|name| {
            Manager::find(&name)
                .inspect_err(
                    |error| tracing::warn!(%error, "cannot use NOTIFY_SOCKET; nobody is told of the start"),
                )
                .ok()
                .map(Arc::new)
        });
        Self { manager }
    }

    /// The server takes requests.
    pub(crate) fn ready(&self, address: SocketAddr) {
        self.send(&format!("READY=1\nSTATUS=listening on http://{address}"));
    }

    /// The server ends its agents and leaves.
    pub(crate) fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=ending its agents");
    }

    /// Says that the server is alive, twice as often as the manager wants to hear it, for as long as the process
    /// lives. It is said from the runtime that serves requests, so a server that hangs falls silent.
    pub(crate) fn feed_watchdog(&self) {
        let process = variable("WATCHDOG_PID");
        let every = variable("WATCHDOG_USEC")
            .and_then(|time| watchdog(&time, process.as_deref(), std::process::id()));
        let (Some(every), Some(_)) = (every, &self.manager) else { return };
        let notifier = self.clone();
        tokio::spawn(async move {
            let mut times = tokio::time::interval(every);
            loop {
                times.tick().await;
                notifier.send("WATCHDOG=1");
            }
        });
    }

    fn send(&self, state: &str) {
        let Some(manager) = &self.manager else { return };
        if let Err(error) = manager.socket.send_to_addr(state.as_bytes(), &manager.address) {
            tracing::warn!(%error, "cannot tell the service manager");
        }
    }
}

impl Manager {
    fn find(name: &OsStr) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, address: address_of(name)? })
    }
}

/// A path, or a name without a file behind it.
fn address_of(name: &OsStr) -> io::Result<net::SocketAddr> {
    match name.as_bytes() {
        [b'/', ..] => net::SocketAddr::from_pathname(name),
        [b'@', name @ ..] if !name.is_empty() => abstract_address(name),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is neither a path nor an abstract name")),
    }
}

#[cfg(target_os = "linux")]
fn abstract_address(name: &[u8]) -> io::Result<net::SocketAddr> {
    <net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name)
}

#[cfg(not(target_os = "linux"))]
fn abstract_address(_name: &[u8]) -> io::Result<net::SocketAddr> {
    Err(io::ErrorKind::Unsupported.into())
}

/// How often to say that the server is alive, if this process is meant.
fn watchdog(time: &OsStr, process: Option<&OsStr>, own: u32) -> Option<Duration> {
    let number = |text: &OsStr| text.to_str()?.parse::<u64>().ok();
    let meant = process.is_none_or(|process| number(process) == Some(u64::from(own)));
    let every = Duration::from_micros(number(time)? / 2);
    (meant && !every.is_zero()).then_some(every)
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_is_a_path_or_an_abstract_name() {
        assert!(address_of(OsStr::new("/run/x")).unwrap().as_pathname().is_some());
        assert!(address_of(OsStr::new("@x")).unwrap().as_pathname().is_none());
        for bad in ["", "@", "x", "vsock:2:1234"] {
            assert!(address_of(OsStr::new(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_watchdog_is_fed_at_half_its_time_by_the_process_that_is_meant() {
        let every =
            |time: &str, process: Option<&str>| watchdog(OsStr::new(time), process.map(OsStr::new), 7);
        assert_eq!(every("3000000", None), Some(Duration::from_millis(1500)));
        assert_eq!(every("3000000", Some("7")), Some(Duration::from_millis(1500)));
        for (time, process) in
            [("3000000", Some("8")), ("3000000", Some("x")), ("0", None), ("1", None), ("x", None)]
        {
            assert_eq!(every(time, process), None, "{time} {process:?}");
        }
    }
}
