//! The container image with only the binary, laid out by the script of its build and started as process 1 as its
//! Dockerfile defines. A container engine does the same.

use std::process::{Command, Output, Stdio};

use serde_json::json;

use super::root::{Inside, Root};
use test_harness::Process;

const DOCKERFILE: &str = include_str!("../../../packaging/docker/Dockerfile");
const TOKEN: &str = "a-token-of-this-test";

/// The settings of the Dockerfile's last stage, `bare`.
struct Image {
    root: Root,
    environment: Vec<(String, String)>,
    directory: String,
    user: String,
    start: Vec<String>,
    health: Vec<String>,
}

impl Image {
    fn build() -> Self {
        let stage = DOCKERFILE.split("\nFROM ").find(|stage| stage.starts_with("scratch AS bare")).unwrap();
        let rests = |name: &str| -> Vec<String> {
            let printed = stage.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            printed.map(str::to_owned).collect()
        };
        let one = |name: &str| rests(name).into_iter().next().unwrap_or_else(|| panic!("{name} is missing"));
        let words = |json: &str| -> Vec<String> { serde_json::from_str(json).unwrap() };
        let environment = one("ENV");
        let variables = environment.split(' ').filter_map(|pair| pair.split_once('='));
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let health = one("HEALTHCHECK");
        let root = Root::laid_out_by("packaging/docker/tree.sh");
        // Does what `--chown` does for copied files, and what an engine does for a container's file system.
        let user = one("USER");
        for copied in rests("COPY").iter().filter(|copy| copy.contains("--chown")) {
            assert!(copied.contains(&format!("--chown={user} ")), "{copied} belongs to another user");
            let place = copied.rsplit(' ').next().unwrap();
            root.give_away_what_is_in(place, &user);
        }
        std::fs::create_dir(root.path().join("proc")).unwrap();
        Self {
            root,
            environment: variables,
            directory: one("WORKDIR"),
            start: [words(&one("ENTRYPOINT")), words(&one("CMD"))].concat(),
            health: words(health.split_once("CMD ").unwrap().1),
            user,
        }
    }

    /// A command in a container of this image, with these variables in addition to the image's.
    fn run(&self, as_first: &[&str], command: &[String], variables: &[(&str, &str)]) -> Command {
        let mut unshare = Command::new("/usr/bin/unshare");
        unshare.args(as_first).arg("--root").arg(self.root.path()).args(["--wd", &self.directory]);
        if rustix::process::getuid().is_root() {
            let (user, group) = self.user.split_once(':').unwrap();
            unshare.args(["--setuid", user, "--setgid", group]);
        } else {
            unshare.args(["--user", "--map-root-user"]);
        }
        unshare.args(command).env_clear().envs(self.environment.iter().cloned());
        unshare.envs(variables.iter().copied()).stdin(Stdio::null());
        unshare
    }

    fn start(&self, variables: &[(&str, &str)]) -> Command {
        let as_first = ["--pid", "--fork", "--mount", "--mount-proc", "--kill-child=SIGKILL"];
        // Tests run concurrently, so each uses a free port.
        let variables = [variables, &[("SANDBOX_AGENT_PORT", "0")]].concat();
        self.run(&as_first, &self.start, &variables)
    }
}

#[test]
fn the_image_refuses_to_start_without_a_token() {
    let image = Image::build();
    let Output { status, stderr, .. } = image.start(&[]).stdout(Stdio::null()).output().unwrap();
    let printed = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(1), "{printed}");
    assert!(printed.contains("token"), "{printed}");
}

#[test]
fn with_a_token_it_is_healthy_works_in_its_home_and_stops_on_sigterm() {
    let image = Image::build();
    let token = ("SANDBOX_AGENT_TOKEN", TOKEN);
    let mut server = Inside::start_with_token(image.start(&[token]), TOKEN);

    let address = format!("http://127.0.0.1:{}", server.port);
    let health = |variables: &[(&str, &str)]| {
        let at = [variables, &[("SANDBOX_AGENT_URL", address.as_str())]].concat();
        image.run(&[], &image.health, &at).output().unwrap().status
    };
    assert!(health(&[token]).success());
    assert!(!health(&[]).success(), "the health check must need the token");

    let post = server.request("POST", "/v1/acp/a").query("agent", "mock");
    let hello = test_harness::rpc::call(1, "initialize", json!({"protocolVersion": 1}));
    post.body(hello).send().expect(200);
    server.request("PUT", "/v1/fs/file?path=note").body("kept").send().expect(200);
    let note = image.root.path().join("home/agent/workspace/note");
    assert_eq!(std::fs::read_to_string(note).unwrap(), "kept");
    assert!(image.root.path().join("home/agent/.local/share/sandbox-agent").is_dir());

    let outside = server.process();
    let family = outside.descendants();
    let first: Process = *family.iter().find(|one| outside.is_parent_of(**one)).unwrap();
    first.signal("TERM");
    assert_eq!(server.wait_for_end().code(), Some(0));
    assert!(family.iter().all(|process| process.is_gone()));
}

#[test]
fn an_agent_cannot_read_the_token_from_any_process() {
    let image = Image::build();
    image.root.place_agent();
    let mut start = image.start(&[("SANDBOX_AGENT_TOKEN", TOKEN)]);
    start.args(["--agent", "beside=/agent"]);
    let server = Inside::start_with_token(start, TOKEN);
    for process in ["1", "2", "self"] {
        let read = server.tell("a", "read", json!({"path": format!("/proc/{process}/environ")}));
        assert!(!read.to_string().contains(TOKEN), "{process}: {read}");
        let there = server.tell("a", "read", json!({"path": format!("/proc/{process}/cmdline")}));
        assert!(there["text"].is_string(), "{process}: {there}");
    }
}
