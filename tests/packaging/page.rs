//! Runs the commands in `docs/deploying.md` unchanged. Those for Kubernetes are in `kubernetes`, and those for
//! Docker, which need an engine, in `tests/container`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use test_harness::deploying_page::{PAGE, blocks};
use test_harness::server::product;

/// A folder with the archive, a home, and fake `sudo` and `systemctl` commands that change nothing outside.
pub(crate) struct Reader {
    folder: TempDir,
    path: String,
}

/// Installs system files below `system/`, without the group, which may not exist here, and records all other
/// commands.
const SUDO: &str = r#"#!/bin/sh
for word; do
    shift
    case $word in
    /*) word=$PWD/system$word ;;
    -g | prometheus) continue ;;
    esac
    set -- "$@" "$word"
done
case $1 in
systemctl) echo "$@" >>systemctl.log ;;
*) mkdir -p system/usr/local/bin system/etc/systemd/system && exec "$@" ;;
esac
"#;

impl Reader {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("packaging-page-").tempdir().unwrap();
        let tools = folder.path().join("tools");
        std::fs::create_dir(&tools).unwrap();
        std::fs::write(tools.join("sudo"), SUDO).unwrap();
        std::fs::set_permissions(tools.join("sudo"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        let home = folder.path().join("home");
        let path = format!("{}:{}:/usr/bin:/bin", tools.display(), home.join(".local/bin").display());
        let reader = Self { folder, path };
        reader.place_archive();
        reader
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Creates an archive like that of `make dist`, with the tested binary.
    fn place_archive(&self) {
        let name = "sandbox-agent-0.0.0-x86_64-linux-musl";
        let packed = self.file("packed").join(name);
        std::fs::create_dir_all(&packed).unwrap();
        let stripped =
            Command::new("strip").arg("-o").arg(packed.join("sandbox-agent")).arg(product()).status();
        assert!(stripped.is_ok_and(|status| status.success()), "strip failed");
        std::fs::write(packed.join("sandbox-agent.service"), crate::systemd::UNIT).unwrap();
        self.run(&format!(
            "tar cf {name}.tar.gz -I 'gzip -1' -C packed {name}; rm -r packed; sha256sum {name}.tar.gz > SHA256SUMS"
        ));
    }

    fn command(&self, script: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", script]).current_dir(self.folder.path());
        shell.env_clear().env("PATH", &self.path).env("HOME", self.file("home")).stdin(Stdio::null());
        shell
    }

    #[track_caller]
    pub(crate) fn run(&self, script: &str) -> String {
        let Output { status, stdout, stderr } = self.command(script).output().unwrap();
        let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert!(status.success(), "{script}\n{stdout}\n{stderr}");
        stdout.into_owned()
    }
}

/// A server that is killed with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_page_installs_a_healthy_server_from_the_archive_and_upgrades_it() {
    let reader = Reader::new();
    let elsewhere = |block: &&str| block.starts_with("docker") || block.starts_with("kubectl");
    let commands: Vec<_> = blocks("sh").into_iter().filter(|block| !elsewhere(block)).collect();
    let [token, unpack, start, health, system, scrape, upgrade] = commands.as_slice() else {
        panic!("the page has other commands than this test knows: {commands:#?}")
    };
    reader.run(token);
    let secret = std::fs::metadata(reader.file("sandbox-agent.env")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&secret.permissions()) & 0o777, 0o600);
    reader.run(unpack);

    // `exec` is used so that killing the shell kills the server; any free port is used.
    let mut start = reader.command(&start.replace("\nsandbox-agent", "\nexec sandbox-agent"));
    let mut child = start.env("SANDBOX_AGENT_PORT", "0").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let _running = Running(child);
    let port = line.trim().strip_prefix("listening on http://0.0.0.0:").expect("it listens everywhere");
    let healthy = reader.run(&format!("export SANDBOX_AGENT_URL=http://127.0.0.1:{port}\n{health}"));
    assert!(healthy.contains("ok"), "{healthy}");

    reader.run(system);
    for file in [
        "usr/local/bin/sandbox-agent",
        "etc/sandbox-agent/environment",
        "etc/systemd/system/sandbox-agent.service",
    ] {
        assert!(reader.file("system").join(file).is_file(), "{file}");
    }
    let calls = std::fs::read_to_string(reader.file("systemctl.log")).unwrap();
    assert_eq!(calls, "systemctl daemon-reload\nsystemctl enable --now sandbox-agent\n");

    reader.run(scrape);
    let prometheus = reader.file("system/etc/prometheus/sandbox-agent-token");
    let variables = std::fs::read_to_string(reader.file("sandbox-agent.env")).unwrap();
    assert_eq!(variables, format!("SANDBOX_AGENT_TOKEN={}", std::fs::read_to_string(&prometheus).unwrap()));
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&prometheus).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o640);
    let scraped = include_str!("../../docs/observability.md");
    assert!(
        scraped.contains("credentials_file: /etc/prometheus/sandbox-agent-token }"),
        "the page uses that file"
    );

    // The upgrade replaces the program of the running server, which continues with the old one.
    reader.run(upgrade);
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    let post = test_harness::Request::new(port.parse().unwrap(), "POST", "/v1/acp/a?agent=mock").body(hello);
    let token = variables.trim().strip_prefix("SANDBOX_AGENT_TOKEN=").unwrap();
    post.header("Authorization", &format!("Bearer {token}")).send().expect(200);
}

#[test]
fn every_file_that_the_page_links_to_exists() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let links: Vec<_> = PAGE.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(links.len() >= 3, "{links:?}");
    for link in links {
        assert!(docs.join(link).exists(), "{link}");
    }
}
