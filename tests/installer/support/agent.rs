//! A tiny agent: a shell script that speaks just enough ACP.

/// A script that answers `initialize` with this version, opens sessions, returns its own path (`where`) and its
/// token (`token`), and answers everything else with null.
pub(crate) fn script(version: &str) -> String {
    script_after("", version)
}

/// Like [`script`], but runs a command first.
pub(crate) fn script_after(first: &str, version: &str) -> String {
    format!(
        r#"#!/bin/sh
{first}
while IFS= read -r line; do
  id=${{line#*'"id":'}}
  id=${{id%%,*}}
  case "$line" in
    *'"initialize"'*) result='{{"protocolVersion":1,"agentInfo":{{"name":"fake","version":"{version}"}},"agentCapabilities":{{"promptCapabilities":{{"image":true}}}}}}' ;;
    *'"session/new"'*) result='{{"sessionId":"s","modes":{{"currentModeId":"plan","availableModes":[{{"id":"plan","name":"Plan"}}]}}}}' ;;
    *'"where"'*) result="\"$0\"" ;;
    *'"token"'*) result="\"${{SANDBOX_AGENT_TOKEN-none}} ${{SANDBOX_AGENT_TOKEN_FILE-none}}\"" ;;
    *) result=null ;;
  esac
  echo "{{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}}"
done
"#
    )
}
