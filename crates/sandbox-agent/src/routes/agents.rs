//! `/v1/agents`: lists, describes and installs agents.

use std::sync::Arc;

use acp_http_adapter::{start_failure_to_problem, to_problem};
use acp_instances::{InstanceStatus, Instances, Page, Summary};
use agent_catalog::{
    AgentInfo, Catalog, CatalogError, InstallOutcome, InstallRequest, ServerState, ServerStatus,
};
use axum::Json;
use axum::extract::{FromRequestParts, Path, Request, State};
use http::request::Parts;
use http_server::{Code, Problem, Query, Routes, negotiate};
use serde::Serialize;
use serde_json::Value;

use crate::launcher::to_start_failure;

/// The maximum size of the body of an install request.
const MAX_BODY: usize = 64 << 10;

#[derive(Debug, Clone)]
struct Agents {
    catalog: Catalog,
    instances: Arc<dyn Instances>,
}

pub(super) fn routes(catalog: Catalog, instances: Arc<dyn Instances>) -> Routes {
    Routes::new()
        .get("/v1/agents", list)
        .get("/v1/agents/{agent}", show)
        .post("/v1/agents/{agent}/install", install)
        .with_state(Agents { catalog, instances })
}

/// All agents.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct AgentList {
    /// The agents of the catalog, of the configuration and of the registry.
    agents: Vec<AgentInfo>,
}

/// Lists the agents
///
/// All agents that can be run or installed, with the results of a probe where they are known.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/agents",
    operation_id = "listAgents",
    tag = "agents",
    params(("config" = Option<bool>, Query, description = "Start every installed agent once to find out its models, modes and options.")),
    responses((status = 200, description = "The agents.", body = AgentList), problems::List)
))]
async fn list(State(agents): State<Agents>, request: Request) -> Result<Json<AgentList>, Problem> {
    let probe = Query::of(request.uri()).switch("config")?;
    let mut found = agents.catalog.agents().await;
    if probe {
        // Probe one agent after the other, because starting an agent is expensive.
        for info in found.iter_mut().filter(|info| info.installed) {
            *info = agents.catalog.agent_probed(&info.id).await.map_err(|error| catalog_problem(&error))?;
        }
    }
    let running = agents.running().await?;
    for info in &mut found {
        info.server_status = Some(agents.status_of(info, &running));
    }
    Ok(Json(AgentList { agents: found }))
}

/// Describes one agent
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/agents/{agent}",
    operation_id = "getAgent",
    tag = "agents",
    params(
        ("agent" = String, Path, example = "mock", description = "The agent's id."),
        ("config" = Option<bool>, Query, description = "Start the agent once to find out its models, modes and options.")
    ),
    responses((status = 200, description = "The agent.", body = AgentInfo), problems::Show)
))]
async fn show(
    State(agents): State<Agents>,
    id: AgentName,
    request: Request,
) -> Result<Json<AgentInfo>, Problem> {
    let found = if Query::of(request.uri()).switch("config")? {
        agents.catalog.agent_probed(&id.0).await
    } else {
        agents.catalog.agent(&id.0).await
    };
    let mut info = found.map_err(|error| agent_problem(&error))?;
    info.server_status = Some(agents.status_of(&info, &agents.running().await?));
    Ok(Json(info))
}

/// Installs an agent
///
/// Continues even if the client disconnects. If the agent is already installed, this does nothing unless `reinstall` is
/// set or another version is requested.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/v1/agents/{agent}/install",
    operation_id = "installAgent",
    tag = "agents",
    params(("agent" = String, Path, example = "mock", description = "The agent's id.")),
    request_body(content = InstallRequest, content_type = "application/json", description = "Optional."),
    responses((status = 200, description = "The agent is installed.", body = InstallOutcome), problems::Install)
))]
async fn install(
    State(agents): State<Agents>,
    id: AgentName,
    request: Request,
) -> Result<Json<InstallOutcome>, Problem> {
    let install_request = parse_install_request(request).await?;
    agents.catalog.install(&id.0, install_request).await.map(Json).map_err(|error| agent_problem(&error))
}

/// Parses the body of an install request. A missing body means the default request.
async fn parse_install_request(request: Request) -> Result<InstallRequest, Problem> {
    let (parts, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, MAX_BODY).await.map_err(|_| {
        Problem::new(
            Code::PayloadTooLarge,
            format!("the body of an install request may have at most {MAX_BODY} bytes"),
        )
        .with("limit", MAX_BODY)
    })?;
    if bytes.is_empty() {
        return Ok(InstallRequest::default());
    }
    negotiate::require_json(&parts.headers)?;
    let object: Result<serde_json::Map<String, Value>, _> = serde_json::from_slice(&bytes);
    // Parse an object first, because serde would also accept an array of the fields.
    object.and_then(|parts| serde_json::from_value(Value::Object(parts))).map_err(|error| {
        Problem::new(
            Code::InvalidJson,
            format!("{error}; send {{\"reinstall\":true,\"agentVersion\":\"1.2.3\",\"agentProcessVersion\":\"1.2.3\"}}, where each field is optional"),
        )
    })
}

fn catalog_problem(error: &CatalogError) -> Problem {
    start_failure_to_problem(&to_start_failure(error))
}

/// The problem of an agent in the path: an unknown one is a missing resource, not a bad request.
fn agent_problem(error: &CatalogError) -> Problem {
    match error {
        CatalogError::UnknownAgent { .. } | CatalogError::InvalidAgentId { .. } => {
            Problem::new(Code::AgentNotFound, format!("{error}; GET /v1/agents lists the available agents"))
        }
        _ => catalog_problem(error),
    }
}

impl Agents {
    /// All instances whose agent is running, from all pages.
    async fn running(&self) -> Result<Vec<Summary>, Problem> {
        let mut running = Vec::new();
        let mut page = Page::default();
        loop {
            let listing = self.instances.list(page).await.map_err(|error| to_problem(&error))?;
            let is_running = |instance: &Summary| instance.status == InstanceStatus::Running;
            running.extend(listing.instances.into_iter().filter(is_running));
            let Some(next) = listing.next else { return Ok(running) };
            page = Page { after: Some(next), ..Page::default() };
        }
    }

    fn status_of(&self, info: &AgentInfo, running: &[Summary]) -> ServerStatus {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        // An instance has the agent name that its client used, which may be the agent's id in the registry.
        let is_of = |name: &str| self.catalog.canonical(name).is_ok_and(|id| id.as_str() == info.id);
        let oldest = running
            .iter()
            .filter(|instance| is_of(&instance.agent))
            .map(|instance| instance.created_at_ms)
            .min();
        ServerStatus {
            status: if oldest.is_some() { ServerState::Running } else { ServerState::Stopped },
            uptime_ms: oldest.map(|since| now.saturating_sub(since)),
        }
    }
}

/// The agent in the path. A name that cannot be decoded is an unknown agent.
struct AgentName(String);

impl<S: Send + Sync> FromRequestParts<S> for AgentName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(_) => Err(Problem::new(Code::AgentNotFound, "the agent's name in the path is not UTF-8")),
        }
    }
}

#[cfg(test)]
pub(super) mod document {
    use super::*;

    #[derive(utoipa::OpenApi)]
    #[openapi(paths(list, show, install), modifiers(&BodyIsOptional))]
    pub(in crate::routes) struct Document;

    struct BodyIsOptional;

    impl utoipa::Modify for BodyIsOptional {
        fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
            let item = document.paths.paths.get_mut("/v1/agents/{agent}/install").unwrap();
            match item.post.as_mut().unwrap().request_body.as_mut().unwrap() {
                utoipa::openapi::RefOr::T(body) => body.required = Some(utoipa::openapi::Required::False),
                utoipa::openapi::RefOr::Ref(_) => unreachable!("the body is described inline"),
            }
        }
    }
}

#[cfg(test)]
mod problems {
    use http_server::problems;

    problems!(pub(super) List: InvalidParameter, UnknownAgent, InstallFailed, RuntimeMissing, NoSpace);
    problems!(pub(super) Show: InvalidParameter, AgentNotFound, AgentNotInstalled, InstallFailed, RuntimeMissing, NoSpace);
    problems!(pub(super) Install:
        InvalidJson, VersionUnavailable, AgentNotFound, PayloadTooLarge, UnsupportedMediaType, InstallFailed,
        RuntimeMissing, NoSpace);
}
