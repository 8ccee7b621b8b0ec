//! How the API document describes problems.
//!
//! Nothing in here runs in a server. A test generates the document from the code and compares it with the file that the
//! server sends, so the linker leaves this module out of the binary.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

pub use utoipa;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::schema::{AllOfBuilder, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

use crate::{Code, Problem};

/// Problems that any path can answer before its handler is called.
const BEFORE_ROUTING: [Code; 3] = [Code::ForbiddenHost, Code::ForbiddenOrigin, Code::HeadTooLarge];

/// Names a set of problems for the `responses(...)` of an operation that needs the token. The problems of the access
/// checks (401, 403) are part of every set.
#[macro_export]
macro_rules! problems {
    ($visibility:vis $name:ident: $($code:ident),* $(,)?) => {
        #[doc = concat!("The problems of ", stringify!($name), ".")]
        $visibility struct $name;

        impl $crate::document::utoipa::IntoResponses for $name {
            fn responses() -> $crate::document::ResponseMap {
                $crate::document::protected(&[$($crate::Code::$code),*])
            }
        }
    };
}

/// Responses by status.
pub type ResponseMap = BTreeMap<String, RefOr<Response>>;

/// The problems of an operation that needs the token.
#[must_use]
pub fn protected(codes: &[Code]) -> ResponseMap {
    by_status(codes.iter().copied().chain([Code::Unauthorized]).chain(BEFORE_ROUTING))
}

/// The problems of an operation that does not need the token.
#[must_use]
pub fn open(codes: &[Code]) -> ResponseMap {
    by_status(codes.iter().copied().chain(BEFORE_ROUTING))
}

fn by_status(codes: impl Iterator<Item = Code>) -> ResponseMap {
    let mut grouped: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in codes {
        let group = grouped.entry(code.status().as_u16()).or_default();
        if !group.contains(&code) {
            group.push(code);
        }
    }
    let shared = |codes: &[Code]| Ref::from_response_name(name_of(codes)).into();
    let described = |status, codes: &[Code]| {
        if codes.len() > SHARED_CODES { response(status, codes).into() } else { shared(codes) }
    };
    grouped.into_iter().map(|(status, codes)| (status.to_string(), described(status, &codes))).collect()
}

/// A response with at most this many codes is shared under a name. A longer list is written into its operation.
const SHARED_CODES: usize = 4;

fn name_of(codes: &[Code]) -> String {
    codes.iter().map(|code| format!("{code:?}")).collect::<Vec<_>>().join("_")
}

/// Adds the shared responses that operations refer to. Call it on the complete document.
pub fn add_shared(document: &mut OpenApi) {
    let items = document.paths.paths.values();
    let operations = items
        .flat_map(|item| [&item.get, &item.head, &item.put, &item.post, &item.delete].into_iter().flatten());
    let names: BTreeSet<String> = operations
        .flat_map(|operation| operation.responses.responses.values())
        .filter_map(|response| match response {
            RefOr::Ref(reference) => reference.ref_location.rsplit('/').next().map(str::to_owned),
            RefOr::T(_) => None,
        })
        .collect();
    let components = document.components.get_or_insert_default();
    for name in names {
        let named = |word: &str| Code::ALL.iter().copied().find(|code| format!("{code:?}") == word);
        let codes: Vec<Code> = name.split('_').filter_map(named).collect();
        if let Some(code) = codes.first() {
            let response = response(code.status().as_u16(), &codes);
            components.responses.insert(name, response.into());
        }
    }
}

fn response(status: u16, codes: &[Code]) -> Response {
    let meaning = |code: &Code| format!("`{}`: {}", code.text(), code.meaning().trim());
    let description = codes.iter().map(meaning).collect::<Vec<_>>().join("\n\n");
    let narrowed = ObjectBuilder::new()
        .property("type", types(codes))
        .property("status", ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some([status])))
        .required("type")
        .required("status");
    let schema = AllOfBuilder::new().item(Ref::from_schema_name("Problem")).item(narrowed);
    let content = ContentBuilder::new().schema(Some(Schema::from(schema))).build();
    let builder =
        ResponseBuilder::new().description(description).content("application/problem+json", content);
    match status {
        401 => builder.header("WWW-Authenticate", header(Type::String, "Always `Bearer`.")),
        416 => {
            builder.header("Content-Range", header(Type::String, "The size of the file, as `bytes */123`."))
        }
        429 | 503 => builder.header(
            "Retry-After",
            header(Type::Integer, "The number of seconds after which to retry, if known."),
        ),
        _ => builder,
    }
    .build()
}

/// The schema of one server-sent event: `event` is its kind, and `data` is JSON of the named schema.
#[must_use]
pub fn event_of(kinds: &[(&str, &str)]) -> RefOr<Schema> {
    let one = |(name, payload): &(&str, &str)| {
        let text = || ObjectBuilder::new().schema_type(Type::String);
        let data = text()
            .content_media_type("application/json")
            .content_schema(Some(Ref::from_schema_name(*payload)));
        ObjectBuilder::new()
            .property("event", text().enum_values(Some([*name])))
            .property("id", text().description(Some("The cursor after this event, if it has one.")))
            .property("data", data)
            .required("event")
            .required("data")
    };
    RefOr::T(Schema::from(kinds.iter().fold(OneOfBuilder::new(), |events, kind| events.item(one(kind)))))
}

fn header(kind: Type, description: &str) -> utoipa::openapi::header::Header {
    HeaderBuilder::new()
        .schema(Some(ObjectBuilder::new().schema_type(kind)))
        .description(Some(description))
        .build()
}

fn types(codes: &[Code]) -> ObjectBuilder {
    let names = codes.iter().map(|code| format!("urn:sandbox-agent:error:{}", code.text()));
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names))
}

/// The members that problems may have besides the four that all problems have: name, type, meaning.
const EXTRAS: [(&str, Type, &str); 18] = [
    ("agent", Type::String, "The agent that the problem is about."),
    ("entry", Type::String, "The archive entry that was rejected."),
    ("exitCode", Type::Integer, "The exit code of the agent's process."),
    ("field", Type::String, "The field of the body that is wrong."),
    ("from", Type::String, "The source of the move."),
    ("header", Type::String, "The header that is wrong."),
    ("limit", Type::Integer, "The maximum, in bytes or entries."),
    ("outputTail", Type::String, "The end of the failed step's output."),
    ("parameter", Type::String, "The query parameter that is wrong."),
    ("path", Type::String, "The path that the problem is about."),
    ("replacement", Type::String, "The replacement for the removed endpoint."),
    ("requestId", Type::String, "The `X-Request-Id` of the response; the server's log has it too."),
    ("runtime", Type::String, "The runtime that is missing."),
    ("signal", Type::String, "The signal that ended the agent's process."),
    ("size", Type::Integer, "The size of the file in bytes."),
    ("stderrTail", Type::String, "The end of the agent's standard error output."),
    ("step", Type::String, "The install step that failed."),
    ("to", Type::String, "The target of the move."),
];

impl PartialSchema for Problem {
    fn schema() -> RefOr<Schema> {
        let text = |description: &str| {
            ObjectBuilder::new().schema_type(Type::String).description(Some(description.to_owned()))
        };
        let fixed = ObjectBuilder::new()
            .description(Some("An RFC 9457 problem document: the format of every 4xx and 5xx response."))
            .property("type", types(Code::ALL).description(Some("The error code. Match on this.")))
            .property("title", text("A short title, the same for every problem of this type."))
            .property(
                "status",
                ObjectBuilder::new().schema_type(Type::Integer).description(Some("The HTTP status.")),
            )
            .property("detail", text("What happened and what to do about it."))
            .required("type")
            .required("title")
            .required("status")
            .required("detail");
        let all = EXTRAS.into_iter().fold(fixed, |object, (name, kind, description)| {
            let kind = SchemaType::Type(kind);
            object.property(name, ObjectBuilder::new().schema_type(kind).description(Some(description)))
        });
        RefOr::T(Schema::Object(all.build()))
    }
}

impl ToSchema for Problem {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Problem")
    }
}
