//! A router that keeps a list of its routes, so that a test can compare them with the API document.

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodRouter, any, delete, get, head, post, put};
use http::Method;

/// One path with one method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The method; `None` if one handler answers all methods.
    pub method: Option<Method>,
    /// The path, with `{name}` for one segment and `{*name}` for the rest of the path.
    pub path: &'static str,
}

/// Routes to be served, with a list of them.
#[derive(Debug, Clone)]
pub struct Routes<S = ()> {
    router: Router<S>,
    listed: Vec<Route>,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// No routes.
    #[must_use]
    pub fn new() -> Self {
        Self { router: Router::new(), listed: Vec::new() }
    }

    /// Adds a GET handler. It also answers HEAD, unless [`Routes::head`] adds a handler for that.
    #[must_use]
    pub fn get<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(Some(Method::GET), path, get(handler))
    }

    /// Adds a HEAD handler.
    #[must_use]
    pub fn head<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(Some(Method::HEAD), path, head(handler))
    }

    /// Adds a POST handler.
    #[must_use]
    pub fn post<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(Some(Method::POST), path, post(handler))
    }

    /// Adds a PUT handler.
    #[must_use]
    pub fn put<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(Some(Method::PUT), path, put(handler))
    }

    /// Adds a DELETE handler.
    #[must_use]
    pub fn delete<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(Some(Method::DELETE), path, delete(handler))
    }

    /// Adds one handler for all methods.
    #[must_use]
    pub fn any<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(None, path, any(handler))
    }

    fn add(mut self, method: Option<Method>, path: &'static str, handler: MethodRouter<S>) -> Self {
        self.router = self.router.route(path, handler);
        self.listed.push(Route { method, path });
        self
    }

    /// Adds all routes of `other`.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.listed.extend(other.listed);
        self
    }

    /// Provides the handlers' state.
    pub fn with_state<T>(self, state: S) -> Routes<T> {
        Routes { router: self.router.with_state(state), listed: self.listed }
    }

    /// All routes, in the order in which they were added.
    #[must_use]
    pub fn listed(&self) -> &[Route] {
        &self.listed
    }

    /// The router.
    pub fn into_router(self) -> Router<S> {
        self.router
    }
}

impl<S: Clone + Send + Sync + 'static> Default for Routes<S> {
    fn default() -> Self {
        Self::new()
    }
}
