//! The Kubernetes part of `docs/deploying.md`: its command is run, and its pod is validated against Kubernetes'
//! schemas.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc;

use crate::page::Reader;
use test_harness::deploying_page::{PAGE, blocks};
use test_harness::server::product;

/// The part of a cluster that `kubectl create` needs: the list of resource kinds, and an endpoint that accepts
/// one.
struct Cluster {
    address: String,
    /// The created resources, with their paths.
    created: mpsc::Receiver<(String, Vec<u8>)>,
}

impl Cluster {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (tell, created) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let tell = tell.clone();
                std::thread::spawn(move || serve(stream, &tell));
            }
        });
        Self { address, created }
    }

    /// The configuration for `kubectl`.
    fn configuration(&self) -> String {
        format!(
            "{{apiVersion: v1, kind: Config, current-context: here, \
             clusters: [{{name: here, cluster: {{server: \"{}\"}}}}], \
             contexts: [{{name: here, context: {{cluster: here, user: \"\"}}}}]}}\n",
            self.address
        )
    }
}

/// Answers a connection until it closes.
fn serve(stream: TcpStream, tell: &mpsc::Sender<(String, Vec<u8>)>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let head: Vec<String> =
            reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
        let path = head.first()?.split(' ').nth(1)?.split('?').next()?.to_owned();
        let header = |name: &str| {
            let named = head.iter().filter_map(|line| line.split_once(':'));
            named.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
        };
        let mut body = vec![0; header("content-length").map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body).unwrap();
        let (status, kind, answer) = match path.as_str() {
            "/api" => (200, "application/json", br#"{"kind":"APIVersions","versions":["v1"]}"#.to_vec()),
            "/apis" => (200, "application/json", br#"{"kind":"APIGroupList","groups":[]}"#.to_vec()),
            "/api/v1" => (200, "application/json", SECRETS.to_vec()),
            _ if head[0].starts_with("POST ") => {
                (201, header("content-type").unwrap_or_default(), body.clone())
            }
            _ => (404, "text/plain", Vec::new()),
        };
        let length = answer.len();
        write!(stream, "HTTP/1.1 {status} -\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n")
            .unwrap();
        stream.write_all(&answer).unwrap();
        if status == 201 {
            tell.send((path, body)).ok()?;
        }
    }
}

const SECRETS: &[u8] = br#"{"kind":"APIResourceList","groupVersion":"v1","resources":[
    {"name":"secrets","singularName":"","namespaced":true,"kind":"Secret","verbs":["create"]}]}"#;

#[test]
fn the_secret_has_the_keys_that_the_pod_references() {
    let reader = Reader::new();
    let token = blocks("sh").into_iter().find(|block| block.contains("sandbox-agent.env")).unwrap();
    reader.run(token);
    let [create] =
        blocks("sh").into_iter().filter(|block| block.starts_with("kubectl")).collect::<Vec<_>>()[..]
    else {
        panic!("the page has one command for a cluster")
    };
    // The token, and a credential for agents, as the page says.
    let file = reader.file("sandbox-agent.env");
    let token_line = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{token_line}ANTHROPIC_API_KEY=key-for-agents\n")).unwrap();
    let cluster = Cluster::start();
    std::fs::write(reader.file("cluster"), cluster.configuration()).unwrap();
    let printed = reader.run(&format!("export KUBECONFIG=$PWD/cluster\n{create}"));
    assert!(printed.contains("secret/sandbox-agent created"), "{printed}");

    let (path, secret) = cluster.created.recv_timeout(test_harness::SOON).unwrap();
    assert_eq!(path, "/api/v1/namespaces/default/secrets");
    let secret = String::from_utf8_lossy(&secret);
    let (key, token) = token_line.trim().split_once('=').unwrap();
    for (key, value) in [(key, token), ("ANTHROPIC_API_KEY", "key-for-agents")] {
        // Newer versions of kubectl send the value unchanged, in protobuf; older ones send it as base64, in
        // JSON.
        let encoded = reader.run(&format!("printf %s '{value}' | base64 --wrap=0"));
        assert!(secret.contains(key) && (secret.contains(value) || secret.contains(&encoded)), "{secret}");
    }
    // The server gets the whole secret, so that agents inherit the credentials; the application gets only the
    // token.
    let (server, application) = manifest().split_once("  containers:\n").unwrap();
    let whole = "      envFrom:\n        - secretRef:\n            name: sandbox-agent\n";
    let token = format!("secretKeyRef:\n              name: sandbox-agent\n              key: {key}\n");
    assert!(server.contains(whole) && !application.contains("envFrom"));
    assert!(application.contains(&token));
}

/// The manifest of the page.
fn manifest() -> &'static str {
    let [manifest] = blocks("yaml")[..] else { panic!("the page has one manifest") };
    manifest
}

#[test]
fn the_pod_has_probes_limits_a_home_and_a_network_policy() {
    let mut documents = manifest().split("\n---\n");
    let pod = documents.next().unwrap();
    let (server, _) = pod.split_once("  containers:\n").unwrap();
    for part in
        ["startupProbe:", "readinessProbe:", "livenessProbe:", "resources:", "mountPath: /home/agent\n"]
    {
        assert!(server.contains(part), "{part}");
    }
    let rest: Vec<&str> = documents.collect();
    let document = |kind: &str| {
        let line = format!("kind: {kind}\n");
        *rest.iter().find(|one| one.contains(&line)).unwrap_or_else(|| panic!("no {kind}"))
    };
    let claim = document("PersistentVolumeClaim");
    let claimed = pod.split_once("claimName: ").unwrap().1.lines().next().unwrap();
    assert!(claim.contains(&format!("  name: {claimed}\n")), "{claim}");
    // The policy selects the pod.
    let policy = document("NetworkPolicy");
    let label = pod.split_once("  labels:\n    ").unwrap().1.lines().next().unwrap();
    assert!(policy.contains(&format!("matchLabels:\n      {label}\n")), "{policy}");
}

#[test]
fn the_pod_starts_the_server_with_existing_flags() {
    let pod = manifest();
    let line = |key: &str| pod.lines().find_map(|line| line.trim().strip_prefix(key)).unwrap().trim();
    let arguments: Vec<String> = serde_json::from_str(line("args:")).unwrap();
    let probe: Vec<String> = serde_json::from_str(line("command:")).unwrap();
    // `--help` succeeds only if the arguments before it are valid.
    for words in [&arguments[..], &probe[1..]] {
        let Output { status, stderr, .. } =
            Command::new(product()).args(words).arg("--help").output().unwrap();
        assert!(status.success(), "{words:?}: {}", String::from_utf8_lossy(&stderr));
    }
}

#[test]
fn the_pod_is_valid_for_every_kubernetes_version_that_the_page_names() {
    let pod = manifest();
    let (before, _) = PAGE.split_once(" or newer. The token and").expect("the page says since when");
    let (_, since) = before.rsplit_once("Kubernetes ").expect("it names Kubernetes");
    let folder = tempfile::Builder::new().prefix("packaging-pod-").tempdir().unwrap();
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kubernetes/bin");
    let file = folder.path().join("pod.yaml");
    let validate = |pod: &str, version: &[&str]| -> (bool, String) {
        std::fs::write(&file, pod).unwrap();
        let Output { status, stdout, stderr } = Command::new(tools.join("kubernetes-validate"))
            .arg("--strict")
            .args(version)
            .arg(&file)
            .output()
            .expect("the schemas are there: run sh scripts/test-tools.sh");
        (
            status.success(),
            [stdout, stderr].map(|printed| String::from_utf8_lossy(&printed).into_owned()).concat(),
        )
    };
    for version in [&[][..], &["--kubernetes-version", &format!("{since}.0")]] {
        let (taken, printed) = validate(pod, version);
        assert!(taken, "{printed}");
    }
    let (taken, printed) = validate(&pod.replace("failureThreshold", "failureTreshold"), &[]);
    assert!(!taken && printed.contains("failureTreshold"), "a misspelled field was not detected: {printed}");
}
