//! Extensions of the protocol. What settings declare can be asked for; active is what a request asks
//! for and the agent offers, and nothing else; without a required one nothing reaches the agent; and
//! what a message says of extensions stays what was sent.

use a2a::{Profile, card};
use bytes::Bytes;
use domain::AgentDefinition;
use domain::agent_definition::Extension;
use http::{HeaderMap, HeaderValue, Request};
use serde_json::Value;

use crate::answer::Outcome;
use crate::world::{Asked, asked};

/// What 1.0 and 0.3 call the header.
const NAMES: [&str; 2] = ["a2a-extensions", "x-a2a-extensions"];

/// The input is a line each for the URIs that the agent declares (separated by spaces, with `!` where
/// it is required), for the header of 1.0 and for that of 0.3, and JSON for the message's own list.
pub(crate) fn check(input: &[u8]) {
    let mut lines = input.splitn(4, |byte| *byte == b'\n');
    let Some(declared) = lines.next().and_then(|line| std::str::from_utf8(line).ok()) else {
        return;
    };
    let Some(profile) = profile(declared) else { return };
    let mut headers = HeaderMap::new();
    for name in NAMES {
        if let Ok(value) = HeaderValue::from_bytes(lines.next().unwrap_or_default()) {
            headers.append(name, value);
        }
    }
    let expected = expected(&profile, &headers);
    assert_eq!(a2a::extensions::activated(&headers, &profile), expected);
    answers(&profile, &headers, &expected);

    let mentioned = lines.next().and_then(|json| std::str::from_utf8(json).ok());
    if let Some(json) = mentioned
        && let Ok(Value::Array(_)) = serde_json::from_str(json)
    {
        message(&profile, &headers, &expected, json);
    }

    let all: Vec<&str> = profile.extensions.iter().map(|offered| offered.uri.as_str()).collect();
    headers.insert(NAMES[0], HeaderValue::from_str(&all.join(",")).expect("fit for a header"));
    answers(&profile, &headers, &all);
}

/// The profile of an agent whose settings declare these, if settings may.
fn profile(declared: &str) -> Option<Profile> {
    let definition = r#"{"name":"a","model":{"provider":"demo"}}"#;
    let mut definition: AgentDefinition = serde_json::from_str(definition).unwrap();
    let extension = |text: &str| Extension {
        uri: text.trim_start_matches('!').to_owned(),
        description: None,
        required: text.starts_with('!'),
        params: None,
    };
    definition.a2a.extensions = declared.split_whitespace().map(extension).collect();
    card::check(&definition).ok()?;
    Some(Profile::of(&definition))
}

/// What is offered and stands in a list of either header. A header that is not ASCII says nothing.
fn expected<'p>(profile: &'p Profile, headers: &HeaderMap) -> Vec<&'p str> {
    let lists = headers.values().map(HeaderValue::as_bytes).filter(|list| list.is_ascii());
    let asked: Vec<&[u8]> =
        lists.flat_map(|list| list.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii).collect();
    let offered = profile.extensions.iter().map(|offered| offered.uri.as_str());
    offered.filter(|uri| asked.contains(&uri.as_bytes())).collect()
}

/// All ways to ask have the answer that fits.
fn answers(profile: &Profile, headers: &HeaderMap, active: &[&str]) {
    let new = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}"#;
    let old = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"t"}}"#;
    for (version, path, body) in [
        ("1.0", "", new),
        ("0.3", "", old),
        ("1.0", "tasks/t:cancel", ""),
        ("0.3", "v1/tasks/t:cancel", ""),
    ] {
        fits(profile, active, version, &send(profile, headers, version, path, body));
    }
}

fn send(profile: &Profile, headers: &HeaderMap, version: &str, path: &str, body: &str) -> Asked {
    let request = Request::post(format!("/{path}")).header("content-type", "application/json");
    let request = request.header("a2a-version", version);
    let mut request = request.body(Bytes::copy_from_slice(body.as_bytes())).unwrap();
    request.headers_mut().extend(headers.clone());
    asked(profile, path, request)
}

/// Served with what is active, unless something required is not; said in the version's own header.
fn fits(profile: &Profile, active: &[&str], version: &str, asked: &Asked) {
    let mut required = profile.extensions.iter().filter(|offered| offered.required);
    if required.all(|offered| active.contains(&offered.uri.as_str())) {
        assert_eq!(asked.calls.len(), 1, "{asked:?}");
    } else {
        assert_eq!(asked.calls, []);
        let reason = a2a::Cause::ExtensionSupportRequired.reason().to_owned();
        assert_eq!(asked.answer.outcomes, [Outcome::Refused(reason)]);
    }
    let [mine, other] = if version == "1.0" { NAMES } else { [NAMES[1], NAMES[0]] };
    let said = asked.headers.get(mine).map(|value| value.to_str().unwrap());
    assert_eq!(said.unwrap_or_default(), active.join(", "));
    assert_eq!(said.is_some(), !active.is_empty());
    assert!(!asked.headers.contains_key(other));
}

/// What a message mentions is told to the agent as it was sent, and activates nothing.
fn message(profile: &Profile, headers: &HeaderMap, active: &[&str], mentioned: &str) {
    let message = |parts: &str, role: &str| {
        format!(
            r#"{{"message":{{"messageId":"m","role":"{role}","{parts}":[{{"text":"t"}}],"extensions":{mentioned}}}}}"#
        )
    };
    for (version, path, body) in [
        ("1.0", "message:send", message("parts", "ROLE_USER")),
        ("0.3", "v1/message:send", message("content", "ROLE_USER")),
        ("0.3", "v1/message:send", message("parts", "user")),
    ] {
        let asked = send(profile, headers, version, path, &body);
        let said = asked.headers.get(if version == "1.0" { NAMES[0] } else { NAMES[1] });
        let said = said.map(|value| value.to_str().unwrap()).unwrap_or_default();
        assert_eq!(said, active.join(", "), "a message activates nothing");
        for (_, call) in asked.calls {
            let call: Value = serde_json::from_str(&call).unwrap();
            let sent: Value = serde_json::from_str(mentioned).unwrap();
            let told = call["message"].get("extensions").cloned();
            assert_eq!(told.unwrap_or_else(|| Value::Array(Vec::new())), sent);
        }
    }
}
