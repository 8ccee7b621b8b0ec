//! The Docker instructions in `docs/deploying.md`, executed with Docker: its commands and Dockerfiles are run
//! unchanged, and the results are tested.
//!
//! Needs a separate Docker engine with an address of its own, where nothing else uses the container names and ports of
//! the page. `make test-builds` starts one.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should panic")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use std::time::{Duration, Instant};
use test_harness::deploying_page::blocks;

use tempfile::TempDir;

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
/// Long enough for the image's health check, which runs only twice a minute.
const TIMEOUT: Duration = Duration::from_secs(90);

/// A user who follows the page and runs its commands in a temporary folder.
struct Reader {
    folder: TempDir,
}

impl Reader {
    /// Runs a script in the folder.
    fn output(&self, script: &str) -> Output {
        shell(self.folder.path(), script)
    }

    #[track_caller]
    fn run(&self, script: &str) -> String {
        succeed(script, self.output(script))
    }

    fn token(&self) -> String {
        let variables = std::fs::read_to_string(self.folder.path().join("sandbox-agent.env")).unwrap();
        variables.trim().strip_prefix("SANDBOX_AGENT_TOKEN=").unwrap().to_owned()
    }

    /// The answer of the server in the container, on the port that the page publishes.
    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut connection = TcpStream::connect("127.0.0.1:2468").unwrap();
        connection.set_read_timeout(Some(TIMEOUT)).unwrap();
        let (token, length) = (self.token(), body.len());
        write!(
            connection,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }

    #[track_caller]
    fn wait_for(&self, script: &str, wanted: &str) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let printed = self.run(script);
            if printed.contains(wanted) {
                return;
            }
            assert!(Instant::now() < deadline, "{script} printed {printed}, not {wanted}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Builds a Dockerfile in an empty folder.
    fn build(&self, name: &str, dockerfile: &str) {
        let folder = self.folder.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("Dockerfile"), dockerfile).unwrap();
        self.run(&format!("docker build -t {name} {name}"));
    }
}

fn shell(folder: &Path, script: &str) -> Output {
    Command::new("sh").args(["-eu", "-c", script]).current_dir(folder).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn succeed(script: &str, Output { status, stdout, stderr }: Output) -> String {
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{script}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

#[test]
fn the_page_builds_images_that_serve() {
    let commands = blocks("sh");
    let token = commands.iter().find(|block| block.contains("sandbox-agent.env")).unwrap();
    let docker: Vec<_> = commands.iter().filter(|block| block.starts_with("docker")).collect();
    let [build, run] = docker.as_slice() else { panic!("the page has other commands: {docker:#?}") };
    let files = blocks("dockerfile");
    let [copied, installed] = files.as_slice() else { panic!("the page has other files: {files:#?}") };

    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    succeed(build, shell(&project, build));
    let reader = Reader { folder: tempfile::Builder::new().prefix("container-").tempdir().unwrap() };
    reader.run(token);

    the_image_serves(&reader, run);
    the_scratch_image_serves(&reader);
    the_binary_can_be_copied_from_the_image(&reader, copied);
    agents_can_be_in_the_image(&reader, installed);
}

fn the_image_serves(reader: &Reader, run: &str) {
    let unsafe_run = reader.output("docker run --rm sandbox-agent");
    assert_eq!(unsafe_run.status.code(), Some(1), "a server on all addresses without a token must not start");

    reader.run(run);
    reader.wait_for("docker inspect -f '{{.State.Health.Status}}' sandbox-agent", "healthy");
    let answer = reader.ask("POST", "/v1/acp/a?agent=mock", HELLO);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(r#""protocolVersion":1"#), "{answer}");
    let written = reader.ask("PUT", "/v1/fs/file?path=note", "kept");
    assert!(written.starts_with("HTTP/1.1 200 "), "{written}");
    let inside =
        reader.run("docker exec sandbox-agent sh -c 'id -un; pwd; cat /proc/1/comm note; git --version'");
    assert!(inside.starts_with("agent\n/home/agent/workspace\nsandbox-agent\nkept"), "{inside}");

    // The exit code is 0 only if the server stops on SIGTERM; otherwise Docker kills it.
    reader.run("docker stop sandbox-agent");
    let code = reader.run("docker inspect -f '{{.State.ExitCode}}' sandbox-agent");
    assert_eq!(code.trim(), "0", "{}", reader.run("docker logs sandbox-agent 2>&1"));
    reader.run("docker rm sandbox-agent");

    // A new container finds the files of the removed one in its home directory.
    reader.run(run);
    reader.wait_for("docker logs sandbox-agent", "listening on");
    let read = reader.ask("GET", "/v1/fs/file?path=note", "");
    assert!(read.ends_with("\r\n\r\nkept"), "{read}");
    reader.run("docker rm --force --volumes sandbox-agent");
}

fn the_scratch_image_serves(reader: &Reader) {
    reader.run(
        "docker run -d --name bare -p 127.0.0.1:2468:2468 --env-file sandbox-agent.env sandbox-agent:scratch",
    );
    reader.wait_for("docker logs bare", "listening on");
    let answer = reader.ask("POST", "/v1/acp/a?agent=mock", HELLO);
    assert!(answer.contains(r#""protocolVersion":1"#), "{answer}");
    reader.run("docker stop bare");
    assert_eq!(reader.run("docker inspect -f '{{.State.ExitCode}}' bare").trim(), "0");
    reader.run("docker rm bare");
}

fn the_binary_can_be_copied_from_the_image(reader: &Reader, copied: &str) {
    // Any base image works if it has a directory for programs.
    reader.build("copied", &format!("FROM base:debian\n{copied}\n"));
    let printed = reader.run("docker run --rm copied sandbox-agent prompt mock hello");
    assert!(printed.contains("hello"), "{printed}");
}

fn agents_can_be_in_the_image(reader: &Reader, installed: &str) {
    reader.build("installed", installed);
    reader.run("docker run -d --name installed --network none --env-file sandbox-agent.env installed");
    reader.wait_for("docker logs installed", "listening on");
    let agent = installed.split('"').nth(5).expect("RUN [program, install, agent]");
    let answer =
        reader.run(&format!("docker exec installed /sandbox-agent acp post a '{HELLO}' --agent {agent}"));
    assert!(answer.contains("protocolVersion"), "{answer}");
    let refused =
        reader.output(&format!("docker exec installed /sandbox-agent acp post b '{HELLO}' --agent goose"));
    let printed = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && printed.contains("is not installed"), "{printed}");
    reader.run("docker rm --force installed");
}
