//! What the server counts: connections, bytes, and requests by route, method and kind of status.

use std::sync::OnceLock;
use std::time::Duration;

use http::{Method, StatusCode};
use metrics::{Counter, Exposition, Gauge, Held, Histogram};

use crate::route_table::{RouteIndex, RouteTable};

/// The methods that are told apart; whatever else a client makes up is the last one.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "other"];
/// The kinds of status that are told apart.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// The least and the most a status can be.
const STATUSES: std::ops::Range<u16> = 100..1000;

/// The counters of one server.
#[derive(Debug)]
pub struct ServerMetrics {
    pub(crate) routes: RouteTable,
    /// A place for each route, method and class; filled when it first occurs, which most never do.
    times: Box<[OnceLock<Box<Histogram>>]>,
    statuses: Box<[Counter]>,
    pub(crate) abandoned: Counter,
    connections: Counter,
    open: Gauge,
    pub(crate) bytes_in: Counter,
    pub(crate) bytes_out: Counter,
}

impl ServerMetrics {
    /// Counters that tell these routes apart.
    #[must_use]
    pub fn new(routes: RouteTable) -> Self {
        let places = routes.len() * METHODS.len() * CLASSES.len();
        Self {
            routes,
            times: (0..places).map(|_| OnceLock::new()).collect(),
            statuses: STATUSES.map(|_| Counter::default()).collect(),
            abandoned: Counter::default(),
            connections: Counter::default(),
            open: Gauge::default(),
            bytes_in: Counter::default(),
            bytes_out: Counter::default(),
        }
    }

    /// Counts a connection, as open until the guard is dropped.
    pub(crate) fn connected(&self) -> Held {
        self.connections.increment();
        self.open.hold()
    }

    /// Counts a request whose answer is ready to be sent.
    pub(crate) fn answered(&self, route: RouteIndex, method: &Method, status: StatusCode, time: Duration) {
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES.len()) - 1;
        let place = (route.get() * METHODS.len() + place_of(method)) * CLASSES.len() + class;
        self.times[place].get_or_init(Box::default).observe(time);
        if let Some(counter) = self.statuses.get(usize::from(status.as_u16() - STATUSES.start)) {
            counter.increment();
        }
    }

    /// Writes everything down.
    pub fn expose(&self, text: &mut Exposition) {
        let mut family = text.counter("sandbox_agent_http_responses_total", "Answers, by HTTP status.");
        for (status, counter) in STATUSES.zip(&self.statuses).filter(|(_, counter)| counter.get() > 0) {
            family.value(&[("status", &status.to_string())], counter.get());
        }
        let mut family = text.histogram(
            "sandbox_agent_http_request_duration_seconds",
            "Time from a request's head to the head of its answer: all of it but for streams and downloads.",
        );
        let mut places = self.times.iter();
        for route in self.routes.names() {
            for method in METHODS {
                for class in CLASSES {
                    if let Some(times) = places.next().and_then(OnceLock::get) {
                        let labels = [("route", route), ("method", method), ("class", class)];
                        family.times(&labels, times);
                    }
                }
            }
        }
        text.counter(
            "sandbox_agent_http_requests_abandoned_total",
            "Requests whose client left before the answer was ready.",
        )
        .value(&[], self.abandoned.get());
        text.counter("sandbox_agent_http_connections_total", "Connections taken.")
            .value(&[], self.connections.get());
        text.gauge("sandbox_agent_http_connections", "Connections that are open.")
            .value(&[], self.open.get());
        text.counter("sandbox_agent_http_bytes_total", "Bytes of connections, heads and framing included.")
            .value(&[("direction", "in")], self.bytes_in.get())
            .value(&[("direction", "out")], self.bytes_out.get());
    }
}

fn place_of(method: &Method) -> usize {
    match *method {
        Method::GET => 0,
        Method::HEAD => 1,
        Method::POST => 2,
        Method::PUT => 3,
        Method::DELETE => 4,
        Method::OPTIONS => 5,
        _ => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_under_its_route_its_method_and_its_kind_of_status() {
        let server = ServerMetrics::new(RouteTable::new(["/a/{x}"]));
        let count = |path: &str, method: &Method, status: StatusCode| {
            server.answered(server.routes.find(path), method, status, Duration::from_millis(3));
        };
        count("/a/1", &Method::GET, StatusCode::OK);
        count("/a/2", &Method::GET, StatusCode::NO_CONTENT);
        count("/b", &Method::from_bytes(b"FOO").unwrap(), StatusCode::from_u16(999).unwrap());
        let mut text = Exposition::default();
        server.expose(&mut text);
        let text = text.finish();
        for line in [
            r#"sandbox_agent_http_responses_total{status="204"} 1"#,
            r#"sandbox_agent_http_responses_total{status="999"} 1"#,
            r#"sandbox_agent_http_request_duration_seconds_count{route="/a/{x}",method="GET",class="2xx"} 2"#,
            r#"sandbox_agent_http_request_duration_seconds_count{route="unknown",method="other",class="5xx"} 1"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!text.contains(r#"method="POST""#), "{text}");
    }
}
