"""What the API fuzzer needs to know but a schema cannot express: how to make archives, and which refusals are right."""

import gzip
import io
import json
import struct
import tarfile

import schemathesis
from hypothesis import strategies as st

# Legitimate refusals of requests that match their schema: operation, code, and the field if the refusal applies only
# to that field. Every other refusal of such a request fails the run.
LEGITIMATE_REFUSALS = {
    # Only the first message to a server id needs the agent; a schema cannot list the agents and versions.
    ("postMessage", "agent_required"),
    ("postMessage", "unknown_agent"),
    ("installAgent", "version_unavailable"),
    # The fuzzer often sends the same idempotency key again.
    ("postMessage", "idempotency_key_reused"),
    ("postMessage", "outcome_gone"),
    # The valid form of a cursor depends on the view.
    ("streamInstance", "invalid_cursor"),
    # A page cursor of hexadecimal digits that do not encode a name.
    ("listEntries", "invalid_parameter"),
    # If-Match and If-None-Match exclude each other, and the fuzzer generates invalid values for them.
    ("writeFile", "invalid_header"),
    ("readFile", "invalid_header"),
    # These depend on the existing files.
    ("writeFile", "precondition_failed"),
    ("readFile", "precondition_failed"),
    ("readFile", "range_not_satisfiable"),
    ("moveEntry", "move_into_itself"),
    # An archive whose content type or encoding does not match its compression.
    ("uploadBatch", "unsupported_media_type"),
    ("uploadBatch", "archive_rejected"),
    # `3.0` is an integer in JSON Schema, but parsers of 64-bit integers refuse it.
    ("putMcpConfig", "invalid_config", "timeoutMs"),
} | {
    # A name that is too long, or that ends in `..` or at the root.
    (operation, "invalid_path")
    for operation in ("deleteEntry", "makeDirectory", "moveEntry", "readFile", "statEntry", "writeFile")
}

# The server also accepts these forms of Boolean parameters; the document has only the recommended ones.
SWITCHES = ("config", "recursive")
SHORT_FORMS = ("", "0", "1")


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Whether a failed check is a real failure."""
    if type(failure).__name__ != "RejectedPositiveData":
        return True
    operation = case.operation.definition.raw["operationId"]
    if operation == "headFile":
        # An answer to HEAD has no body; otherwise it is like readFile.
        return response.status_code not in (400, 412)
    problem = json.loads(response.content)
    reason = (operation, problem["type"].removeprefix("urn:sandbox-agent:error:"))
    return reason not in LEGITIMATE_REFUSALS and (*reason, problem.get("field")) not in LEGITIMATE_REFUSALS


@schemathesis.hook
def filter_query(context, query):
    """Skips values that the document calls invalid but the server accepts."""
    return not any(query.get(name) in SHORT_FORMS for name in SWITCHES) if query else True


@schemathesis.hook.apply_to(name="GET /v1/acp")
def map_headers(context, headers):
    """Requests the stream of many instances if there is a cursor, and the list otherwise."""
    return {**headers, "Accept": "text/event-stream"} if headers and "Last-Event-ID" in headers else headers


@schemathesis.hook("map_headers").apply_to(name="PUT /v1/fs/file")
def one_condition(context, headers):
    """Usually sends only one condition, since two at once are always refused."""
    if headers and {"If-Match", "If-None-Match"} <= headers.keys() and len(headers["If-Match"]) % 4:
        return {name: value for name, value in headers.items() if name != "If-Match"}
    return headers


def tar(entries):
    """Makes a plain tar of some small files."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return held.getvalue()


def zstd(data):
    """Makes a zstd frame without compression: the header, then one raw block."""
    assert len(data) < 1 << 17, "the data does not fit into one block"
    return b"\x28\xb5\x2f\xfd\x00\x58" + struct.pack("<I", len(data) << 3 | 1)[:3] + data


FILES = st.lists(st.tuples(st.sampled_from(["x", "y/z", "y/w", "folder/b.txt"]), st.binary(max_size=64)), max_size=3)
ARCHIVES = {
    "application/x-tar": FILES.map(tar),
    "application/gzip": FILES.map(tar).map(lambda data: gzip.compress(data, mtime=0)),
    "application/zstd": FILES.map(tar).map(zstd),
}

for media_type, strategy in ARCHIVES.items():
    schemathesis.openapi.media_type(media_type, strategy)


@schemathesis.serializer(*ARCHIVES)
def as_bytes(context, value):
    """Sends archives unchanged, and the fuzzer's invalid values as text."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@schemathesis.deserializer(*ARCHIVES)
def as_text(context, response):
    """Decodes an archive to any text: the document does not describe the content of archives."""
    return response.content.decode("latin-1")
