//! The server's counters: connections, bytes, and requests by route, method and status class.

use std::sync::OnceLock;
use std::time::Duration;

use http::{Method, StatusCode};
use metrics::{Counter, Exposition, Gauge, GaugeGuard, Histogram};

use crate::route_table::{RouteIndex, RouteTable};

/// The methods that are counted separately; any other method counts as `other`.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "other"];
/// The status classes that are counted separately.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// The statuses that are possible.
const STATUSES: std::ops::Range<u16> = 100..1000;

/// The counters of one server.
#[derive(Debug)]
pub struct ServerMetrics {
    pub(crate) routes: RouteTable,
    /// One slot per route, method and class. A slot is filled when its combination first occurs; most never do.
    times: Box<[OnceLock<Box<Histogram>>]>,
    statuses: Box<[Counter]>,
    pub(crate) abandoned: Counter,
    connections: Counter,
    open: Gauge,
    pub(crate) bytes_in: Counter,
    pub(crate) bytes_out: Counter,
}

impl ServerMetrics {
    /// Counters that count each of these routes separately.
    #[must_use]
    pub fn new(routes: RouteTable) -> Self {
        let slots = routes.len() * METHODS.len() * CLASSES.len();
        Self {
            routes,
            times: (0..slots).map(|_| OnceLock::new()).collect(),
            statuses: STATUSES.map(|_| Counter::default()).collect(),
            abandoned: Counter::default(),
            connections: Counter::default(),
            open: Gauge::default(),
            bytes_in: Counter::default(),
            bytes_out: Counter::default(),
        }
    }

    /// Counts a connection. It counts as open until the guard is dropped.
    pub(crate) fn connected(&self) -> GaugeGuard {
        self.connections.increment();
        self.open.hold()
    }

    /// Counts a request whose response is ready to be sent.
    pub(crate) fn answered(&self, route: RouteIndex, method: &Method, status: StatusCode, time: Duration) {
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES.len()) - 1;
        let slot = (route.get() * METHODS.len() + method_index(method)) * CLASSES.len() + class;
        self.times[slot].get_or_init(Box::default).observe(time);
        if let Some(counter) = self.statuses.get(usize::from(status.as_u16() - STATUSES.start)) {
            counter.increment();
        }
    }

    /// Writes all counters in the text format.
    pub fn expose(&self, text: &mut Exposition) {
        let mut family = text.counter("sandbox_agent_http_responses_total", "Responses, by HTTP status.");
        for (status, counter) in STATUSES.zip(&self.statuses).filter(|(_, counter)| counter.get() > 0) {
            family.value(&[("status", &status.to_string())], counter.get());
        }
        let mut family = text.histogram(
            "sandbox_agent_http_request_duration_seconds",
            "Time from the head of a request to the head of its response. The bodies of streams and downloads are sent after that.",
        );
        let mut slots = self.times.iter();
        for route in self.routes.names() {
            for method in METHODS {
                for class in CLASSES {
                    if let Some(times) = slots.next().and_then(OnceLock::get) {
                        let labels = [("route", route), ("method", method), ("class", class)];
                        family.histogram(&labels, times);
                    }
                }
            }
        }
        text.counter(
            "sandbox_agent_http_requests_abandoned_total",
            "Requests whose client disconnected before the response was ready.",
        )
        .value(&[], self.abandoned.get());
        text.counter("sandbox_agent_http_connections_total", "Accepted connections.")
            .value(&[], self.connections.get());
        text.gauge("sandbox_agent_http_connections", "Open connections.").value(&[], self.open.get());
        text.counter(
            "sandbox_agent_http_bytes_total",
            "Bytes sent and received on connections, including heads and framing.",
        )
        .value(&[("direction", "in")], self.bytes_in.get())
        .value(&[("direction", "out")], self.bytes_out.get());
    }
}

fn method_index(method: &Method) -> usize {
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
    fn a_request_is_counted_by_route_method_and_status_class() {
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
