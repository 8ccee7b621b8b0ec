//! The dashboard and the alert rules in `packaging/monitoring` use only metrics, labels and values that a running server
//! exposes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::exposition::{Sample, Scrape};
use crate::metrics::{busy_server, scrape};
use crate::promql::{Expression, Matcher};

const DASHBOARD: &str = include_str!("../../packaging/monitoring/grafana-dashboard.json");
const RULES: &str = include_str!("../../packaging/monitoring/prometheus-rules.yaml");
/// Metrics and labels that Prometheus adds to what it scrapes.
const ADDED_METRICS: [&str; 1] = ["up"];
const ADDED_LABELS: [&str; 2] = ["instance", "job"];

/// The metrics, labels and values in an expression that the server does not expose.
fn unknown(scrape: &Scrape, text: &str) -> Vec<String> {
    let expression = Expression::parse(text);
    let mut unknown = Vec::new();
    for selector in &expression.selectors {
        let name = selector.metric.as_str();
        let samples: Vec<&Sample> = scrape.samples().filter(|sample| sample.name == name).collect();
        let is_added = ADDED_METRICS.contains(&name);
        if samples.is_empty() && !is_added {
            unknown.push(format!("metric {name}"));
            continue;
        }
        let has_label = |label: &str| {
            ADDED_LABELS.contains(&label) || samples.iter().any(|sample| sample.labels.contains_key(label))
        };
        let missing = expression.groupings.iter().filter(|label| !is_added && !has_label(label));
        unknown.extend(missing.map(|label| format!("label {label} of {name}")));
        for Matcher { label, values } in &selector.matchers {
            if !has_label(label) {
                unknown.push(format!("label {label} of {name}"));
            } else if !ADDED_LABELS.contains(&label.as_str()) {
                let has_value =
                    |value: &&String| samples.iter().any(|sample| sample.labels.get(label) == Some(value));
                let absent = values.iter().filter(|value| !has_value(value));
                unknown.extend(absent.map(|value| format!("value {value} of {label} of {name}")));
            }
        }
    }
    unknown
}

/// The labels that a text shows: `{{agent}}` in a legend, `{{ $labels.agent }}` in an annotation.
fn shown_labels(text: &str) -> BTreeSet<String> {
    let places = text.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
    places.map(|place| place.trim().trim_start_matches("$labels.").to_owned()).collect()
}

/// Fails unless a text shows only labels that the result of its expression has.
#[track_caller]
fn check_shown(text: &str, expression: &str) {
    let groupings = Expression::parse(expression).groupings;
    for label in shown_labels(text) {
        let kept =
            groupings.contains(&label) || (groupings.is_empty() && ADDED_LABELS.contains(&label.as_str()));
        assert!(kept, "`{text}` shows {label}, which `{expression}` does not have");
    }
}

#[test]
fn the_dashboard_uses_only_what_the_server_exposes() {
    let (server, dashboard) = (busy_server(), serde_json::from_str::<Value>(DASHBOARD).unwrap());
    let seen = scrape(&server);
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    let mut checked = 0;
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "a duplicate id: {panel}");
        for target in panel["targets"].as_array().into_iter().flatten() {
            let expression = target["expr"].as_str().unwrap();
            assert_eq!(unknown(&seen, expression), [""; 0], "{expression}");
            check_shown(target["legendFormat"].as_str().unwrap(), expression);
            checked += 1;
        }
    }
    assert!(checked >= 20, "{checked} expressions");
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let query = variables.iter().find_map(|variable| variable["query"]["query"].as_str()).unwrap();
    let inside =
        query.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(", instance)")).unwrap();
    assert_eq!(unknown(&seen, inside), [""; 0]);
}

#[test]
fn the_alert_rules_use_only_what_the_server_exposes() {
    let seen = scrape(&busy_server());
    let rules: Vec<&str> = RULES.split("      - alert: ").skip(1).collect();
    assert!(rules.len() >= 8, "{} rules", rules.len());
    let mut names = BTreeSet::new();
    for rule in rules {
        let field = |key: &str| {
            let mut lines = rule.lines().map(str::trim);
            lines
                .find_map(|line| line.strip_prefix(key))
                .unwrap_or_else(|| panic!("no {key} in {rule}"))
                .trim()
        };
        assert!(names.insert(rule.lines().next().unwrap()), "a duplicate name: {rule}");
        let expression = field("expr:");
        assert_eq!(unknown(&seen, expression), [""; 0], "{expression}");
        assert!(["critical", "warning", "info"].contains(&field("severity:")), "{rule}");
        for text in [field("summary:"), field("description:")] {
            check_shown(text, expression);
        }
    }
    let page = include_str!("../../docs/observability.md");
    assert!(page.contains("job_name: sandbox-agent\n") && RULES.contains(r#"up{job="sandbox-agent"}"#));
}

#[test]
fn a_name_or_a_label_that_the_server_does_not_have_is_detected() {
    let seen = scrape(&busy_server());
    for (expression, missing) in [
        ("rate(sandbox_agent_gap_total[5m])", "metric sandbox_agent_gap_total"),
        ("sum by (agents) (sandbox_agent_instances)", "label agents of sandbox_agent_instances"),
        (r#"sandbox_agent_instances{state="x"}"#, "label state of sandbox_agent_instances"),
        (
            r#"sandbox_agent_instances{status=~"running|runing"}"#,
            "value runing of status of sandbox_agent_instances",
        ),
    ] {
        assert_eq!(unknown(&seen, expression), [missing]);
    }
    assert!(std::panic::catch_unwind(|| check_shown("{{agent}}", "sum(x)")).is_err());
}
