//! `GET /metrics` is valid, complete, and counts exactly what happened.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::json;

use crate::exposition::Scrape;
use test_harness::installs::{Depot, Download};
use test_harness::rpc::{call, notification, response};
use test_harness::{SOON, Server, eventually};

const TOKEN: &str = "scrapers-need-it-too";
/// The user `nobody`.
const NOBODY: u32 = 65534;

#[track_caller]
pub(crate) fn scrape(server: &Server) -> Scrape {
    let answer = server.request("GET", "/metrics").send().expect(200);
    assert_eq!(answer.headers.get("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    Scrape::parse(answer.text())
}

/// A server on which every metric has a series, including those that count failures.
#[track_caller]
pub(crate) fn busy_server() -> Server {
    let server = Server::start();
    server.open("a", "fault");
    server.tell("a", "ask", json!({"id": 1, "method": "may_i", "params": {}}));
    server.post("a", response(1, json!({}))).send().expect(202);
    server.post("a", call(1, "exit", json!({"code": 3}))).send().problem(502, "agent_exited");
    server.open("b", "mock");
    // A request is counted when it is answered, so a scrape does not include itself.
    scrape(&server);
    server
}

/// Two scrapes, to see how much series have grown in between.
struct Growth(Scrape, Scrape);

impl Growth {
    #[track_caller]
    fn of(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.1.value(name, labels) - self.0.value(name, labels)
    }
}

#[track_caller]
fn growth(server: &Server, act: impl FnOnce()) -> Growth {
    let before = scrape(server);
    act();
    Growth(before, scrape(server))
}

/// A family, its labels, and its expected growth.
type Wanted<'a> = (&'a str, &'a [(&'a str, &'a str)], f64);

/// Waits until series have grown by exactly these amounts. A counter that a task increments right after a system
/// call may lag behind the effects of that call.
#[track_caller]
fn grown(server: &Server, before: Scrape, wanted: &[Wanted<'_>]) -> Growth {
    let mut growth = Growth(before, scrape(server));
    let deadline = Instant::now() + SOON;
    loop {
        let wrong = wanted.iter().find(|(name, labels, value)| growth.of(name, labels) != *value);
        let Some((name, labels, value)) = wrong else { return growth };
        let found = growth.of(name, labels);
        assert!(Instant::now() < deadline, "{name} {labels:?} grew by {found}, not by {value}");
        growth.1 = scrape(server);
    }
}

/// Waits until the server has noticed that all readers have disconnected.
#[track_caller]
fn wait_until_no_reader_is_left(server: &Server) {
    eventually("no reader is left", || {
        let seen = scrape(server);
        let open = |view: &str| seen.value("sandbox_agent_streams", &[("view", view)]);
        (open("messages") + open("journal") + open("many") == 0.0).then_some(())
    });
}

#[test]
fn a_prompt_is_seen_as_messages_bytes_and_requests() {
    let server = Server::start();
    server.open("a", "mock");
    let session = server.tell("a", "session/new", json!({"cwd": "/", "mcpServers": []}));
    let body = call(
        7,
        "session/prompt",
        json!({"sessionId": session["sessionId"],
        "prompt": [{"type": "text", "text": "hello"}]}),
    );
    let length = body.len() as f64 + 1.0;
    let before = scrape(&server);
    let answer = server.post("a", body).send().expect(200);
    let route = [("route", "/v1/acp/{server_id}"), ("method", "POST"), ("class", "2xx")];
    let grown = grown(
        &server,
        before,
        &[
            ("sandbox_agent_http_request_duration_seconds_count", &route, 1.0),
            ("sandbox_agent_messages_written_total", &[], 1.0),
            ("sandbox_agent_pipe_bytes_total", &[("pipe", "stdin")], length),
        ],
    );
    assert!(grown.of("sandbox_agent_http_request_duration_seconds_sum", &route) > 0.0);
    // The previous scrape is counted too, since it was answered.
    assert!(grown.of("sandbox_agent_http_responses_total", &[("status", "200")]) >= 2.0);
    let received = grown.of("sandbox_agent_events_heard_total", &[("kind", "message")]);
    assert!(received >= 2.0, "at least one update and the answer: {received}");
    assert!(grown.of("sandbox_agent_pipe_bytes_total", &[("pipe", "stdout")]) > answer.body.len() as f64);
    assert!(grown.of("sandbox_agent_http_bytes_total", &[("direction", "in")]) > length);
    assert!(grown.of("sandbox_agent_http_bytes_total", &[("direction", "out")]) > answer.body.len() as f64);
    assert_eq!(grown.1.value("sandbox_agent_instances", &[("status", "running")]), 1.0);
    assert_eq!(grown.1.value("sandbox_agent_agent_starts_total", &[]), 1.0);
    assert!(grown.1.value("sandbox_agent_memory_used_bytes", &[]) > 0.0);
    assert!(grown.1.value("sandbox_agent_replay_bytes", &[]) > 0.0);
    assert_eq!(grown.1.value("sandbox_agent_memory_limit_bytes", &[]), f64::from(1 << 30));
}

#[test]
fn delivered_events_are_counted_as_live_or_replayed_and_by_view() {
    let server = Server::start();
    server.open("a", "fault");
    server.tell("a", "emit", json!({"count": 10}));
    let messages = [("view", "messages")];
    // Twelve messages are retained: the first answer, ten notifications, the second answer.
    let third = server.stream("a").up_to(|event| event.is_call_of("burst"))[1].number() + 1;
    wait_until_no_reader_is_left(&server);
    let before = scrape(&server);
    let mut stream = server.get("a").header("Last-Event-ID", &third.to_string()).stream();
    for _ in 0..9 {
        stream.next();
    }
    server.tell("a", "emit", json!({"count": 4}));
    for _ in 0..5 {
        stream.next();
    }
    let grown = Growth(before, scrape(&server));
    assert_eq!(grown.of("sandbox_agent_events_sent_total", &messages), 14.0);
    assert_eq!(grown.of("sandbox_agent_events_replayed_total", &messages), 9.0);
    assert_eq!(grown.of("sandbox_agent_gaps_total", &messages), 0.0);
    assert!(grown.of("sandbox_agent_stream_bytes_total", &messages) > 14.0 * 40.0);
    assert_eq!(grown.1.value("sandbox_agent_streams", &messages), 1.0);

    let grown = growth(&server, || {
        let mut journal = server.get("a").query("view", "journal").stream();
        // Both directions: three messages to the agent, seventeen from it.
        for _ in 0..20 {
            journal.next();
        }
        let mut many = server.request("GET", "/v1/acp").header("Accept", "text/event-stream").stream();
        assert_eq!(many.next().name, "instances");
        // The event that the instance was opened, then the agent's messages.
        for _ in 0..18 {
            many.next();
        }
    });
    for (view, count) in [("journal", 20.0), ("many", 18.0)] {
        assert_eq!(grown.of("sandbox_agent_events_sent_total", &[("view", view)]), count, "{view}");
        assert_eq!(grown.of("sandbox_agent_events_replayed_total", &[("view", view)]), count, "{view}");
    }
}

#[test]
fn every_sent_gap_is_counted() {
    let server = Server::with().flag("--journal", "off").flag("--replay-events", "5").start();
    server.open("a", "fault");
    let first = server.stream("a").next().number();
    wait_until_no_reader_is_left(&server);
    server.tell("a", "emit", json!({"count": 30}));
    let grown = growth(&server, || {
        for _ in 0..3 {
            let mut resumed = server.get("a").header("Last-Event-ID", &first.to_string()).stream();
            assert_eq!(resumed.next().name, "gap");
        }
        let mut journal = server.get("a").query("view", "journal").header("Last-Event-ID", "j1").stream();
        assert_eq!(journal.next().name, "gap");
        let many = server.request("GET", "/v1/acp").header("Accept", "text/event-stream");
        many.header("Last-Event-ID", "j1").stream().until(|event| event.name == "gap");
    });
    for (view, count) in [("messages", 3.0), ("journal", 1.0), ("many", 1.0)] {
        assert_eq!(grown.of("sandbox_agent_gaps_total", &[("view", view)]), count, "{view}");
    }
}

#[test]
fn starts_and_exits_of_agents_are_counted() {
    let server = Server::with().flag("--agent", "absent=/no/such/program").start();
    let exits = |scrape: &Scrape, reason: &str| {
        scrape.value("sandbox_agent_agent_exits_total", &[("reason", reason)])
    };
    server.open("a", "fault");
    server.post("a", call(1, "exit", json!({"code": 3}))).send().problem(502, "agent_exited");
    let first = scrape(&server);
    assert_eq!(first.value("sandbox_agent_instances", &[("status", "exited")]), 1.0);
    assert_eq!(
        (exits(&first, "failure"), first.value("sandbox_agent_agent_restarts_total", &[])),
        (1.0, 0.0)
    );

    server.post("a", call(2, "echo", json!({}))).query("agent", "fault").send().expect(200);
    let again = scrape(&server);
    assert_eq!(again.value("sandbox_agent_agent_restarts_total", &[]), 1.0);
    assert_eq!(again.value("sandbox_agent_agent_starts_total", &[]), 2.0);

    server.agent_process("a").signal("KILL");
    server.wait_for("a", "it has ended", |summary| summary["status"] == "exited");
    server.post("a", call(3, "exit_after_answer", json!({"code": 0}))).query("agent", "fault").send();
    server.wait_for("a", "it has ended", |summary| summary["status"] == "exited");
    server.open("b", "fault");
    server.delete("b").send().expect(204);
    server.post("c", call(1, "echo", json!({}))).query("agent", "absent").send().problem(502, "spawn_failed");
    let last = scrape(&server);
    for (reason, count) in
        [("failure", 1.0), ("signal", 1.0), ("success", 1.0), ("closed", 1.0), ("unknown", 0.0)]
    {
        assert_eq!(exits(&last, reason), count, "{reason}");
    }
    assert_eq!(last.value("sandbox_agent_agent_start_failures_total", &[("step", "launch")]), 1.0);
    assert_eq!(last.value("sandbox_agent_http_responses_total", &[("status", "502")]), 2.0);
}

#[test]
fn requests_are_timed_by_agent_in_both_directions() {
    const CLIENT: &str = "sandbox_agent_client_request_duration_seconds";
    const AGENT: &str = "sandbox_agent_agent_request_wait_seconds";
    let server = Server::start();
    server.open("a", "fault");
    server.open("b", "mock");
    let count = |scrape: &Scrape, name: &str, agent: &str| {
        scrape.value(&format!("{name}_count"), &[("agent", agent)])
    };
    let first = scrape(&server);
    assert_eq!((count(&first, CLIENT, "fault"), count(&first, CLIENT, "mock")), (1.0, 1.0));

    server.tell("a", "stall", json!({"ms": 20}));
    server.tell("a", "ask", json!({"id": 7, "method": "may_i", "params": {}}));
    let asked = scrape(&server);
    assert_eq!((count(&asked, CLIENT, "fault"), count(&asked, AGENT, "fault")), (3.0, 0.0));
    let time = |scrape: &Scrape| scrape.value(&format!("{CLIENT}_sum"), &[("agent", "fault")]);
    assert!(time(&asked) - time(&first) >= 0.02, "{} and {}", time(&first), time(&asked));
    server.post("a", response(7, json!({}))).send().expect(202);
    server.post("a", response(7, json!({}))).send().problem(409, "already_answered");

    // Neither a notification nor a request without an answer is timed.
    server.post("a", notification("echo", json!({}))).send().expect(202);
    server.post("a", call(1, "exit", json!({"code": 3}))).send().problem(502, "agent_exited");
    let last = scrape(&server);
    assert_eq!((count(&last, CLIENT, "fault"), count(&last, AGENT, "fault")), (3.0, 1.0));
    assert_eq!((count(&last, CLIENT, "mock"), count(&last, AGENT, "mock")), (1.0, 0.0));
}

/// The resident memory of a process, from the file that the server reads.
fn resident_bytes(pid: u64) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[21].parse::<f64>().unwrap() * rustix::param::page_size() as f64
}

#[test]
fn memory_is_that_of_all_processes_of_an_agent_even_of_daemons() {
    let server = Server::start();
    server.open("a", "fault");
    server.open("b", "fault");
    server.open("c", "mock");
    let daemon = server.tell("a", "spawn_daemon", json!({}))["pid"].as_u64().unwrap();
    let agents = ["a", "b"].map(|id| server.tell(id, "pid", json!({})).as_u64().unwrap());
    let memory =
        |agent: &str| scrape(&server).value("sandbox_agent_agent_resident_memory_bytes", &[("agent", agent)]);
    eventually("the memory is that of both agents and the daemon", || {
        let expected = agents.iter().map(|pid| resident_bytes(*pid)).sum::<f64>() + resident_bytes(daemon);
        (memory("fault") == expected).then_some(())
    });
    assert!(memory("mock") > 0.0);
    server.delete("a").send().expect(204);
    eventually("the memory is that of the other agent", || {
        (memory("fault") == resident_bytes(agents[1])).then_some(())
    });
}

#[test]
fn processor_time_is_counted_even_of_an_agent_that_ended_before_the_scrape() {
    let server = Server::start();
    let time = || scrape(&server).value("sandbox_agent_agent_cpu_seconds_total", &[("agent", "fault")]);
    server.open("a", "fault");
    // The processor time is some hundredths of a second, and the kernel counts in hundredths.
    server.tell("a", "emit", json!({"count": 100_000}));
    server.delete("a").send().expect(204);
    let ended = time();
    assert!(ended > 0.0);
    server.open("a", "fault");
    server.tell("a", "emit", json!({"count": 100_000}));
    let running =
        eventually("the second agent is counted while it runs", || Some(time()).filter(|now| *now > ended));
    server.delete("a").send().expect(204);
    assert!(time() >= running, "a counter never falls");
}

#[test]
fn installs_are_counted_by_their_result() {
    let depot = Depot::open();
    let server = Server::with().registry(&depot.registry).start();
    let installs = |scrape: &Scrape, outcome: &str| {
        scrape.value("sandbox_agent_installs_total", &[("outcome", outcome)])
    };
    let first = server.post("a", call(1, "echo", json!({}))).query("agent", "lazy").start();
    depot.wait_for_download();
    depot.release(Download::Missing);
    first.join().unwrap().problem(502, "install_failed");
    let failed = scrape(&server);
    assert_eq!(installs(&failed, "failed"), 1.0);
    assert_eq!(failed.value("sandbox_agent_agent_start_failures_total", &[("step", "prepare")]), 1.0);

    let install = server.request("POST", "/v1/agents/lazy/install").body("{}");
    let second = install.start();
    depot.wait_for_download();
    depot.release(Download::Works);
    second.join().unwrap().expect(200);
    install.send().expect(200);
    // The built-in agent needs no install, so nothing is counted.
    server.request("POST", "/v1/agents/mock/install").body("{}").send().expect(200);
    let last = scrape(&server);
    for outcome in ["failed", "installed", "already_installed"] {
        assert_eq!(installs(&last, outcome), 1.0, "{outcome}");
    }
    let route = [("route", "/v1/agents/{agent}/install"), ("method", "POST"), ("class", "2xx")];
    assert_eq!(last.value("sandbox_agent_http_request_duration_seconds_count", &route), 3.0);
}

#[test]
fn bytes_of_files_and_archives_are_counted() {
    let server = Server::start();
    let bytes =
        |grown: &Growth, what: &str| grown.of("sandbox_agent_file_bytes_total", &[("operation", what)]);
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(5);
    header.set_mode(0o644);
    header.set_cksum();
    archive.append_data(&mut header, "inside", &b"12345"[..]).unwrap();
    let archive = archive.into_inner().unwrap();
    let file = "/v1/fs/file?path=metrics.txt";
    let grown = growth(&server, || {
        server.request("PUT", file).body(vec![b'x'; 1000]).send().expect(200);
        server.request("GET", file).send().expect(200);
        server.request("GET", file).header("Range", "bytes=0-99").send().expect(206);
        server.request("HEAD", file).header("Connection", "close").write();
        let unpack =
            server.request("POST", "/v1/fs/upload-batch?path=d").header("Content-Type", "application/x-tar");
        unpack.body(archive.clone()).send().expect(200);
    });
    assert_eq!((bytes(&grown, "write"), bytes(&grown, "read")), (1000.0, 1100.0));
    assert_eq!(bytes(&grown, "unpack"), archive.len() as f64);
    let mut length = 0;
    let grown = growth(&server, || {
        length =
            server.request("GET", "/v1/fs/download-batch?path=d&format=tar").send().expect(200).body.len();
    });
    assert_eq!(bytes(&grown, "pack"), length as f64);
}

#[test]
fn pending_requests_agent_requests_and_disconnected_clients_are_counted() {
    let server = Server::start();
    server.open("a", "fault");
    server.tell("a", "ask", json!({"id": 1, "method": "may_i", "params": {}}));
    server.tell("a", "raw", json!({"text": "this is not a message\n"}));
    server.post("a", notification("stall", json!({"ms": 60_000}))).send().expect(202);
    let waiting = server.post("a", call(1, "echo", json!({}))).write();
    let seen = eventually("one waits", || {
        let seen = scrape(&server);
        (seen.value("sandbox_agent_pending_requests", &[]) == 1.0).then_some(seen)
    });
    assert_eq!(seen.value("sandbox_agent_awaited_answers", &[]), 1.0);
    assert_eq!(seen.value("sandbox_agent_events_heard_total", &[("kind", "unparsed")]), 1.0);
    assert_eq!(seen.value("sandbox_agent_http_requests_abandoned_total", &[]), 0.0);
    drop(waiting);
    eventually("the client that left is counted", || {
        (scrape(&server).value("sandbox_agent_http_requests_abandoned_total", &[]) == 1.0).then_some(())
    });
    let now = scrape(&server);
    assert_eq!(now.value("sandbox_agent_pending_requests", &[]), 1.0, "its request must still be pending");
    assert!(now.value("sandbox_agent_http_connections", &[]) >= 1.0);
    assert!(now.value("sandbox_agent_http_connections_total", &[]) >= 6.0);
}

#[test]
fn process_metrics_work_even_for_an_unprivileged_user() {
    let builder = Server::with();
    let root = rustix::process::getuid().is_root();
    let server = if root { builder.user(NOBODY).start() } else { builder.start() };
    let seen = scrape(&server);
    let value = |name: &str| seen.value(name, &[]);
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    assert!(
        (now - value("process_start_time_seconds")).abs() < 600.0,
        "{}",
        value("process_start_time_seconds")
    );
    assert!(value("process_resident_memory_bytes") > 1e6);
    assert!(value("process_virtual_memory_bytes") > value("process_resident_memory_bytes"));
    assert!(value("process_open_fds") >= 5.0 && value("process_max_fds") > value("process_open_fds"));
    assert!(value("process_threads") >= 1.0);
    assert_eq!(seen.value("sandbox_agent_build_info", &[("version", env!("CARGO_PKG_VERSION"))]), 1.0);
    eventually("some processor time is used", || {
        (scrape(&server).value("process_cpu_seconds_total", &[]) > value("process_cpu_seconds_total"))
            .then_some(())
    });
}

#[test]
fn no_client_input_becomes_a_label() {
    let server = Server::start();
    server.open("made-up-id", "fault");
    server
        .post("b", call(1, "echo", json!({})))
        .query("agent", "made-up-agent")
        .send()
        .problem(400, "unknown_agent");
    for target in ["/v1/acp/made-up-other", "/made-up/path", "/v1/agents/made-up-agent", "/ui/made-up.js"] {
        server.request("GET", target).send();
    }
    server.request("MADEUP", "/v1/acp").send();
    server.request("GET", "/v1/fs/file?path=made-up.txt").send().expect(404);
    let seen = scrape(&server);
    let routes: BTreeSet<&str> =
        seen.samples().filter_map(|sample| sample.labels.get("route")).map(String::as_str).collect();
    for route in
        ["unknown", "/v1/acp", "/v1/acp/{server_id}", "/v1/agents/{agent}", "/v1/fs/file", "/ui/{*path}"]
    {
        assert!(routes.contains(route), "{route} in {routes:?}");
    }
    for (name, value) in seen.samples().flat_map(|sample| &sample.labels) {
        assert!(!value.to_ascii_lowercase().contains("made"), "{name}={value}");
    }
    let known = [
        "agent",
        "class",
        "direction",
        "kind",
        "le",
        "method",
        "operation",
        "outcome",
        "pipe",
        "reason",
        "route",
        "status",
        "step",
        "version",
        "view",
    ];
    let names: BTreeSet<&str> =
        seen.samples().flat_map(|sample| sample.labels.keys()).map(String::as_str).collect();
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
}

#[test]
fn a_scrape_requires_the_token_and_an_allowed_origin_like_v1() {
    let server = Server::with().env("SANDBOX_AGENT_TOKEN", TOKEN).start();
    server.request("GET", "/metrics").send().problem(401, "unauthorized");
    let metrics = server.request("GET", "/metrics").header("Authorization", &format!("Bearer {TOKEN}"));
    let answer = metrics.send().expect(200);
    assert!(!answer.text().contains(TOKEN));
    Scrape::parse(answer.text());
    let open = Server::start();
    let metrics = || open.request("GET", "/metrics");
    metrics().header("Host", "evil.example").send().problem(403, "forbidden_host");
    metrics().header("Origin", "http://evil.example").send().problem(403, "forbidden_origin");
    metrics().header("Sec-Fetch-Site", "cross-site").send().problem(403, "forbidden_origin");
    open.request("POST", "/metrics").send().problem(405, "method_not_allowed");
}

#[test]
fn a_scrape_costs_about_the_same_with_two_hundred_instances_as_with_one() {
    const SCRAPES: u32 = 50;
    // The instances need more open files than the usual limit of 1024.
    let server = Server::with().under("prlimit", &["--nofile=4096:"]).start();
    server.open("i0", "fault");
    let series = |scrape: &Scrape| scrape.samples().count();
    scrape(&server);
    let few = scrape(&server);
    let opening: Vec<_> = (1..200)
        .map(|number| {
            let hello = call(1, "echo", json!({}));
            server
                .post(&format!("i{number}"), hello)
                .query("agent", "fault")
                .header("Prefer", "respond-async")
                .send()
        })
        .collect();
    opening.into_iter().for_each(|answer| drop(answer.expect_accepted()));
    let many = eventually("all of them run", || {
        let seen = scrape(&server);
        (seen.value("sandbox_agent_instances", &[("status", "running")]) == 200.0).then_some(seen)
    });
    // A new status such as 202 adds a series or a histogram; instances add none.
    assert!(series(&many) <= series(&few) + 20, "{} and {}", series(&few), series(&many));
    let time = |scrape: &Scrape| scrape.value("process_cpu_seconds_total", &[]);
    let before = time(&scrape(&server));
    for _ in 0..SCRAPES {
        scrape(&server);
    }
    // Processor time is measured, so that a busy machine does not matter; a debug build takes about a millisecond.
    let each = (time(&scrape(&server)) - before) / f64::from(SCRAPES);
    assert!(each < 0.05, "{each} s of processor time a scrape");
}
