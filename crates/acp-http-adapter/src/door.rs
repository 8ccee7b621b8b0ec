//! The public API of this crate. A *door* is a transport through which clients reach the engine, here HTTP.

use std::sync::Arc;
use std::time::Duration;

use ::metrics::Exposition;
use acp_instances::Instances;
use event_log::MemoryAccount;
use http_server::{ConnectionLimits, ConnectionMemory, Connections, HttpServer, Routes};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::http::post::PostRoute;
use crate::metrics::DoorMetrics;

/// Serves instances over HTTP. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AcpDoor(Arc<DoorState>);

/// The state that every handler uses.
#[derive(Debug)]
pub(crate) struct DoorState {
    pub(crate) instances: Arc<dyn Instances>,
    pub(crate) settings: DoorSettings,
    pub(crate) metrics: DoorMetrics,
}

/// The limits of the HTTP layer. The engine has limits of its own.
#[derive(Debug, Clone, Copy)]
pub struct DoorSettings {
    /// The longest message that a client may send.
    pub max_message_bytes: usize,
    /// How often a stream without events sends a comment.
    pub heartbeat: Duration,
    /// The limits of connections.
    pub connections: ConnectionLimits,
}

impl Default for DoorSettings {
    fn default() -> Self {
        Self {
            max_message_bytes: 32 << 20,
            heartbeat: Duration::from_secs(15),
            connections: ConnectionLimits::default(),
        }
    }
}

impl AcpDoor {
    /// Serves these instances over HTTP.
    #[must_use]
    pub fn new(instances: Arc<dyn Instances>, settings: DoorSettings) -> Self {
        Self(Arc::new(DoorState { instances, settings, metrics: DoorMetrics::default() }))
    }

    /// The routes of `/v1/acp` and `/v1/acp/{server_id}`.
    pub fn routes(&self) -> Routes {
        crate::http::routes(Arc::clone(&self.0))
    }

    /// Serves a router that includes these routes. Messages bypass the router on a direct route. This
    /// function is in this crate, because this crate is compiled for speed instead of size.
    pub async fn serve(
        &self,
        listener: TcpListener,
        server: HttpServer,
        stop: CancellationToken,
        drain: Duration,
    ) {
        let route = PostRoute(Arc::clone(&self.0));
        let account = self.0.instances.memory();
        let memory = Arc::new(ChargedConnections(Arc::clone(account)));
        let connections = Arc::new(Connections::new(self.0.settings.connections, memory));
        let slow_clients = Arc::downgrade(&connections);
        account.set_relief(move |bytes| {
            slow_clients.upgrade().map_or(0, |connections| connections.relieve(bytes))
        });
        let server = server.with_connections(connections).with_direct_route(route);
        http_server::serve::serve(listener, server, stop, drain).await;
    }

    /// Writes the metrics of this crate.
    pub fn expose(&self, text: &mut Exposition) {
        self.0.metrics.expose(text);
    }
}

/// What connections hold is charged to the account of the engine.
#[derive(Debug)]
struct ChargedConnections(Arc<MemoryAccount>);

impl ConnectionMemory for ChargedConnections {
    fn charge(&self, bytes: usize) {
        self.0.charge(bytes);
    }

    fn refund(&self, bytes: usize) {
        self.0.refund(bytes);
    }
}
