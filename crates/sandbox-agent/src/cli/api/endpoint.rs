//! The description of an endpoint for the command line.

/// One endpoint and the command that calls it.
#[derive(Debug)]
pub(super) struct Endpoint {
    /// The words of the command after `sandbox-agent api`.
    pub(super) words: &'static [&'static str],
    pub(super) method: &'static str,
    /// The path, with parameters in braces.
    pub(super) path: &'static str,
    pub(super) about: &'static str,
    pub(super) parameters: &'static [Parameter],
    pub(super) body: Body,
    pub(super) response: ResponseKind,
}

/// The body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    None,
    /// JSON built from the parameters whose location is `Field`.
    Fields,
    /// JSON from the command line, sent unchanged.
    Json,
    /// Bytes with one of these content types; default: the first.
    Bytes(&'static [&'static str]),
}

/// The kind of response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseKind {
    Json,
    Bytes,
    /// Server-sent events, until the command is interrupted.
    Events,
    /// Only headers.
    Head,
}

/// One parameter.
#[derive(Debug)]
pub(super) struct Parameter {
    /// The parameter's name in the API.
    pub(super) name: &'static str,
    /// The parameter's name on the command line.
    pub(super) flag: &'static str,
    pub(super) location: Location,
    pub(super) shape: Shape,
    pub(super) help: &'static str,
}

/// Where in the request a parameter is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    Path,
    Query,
    Header,
    Field,
}

/// How often a parameter can be given, and with which values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Required,
    Optional,
    Repeated,
    /// A flag without a value; sent as `true`.
    Switch,
    /// `true` or `false`.
    Boolean,
}

const fn parameter(
    location: Location,
    shape: Shape,
    name: &'static str,
    flag: &'static str,
    help: &'static str,
) -> Parameter {
    Parameter { name, flag, location, shape, help }
}

/// A part of the path.
pub(super) const fn path(name: &'static str, help: &'static str) -> Parameter {
    parameter(Location::Path, Shape::Required, name, name, help)
}

/// A query parameter.
pub(super) const fn query(
    shape: Shape,
    name: &'static str,
    flag: &'static str,
    help: &'static str,
) -> Parameter {
    parameter(Location::Query, shape, name, flag, help)
}

/// A request header.
pub(super) const fn header(name: &'static str, flag: &'static str, help: &'static str) -> Parameter {
    parameter(Location::Header, Shape::Optional, name, flag, help)
}

/// A field of a JSON body.
pub(super) const fn field(
    shape: Shape,
    name: &'static str,
    flag: &'static str,
    help: &'static str,
) -> Parameter {
    parameter(Location::Field, shape, name, flag, help)
}
