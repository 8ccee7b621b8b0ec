//! A router that remembers what it was given, so that a test can compare every route with the API document.

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodRouter, any, delete, get, head, post, put};
use http::Method;

/// One path with one way to call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The method; `None` where every method gets the same answer.
    pub method: Option<Method>,
    /// The path, with `{name}` for a part and `{*name}` for all the rest.
    pub path: &'static str,
}

/// Routes on their way into a server.
#[derive(Debug, Clone)]
pub struct Routes<S = ()> {
    router: Router<S>,
    listed: Vec<Route>,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self { router: Router::new(), listed: Vec::new() }
    }

    /// Adds a GET, which answers HEAD as well unless [`Routes::head`] says otherwise.
    #[must_use]
    pub fn get<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(Some(Method::GET), path, get(handler))
    }

    /// Adds a HEAD of its own.
    #[must_use]
    pub fn head<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(Some(Method::HEAD), path, head(handler))
    }

    /// Adds a POST.
    #[must_use]
    pub fn post<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(Some(Method::POST), path, post(handler))
    }

    /// Adds a PUT.
    #[must_use]
    pub fn put<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(Some(Method::PUT), path, put(handler))
    }

    /// Adds a DELETE.
    #[must_use]
    pub fn delete<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(Some(Method::DELETE), path, delete(handler))
    }

    /// Adds one answer to every method.
    #[must_use]
    pub fn any<H: Handler<T, S>, T: 'static>(self, path: &'static str, handler: H) -> Self {
        self.add(None, path, any(handler))
    }

    fn add(mut self, method: Option<Method>, path: &'static str, handler: MethodRouter<S>) -> Self {
        self.router = self.router.route(path, handler);
        self.listed.push(Route { method, path });
        self
    }

    /// Adds all routes of another.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.listed.extend(other.listed);
        self
    }

    /// Gives the handlers what they stand on.
    pub fn with_state<T>(self, state: S) -> Routes<T> {
        Routes { router: self.router.with_state(state), listed: self.listed }
    }

    /// What there is, in the order in which it was added.
    #[must_use]
    pub fn listed(&self) -> &[Route] {
        &self.listed
    }

    /// The router itself.
    pub fn into_router(self) -> Router<S> {
        self.router
    }
}

impl<S: Clone + Send + Sync + 'static> Default for Routes<S> {
    fn default() -> Self {
        Self::new()
    }
}
