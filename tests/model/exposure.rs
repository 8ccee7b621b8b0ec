//! Which clients may use the model, and how invalid requests are answered.

use reqwest::StatusCode;
use serde_json::Value;

use crate::support::Model;

#[tokio::test]
async fn a_web_page_cannot_use_a_model_on_loopback() {
    let model = Model::start().await;
    let request = model.client.get(format!("{}/requests", model.url));
    let foreign_name = request.try_clone().unwrap().header("Host", "example.com").send().await.unwrap();
    assert_eq!(foreign_name.status(), StatusCode::FORBIDDEN);
    let foreign_page = request.header("Origin", "http://example.com").send().await.unwrap();
    assert_eq!(foreign_page.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_body_that_is_not_json_is_refused_in_each_format() {
    let model = Model::start().await;
    for path in ["/v1/messages", "/v1/responses", "/v1/chat/completions", "/v1beta/models/m:generateContent"]
    {
        let request = model.client.post(format!("{}{path}", model.url)).body("{");
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{path}");
        let error: Value = response.json().await.unwrap();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("the body is not JSON"), "{path}: {message}");
    }
}

#[tokio::test]
async fn an_unknown_path_is_not_found() {
    let model = Model::start().await;
    let response = model.client.get(format!("{}/v1/nothing", model.url)).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_front_page_lists_the_endpoints() {
    let model = Model::start().await;
    let about = model.get("/").await;
    assert_eq!(about["apis"].as_array().map(Vec::len), Some(4));
}

#[tokio::test]
async fn the_recipes_name_the_address_that_the_client_used() {
    let model = Model::start().await;
    let recipes = model.get("/recipes").await["recipes"].clone();
    let claude = recipes.as_array().unwrap().iter().find(|recipe| recipe["agent"] == "claude").unwrap();
    let expected = serde_json::json!({"name": "ANTHROPIC_BASE_URL", "value": model.url});
    assert_eq!(claude["environment"][0], expected);
    let codex = recipes.as_array().unwrap().iter().find(|recipe| recipe["agent"] == "codex").unwrap();
    assert_eq!(codex["files"][0]["path"], "~/.codex/config.toml");
    assert!(codex["files"][0]["content"].as_str().unwrap().contains(&format!("{}/v1", model.url)));
}
