//! A line between a command and a server that breaks: it cuts every connection after some bytes, again and again.

use std::io::Read;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A proxy that cuts.
pub(crate) struct Cutter {
    pub(crate) url: String,
    cuts: Arc<AtomicUsize>,
}

impl Cutter {
    /// Goes between a command and the server on this port. A connection is cut when the server has said so many bytes
    /// on it, in the middle of whatever it says.
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

    /// How often it has cut.
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
