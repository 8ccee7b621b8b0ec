//! Reports the server's state to a service manager, with the protocol of `sd_notify`(3).
//!
//! Does nothing unless `NOTIFY_SOCKET` is set. Never blocks: a service manager that does not read must not delay the
//! server.

use std::ffi::{OsStr, OsString};
use std::io;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{self, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

/// The variables of the protocol. They are hidden from agents, which must not report a state for the server.
pub(crate) const VARIABLES: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"];

/// Sends the server's state to the service manager, if there is one.
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
    /// Uses the service manager that the environment names.
    pub(crate) fn from_environment() -> Self {
        let manager = variable("NOTIFY_SOCKET").and_then(|name| {
            Manager::from_socket_name(&name)
                .inspect_err(
                    |error| tracing::warn!(%error, "cannot use NOTIFY_SOCKET; the service manager gets no notifications"),
                )
                .ok()
                .map(Arc::new)
        });
        Self { manager }
    }

    /// Reports that the server accepts requests.
    pub(crate) fn ready(&self, address: SocketAddr) {
        self.send(&format!("READY=1\nSTATUS=listening on http://{address}"));
    }

    /// Reports that the server is shutting down.
    pub(crate) fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=shutting down");
    }

    /// Reports that the server is alive, twice per watchdog period, as long as the process lives. The reports come from
    /// the runtime that serves requests, so they stop when the server hangs.
    pub(crate) fn feed_watchdog(&self) {
        let process = variable("WATCHDOG_PID");
        let interval = variable("WATCHDOG_USEC")
            .and_then(|time| watchdog_interval(&time, process.as_deref(), std::process::id()));
        let (Some(interval), Some(_)) = (interval, &self.manager) else { return };
        let notifier = self.clone();
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(interval);
            loop {
                ticks.tick().await;
                notifier.send("WATCHDOG=1");
            }
        });
    }

    fn send(&self, state: &str) {
        let Some(manager) = &self.manager else { return };
        if let Err(error) = manager.socket.send_to_addr(state.as_bytes(), &manager.address) {
            tracing::warn!(%error, "cannot notify the service manager");
        }
    }
}

impl Manager {
    fn from_socket_name(name: &OsStr) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, address: address_of(name)? })
    }
}

/// The address of a path, or of an abstract socket name that starts with `@`.
fn address_of(name: &OsStr) -> io::Result<net::SocketAddr> {
    match name.as_bytes() {
        [b'/', ..] => net::SocketAddr::from_pathname(name),
        [b'@', name @ ..] if !name.is_empty() => abstract_address(name),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "neither an absolute path nor an abstract socket name",
        )),
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

/// How often to report that the server is alive; `None` if the watchdog is meant for another process.
fn watchdog_interval(time: &OsStr, process: Option<&OsStr>, own: u32) -> Option<Duration> {
    let number = |text: &OsStr| text.to_str()?.parse::<u64>().ok();
    let is_for_us = process.is_none_or(|process| number(process) == Some(u64::from(own)));
    let interval = Duration::from_micros(number(time)? / 2);
    (is_for_us && !interval.is_zero()).then_some(interval)
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_name_is_a_path_or_an_abstract_name() {
        assert!(address_of(OsStr::new("/run/x")).unwrap().as_pathname().is_some());
        assert!(address_of(OsStr::new("@x")).unwrap().as_pathname().is_none());
        for bad in ["", "@", "x", "vsock:2:1234"] {
            assert!(address_of(OsStr::new(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_watchdog_interval_is_half_its_period_and_only_for_the_named_process() {
        let interval = |time: &str, process: Option<&str>| {
            watchdog_interval(OsStr::new(time), process.map(OsStr::new), 7)
        };
        assert_eq!(interval("3000000", None), Some(Duration::from_millis(1500)));
        assert_eq!(interval("3000000", Some("7")), Some(Duration::from_millis(1500)));
        for (time, process) in
            [("3000000", Some("8")), ("3000000", Some("x")), ("0", None), ("1", None), ("x", None)]
        {
            assert_eq!(interval(time, process), None, "{time} {process:?}");
        }
    }
}
