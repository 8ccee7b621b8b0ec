//! Tests for every rule about MCP entries.

use super::*;
use crate::MAX_ENTRY_BYTES;

fn refused(json: &str) -> String {
    McpEntry::parse(json.as_bytes()).unwrap_err().to_string()
}

fn local(members: &str) -> String {
    format!(r#"{{"type":"local","command":"c",{members}}}"#)
}

fn remote(members: &str) -> String {
    format!(r#"{{"type":"remote","url":"https://h",{members}}}"#)
}

#[test]
fn every_form_of_the_published_type_is_accepted_and_kept() {
    for json in [
        r#"{"type":"local","command":"npx"}"#,
        r#"{"type":"local","command":"npx","args":[],"env":{},"cwd":"/a","enabled":false,"timeoutMs":0}"#,
        r#"{"type":"local","command":"npx","args":["-y",""],"env":{"A":"","b.c":"d"},"timeoutMs":9223372036854775807}"#,
        r#"{"type":"local","command":"c","args":null,"env":null,"cwd":null,"enabled":null,"timeoutMs":null}"#,
        r#"{"type":"local","command":["npx","-y","server"]}"#,
    ] {
        let entry = McpEntry::parse(json.as_bytes()).unwrap();
        assert_eq!((entry.kind(), entry.as_json()), (McpKind::Local, json));
    }
    for json in [
        r#"{"type":"remote","url":"http://localhost:1/mcp"}"#,
        r#"{"type":"remote","url":"HTTPS://[::1]/?q#f","transport":"sse","headers":{"X-A":""},"enabled":true}"#,
        r#"{"type":"remote","url":"http://h","transport":"http","envHeaders":{"X-B":"VAR"},"bearerTokenEnvVar":"T"}"#,
        r#"{"type":"remote","url":"http://h","oauth":{"clientId":1,"deep":[{}]}}"#,
        r#"{"type":"remote","url":"http://h","oauth":false}"#,
        concat!(
            r#"{"type":"remote","url":"http://h","transport":null,"headers":null,"bearerTokenEnvVar":null,"#,
            r#""envHeaders":null,"oauth":null,"enabled":null,"timeoutMs":null}"#
        ),
    ] {
        let entry = McpEntry::parse(json.as_bytes()).unwrap();
        assert_eq!((entry.kind(), entry.as_json()), (McpKind::Remote, json));
    }
}

#[test]
fn text_that_is_not_one_json_object_is_refused() {
    for json in ["", "{", "{}{}", r#"{"type":"local",}"#, "{'type':1}", "nul"] {
        assert!(refused(json).starts_with("the entry is not JSON: "), "{json}: {}", refused(json));
    }
    let not_text = McpEntry::parse(b"{\"type\":\"\xff\"}").unwrap_err();
    assert!(matches!(not_text, Error::NotJson { .. }), "{not_text}");
    for json in ["[]", "null", "1", r#""local""#] {
        assert_eq!(refused(json), "entry must be an object");
    }
}

#[test]
fn a_missing_type_is_an_error_with_a_hint_and_never_guessed() {
    assert_eq!(refused("{}"), r#"type is required, "local" or "remote""#);
    assert_eq!(
        refused(r#"{"command":"c"}"#),
        r#"type is required, "local" or "remote"; with a command it is "local""#
    );
    assert_eq!(
        refused(r#"{"type":null,"url":"http://h"}"#),
        r#"type is required, "local" or "remote"; with a url it is "remote""#
    );
    assert_eq!(refused(r#"{"type":"stdio","command":"c"}"#), r#"type must be "local" or "remote""#);
    assert_eq!(refused(r#"{"type":1}"#), "type must be a string");
    assert_eq!(refused(r#"{"type":"local","command":"c","type":"remote"}"#), "type is duplicated");
}

#[test]
fn a_wrong_field_of_a_local_server_is_named_by_its_path() {
    assert_eq!(refused(r#"{"type":"local"}"#), "command is required");
    assert_eq!(refused(r#"{"type":"local","url":"http://h"}"#), "command is required");
    for (command, message) in [
        ("null", "command is required"),
        ("1", "command must be a string or an array of strings"),
        ("{}", "command must be a string or an array of strings"),
        (r#""""#, "command must not be empty"),
        ("[]", "command must not be empty"),
        (r#"["",1]"#, "command[0] must not be empty"),
        (r#"["c",1]"#, "command[1] must be a string"),
        (r#""a\u0000""#, "command must not contain a NUL character"),
        (r#"["c","a\u0000"]"#, "command[1] must not contain a NUL character"),
    ] {
        assert_eq!(refused(&format!(r#"{{"type":"local","command":{command}}}"#)), message);
    }
    for (members, message) in [
        (r#""args":"-y""#, "args must be an array"),
        (r#""args":["-y",null]"#, "args[1] must be a string"),
        (r#""args":["\u0000"]"#, "args[0] must not contain a NUL character"),
        (r#""env":[]"#, "env must be an object"),
        (r#""env":{"A":1}"#, "env.A must be a string"),
        (r#""env":{"A":null}"#, "env.A must be a string"),
        (r#""env":{"A":"\u0000"}"#, "env.A must not contain a NUL character"),
        (r#""env":{"":"v"}"#, r#"env[""] is not the name of an environment variable"#),
        (r#""env":{"A=B":"v"}"#, r#"env["A=B"] is not the name of an environment variable"#),
        (r#""env":{"A":"1","A":"2"}"#, "env.A is duplicated"),
        (r#""cwd":1"#, "cwd must be a string"),
        (r#""cwd":"""#, "cwd must not be empty"),
        (r#""enabled":"true""#, "enabled must be true or false"),
        (r#""enabled":1"#, "enabled must be true or false"),
        (r#""timeoutMs":"1000""#, "timeoutMs must be a whole number, 0 or more"),
        (r#""timeoutMs":-1"#, "timeoutMs must be a whole number, 0 or more"),
        (r#""timeoutMs":1.5"#, "timeoutMs must be a whole number, 0 or more"),
        (r#""timeoutMs":9223372036854775808"#, "timeoutMs must be a whole number, 0 or more"),
    ] {
        assert_eq!(refused(&local(members)), message);
    }
}

#[test]
fn a_wrong_field_of_a_remote_server_is_named_by_its_path() {
    assert_eq!(refused(r#"{"type":"remote"}"#), "url is required");
    for url in ["", "h", "//h", "ftp://h", "http://", "http:///p", "http://:80", "http://h h", "http://h\\n"]
    {
        assert_eq!(
            refused(&format!(r#"{{"type":"remote","url":"{url}"}}"#)),
            "url must be an http or https URL"
        );
    }
    assert_eq!(refused(r#"{"type":"remote","url":["http://h"]}"#), "url must be a string");
    for (members, message) in [
        (r#""transport":"websocket""#, r#"transport must be "http" or "sse""#),
        (r#""transport":1"#, "transport must be a string"),
        (r#""headers":"X: y""#, "headers must be an object"),
        (r#""headers":{"X-Foo":1}"#, "headers.X-Foo must be a string"),
        (
            r#""headers":{"X-Foo":"a\r\nX-Bar: b"}"#,
            "headers.X-Foo must not contain a line break or a NUL character",
        ),
        (r#""headers":{"X Foo":"a"}"#, r#"headers["X Foo"] is not a header name"#),
        (r#""headers":{"":"a"}"#, r#"headers[""] is not a header name"#),
        (r#""envHeaders":[]"#, "envHeaders must be an object"),
        (r#""envHeaders":{"X-Foo":{}}"#, "envHeaders.X-Foo must be a string"),
        (r#""envHeaders":{"X-Foo":""}"#, "envHeaders.X-Foo is not the name of an environment variable"),
        (r#""envHeaders":{"X:":"A"}"#, r#"envHeaders["X:"] is not a header name"#),
        (r#""bearerTokenEnvVar":1"#, "bearerTokenEnvVar must be a string"),
        (r#""bearerTokenEnvVar":"A=B""#, "bearerTokenEnvVar is not the name of an environment variable"),
        (r#""oauth":"yes""#, "oauth must be an object or a boolean"),
        (r#""oauth":[]"#, "oauth must be an object or a boolean"),
        (r#""enabled":"no""#, "enabled must be true or false"),
        (r#""timeoutMs":1e3"#, "timeoutMs must be a whole number, 0 or more"),
    ] {
        assert_eq!(refused(&remote(members)), message);
    }
}

#[test]
fn unknown_fields_big_numbers_key_order_and_white_space_are_kept_byte_for_byte() {
    let inner = concat!(
        "{\n  \"z\": 12345678901234567890123456789.10,\"type\" : \"local\",\"\\u0061\":-0.0,\n",
        "  \"command\":\"\\u0063\",\"url\":5,\"headers\":[1E+400],\"deep\":{\"b\":1,\"a\":2,\"b\":3} }"
    );
    let entry = McpEntry::parse(format!(" \n{inner}\r\n ").as_bytes()).unwrap();
    assert_eq!(entry.as_json(), inner);
    assert_eq!(serde_json::to_string(&entry).unwrap(), inner);
}

#[test]
fn deep_nesting_is_accepted() {
    let json = local(&format!(r#""deep":{}{}"#, "[".repeat(100_000), "]".repeat(100_000)));
    assert_eq!(McpEntry::parse(json.as_bytes()).unwrap().as_json(), json);
}

#[test]
fn an_entry_over_the_limit_is_refused_and_one_at_the_limit_is_not() {
    let frame = local(r#""pad":"""#).len();
    let padded = |bytes: usize| local(&format!(r#""pad":"{}""#, "x".repeat(bytes - frame)));
    assert!(McpEntry::parse(padded(MAX_ENTRY_BYTES).as_bytes()).is_ok());
    let error = McpEntry::parse(padded(MAX_ENTRY_BYTES + 1).as_bytes()).unwrap_err();
    assert!(matches!(error, Error::EntryTooLarge { .. }), "{error}");
}

#[test]
fn secrets_are_in_no_message_and_in_no_debug_output() {
    let entry =
        McpEntry::parse(remote(r#""headers":{"Authorization":"Bearer hunter2"}"#).as_bytes()).unwrap();
    assert_eq!(format!("{entry:?}"), "McpEntry { kind: Remote, .. }");
    for json in [
        remote(r#""headers":{"A":["hunter2"]}"#),
        remote(r#""headers":"hunter2""#),
        local(r#""env":{"A":"hunter2\u0000"}"#),
        remote(r#""transport":"hunter2""#),
        r#"{"type":"remote","url":"hunter2"}"#.to_owned(),
        r#"{"type":"remote","url":"http://h","headers":{"A":"hunter2"}"#.to_owned(),
    ] {
        let error = McpEntry::parse(json.as_bytes()).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
    }
}
