//! `docs/observability.md` lists every metric that the server exposes. With `BLESS=1` the table is rewritten.

use std::collections::BTreeSet;
use std::path::Path;

use crate::exposition::Family;
use crate::metrics::{busy_server, scrape};

const BEGIN: &str = "<!-- metrics -->\n";
const END: &str = "<!-- end of metrics -->\n";

fn row(family: &Family) -> String {
    let labels: BTreeSet<&str> =
        family.samples.iter().flat_map(|sample| sample.labels.keys()).map(String::as_str).collect();
    let labels: Vec<String> =
        labels.into_iter().filter(|name| *name != "le").map(|name| format!("`{name}`")).collect();
    assert!(!family.samples.is_empty(), "{} has no series, so its labels are unknown", family.name);
    format!("| `{}` | {} | {} | {} |\n", family.name, family.kind, labels.join(", "), family.help)
}

#[test]
fn the_page_lists_every_metric_with_its_labels_and_its_meaning() {
    let server = busy_server();
    let rows: String = scrape(&server).families().iter().map(row).collect();
    let table = format!("| name | type | labels | meaning |\n|---|---|---|---|\n{rows}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/observability.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page marks where the table begins");
    let (written, after) = rest.split_once(END).expect("the page marks where the table ends");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(written, table, "docs/observability.md is stale; run this test with BLESS=1");
    }
}
