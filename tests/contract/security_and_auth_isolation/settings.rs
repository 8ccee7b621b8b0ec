//! The precedence of settings: flag, environment, config file, default.

use serde_json::json;

use test_harness::rpc::call;
use test_harness::server::fault_agent;
use test_harness::{Server, ServerBuilder};

/// The number of instances that the server allows: a setting that is easy to observe.
fn room(server: &Server) -> usize {
    (0..6)
        .take_while(|n| {
            let post = server.post(&format!("i{n}"), call(1, "echo", json!({}))).query("agent", "fault");
            post.send().status == 200
        })
        .count()
}

fn config(max_instances: usize) -> String {
    format!("[limits]\nmax_instances = {max_instances}\n")
}

#[test]
fn a_flag_wins_over_the_environment_and_the_file() {
    let builder = Server::with().env("SANDBOX_AGENT_MAX_INSTANCES", "2").flag("--max-instances", "1");
    let file = builder.file("own.toml", &config(3));
    assert_eq!(room(&builder.flag("--config", file.to_str().unwrap()).start()), 1);
}

#[test]
fn the_environment_wins_over_the_file() {
    let builder = Server::with().env("SANDBOX_AGENT_MAX_INSTANCES", "2");
    let file = builder.file("own.toml", &config(3));
    assert_eq!(room(&builder.flag("--config", file.to_str().unwrap()).start()), 2);
}

#[test]
fn the_file_wins_over_the_default() {
    let builder = Server::with();
    let file = builder.file("own.toml", &config(3));
    let path = file.to_str().unwrap().to_owned();
    assert_eq!(room(&builder.env("SANDBOX_AGENT_CONFIG", &path).start()), 3);
}

#[test]
fn the_default_location_of_the_file_is_below_xdg_config_home() {
    let builder = Server::with();
    builder.file("config/sandbox-agent/config.toml", &config(2));
    assert_eq!(room(&builder.start()), 2);
}

#[test]
fn the_config_flag_wins_over_its_variable() {
    let builder = Server::with();
    let (one, two) = (builder.file("one.toml", &config(1)), builder.file("two.toml", &config(2)));
    let builder = builder.env("SANDBOX_AGENT_CONFIG", one.to_str().unwrap());
    assert_eq!(room(&builder.flag("--config", two.to_str().unwrap()).start()), 2);
}

#[test]
fn a_token_in_the_file_is_used_unless_the_environment_has_one() {
    let builder = Server::with();
    let file = builder.file("own.toml", "token = \"from-file\"\n");
    let builder = builder.flag("--config", file.to_str().unwrap());
    let server = builder.start();
    let ask = |server: &Server, token: &str| {
        server.request("GET", "/v1/health").header("Authorization", &format!("Bearer {token}")).send().status
    };
    assert_eq!((ask(&server, "from-file"), ask(&server, "other")), (200, 401));

    let builder = Server::with().env("SANDBOX_AGENT_TOKEN", "from-environment");
    let file = builder.file("own.toml", "token = \"from-file\"\n");
    let server = builder.flag("--config", file.to_str().unwrap()).start();
    assert_eq!((ask(&server, "from-file"), ask(&server, "from-environment")), (401, 200));
}

#[test]
fn an_agent_in_the_file_has_command_args_env_and_cwd() {
    let builder = Server::with();
    let folder = builder.file("workplace/marker", "").parent().unwrap().to_owned();
    let text = format!(
        "[agents.mine]\ncommand = \"{}\"\nargs = [\"--noise\"]\nenv = {{ MINE = \"yes\" }}\ncwd = \"{}\"\n",
        fault_agent().display(),
        folder.display()
    );
    let file = builder.file("own.toml", &text);
    let server = builder.flag("--config", file.to_str().unwrap()).start();
    server.open("a", "mine");
    assert_eq!(server.stream("a").next().name, "unparsed", "the agent did not get its arguments");
    assert_eq!(server.tell("a", "env", json!({"name": "MINE"})), "yes");
    assert!(server.tell("a", "read", json!({"path": "marker"}))["text"].is_string());
}

#[test]
fn an_unknown_or_invalid_setting_is_refused_at_start() {
    for text in ["prot = 1\n", "[limits]\nmax_instance = 1\n", "port = \"many\"\n", "not toml"] {
        let builder = ServerBuilder::new();
        let file = builder.file("own.toml", text);
        let (status, errors) = builder.flag("--config", file.to_str().unwrap()).refuse_to_start();
        assert!(!status.success() && errors.contains("own.toml"), "{text}: {errors}");
    }
    let (status, _) = ServerBuilder::new().flag("--config", "/no/such/file.toml").refuse_to_start();
    assert!(!status.success(), "a missing config file must be refused");
    let (status, _) = ServerBuilder::new().flag("--max-message-bytes", "many").refuse_to_start();
    assert!(!status.success());
}

#[test]
fn the_default_is_loopback_on_port_2468() {
    let help =
        std::process::Command::new(test_harness::server::product()).args(["server", "--help"]).output();
    let help = String::from_utf8(help.unwrap().stdout).unwrap();
    assert!(help.contains("[default: 127.0.0.1]") && help.contains("[default: 2468]"), "{help}");
}

#[test]
fn a_port_in_use_is_refused_at_start() {
    let server = Server::start();
    let (status, errors) = ServerBuilder::new().flag("--port", &server.port.to_string()).refuse_to_start();
    assert!(!status.success() && errors.contains(&server.port.to_string()), "{errors}");
}
