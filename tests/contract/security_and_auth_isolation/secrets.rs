//! Secrets that an agent, which runs as the same user, must not learn.

use serde_json::json;

use test_harness::rpc::call;
use test_harness::{Request, Server};

const TOKEN: &str = "the-servers-own-secret";
/// The user `nobody`.
const NOBODY: u32 = 65534;

fn as_client(request: Request) -> Request {
    request.header("Authorization", &format!("Bearer {TOKEN}"))
}

fn ask(server: &Server, method: &str, params: serde_json::Value) -> serde_json::Value {
    let post = server.post("a", call(1, method, params)).query("agent", "fault");
    as_client(post).send().expect(200).json()["result"].clone()
}

#[test]
fn the_agent_inherits_the_environment_without_the_servers_own_secrets() {
    let server = Server::with()
        .env("SANDBOX_AGENT_TOKEN", TOKEN)
        .env("ANTHROPIC_API_KEY", "for the agent")
        .env("SOME_VARIABLE", "too")
        .start();
    assert_eq!(ask(&server, "env", json!({"name": "SANDBOX_AGENT_TOKEN"})), json!(null));
    assert_eq!(ask(&server, "env", json!({"name": "ANTHROPIC_API_KEY"})), "for the agent");
    assert_eq!(ask(&server, "env", json!({"name": "SOME_VARIABLE"})), "too");
    let own = ask(&server, "read", json!({"path": "/proc/self/environ"}));
    assert!(!own["text"].as_str().unwrap().contains(TOKEN));
    // The supervisor between the server and the agent does not have the token either.
    let supervisor = format!("/proc/{}/environ", agent(&server).parent().pid);
    assert!(!String::from_utf8_lossy(&std::fs::read(supervisor).unwrap()).contains(TOKEN));
}

fn agent(server: &Server) -> test_harness::Process {
    let list = as_client(server.request("GET", "/v1/acp")).send().expect(200).json();
    test_harness::Process::of(u32::try_from(list["servers"][0]["pid"].as_u64().unwrap()).unwrap())
}

#[test]
fn the_agent_does_not_learn_the_name_of_the_token_file() {
    let builder = Server::with();
    let file = builder.file("token", TOKEN);
    let server = builder.env("SANDBOX_AGENT_TOKEN_FILE", file.to_str().unwrap()).start();
    assert_eq!(ask(&server, "env", json!({"name": "SANDBOX_AGENT_TOKEN_FILE"})), json!(null));
}

#[test]
fn the_server_is_not_dumpable_so_a_same_user_agent_cannot_read_its_environment_or_memory() {
    let mut builder = Server::with().env("SANDBOX_AGENT_TOKEN", TOKEN);
    // Root can read every process, so the test needs another user when it runs as root.
    if rustix::process::getuid().is_root() {
        builder = builder.user(NOBODY);
    }
    let server = builder.start();
    for file in ["environ", "mem", "maps", "fd"] {
        let path = format!("/proc/{}/{file}", server.process.pid);
        let read = ask(&server, "read", json!({"path": path}));
        assert!(
            read["error"]
                .as_str()
                .is_some_and(|error| error.contains("denied") || error.contains("directory")),
            "{file}: {read}"
        );
    }
    let owner = std::os::unix::fs::MetadataExt::uid(
        &std::fs::metadata(format!("/proc/{}/environ", server.process.pid)).unwrap(),
    );
    assert_eq!(owner, 0, "the files of a process that is not dumpable belong to root");
    // The agent itself is an ordinary process.
    assert!(ask(&server, "read", json!({"path": "/proc/self/environ"}))["text"].is_string());
}

#[test]
fn the_token_is_not_in_the_log_and_not_in_any_answer() {
    let server = Server::with().env("SANDBOX_AGENT_TOKEN", TOKEN).flag("--log", "trace").start();
    ask(&server, "echo", json!({}));
    let wrong = server.request("GET", "/v1/health").header("Authorization", "Bearer wrong-guess").send();
    assert!(!wrong.text().contains("wrong-guess"));
    assert!(!server.log().contains(TOKEN));
}
