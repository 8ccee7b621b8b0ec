//! Converts requests to spans, and spans to the JSON that collectors accept.

use std::hash::{BuildHasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use http_server::Answered;
use serde_json::{Value, json};

/// `SPAN_KIND_SERVER`
const SERVER: u8 = 2;
/// `STATUS_CODE_ERROR`
const ERROR: u8 = 2;

/// The span of one answered request, as JSON.
#[derive(Debug)]
pub(super) struct Span(Value);

impl Span {
    pub(super) fn of(request: &Answered<'_>, ended: SystemTime) -> Self {
        let (method, route) = (request.method.as_str(), request.route);
        let trace_id = request.trace.map_or_else(
            || format!("{:016x}{:016x}", random(), random()),
            |trace| trace.trace_id().to_owned(),
        );
        let status = request.status.as_u16();
        let mut attributes = vec![
            text("http.request.method", method),
            text("http.route", route),
            text("url.path", request.path),
            text("sandbox_agent.request_id", request.request_id),
            json!({"key": "http.response.status_code", "value": {"intValue": status.to_string()}}),
        ];
        attributes.extend(request.problem.map(|problem| text("error.type", problem.text())));
        let mut span = json!({
            "traceId": trace_id,
            "spanId": format!("{:016x}", random()),
            "name": format!("{method} {route}"),
            "kind": SERVER,
            "startTimeUnixNano": nanoseconds(ended.checked_sub(request.duration).unwrap_or(ended)),
            "endTimeUnixNano": nanoseconds(ended),
            "attributes": attributes,
            "status": if status >= 500 { json!({"code": ERROR}) } else { json!({}) },
        });
        if let Some(trace) = request.trace {
            span["parentSpanId"] = json!(trace.parent_id());
            if let Some(state) = trace.state() {
                span["traceState"] = json!(state);
            }
        }
        Self(span)
    }
}

/// An `ExportTraceServiceRequest`, the body that collectors expect.
pub(super) fn document(service_name: &str, spans: &[Span]) -> Value {
    let resource = [
        text("service.name", service_name),
        text("service.version", crate::routes::VERSION),
        json!({"key": "process.pid", "value": {"intValue": std::process::id().to_string()}}),
    ];
    let spans: Vec<&Value> = spans.iter().map(|span| &span.0).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": "sandbox-agent", "version": crate::routes::VERSION}, "spans": spans}],
    }]})
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// A time as text, because it is larger than the integers that JSON readers represent exactly.
fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

/// A random number for ids, which must not be zero. Not suitable for secrets.
fn random() -> u64 {
    RandomState::new().hash_one(SystemTime::now()).max(1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::{Method, StatusCode};
    use http_server::Code;

    use super::*;

    #[test]
    fn a_span_has_the_route_the_outcome_and_the_time_it_took() {
        let answered = Answered {
            method: &Method::POST,
            route: "/v1/acp/{server_id}",
            path: "/v1/acp/a",
            status: StatusCode::BAD_GATEWAY,
            problem: Some(Code::AgentExited),
            request_id: "r1",
            trace: None,
            duration: Duration::from_millis(250),
        };
        let Span(span) = Span::of(&answered, UNIX_EPOCH + Duration::from_secs(10));
        assert_eq!(span["name"], "POST /v1/acp/{server_id}");
        assert_eq!((&span["kind"], &span["status"]["code"]), (&json!(2), &json!(2)));
        assert_eq!(
            (&span["startTimeUnixNano"], &span["endTimeUnixNano"]),
            (&json!("9750000000"), &json!("10000000000"))
        );
        let id = span["traceId"].as_str().unwrap();
        assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
        assert!(span.get("parentSpanId").is_none());
        let attributes = span["attributes"].as_array().unwrap();
        assert!(attributes.contains(&json!({"key": "error.type", "value": {"stringValue": "agent_exited"}})));
        assert!(
            attributes.contains(&json!({"key": "http.response.status_code", "value": {"intValue": "502"}}))
        );
    }
}
