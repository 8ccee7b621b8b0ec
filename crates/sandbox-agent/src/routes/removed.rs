//! Endpoints of older versions. They answer with their replacement.

use axum::extract::Request;
use http_server::{Code, Problem, Routes};

const SESSIONS: &str = "session/list and session/load over /v1/acp/{server_id}";
const AGENT: &str = "GET /v1/agents/{agent}?config=true";
/// The replacement for answering questions and permissions, which are agent requests now.
const ANSWER: &str = "POST /v1/acp/{server_id} with the answer to the agent's request";

/// Each removed path, and its replacement.
const REMOVED: [(&str, &str); 6] = [
    ("/v1/rpc", "/v1/acp/{server_id}"),
    ("/v1/sessions", SESSIONS),
    ("/v1/sessions/", SESSIONS),
    ("/v1/sessions/{*rest}", SESSIONS),
    ("/v1/agents/{agent}/models", AGENT),
    ("/v1/agents/{agent}/modes", AGENT),
];

pub(super) fn routes() -> Routes {
    REMOVED.into_iter().fold(Routes::new(), |routes, (path, replacement)| {
        routes.any(path, move |request: Request| async move {
            let path = request.uri().path();
            removed(path, if is_answer(path) { ANSWER } else { replacement })
        })
    })
}

/// True for the paths below `/v1/sessions/{session}/` with which clients answered the agent.
fn is_answer(path: &str) -> bool {
    let mut from_end = path.rsplit('/');
    let (action, _id, kind) = (from_end.next(), from_end.next(), from_end.next());
    matches!(
        (kind, action),
        (Some("questions"), Some("reply" | "reject")) | (Some("permissions"), Some("reply"))
    ) && path.starts_with("/v1/sessions/")
}

fn removed(path: &str, replacement: &str) -> Problem {
    Problem::new(Code::Removed, format!("{path} was removed; use {replacement}"))
        .with("replacement", replacement)
}

#[cfg(test)]
pub(super) mod document {
    use http_server::document::{self, utoipa};
    use utoipa::openapi::extensions::ExtensionsBuilder;
    use utoipa::openapi::path::{
        HttpMethod, OperationBuilder, ParameterBuilder, ParameterIn, PathItem, PathsBuilder,
    };
    use utoipa::openapi::schema::{ObjectBuilder, Type};
    use utoipa::openapi::{Deprecated, OpenApi, OpenApiBuilder, Required, ResponsesBuilder};

    use super::{Code, REMOVED};

    /// One operation per path stands for all methods; `x-any-method` marks it.
    pub(in crate::routes) fn document() -> OpenApi {
        let paths = REMOVED.into_iter().fold(PathsBuilder::new(), |paths, (path, replacement)| {
            let path = path.replace("{*", "{");
            let responses =
                ResponsesBuilder::new().responses_from_iter(document::protected(&[Code::Removed]));
            let mut operation = OperationBuilder::new()
                .operation_id(Some(format!("removed{}", name(&path))))
                .summary(Some(format!("Was removed; use {replacement}")))
                .description(Some("All methods have the same response."))
                .deprecated(Some(Deprecated::True))
                .tag("removed")
                .responses(responses.build())
                .extensions(Some(ExtensionsBuilder::new().add("x-any-method", true).build()));
            for parameter in path.split('{').skip(1) {
                let name = parameter.split('}').next().unwrap_or_default();
                let text = ObjectBuilder::new().schema_type(Type::String);
                operation = operation.parameter(
                    ParameterBuilder::new()
                        .name(name)
                        .parameter_in(ParameterIn::Path)
                        .required(Required::True)
                        .schema(Some(text)),
                );
            }
            paths.path(path, PathItem::new(HttpMethod::Get, operation))
        });
        OpenApiBuilder::new().paths(paths).build()
    }

    /// The name of an operation: `SessionsRest` for `/v1/sessions/{rest}`, `SessionsSlash` for `/v1/sessions/`.
    fn name(path: &str) -> String {
        let words = path.trim_start_matches("/v1").split(['/', '{', '}']).filter(|word| !word.is_empty());
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        let name: String = words.map(capital).collect();
        if path.ends_with('/') { name + "Slash" } else { name }
    }
}
