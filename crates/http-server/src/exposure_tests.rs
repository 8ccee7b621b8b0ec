use super::*;

fn request(path: &str, headers: &[(&str, &str)]) -> Parts {
    let mut builder = http::Request::builder().uri(path);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(()).unwrap().into_parts().0
}

fn with_token() -> Exposure {
    Exposure { token: Some(Token::new("secret").unwrap()), loopback_only: false, origins: Vec::new() }
}

fn without_token() -> Exposure {
    Exposure { token: None, loopback_only: true, origins: Vec::new() }
}

fn code(result: Result<(), Problem>) -> Option<Code> {
    result.err().map(|problem| problem.code())
}

#[test]
fn only_v1_and_metrics_need_the_token() {
    let exposure = with_token();
    for path in ["/v1/acp", "/v1/nothing", "/v1", "/metrics"] {
        assert_eq!(code(exposure.admit(&request(path, &[]))), Some(Code::Unauthorized), "{path}");
    }
    for path in ["/", "/healthz", "/readyz", "/ui/", "/v1x"] {
        assert_eq!(code(exposure.admit(&request(path, &[]))), None, "{path}");
    }
}

#[test]
fn the_scheme_is_case_insensitive_and_the_token_must_match_exactly() {
    let exposure = with_token();
    let admit = |value| code(exposure.admit(&request("/v1/acp", &[("authorization", value)])));
    assert_eq!(admit("Bearer secret"), None);
    assert_eq!(admit("bEaReR secret"), None);
    for wrong in
        ["Bearer secre", "Bearer secrets", "Bearer secretsecret", "Basic secret", "secret", "Bearer "]
    {
        assert_eq!(admit(wrong), Some(Code::Unauthorized), "{wrong}");
    }
}

#[test]
fn without_a_token_only_loopback_names_are_answered() {
    let exposure = without_token();
    let own =
        ["localhost:2468", "127.0.0.1", "127.9.9.9:1", "[::1]:2468", "[::1]", "LOCALHOST", "a.localhost:1"];
    for host in own {
        assert_eq!(code(exposure.admit(&request("/ui/", &[("host", host)]))), None, "{host}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "10.0.0.1:2468",
        "[::2]:1",
        "127.0.0.1.evil.example",
        "[::1].evil",
        "[::1].evil:2468",
        "[::1]:2468.evil",
        "[::1",
        "[localhost]",
        "localhost:evil",
    ] {
        let refused = code(exposure.admit(&request("/ui/", &[("host", host)])));
        assert_eq!(refused, Some(Code::ForbiddenHost), "{host}");
    }
}

#[test]
fn without_a_token_only_the_servers_own_origin_is_answered() {
    let mut exposure = without_token();
    let admit = |exposure: &Exposure, headers: &[(&str, &str)]| {
        let mut all = vec![("host", "localhost:2468")];
        all.extend_from_slice(headers);
        code(exposure.admit(&request("/v1/acp", &all)))
    };
    assert_eq!(admit(&exposure, &[("origin", "http://localhost:2468")]), None);
    let foreign = ["http://localhost:3000", "https://localhost:2468", "null", "http://evil.example"];
    for origin in foreign {
        assert_eq!(admit(&exposure, &[("origin", origin)]), Some(Code::ForbiddenOrigin), "{origin}");
    }
    for site in ["cross-site", "same-site"] {
        assert_eq!(admit(&exposure, &[("sec-fetch-site", site)]), Some(Code::ForbiddenOrigin), "{site}");
    }
    for site in ["same-origin", "none"] {
        assert_eq!(admit(&exposure, &[("sec-fetch-site", site)]), None, "{site}");
    }
    exposure.origins.push("http://localhost:3000".parse().unwrap());
    let allowed = [("origin", "http://localhost:3000"), ("sec-fetch-site", "same-site")];
    assert_eq!(admit(&exposure, &allowed), None);
}

#[test]
fn unsafe_settings_are_refused_and_the_error_says_what_to_change() {
    let mut open = Exposure { token: None, loopback_only: false, origins: Vec::new() };
    let refused = open.check("0.0.0.0", OpenNetwork::Refused).unwrap_err();
    assert!(refused.to_string().contains("--no-token"));
    assert_eq!(open.check("0.0.0.0", OpenNetwork::Allowed), Ok(()));
    open.origins.push(Origin::Any);
    assert_eq!(open.check("0.0.0.0", OpenNetwork::Allowed), Err(ExposureError::AnyOriginWithoutToken));
    open.token = Some(Token::new("secret").unwrap());
    assert_eq!(open.check("0.0.0.0", OpenNetwork::Refused), Ok(()));
    assert!(Token::new("two words").is_err());
    assert!("example.com".parse::<Origin>().is_err());
}

#[test]
fn a_preflight_needs_no_token_and_lists_the_allowed_headers() {
    let mut exposure = with_token();
    exposure.origins.push("https://app.example".parse().unwrap());
    let mut preflight =
        request("/v1/acp/a", &[("origin", "https://app.example"), ("access-control-request-method", "POST")]);
    preflight.method = Method::OPTIONS;
    assert_eq!(code(exposure.admit(&preflight)), None);
    let answer = exposure.preflight(&preflight).unwrap();
    assert_eq!(answer.status(), 204);
    assert!(answer.headers()["access-control-allow-headers"].to_str().unwrap().contains("Idempotency-Key"));
    assert!(exposure.preflight(&request("/v1/acp/a", &[])).is_none());
}
