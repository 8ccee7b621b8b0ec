//! The agent's commands: each method is one kind of misbehaviour.
//!
//! | method | params | effect |
//! |---|---|---|
//! | `echo` | any | answers with the params |
//! | `received` | any | answers with the received line, as a string; for a notification, it sends a notification |
//! | `raw` | `text` or `hex`, `answer` | writes these bytes to standard output, then answers unless `answer` is false |
//! | `emit` | `count`, `bytes`, `method` | sends that many notifications, each with `index` and that many bytes of filler, then answers |
//! | `unfinished` | `bytes` | writes the beginning of a line and no line feed |
//! | `ask` | `id`, `method`, `params` | sends its own request, then answers; reports each response it receives with the notification `asked` |
//! | `ask_many` | `prefix`, `count`, `bytes` | sends that many requests of its own, with the ids `PREFIX-0`, `PREFIX-1` and so on, then answers |
//! | `never` | | does not answer |
//! | `slow` | `ms` | answers later, and continues to read in the meantime |
//! | `stall` | `ms` | reads nothing for that time, then answers |
//! | `exit` | `code` | exits without an answer |
//! | `exit_after_answer` | `code` | answers and exits immediately |
//! | `stderr` | `bytes` or `text` | writes to standard error, then answers |
//! | `spawn_daemon`, `spawn_child` | see [`processes`] | answers with the new process's `pid` |
//! | `spawn_chains` | `count`, `seconds` | starts chains of processes that each start the next one and exit |
//! | `signal` | `pid`, `signal` | sends a signal by number, then answers with the error, if any |
//! | `close_stdout`, `close_stdin` | | answers, then closes it and keeps running |
//! | `env`, `read`, `pid` | `name`, `path` | answers with a variable, a file or its error, its own process id |
//!
//! Everything else is answered with a JSON-RPC error -32601.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::{give_up, output, processes};

static INPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether the agent closed its own input.
pub(crate) fn input_was_closed() -> bool {
    INPUT_CLOSED.load(Ordering::SeqCst)
}

/// Handles one line.
pub(crate) fn take(line: &[u8]) {
    let Ok(text) = std::str::from_utf8(line) else {
        return output::notify("garbled", &json!({"bytes": line.len()}));
    };
    let Ok(message) = serde_json::from_str::<Value>(text) else {
        return output::notify("garbled", &json!({"line": text}));
    };
    let Some(method) = message["method"].as_str() else {
        return output::notify("asked", &json!({"line": text}));
    };
    let id = raw_id(text);
    run(method, id.as_deref(), &message["params"], text);
}

/// The id exactly as it was received.
fn raw_id(text: &str) -> Option<String> {
    let fields: std::collections::HashMap<String, Box<RawValue>> = serde_json::from_str(text).ok()?;
    fields.get("id").map(|raw| raw.get().to_owned())
}

fn run(method: &str, id: Option<&str>, params: &Value, line: &str) {
    let number = |name: &str| params[name].as_u64().unwrap_or(0);
    let nothing = Value::Null;
    match method {
        "initialize" => output::answer(id, &json!({"protocolVersion": 1, "agentCapabilities": {}})),
        "echo" => output::answer(id, params),
        "received" if id.is_none() => output::notify("received", &json!({"line": line})),
        "received" => output::answer(id, &json!(line)),
        "raw" => {
            output::bytes(&raw_bytes(params));
            if params["answer"] != false {
                output::answer(id, &nothing);
            }
        }
        "emit" => {
            let name = params["method"].as_str().unwrap_or("burst");
            for index in 0..number("count") {
                output::filled(name, index, length(number("bytes")));
            }
            output::answer(id, &nothing);
        }
        "unfinished" => output::bytes(&vec![b'u'; length(number("bytes"))]),
        "ask" => {
            let asked = json!({"jsonrpc": "2.0", "id": params["id"], "method": params["method"], "params": params["params"]});
            output::message(&asked);
            output::answer(id, &nothing);
        }
        "ask_many" => {
            let prefix = params["prefix"].as_str().unwrap_or("many");
            let filler = "q".repeat(length(number("bytes")));
            for index in 0..number("count") {
                let id = format!("{prefix}-{index}");
                output::message(&json!({"jsonrpc": "2.0", "id": id, "method": "question", "params": filler}));
            }
            output::answer(id, &nothing);
        }
        "never" => {}
        "slow" => {
            let (id, wait) = (id.map(str::to_owned), Duration::from_millis(number("ms")));
            std::thread::spawn(move || {
                std::thread::sleep(wait);
                output::answer(id.as_deref(), &Value::Null);
            });
        }
        "stall" => {
            std::thread::sleep(Duration::from_millis(number("ms")));
            output::answer(id, &nothing);
        }
        "exit" => std::process::exit(exit_code(params)),
        "exit_after_answer" => {
            output::answer(id, &json!("last words"));
            std::process::exit(exit_code(params));
        }
        "stderr" => {
            complain(params);
            output::answer(id, &nothing);
        }
        "spawn_daemon" => output::answer(id, &json!({"pid": processes::daemon(params)})),
        "spawn_chains" => {
            processes::chains(params);
            output::answer(id, &nothing);
        }
        "spawn_child" => output::answer(id, &json!({"pid": processes::child(params)})),
        "close_stdout" => {
            output::answer(id, &nothing);
            let _ = rustix::stdio::dup2_stdout(null_device());
        }
        "close_stdin" => {
            INPUT_CLOSED.store(true, Ordering::SeqCst);
            let _ = rustix::stdio::dup2_stdin(null_device());
            output::answer(id, &nothing);
        }
        "env" => {
            let name = params["name"].as_str().unwrap_or_default();
            output::answer(id, &json!(std::env::var(name).ok()));
        }
        "read" => {
            let path = params["path"].as_str().unwrap_or_default();
            output::answer(
                id,
                &match std::fs::read(path) {
                    Ok(bytes) => json!({"text": String::from_utf8_lossy(&bytes)}),
                    Err(error) => json!({"error": error.to_string()}),
                },
            );
        }
        "signal" => output::answer(id, &json!(signal(params))),
        "pid" => output::answer(id, &json!(std::process::id())),
        other => output::refuse(id, -32601, &format!("unknown method {other}")),
    }
}

fn raw_bytes(params: &Value) -> Vec<u8> {
    if let Some(text) = params["text"].as_str() {
        return text.as_bytes().to_vec();
    }
    let hex = params["hex"].as_str().unwrap_or_default().as_bytes();
    hex.chunks(2)
        .map(|pair| {
            std::str::from_utf8(pair)
                .ok()
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
                .unwrap_or_else(|| give_up("`hex` is not hexadecimal"))
        })
        .collect()
}

fn complain(params: &Value) {
    let mut errors = std::io::stderr().lock();
    let result = match params["text"].as_str() {
        Some(text) => errors.write_all(text.as_bytes()),
        None => {
            let line = format!("{}\n", "e".repeat(1023));
            let lines = length(params["bytes"].as_u64().unwrap_or(0)) / line.len();
            (0..lines).try_for_each(|_| errors.write_all(line.as_bytes()))
        }
    };
    if result.is_err() {
        std::process::exit(0);
    }
}

fn null_device() -> std::fs::File {
    std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .unwrap_or_else(|error| give_up(&error.to_string()))
}

fn exit_code(params: &Value) -> i32 {
    params["code"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(0)
}

fn length(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Sends a signal by its number; 0 only checks whether a signal could be sent. Returns the number of the error, if any.
fn signal(params: &Value) -> Option<i32> {
    let number = |name: &str| params[name].as_i64().and_then(|number| i32::try_from(number).ok());
    let pid = number("pid").and_then(Pid::from_raw).unwrap_or_else(|| give_up("`pid` is not a process id"));
    let sent = match number("signal").and_then(Signal::from_named_raw) {
        Some(signal) => kill_process(pid, signal),
        None => test_kill_process(pid),
    };
    sent.err().map(rustix::io::Errno::raw_os_error)
}
