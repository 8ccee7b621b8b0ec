//! The server's memory is bounded, whatever agents and clients do. These tests are large, so there are few.

use serde_json::json;

use test_harness::Server;
use test_harness::rpc::call;

const MEBIBYTE: u64 = 1 << 20;

#[test]
fn eleven_hundred_events_of_1_mb_pass_with_bounded_memory() {
    let server = Server::start();
    server.open("a", "fault");
    let mut reader = server.stream("a");
    let hello = reader.next().number();
    let before = server.process.peak_memory();
    let emit = call(1, "emit", json!({"count": 1100, "bytes": 1_000_000}));
    server.post("a", emit).header("Prefer", "respond-async").send().expect_accepted();
    let (mut seen, mut came, mut gone) = (hello, 0, 0);
    loop {
        let event = reader.next();
        if event.name == "gap" {
            let next = event.json()["next"].as_u64().unwrap();
            gone += next - seen - 1;
            seen = next - 1;
            continue;
        }
        assert_eq!(event.number(), seen + 1);
        seen += 1;
        came += 1;
        if event.data.len() < 1000 {
            break;
        }
    }
    assert_eq!(came + gone, 1101);
    let grown = server.process.peak_memory() - before;
    // 64 MiB are retained for replay; the rest is in transit.
    assert!(grown < 200 * MEBIBYTE, "{} MiB", grown / MEBIBYTE);
}

#[test]
fn a_hundred_posts_of_32_mib_to_an_agent_that_does_not_read_stay_within_the_budget() {
    let budget = 256 * MEBIBYTE;
    let server = Server::with()
        .flag("--memory-budget", &budget.to_string())
        .flag("--stdin-queue-bytes", "10GiB")
        .agent("deaf", "--never-read")
        .start();
    let before = server.process.peak_memory();
    let size = (32 << 20) - 100;
    let message = format!(r#"{{"jsonrpc":"2.0","method":"x","params":"{}"}}"#, "x".repeat(size));
    let post = server.post("a", message).query("agent", "deaf");
    let mut statuses = std::collections::BTreeMap::new();
    for _ in 0..25 {
        let racers = [0; 4].map(|_| post.start());
        for racer in racers {
            *statuses.entry(racer.join().unwrap().status).or_insert(0) += 1;
        }
    }
    let accepted = statuses.get(&202).copied().unwrap_or(0);
    let refused = statuses.get(&503).copied().unwrap_or(0);
    assert_eq!(accepted + refused, 100, "{statuses:?}");
    assert!((1..=8).contains(&accepted) && refused >= 92, "{statuses:?}");
    let grown = server.process.peak_memory() - before;
    assert!(grown < budget + 96 * MEBIBYTE, "{} MiB for a budget of 256", grown / MEBIBYTE);
    // The server still works, and the memory is freed with the instance.
    server.delete("a").send().expect(204);
    server.open("b", "fault");
}

#[test]
fn unfinished_lines_of_many_agents_stay_within_the_budget_and_none_is_lost_silently() {
    let budget = 64 * MEBIBYTE;
    let server = Server::with().flag("--memory-budget", &budget.to_string()).start();
    let ids: Vec<String> = (0..12).map(|n| format!("i{n}")).collect();
    let mut readers = Vec::new();
    for id in &ids {
        server.open(id, "fault");
        readers.push(server.stream(id));
        readers.last_mut().unwrap().next();
    }
    let before = server.process.peak_memory();
    // All lines begin before any of them ends: together they are six times as long as the budget.
    let emit = call(1, "emit", json!({"count": 1, "bytes": 31_000_000}));
    let posts: Vec<_> = ids.iter().map(|id| server.post(id, emit.clone()).start()).collect();
    // All readers read at once: one that takes nothing for long is disconnected when memory is needed.
    let events: Vec<_> =
        readers.into_iter().map(|mut reader| std::thread::spawn(move || reader.next())).collect();
    let mut kept = 0;
    for (post, event) in posts.into_iter().zip(events) {
        post.join().unwrap().expect(200);
        let event = event.join().unwrap();
        match event.name.as_str() {
            // A gap stands for a line that was kept, but was evicted before this reader read it.
            "message" | "gap" => kept += 1,
            "unparsed" => assert!(event.data.contains("--memory-budget"), "{}", event.data),
            other => panic!("{other}: {}", event.data),
        }
    }
    assert!(kept > 0, "there is memory for some of them");
    let grown = server.process.peak_memory() - before;
    assert!(grown < budget * 3 / 2 + 40 * MEBIBYTE, "{} MiB for a budget of 64", grown / MEBIBYTE);
}

#[test]
fn an_id_has_a_maximum_length_in_both_directions() {
    let server = Server::start();
    server.open("a", "fault");
    let mut reader = server.stream("a");
    reader.next();
    let (longest, longer) = ("x".repeat(4094), "x".repeat(4095));
    server.post("a", call(longest.as_str(), "echo", json!({}))).send().expect(200);
    let refused =
        server.post("a", call(longer.as_str(), "echo", json!({}))).send().problem(400, "invalid_envelope");
    assert!(refused["detail"].as_str().unwrap().contains("4096"), "{refused}");
    reader.next();
    server.tell("a", "ask", json!({"id": longer, "method": "m", "params": {}}));
    let event = reader.next();
    assert_eq!(event.name, "unparsed", "{}", event.data);
    assert!(event.data.contains("4096"), "{}", event.data);
}
