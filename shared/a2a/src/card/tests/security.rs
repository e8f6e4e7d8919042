use super::*;

#[track_caller]
fn refused(schemes: &str, requirements: &str, problem: &str) {
    let error = Security::parse(schemes, requirements).unwrap_err();
    assert_eq!(error.to_string(), problem);
}

/// Publication scenario 8, D5.
#[test]
fn scenario_8_schemes_are_read_strictly() {
    for (scheme, problem) in [
        (
            r#"{"httpAuthSecurityScheme":{"scheme":"Bearer","canary":1}}"#,
            "s.httpAuthSecurityScheme.canary: unknown field `canary`, expected one of \
             `description`, `scheme`, `bearerFormat`, `bearer_format`",
        ),
        ("{}", "s: a scheme is exactly one of those that there are"),
        (
            r#"{"mtlsSecurityScheme":{},"httpAuthSecurityScheme":{"scheme":"Bearer"}}"#,
            "s: a scheme is exactly one of those that there are",
        ),
        (r#"{"httpAuthSecurityScheme":{}}"#, "s.httpAuthSecurityScheme: missing field `scheme`"),
        (
            r#"{"httpAuthSecurityScheme":{"scheme":"two words"}}"#,
            "s: scheme is the name of an HTTP scheme",
        ),
        (
            r#"{"apiKeySecurityScheme":{"location":"canary","name":"k"}}"#,
            "s.apiKeySecurityScheme.location: must be one of `query`, `header`, `cookie`",
        ),
        (
            r#"{"apiKeySecurityScheme":{"location":"header","name":""}}"#,
            "s: name is visible ASCII without quotes",
        ),
        (
            r#"{"oauth2SecurityScheme":{"oauth2MetadataUrl":"m","flows":{"clientCredentials":
                {"tokenUrl":"https://t.example","scopes":{}}}}}"#,
            "s: oauth2MetadataUrl is not an absolute http or https address",
        ),
        (
            r#"{"oauth2SecurityScheme":{"flows":{"clientCredentials":
                {"tokenUrl":"https://t.example","refreshUrl":"r","scopes":{}}}}}"#,
            "s: refreshUrl is not an absolute http or https address",
        ),
        (
            r#"{"oauth2SecurityScheme":{"flows":{"authorizationCode":
                {"authorizationUrl":"a","tokenUrl":"https://t.example","scopes":{}}}}}"#,
            "s: authorizationUrl is not an absolute http or https address",
        ),
        (
            r#"{"oauth2SecurityScheme":{"flows":{"deviceCode":
                {"deviceAuthorizationUrl":"d","tokenUrl":"https://t.example","scopes":{}}}}}"#,
            "s: deviceAuthorizationUrl is not an absolute http or https address",
        ),
        (
            r#"{"openIdConnectSecurityScheme":{"openIdConnectUrl":"id"}}"#,
            "s: openIdConnectUrl is not an absolute http or https address",
        ),
        (
            r#"{"oauth2SecurityScheme":{"flows":{}}}"#,
            "s.oauth2SecurityScheme.flows: exactly one flow is given",
        ),
        (
            r#"{"oauth2SecurityScheme":{"flows":{"clientCredentials":{"scopes":{}}}}}"#,
            "s.oauth2SecurityScheme.flows.clientCredentials: missing field `tokenUrl`",
        ),
        (
            r#"{"oauth2SecurityScheme":{"flows":{"clientCredentials":{"tokenUrl":"t","scopes":{}}}}}"#,
            "s: tokenUrl is not an absolute http or https address",
        ),
        (r#""canary""#, "s: must be an object"),
        (r#""a, expected canary""#, "s: must be an object"),
    ] {
        let error = Security::parse(&format!(r#"{{"s":{scheme}}}"#), "[]").unwrap_err();
        let InvalidSecurity::Schemes(mistake) = &error else { panic!("{error:?}") };
        assert_eq!(mistake.to_string(), problem, "{scheme}");
    }
    // It stands in quotes in the challenge of a 401.
    for name in ["a b", r"a\\", r#"a\""#, r"a\r\nb", "ä"] {
        let key = format!(r#"{{"apiKeySecurityScheme":{{"location":"header","name":"{name}"}}}}"#);
        let error = Security::parse(&format!(r#"{{"s":{key}}}"#), "[]").unwrap_err();
        assert_eq!(error.to_string(), "s: name is visible ASCII without quotes", "{name}");
    }
    refused(r#"{" ":{"mtlsSecurityScheme":{}}}"#, "[]", "a scheme has no name");
    for deprecated in ["implicit", "password"] {
        let flow =
            format!(r#"{{"{deprecated}":{{"tokenUrl":"https://a.example","scopes":{{}}}}}}"#);
        let schemes = format!(r#"{{"s":{{"oauth2SecurityScheme":{{"flows":{flow}}}}}}}"#);
        assert!(Security::parse(&schemes, "[]").is_err(), "{deprecated}");
    }
    refused("{", "[]", "is not JSON");
    refused("[]", "[]", "must be an object");
    refused("{} {}", "[]", "is not one JSON value");
    let twice = r#"{"s":{"mtlsSecurityScheme":{}},"s":{"mtlsSecurityScheme":{}}}"#;
    refused(twice, "[]", "a name comes twice");
}

/// Publication scenario 8.
#[test]
fn scenario_8_requirements_name_schemes_that_there_are() {
    let schemes = r#"{"s":{"mtlsSecurityScheme":{}}}"#;
    for (requirements, problem) in [
        (r#"[{"schemes":{"other":{}}}]"#, "[0]: names a scheme that is not declared"),
        (r#"[{"schemes":{"s":{}}},{"schemes":{}}]"#, "[1]: names no scheme"),
        ("[{}]", "[0]: missing field `schemes`"),
        (r#"[{"s":[]}]"#, "[0].s: unknown field `s`, expected `schemes`"),
    ] {
        let error = Security::parse(schemes, requirements).unwrap_err();
        let InvalidSecurity::Requirements(mistake) = &error else { panic!("{error:?}") };
        assert_eq!(mistake.to_string(), problem, "{requirements}");
    }
}

#[test]
fn both_spellings_of_a_name_are_read() {
    let snake = r#"{"s":{"oauth2_security_scheme":{"flows":{"authorization_code":{
        "authorization_url":"https://a.example","token_url":"https://t.example","scopes":{},
        "pkce_required":true}}}}}"#;
    let camel = r#"{"s":{"oauth2SecurityScheme":{"flows":{"authorizationCode":{
        "authorizationUrl":"https://a.example","tokenUrl":"https://t.example","scopes":{},
        "pkceRequired":true}}}}}"#;
    assert_eq!(Security::parse(snake, "[]"), Security::parse(camel, "[]"));
    assert!(!Security::parse(camel, "[]").unwrap().is_signable());
}

/// A2, AUTH-SERVER-002.
#[test]
fn a2_a_refusal_says_how_to_become_known() {
    assert_eq!(
        secured().challenges(),
        [r#"Bearer realm="a2a""#],
        "what is needed is asked for, once, and no certificate"
    );
    let needed = r#"[{"schemes":{"key":{}}}]"#;
    let security = Security::parse(SCHEMES, needed).unwrap();
    assert_eq!(security.challenges(), [r#"ApiKey realm="a2a", in="header", name="X-Key""#]);
    let security = Security::parse(SCHEMES, r#"[{"schemes":{"mutual":{}}}]"#).unwrap();
    assert_eq!(security.challenges(), [r#"Bearer realm="a2a""#]);
    assert!(security.is_required() && !Security::default().is_required());
}
