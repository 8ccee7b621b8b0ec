//! Requests for the title of a session, as agents send them in each format.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::{Model, shell_schema};

/// The topic of a session. Used as a prompt, it would make the model fail.
const PROMPT: &str = "fail 500 in the build";
const TITLE: &str = "Fail 500 in the build";

const OPENCODE: &str = "You are a title generator. You output ONLY a thread title. Nothing else.";
const OPENCODE_USER: &str = "Generate a title for this conversation:\n";

async fn last_script(model: &Model) -> Value {
    model.get("/requests").await["requests"].as_array().unwrap().last().unwrap()["script"].clone()
}

#[tokio::test]
async fn claude_gets_the_title_as_json_in_the_anthropic_format() {
    let model = Model::start().await;
    let schema = json!({"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"],
        "additionalProperties": false});
    let request = json!({"model": "any", "max_tokens": 100,
        "system": [{"type": "text", "text": "You are Claude Code."},
            {"type": "text", "text": "You are naming a coding session so the user can pick it out of a list."}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": format!(
            "<session>\n{PROMPT}\n</session>\n\nWrite the title in the predominant language of the session.")}]}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}}});
    let answer = model.ask("/v1/messages", &request).await;
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), json!({"title": TITLE}));
    assert_eq!(last_script(&model).await, "title");
}

#[tokio::test]
async fn agents_get_the_title_as_text_in_the_chat_format() {
    let model = Model::start().await;
    let goose =
        "Generate a short title (four words or less) for this conversation.\n\nReply with only the title.";
    let hermes = "Generate a short, descriptive title (3-7 words) for a conversation that starts with the following \
                  exchange. Return ONLY the title text, nothing else.";
    let older_goose = format!(
        "Here are the first few user messages:\n{PROMPT}\n\nBased on the conversation so far, provide a concise \
         description of this session in 4 words or less. Reply *ONLY* with the description"
    );
    for (agent, system, users) in [
        ("opencode", OPENCODE, vec![OPENCODE_USER.to_owned(), PROMPT.to_owned()]),
        (
            "goose",
            goose,
            vec![format!(
                "---BEGIN USER MESSAGES---\n{PROMPT}\n---END USER MESSAGES---\n\nGenerate a short title for the \
                 above messages."
            )],
        ),
        ("older goose", "Reply with only a description in four words or less", vec![older_goose]),
        ("hermes", hermes, vec![format!("User: {PROMPT}\n\nAssistant: The prompt asked for a failure.")]),
    ] {
        let mut messages = vec![json!({"role": "system", "content": system})];
        messages.extend(users.iter().map(|user| json!({"role": "user", "content": user})));
        let answer = model.ask("/v1/chat/completions", &json!({"model": "any", "messages": messages})).await;
        assert_eq!(answer["choices"][0]["message"]["content"], TITLE, "{agent}");
        assert_eq!(last_script(&model).await, "title", "{agent}");
    }
}

#[tokio::test]
async fn opencode_gets_the_title_in_the_responses_format() {
    let model = Model::start().await;
    let user = |text: &str| json!({"role": "user", "content": [{"type": "input_text", "text": text}]});
    let in_list = json!({"model": "any", "input": [{"role": "developer", "content": OPENCODE},
        user(OPENCODE_USER), user(PROMPT)]});
    let beside = json!({"model": "any", "instructions": OPENCODE, "input": PROMPT});
    for request in [in_list, beside] {
        let answer = model.ask("/v1/responses", &request).await;
        assert_eq!(answer["output"][0]["content"][0]["text"], TITLE);
    }
}

#[tokio::test]
async fn gemini_gets_the_title_in_its_own_format() {
    let model = Model::start().await;
    let asked = format!(
        "Summarize the user's primary intent or goal in this conversation in ONE sentence (max 80 characters).\n\n\
         Examples:\n- \"Add dark mode to the app\"\n\nConversation:\nUser: {PROMPT}\n\nAssistant: I could not.\n\n\
         Summary (max 80 chars):"
    );
    let summary = json!({"contents": [{"role": "user", "parts": [{"text": asked}]}]});
    let instructed = json!({"systemInstruction": {"parts": [{"text": OPENCODE}]},
        "contents": [{"role": "user", "parts": [{"text": PROMPT}]}]});
    for request in [summary, instructed] {
        let answer = model.ask("/v1beta/models/any:generateContent", &request).await;
        assert_eq!(answer["candidates"][0]["content"]["parts"][0]["text"], TITLE);
    }
}

#[tokio::test]
async fn a_forced_tool_gets_the_title_as_its_argument() {
    let model = Model::start().await;
    let schema =
        json!({"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]});
    let request = json!({"model": "any", "tools": [{"type": "function", "function": {"name": "respond",
            "parameters": schema}}],
        "tool_choice": {"type": "function", "function": {"name": "respond"}},
        "messages": [{"role": "system", "content": "Generate a concise title for this coding session."},
            {"role": "user", "content": PROMPT}]});
    let answer = model.ask("/v1/chat/completions", &request).await;
    let call = &answer["choices"][0]["message"]["tool_calls"][0]["function"];
    let arguments = serde_json::from_str::<Value>(call["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"title": TITLE}));
}

#[tokio::test]
async fn a_prompt_with_tools_is_never_a_request_for_a_title() {
    let model = Model::start().await;
    let request = json!({"model": "any", "messages": [{"role": "system", "content": OPENCODE},
            {"role": "user", "content": PROMPT}],
        "tools": [{"type": "function", "function": {"name": "shell", "parameters": shell_schema()}}]});
    let response = model.post("/v1/chat/completions", &request).await;
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(last_script(&model).await, "fail");
}
