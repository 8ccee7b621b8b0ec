//! An unreliable connection between a command and a server: a proxy that cuts every connection after some
//! bytes.

use std::io::Read;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A proxy that cuts connections.
pub(crate) struct Cutter {
    pub(crate) url: String,
    cuts: Arc<AtomicUsize>,
}

impl Cutter {
    /// Starts a proxy for the server on this port. Each connection is cut after this many bytes from the
    /// server, even in the middle of an event.
    pub(crate) fn before(port: u16, bytes: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let cuts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&cuts);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let cuts = Arc::clone(&counted);
                std::thread::spawn(move || pass(client, port, bytes, &cuts));
            }
        });
        Self { url, cuts }
    }

    /// The number of cut connections.
    pub(crate) fn cuts(&self) -> usize {
        self.cuts.load(Ordering::Relaxed)
    }
}

fn pass(mut client: TcpStream, port: u16, limit: usize, cuts: &AtomicUsize) {
    let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let carried = std::io::copy(&mut server.try_clone().unwrap().take(limit as u64), &mut client);
    if carried.is_ok_and(|carried| carried == limit as u64) {
        cuts.fetch_add(1, Ordering::Relaxed);
    }
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}
