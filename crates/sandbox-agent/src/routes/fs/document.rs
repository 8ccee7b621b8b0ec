//! The file endpoints for the API document, with the problems of each. Most problems of paths are possible everywhere.

use std::borrow::Cow;

use http_server::document::event_of;
use http_server::problems;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::{change, describe, pack, read, unpack, watch, write};

#[derive(utoipa::OpenApi)]
#[openapi(
    paths(
        describe::entries,
        describe::stat,
        read::read,
        read::head,
        write::write,
        change::remove,
        change::make_directory,
        change::move_entry,
        unpack::unpack,
        pack::pack,
        watch::watch
    ),
    components(schemas(watch::PathChange, watch::Renaming))
)]
pub(in crate::routes) struct Document;

/// One event of a watch.
#[derive(Debug)]
pub(super) struct ChangeEvent;

impl PartialSchema for ChangeEvent {
    fn schema() -> RefOr<Schema> {
        event_of(&[
            ("created", "PathChange"),
            ("changed", "PathChange"),
            ("removed", "PathChange"),
            ("renamed", "Renaming"),
            ("overflow", "PathChange"),
        ])
    }
}

impl ToSchema for ChangeEvent {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("FileChangeEvent")
    }
}

/// The formats of archives.
#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "only used for its schema")]
pub(super) enum ArchiveName {
    #[schema(rename = "tar")]
    Tar,
    #[schema(rename = "tar.gz")]
    TarGzip,
    #[schema(rename = "tgz")]
    Tgz,
    #[schema(rename = "tar.zst")]
    TarZstd,
}

/// Bytes of any kind.
#[derive(utoipa::ToSchema)]
#[schema(value_type = String, format = Binary)]
#[allow(dead_code, reason = "only used for its schema")]
pub(super) struct Bytes(Vec<u8>);

problems!(pub(super) Describing:
    InvalidParameter, InvalidPath, PermissionDenied, FileNotFound, WrongKind, Busy, ChangedMeanwhile, Internal,
    OutOfResources);
problems!(pub(super) Reading:
    InvalidParameter, InvalidHeader, InvalidPath, PermissionDenied, FileNotFound, WrongKind, Busy,
    PreconditionFailed, RangeNotSatisfiable, Internal, OutOfResources);
problems!(pub(super) Writing:
    InvalidParameter, InvalidHeader, InvalidPath, IncompleteBody, PermissionDenied, FileNotFound, WrongKind,
    AlreadyExists, Busy, ChangedMeanwhile, PreconditionFailed, PayloadTooLarge, UnsupportedMediaType, Internal,
    OutOfResources, NoSpace);
problems!(pub(super) Removing:
    InvalidParameter, InvalidPath, PermissionDenied, FileNotFound, WrongKind, NotEmpty, Busy, ChangedMeanwhile,
    Internal, OutOfResources);
problems!(pub(super) Making:
    InvalidParameter, InvalidPath, PermissionDenied, FileNotFound, WrongKind, AlreadyExists, Busy, ChangedMeanwhile,
    Internal, OutOfResources, NoSpace);
problems!(pub(super) Moving:
    InvalidJson, InvalidField, InvalidPath, IncompleteBody, MoveIntoItself, PermissionDenied, FileNotFound, WrongKind,
    AlreadyExists, NotEmpty, Busy, ChangedMeanwhile, PayloadTooLarge, UnsupportedMediaType, Internal, OutOfResources,
    NoSpace);
problems!(pub(super) Unpacking:
    InvalidParameter, InvalidPath, IncompleteBody, ArchiveRejected, PermissionDenied, FileNotFound, WrongKind,
    AlreadyExists, Busy, ChangedMeanwhile, PayloadTooLarge, TooManyEntries, UnsupportedMediaType, Internal,
    OutOfResources, NoSpace);
problems!(pub(super) Packing:
    InvalidParameter, InvalidPath, PermissionDenied, FileNotFound, WrongKind, NotAcceptable, Busy, Internal,
    OutOfResources);
problems!(pub(super) Watching:
    InvalidParameter, InvalidPath, PermissionDenied, FileNotFound, WrongKind, NotAcceptable, Busy, Internal,
    OutOfResources);
