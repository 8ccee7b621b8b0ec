//! `docs/errors.md` is generated from the list of codes. `BLESS=1 cargo test -p http-server` regenerates it.

use std::path::Path;

use http_server::Code;

fn page() -> String {
    let mut page = String::from(
        "# Errors\n\n\
         Every 4xx and 5xx response is an RFC 9457 problem document, `application/problem+json`:\n\n\
         ```json\n\
         {\"type\":\"urn:sandbox-agent:error:agent_exited\",\"title\":\"Agent exited\",\"status\":502,\"detail\":\"...\",\"exitCode\":3,\"stderrTail\":\"...\",\"requestId\":\"5f3c9a17-2b\"}\n\
         ```\n\n\
         Match on the code after `urn:sandbox-agent:error:`. `detail` is for people and says what to do about it; the\n\
         other fields depend on the code. `requestId` is the response's `X-Request-Id`; the server's log has it too.\n\
         JSON-RPC errors from an agent are not HTTP errors: they arrive in the body of a 200 response.\n\n\
         This page is generated from the list of codes in the source.\n\n\
         | code | status | meaning |\n|---|---|---|\n",
    );
    let mut codes = Code::ALL.to_vec();
    codes.sort_by_key(|code| (code.status().as_u16(), code.text()));
    for code in codes {
        page += &format!("| `{}` | {} | {} |\n", code.text(), code.status().as_u16(), code.meaning().trim());
    }
    page
}

#[test]
fn the_errors_page_lists_every_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, page(), "docs/errors.md is stale; run BLESS=1 cargo test -p http-server");
}
