"""What the contract fuzzer must know that no schema can say: how to make an archive, and which refusals are right."""

import gzip
import io
import json
import struct
import tarfile

import schemathesis
from hypothesis import strategies as st

# A request that fits its schema may still be refused so: operation, code, and the field where it is one alone. Every other refusal of one fails.
RIGHTLY_REFUSED = {
    # Only the first message to a server id needs the agent; which agents and versions there are is no matter of form.
    ("postMessage", "agent_required"),
    ("postMessage", "unknown_agent"),
    ("installAgent", "version_unavailable"),
    # The fuzzer likes to use a key again.
    ("postMessage", "idempotency_key_reused"),
    ("postMessage", "outcome_gone"),
    # Which of the two forms of a cursor is right depends on the view.
    ("streamInstance", "invalid_cursor"),
    # Hexadecimal digits of something that is no name.
    ("listEntries", "invalid_parameter"),
    # If-Match and If-None-Match exclude each other; and the fuzzer has an idea of its own of what these may be.
    ("writeFile", "invalid_header"),
    ("readFile", "invalid_header"),
    # These depend on what is there.
    ("writeFile", "precondition_failed"),
    ("readFile", "precondition_failed"),
    ("readFile", "range_not_satisfiable"),
    ("moveEntry", "move_into_itself"),
    # An archive that says to be packed once more than it is, or in another way.
    ("uploadBatch", "unsupported_media_type"),
    ("uploadBatch", "archive_rejected"),
    # `3.0` is a whole number to JSON Schema, but to no reader of 64-bit integers.
    ("putMcpConfig", "invalid_config", "timeoutMs"),
} | {
    # A name too long, or one that ends in `..` or at the root.
    (operation, "invalid_path")
    for operation in ("deleteEntry", "makeDirectory", "moveEntry", "readFile", "statEntry", "writeFile")
}

# Switches are read in these forms as well; the document names the one form that everybody should use.
SWITCHES = ("config", "recursive")
SHORT_FORMS = ("", "0", "1")


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Whether a failed check is one."""
    if type(failure).__name__ != "RejectedPositiveData":
        return True
    operation = case.operation.definition.raw["operationId"]
    if operation == "headFile":
        # It has no body to tell, and is a readFile in all else.
        return response.status_code not in (400, 412)
    problem = json.loads(response.content)
    reason = (operation, problem["type"].removeprefix("urn:sandbox-agent:error:"))
    return reason not in RIGHTLY_REFUSED and (*reason, problem.get("field")) not in RIGHTLY_REFUSED


@schemathesis.hook
def filter_query(context, query):
    """Leaves out what is not as wrong as it looks."""
    return not any(query.get(name) in SHORT_FORMS for name in SWITCHES) if query else True


@schemathesis.hook.apply_to(name="GET /v1/acp")
def map_headers(context, headers):
    """Asks for the stream of many instances where a cursor says that it is meant, and for the list otherwise."""
    return {**headers, "Accept": "text/event-stream"} if headers and "Last-Event-ID" in headers else headers


@schemathesis.hook("map_headers").apply_to(name="PUT /v1/fs/file")
def one_condition(context, headers):
    """Two conditions at once are always refused, so a condition is alone most of the time."""
    if headers and {"If-Match", "If-None-Match"} <= headers.keys() and len(headers["If-Match"]) % 4:
        return {name: value for name, value in headers.items() if name != "If-Match"}
    return headers


def tar(entries):
    """A plain tar of some small files."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return held.getvalue()


def zstd(data):
    """A zstd frame without compression: the header, then one raw block."""
    assert len(data) < 1 << 17, "one block holds no more"
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
    """Archives are sent as they are; what the fuzzer makes of one to be wrong is sent as text."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@schemathesis.deserializer(*ARCHIVES)
def as_text(context, response):
    """Archives are bytes, and the document says no more of them."""
    return response.content.decode("latin-1")
