//! The service that hyper calls for every request of one connection.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Body;
use axum::response::IntoResponse;
use futures_util::FutureExt;
use http::request::Parts;
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::sync::oneshot;
use tower::Service;

use crate::activity::Activity;
use crate::connections::Connection;
use crate::direct_route::DirectRoute;
use crate::request_body::RequestBody;
use crate::response_body::ResponseBody;
use crate::server::{HttpServer, InFlight};
use crate::tracked_body::{TrackedBody, track};
use crate::{Code, Problem};

/// The longest head of a request: its path and its headers.
const MAX_HEAD: usize = 64 << 10;

/// The service of one connection.
pub(crate) struct ConnectionService<D: DirectRoute> {
    server: Arc<HttpServer<D>>,
    /// Dropped when the first request arrives, which wakes the receiver.
    first_request: Cell<Option<oneshot::Sender<()>>>,
    activity: Arc<Activity>,
    connection: Arc<Connection>,
}

impl<D: DirectRoute> ConnectionService<D> {
    /// The service, and a receiver that is ready as soon as hyper has read the head of the first request.
    pub(crate) fn new(
        server: Arc<HttpServer<D>>,
        activity: Arc<Activity>,
        connection: Arc<Connection>,
    ) -> (Self, oneshot::Receiver<()>) {
        let (sender, first_request) = oneshot::channel();
        (Self { server, first_request: Cell::new(Some(sender)), activity, connection }, first_request)
    }

    /// The response that needs no route: a failed access check, or a CORS preflight.
    fn answer_without_route(&self, head: &Parts) -> Option<Response<Body>> {
        if let Err(problem) = self.server.exposure.admit(head) {
            return Some(problem.into_response());
        }
        self.connection.admit();
        if head_size(head) > MAX_HEAD {
            return Some(head_too_large().into_response());
        }
        self.server.exposure.preflight(head)
    }
}

impl<D: DirectRoute> hyper::service::Service<Request<Incoming>> for ConnectionService<D> {
    type Response = Response<TrackedBody>;
    type Error = Infallible;
    // Boxed, so that a connection holds the memory of this future only while a request is being answered.
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send + 'static>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let version = request.version();
        let (open, busy) = (self.activity.begin(version), self.connection.begin());
        drop(self.first_request.take());
        let (head, body) = request.into_parts();
        let body = RequestBody::new(&head, body, busy.clone());
        let in_flight = InFlight::new(&self.server, &head);
        let finish = move |response| Ok(track(in_flight.finish(response), busy, version, open));
        if let Some(response) = self.answer_without_route(&head) {
            return Box::pin(ready(finish(response.map(ResponseBody::Routed))));
        }
        // `map` instead of an async block, which would store the inner future twice: as captured and as awaited.
        if let Some(route) = self.server.direct_route.as_ref().filter(|route| route.serves(&head)) {
            let answer = route.call(head, body);
            return Box::pin(answer.map(|answer| {
                finish(match answer {
                    Ok(response) => response.map(ResponseBody::Whole),
                    Err(problem) => problem.into_response().map(ResponseBody::Routed),
                })
            }));
        }
        let answer = self.server.router.clone().call(Request::from_parts(head, Body::new(body)));
        Box::pin(answer.map(|answer| match answer {
            Ok(response) => finish(response.map(ResponseBody::Routed)),
            Err(never) => match never {},
        }))
    }
}

fn head_size(head: &Parts) -> usize {
    let path = head.uri.path().len() + head.uri.query().map_or(0, str::len);
    head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum::<usize>() + path
}

fn head_too_large() -> Problem {
    let detail = format!("the path and the headers of a request may have at most {MAX_HEAD} bytes together");
    Problem::new(Code::HeadTooLarge, detail).with("limit", MAX_HEAD)
}
