//! The bridge as the rest of the server sees it.

use std::sync::Arc;
use std::time::Duration;

use http_edge::{Edge, Routes};
use measures::Exposition;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::http::post::PostLane;
use crate::instance::Summary;
use crate::launcher::Launcher;
use crate::limits::Limits;
use crate::registry::Registry;
use crate::shared::Shared;

/// Puts agents behind HTTP. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Bridge(Arc<Registry>);

impl Bridge {
    /// A bridge without instances. Must be made inside a tokio runtime.
    #[must_use]
    pub fn new(limits: Limits, launcher: Arc<dyn Launcher>) -> Self {
        let registry = Registry::new(&Shared::new(limits, launcher));
        registry.close_idle_ones();
        Self(registry)
    }

    /// `/v1/acp` and `/v1/acp/{server_id}`.
    pub fn routes(&self) -> Routes {
        crate::http::routes(Arc::clone(&self.0))
    }

    /// Serves, with a lane for messages. Here rather than where it is called, since this crate is
    /// built for speed.
    pub async fn serve(&self, listener: TcpListener, edge: Edge, stop: CancellationToken, drain: Duration) {
        let lane = PostLane(Arc::clone(&self.0));
        http_edge::serve::serve(listener, edge.with_lane(lane), stop, drain).await;
    }

    /// What runs now.
    #[must_use]
    pub fn instances(&self) -> Vec<Summary> {
        self.0.summaries(|_| true)
    }

    /// Writes down what the bridge counts. Looks into every instance for a moment, as the list does.
    pub fn expose(&self, text: &mut Exposition) {
        crate::measures::expose(&self.0, text);
    }

    /// Fails what waits with 503, takes nothing more in, and ends every agent with all its processes.
    pub async fn shut_down(&self) {
        self.0.shut_down().await;
    }
}
