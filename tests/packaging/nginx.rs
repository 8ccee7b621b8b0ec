//! The server behind Debian's nginx, with the configuration in the page.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};

use tempfile::TempDir;

use test_harness::deploying_page::{PAGE, blocks};
use test_harness::{SOON, Server, eventually};

/// nginx in front of a server, on a socket in its own folder: a port could be in use by another test.
struct Nginx {
    child: Child,
    folder: TempDir,
}

impl Nginx {
    fn before(server: &Server) -> Self {
        let folder = tempfile::Builder::new().prefix("packaging-nginx-").tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        make_certificate(&folder.path().join("certificate.pem"), &folder.path().join("key.pem"));
        let [block] = blocks("nginx")[..] else { panic!("the page has one configuration") };
        let mut configuration = for_installed_version(block);
        for (from, to) in [
            ("127.0.0.1:2468", format!("127.0.0.1:{}", server.port)),
            ("listen 443 ssl", format!("listen unix:{} ssl", at("socket"))),
            ("/etc/ssl/agents.example.org.pem", at("certificate.pem")),
            ("/etc/ssl/agents.example.org.key", at("key.pem")),
            // The prefix that the page mentions, with the same configuration.
            ("    location / {\n", format!("{}    location / {{\n", prefixed(block))),
        ] {
            assert!(configuration.contains(from), "{from}");
            configuration = configuration.replace(from, &to);
        }
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .iter()
            .map(|kind| format!("{kind}_temp_path {};\n", at(kind)))
            .collect();
        let user = if rustix::process::getuid().is_root() { "user root;\n" } else { "" };
        let whole = format!(
            "{user}daemon off;\nmaster_process off;\npid {};\nerror_log stderr warn;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{configuration}\n}}\n",
            at("pid")
        );
        std::fs::write(folder.path().join("nginx.conf"), &whole).unwrap();
        let child = Command::new("/usr/sbin/nginx")
            .args(["-p", &at(""), "-e", "stderr", "-c", &at("nginx.conf")])
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx is there: run sh scripts/test-tools.sh");
        let nginx = Self { child, folder };
        eventually("nginx listens", || nginx.socket().exists().then_some(()));
        nginx
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// A curl request that trusts the certificate.
    fn curl(&self, path: &str, arguments: &[&str]) -> Command {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--no-buffer", "--max-time", "60", "--cacert"]);
        curl.arg(self.folder.path().join("certificate.pem")).arg("--unix-socket").arg(self.socket());
        curl.args(["-H", "authorization: Bearer secret"])
            .args(arguments)
            .arg(format!("https://agents.example.org{path}"))
            .stdin(Stdio::null());
        curl
    }

    #[track_caller]
    fn ask(&self, path: &str, arguments: &[&str]) -> String {
        let mut curl = self.curl(path, &[arguments, &["--fail-with-body"]].concat());
        let Output { status, stdout, stderr } = curl.output().expect("there is curl");
        let text = String::from_utf8_lossy(&stdout).into_owned();
        assert!(status.success(), "{path}: {text}{}", String::from_utf8_lossy(&stderr));
        text
    }

    #[track_caller]
    fn post(&self, path: &str, message: &str) -> String {
        self.ask(path, &["-H", "content-type: application/json", "--data", message])
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The configuration, changed as the page says for an nginx before 1.25.1.
fn for_installed_version(block: &str) -> String {
    let Output { stderr, .. } = Command::new("/usr/sbin/nginx")
        .arg("-v")
        .output()
        .expect("nginx is there: run sh scripts/test-tools.sh");
    let said = String::from_utf8_lossy(&stderr).into_owned();
    let version = said.trim().rsplit('/').next().unwrap_or_default().split(' ').next().unwrap_or_default();
    let numbers: Vec<u32> = version.split('.').map(|number| number.parse().expect("a version")).collect();
    assert!(block.contains("    http2 on;\n") && PAGE.contains("`listen 443 ssl http2;`"));
    if numbers >= vec![1, 25, 1] {
        return block.to_owned();
    }
    block.replace("    http2 on;\n", "").replace("listen 443 ssl;", "listen 443 ssl http2;")
}

/// The page's location block, below a prefix.
fn prefixed(block: &str) -> String {
    let from = block.find("    location / {").expect("there is a location");
    let to = block[from..].find("\n    }").expect("it ends") + from + "\n    }\n".len();
    block[from..to]
        .replace("location /", "location /agents/")
        .replace("proxy_pass http://sandbox_agent;", "proxy_pass http://sandbox_agent/;")
}

fn make_certificate(certificate: &Path, key: &Path) {
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "1",
        ])
        .args(["-subj", "/CN=agents.example.org", "-addext", "subjectAltName=DNS:agents.example.org"])
        .arg("-out")
        .arg(certificate)
        .arg("-keyout")
        .arg(key)
        .output()
        .expect("there is openssl");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// A command whose lines are read as they arrive; killed on drop.
struct Lines {
    child: Child,
    lines: Receiver<String>,
}

impl Lines {
    fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).all(|line| send.send(line).is_ok()));
        Self { child, lines }
    }

    #[track_caller]
    fn until(&self, needle: &str) {
        while !self
            .lines
            .recv_timeout(SOON)
            .unwrap_or_else(|_| panic!("{needle} did not arrive"))
            .contains(needle)
        {}
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server with a token; without one it accepts only loopback host names, and a proxy has another.
fn start() -> Server {
    Server::with().env("SANDBOX_AGENT_TOKEN", "secret").start()
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;

#[test]
fn events_arrive_while_the_stream_is_open_and_slow_answers_are_not_cut_off() {
    let server = start();
    let nginx = Nginx::before(&server);
    let hello = nginx.post("/v1/acp/a?agent=fault", HELLO);
    assert!(hello.contains(r#""protocolVersion":1"#), "{hello}");
    let stream = Lines::of(nginx.curl("/v1/acp/a", &["-H", "accept: text/event-stream"]));
    stream.until(r#""protocolVersion":1"#);
    let emit = r#"{"jsonrpc":"2.0","id":2,"method":"emit","params":{"count":3,"bytes":10,"method":"live"}}"#;
    nginx.post("/v1/acp/a", emit);
    stream.until(r#""method":"live""#);
    let slow = r#"{"jsonrpc":"2.0","id":3,"method":"slow","params":{"ms":1500}}"#;
    let answer = nginx.post("/v1/acp/a", slow);
    assert!(answer.contains(r#""id":3"#), "{answer}");
    stream.until(r#""id":3"#);
}

#[test]
fn clients_that_offer_http_2_get_it() {
    let server = start();
    let nginx = Nginx::before(&server);
    let version =
        nginx.ask("/v1/health", &["--http2", "--output", "/dev/null", "--write-out", "%{http_version}"]);
    assert_eq!(version, "2");
}

#[test]
fn large_files_are_uploaded_and_downloaded() {
    let server = start();
    let nginx = Nginx::before(&server);
    let file = nginx.folder.path().join("large");
    let content = "0123456789abcdef".repeat(1 << 18);
    std::fs::write(&file, &content).unwrap();
    let source = file.display().to_string();
    let written = nginx.ask("/v1/fs/file?path=copy", &["--upload-file", &source]);
    assert!(written.contains(&content.len().to_string()), "{written}");
    assert!(nginx.ask("/v1/fs/file?path=copy", &[]) == content, "the file was changed in transit");
}

#[test]
fn the_inspector_and_instances_work_below_a_prefix() {
    let server = start();
    let nginx = Nginx::before(&server);
    assert!(nginx.ask("/agents/ui/", &[]).contains("<html"));
    assert!(nginx.ask("/agents/ui", &["--location"]).contains("<html"), "the redirect lost the prefix");
    assert!(nginx.post("/agents/v1/acp/a?agent=fault", HELLO).contains(r#""protocolVersion":1"#));
}
