//! The collector, from the environment variables of the OpenTelemetry specification.

use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;

/// A collector.
#[derive(Debug)]
pub(super) struct Collector {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) service_name: String,
}

impl Collector {
    /// The collector that the environment names, unless the environment disables it.
    pub(super) fn from_environment() -> Option<Self> {
        Self::of(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let is =
            |name: &str, wanted: &str| variable(name).is_some_and(|value| value.eq_ignore_ascii_case(wanted));
        if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
            return None;
        }
        let address = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(|| {
            let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT")?;
            Some(format!("{}/v1/traces", base.trim().trim_end_matches('/')))
        })?;
        let protocol = variable("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
            .or_else(|| variable("OTEL_EXPORTER_OTLP_PROTOCOL"));
        if let Some(protocol) = protocol.filter(|protocol| protocol != "http/json") {
            tracing::warn!(
                protocol,
                "spans are sent as http/json, which collectors accept at the same address"
            );
        }
        let url = match Url::parse(address.trim()) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => url,
            _ => {
                tracing::warn!("the collector's address is not an http or https URL; spans are not exported");
                return None;
            }
        };
        let headers = variable("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
            .or_else(|| variable("OTEL_EXPORTER_OTLP_HEADERS"))
            .map_or_else(HeaderMap::new, |text| parse_headers(&text));
        let service_name = variable("OTEL_SERVICE_NAME").unwrap_or_else(|| "sandbox-agent".to_owned());
        Some(Self { url, headers, service_name })
    }

    /// The address without the parts that may contain secrets.
    pub(super) fn shown(&self) -> String {
        let port = self.url.port_or_known_default().unwrap_or_default();
        format!(
            "{}://{}:{port}{}",
            self.url.scheme(),
            self.url.host_str().unwrap_or_default(),
            self.url.path()
        )
    }
}

/// Parses `name=value,name=value`, percent-encoded. Invalid headers are left out.
fn parse_headers(text: &str) -> HeaderMap {
    text.split(',').filter_map(|pair| header(pair.trim())).collect()
}

fn header(pair: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = pair.split_once('=')?;
    let mut value = HeaderValue::from_bytes(&decoded(value.trim())).ok()?;
    value.set_sensitive(true);
    Some((name.trim().parse().ok()?, value))
}

fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match (first, digits.and_then(|digits| u8::from_str_radix(digits, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            (byte, _) => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collector(variables: &[(&str, &str)]) -> Option<Collector> {
        Collector::of(|name| {
            variables.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn there_is_no_collector_unless_the_environment_names_one() {
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/");
        assert!(collector(&[]).is_none());
        assert!(collector(&[("OTEL_SERVICE_NAME", "x")]).is_none());
        assert!(collector(&[base, ("OTEL_SDK_DISABLED", "TRUE")]).is_none());
        assert!(collector(&[base, ("OTEL_TRACES_EXPORTER", "none")]).is_none());
        assert!(collector(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318")]).is_none());
        assert_eq!(collector(&[base]).unwrap().url.as_str(), "http://127.0.0.1:4318/v1/traces");
    }

    #[test]
    fn an_address_for_traces_is_used_unchanged_and_headers_are_decoded() {
        let collector = collector(&[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://user:pass@host/deep"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b, bad name=1,y=2"),
        ])
        .unwrap();
        assert_eq!(collector.shown(), "https://host:443/deep");
        assert_eq!(collector.headers.len(), 2);
        assert_eq!(collector.headers["x-key"], "a b");
        assert!(!format!("{:?}", collector.headers).contains("a b"));
    }
}
