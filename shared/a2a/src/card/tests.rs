use super::*;

/// A definition with a canary in every field that a card must not show.
fn definition(extra: &str) -> AgentDefinition {
    let json = format!(
        r#"{{"name":"analyst","model":{{"provider":"canary-provider","model":"canary-model"}},
            "system_prompt":"canary-prompt"{extra}}}"#
    );
    serde_json::from_str(&json).unwrap()
}

fn text(card: &AgentCard) -> String {
    serde_json::to_string(card).unwrap()
}

/// D2, D3, publication scenario 1.
#[test]
fn a_plain_agent_gets_a_whole_card() {
    let card = build(&definition(""), "https://example.com/a2a/analyst", "1.2.3");
    insta::assert_snapshot!(text(&card), @r#"{"name":"analyst","description":"analyst is an A2A agent.","supportedInterfaces":[{"url":"https://example.com/a2a/analyst","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"https://example.com/a2a/analyst","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}],"version":"1.2.3","capabilities":{"streaming":true,"pushNotifications":false,"extendedAgentCard":false},"defaultInputModes":["text/plain","application/json"],"defaultOutputModes":["text/plain","application/json"],"skills":[{"id":"primary","name":"analyst","description":"analyst is an A2A agent.","tags":["primary"]}]}"#);
    assert_eq!(serde_json::from_str::<AgentCard>(&text(&card)).unwrap(), card);
}

#[test]
fn what_the_builder_says_of_the_agent_is_shown() {
    let card = build(
        &definition(
            r#","display_name":"Data Analyst","description":"Reads numbers.","a2a":{
                "default_input_modes":["text/csv"],
                "skills":[{"id":"sum","name":"Sum","description":"Adds.","tags":["math"],"examples":["1+1"]}]}"#,
        ),
        "https://example.com/x?key=1",
        "1",
    );
    assert_eq!((card.name.as_str(), card.description.as_str()), ("Data Analyst", "Reads numbers."));
    assert_eq!(card.default_input_modes, ["text/csv"]);
    assert_eq!(card.supported_interfaces[0].url, "https://example.com/x?key=1");
    insta::assert_snapshot!(serde_json::to_string(&card.skills).unwrap(), @r#"[{"id":"sum","name":"Sum","description":"Adds.","tags":["math"],"examples":["1+1"]}]"#);
}

/// Publication scenario 5.
#[test]
fn a_card_shows_neither_prompt_nor_model() {
    let card = build(&definition(r#","limits":{"max_steps":77777}"#), "https://example.com", "1");
    assert!(!text(&card).contains("canary"));
    assert!(!text(&card).contains("77777"));
}

fn get(tag: Option<&str>) -> Response<Bytes> {
    let card = build(&definition(""), "https://example.com", "1");
    let mut headers = HeaderMap::new();
    if let Some(tag) = tag {
        headers.insert(IF_NONE_MATCH, tag.parse().unwrap());
    }
    response(&card, &headers)
}

/// D4.
#[test]
fn a_client_that_has_the_card_is_told_so() {
    let full = get(None);
    assert_eq!(full.status(), StatusCode::OK);
    assert_eq!(full.headers()["cache-control"], "private, max-age=60");
    assert_eq!(full.headers()["content-type"], "application/json");
    let tag = full.headers()["etag"].to_str().unwrap().to_owned();
    assert_eq!(get(None).headers()["etag"], tag);
    assert_eq!(tag.len(), 66);
    for known in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".to_owned()] {
        let reply = get(Some(&known));
        assert_eq!((reply.status(), reply.body().len()), (StatusCode::NOT_MODIFIED, 0), "{known}");
        assert_eq!(reply.headers()["etag"], tag);
    }
    assert_eq!(get(Some("\"other\"")).status(), StatusCode::OK);
}

#[test]
fn another_card_has_another_tag() {
    let one = build(&definition(""), "https://example.com", "1");
    let other = AgentCard { version: "2".to_owned(), ..one.clone() };
    assert_ne!(etag(&one), etag(&other));
}
