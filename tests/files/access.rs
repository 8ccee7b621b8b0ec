//! Authentication, and requests for missing or invalid paths.

use reqwest::Method;

use test_harness::files::{Answer, Options, Server};

/// Every endpoint, with a supported method.
const ENDPOINTS: [(Method, &str); 11] = [
    (Method::GET, "/v1/fs/entries"),
    (Method::GET, "/v1/fs/file?path=a"),
    (Method::HEAD, "/v1/fs/file?path=a"),
    (Method::PUT, "/v1/fs/file?path=a"),
    (Method::DELETE, "/v1/fs/entry?path=a"),
    (Method::POST, "/v1/fs/mkdir?path=a"),
    (Method::POST, "/v1/fs/move"),
    (Method::GET, "/v1/fs/stat?path=a"),
    (Method::POST, "/v1/fs/upload-batch"),
    (Method::GET, "/v1/fs/download-batch"),
    (Method::GET, "/v1/fs/watch"),
];

#[tokio::test]
async fn every_endpoint_needs_the_token() {
    let server = Server::start_with(&Options::flags(["--token", "secret"]));
    for (method, target) in ENDPOINTS {
        let refused = Answer::of(server.request(method.clone(), target)).await;
        assert!(refused.header("www-authenticate").starts_with("Bearer"), "{method} {target}");
        if method == Method::HEAD {
            assert_eq!(refused.status, 401);
        } else {
            refused.problem(401, "unauthorized");
        }
        let wrong = Answer::of(server.request(method.clone(), target).bearer_auth("wrong")).await;
        assert_eq!(wrong.status, 401, "{method} {target}");
    }
    assert!(!server.at("a").exists());
    let allowed = Answer::of(server.request(Method::GET, "/v1/fs/entries").bearer_auth("secret")).await;
    assert_eq!(allowed.json(), serde_json::json!([]));
}

#[tokio::test]
async fn a_path_is_required_where_there_is_no_sensible_default() {
    let server = Server::start();
    for (method, target) in [
        (Method::GET, "/v1/fs/file"),
        (Method::PUT, "/v1/fs/file"),
        (Method::DELETE, "/v1/fs/entry?path="),
        (Method::POST, "/v1/fs/mkdir"),
        (Method::GET, "/v1/fs/stat"),
        (Method::GET, "/v1/fs/stat?path=a&path=b"),
    ] {
        let problem = Answer::of(server.request(method, target)).await.problem(400, "invalid_parameter");
        assert_eq!(problem["parameter"], "path");
    }
}

#[tokio::test]
async fn an_invalid_name_is_a_bad_request_everywhere() {
    let server = Server::start();
    let long = "x".repeat(300);
    let longer = "y/".repeat(2500);
    for name in ["a%00b", &long, &longer] {
        for (method, target) in [
            (Method::GET, "/v1/fs/entries?path="),
            (Method::GET, "/v1/fs/file?path="),
            (Method::PUT, "/v1/fs/file?path="),
            (Method::DELETE, "/v1/fs/entry?path="),
            (Method::POST, "/v1/fs/mkdir?path="),
            (Method::GET, "/v1/fs/stat?path="),
            (Method::GET, "/v1/fs/download-batch?path="),
            (Method::GET, "/v1/fs/watch?path="),
        ] {
            let answer = Answer::of(server.request(method.clone(), &format!("{target}{name}"))).await;
            assert_eq!(answer.status, 400, "{method} {target}{name}: {}", answer.text());
            answer.problem(400, "invalid_path");
        }
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_are_problems() {
    let server = Server::start();
    server.get("/v1/fs/nothing").await.problem(404, "not_found");
    server.delete("/v1/fs/file?path=a").await.problem(405, "method_not_allowed");
    server.get("/v1/fs/move").await.problem(405, "method_not_allowed");
    server.post("/v1/fs/entries").await.problem(405, "method_not_allowed");
}
