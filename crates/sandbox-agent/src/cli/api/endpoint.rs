//! What an endpoint is, as far as the command line needs to know.

/// One endpoint, with the command that calls it.
#[derive(Debug)]
pub(super) struct Endpoint {
    /// The words after `api`.
    pub(super) words: &'static [&'static str],
    pub(super) method: &'static str,
    /// With parameters in braces.
    pub(super) path: &'static str,
    pub(super) about: &'static str,
    pub(super) parameters: &'static [Parameter],
    pub(super) body: Body,
    pub(super) answer: Answer,
}

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    None,
    /// JSON out of the parameters that are fields.
    Fields,
    /// JSON as it is given.
    Json,
    /// Bytes of one of these kinds; the first unless told.
    Bytes(&'static [&'static str]),
}

/// What comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Json,
    Bytes,
    /// Server-sent events, for as long as somebody reads.
    Events,
    /// Headers alone.
    Head,
}

/// One parameter.
#[derive(Debug)]
pub(super) struct Parameter {
    /// Its name as the server knows it.
    pub(super) name: &'static str,
    /// Its name in the command line.
    pub(super) flag: &'static str,
    pub(super) place: Place,
    pub(super) shape: Shape,
    pub(super) help: &'static str,
}

/// Where a parameter goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
    Header,
    Field,
}

/// How often a parameter can be given, and with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Required,
    Optional,
    Repeated,
    /// `true` if it is there.
    Switch,
    /// `true` or `false`.
    Truth,
}

const fn parameter(
    place: Place,
    shape: Shape,
    name: &'static str,
    flag: &'static str,
    help: &'static str,
) -> Parameter {
    Parameter { name, flag, place, shape, help }
}

/// A part of the path.
pub(super) const fn path(name: &'static str, help: &'static str) -> Parameter {
    parameter(Place::Path, Shape::Required, name, name, help)
}

/// A query parameter.
pub(super) const fn query(
    shape: Shape,
    name: &'static str,
    flag: &'static str,
    help: &'static str,
) -> Parameter {
    parameter(Place::Query, shape, name, flag, help)
}

/// A request header.
pub(super) const fn header(name: &'static str, flag: &'static str, help: &'static str) -> Parameter {
    parameter(Place::Header, Shape::Optional, name, flag, help)
}

/// A field of a JSON body.
pub(super) const fn field(
    shape: Shape,
    name: &'static str,
    flag: &'static str,
    help: &'static str,
) -> Parameter {
    parameter(Place::Field, shape, name, flag, help)
}
