//! How callers prove who they are, as a deployment's settings say it: what is taken is written and
//! read equal, and is what the card shows; a refusal repeats no value.

use a2a::card::{self, Document, Security, SigningKeys, Subject};
use domain::{AgentDefinition, Timestamp};
use http::{HeaderMap, HeaderValue, Method};
use serde::de::IgnoredAny;
use serde_json::Value;

/// Where an input holds this in a value, no refusal holds it.
const SECRET: &str = "canary";

/// The input is the map of schemes, a line end, and the list of requirements.
pub(crate) fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (schemes, requirements) = text.split_once('\n').unwrap_or((text, "[]"));
    let security = match Security::parse(schemes, requirements) {
        Ok(security) => security,
        Err(refusal) => {
            let names_it = [schemes, requirements].into_iter().any(may_name_it);
            let says = format!("{refusal} {refusal:?}");
            assert!(names_it || !says.contains(SECRET), "a value is repeated: {refusal}");
            return;
        }
    };
    let written = serde_json::to_string(security.schemes()).unwrap();
    let required = serde_json::to_string(security.requirements()).unwrap();
    assert_eq!(
        Security::parse(&written, &required).as_ref(),
        Ok(&security),
        "what we write we read"
    );
    assert_eq!(security.is_required(), !security.requirements().is_empty());
    nothing_is_overlooked(schemes, &security);
    for requirement in security.requirements() {
        assert!(!requirement.schemes().is_empty(), "everybody would meet it");
        assert!(security.declares(requirement.schemes().keys()));
    }
    let challenges = security.challenges();
    assert!(!challenges.is_empty());
    for challenge in &challenges {
        HeaderValue::from_str(challenge).expect("a challenge is fit for a header");
    }
    shown(&security, &written, &required);
}

/// Whether the secret may be a name, which a refusal repeats. In half a text nobody can tell.
fn may_name_it(json: &str) -> bool {
    if serde_json::from_str::<IgnoredAny>(json).is_err() {
        return true;
    }
    let behind = json.match_indices(SECRET).map(|(at, _)| &json[at..]);
    let mut ends = behind.filter_map(|rest| {
        let mut escaped = false;
        let end = rest.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        Some(rest[end? + 1..].trim_start())
    });
    // Nobody here reads names that are escaped.
    json.contains("\\u") || ends.any(|rest| rest.starts_with(':'))
}

/// Another reader finds the same schemes, each of one kind.
fn nothing_is_overlooked(schemes: &str, security: &Security) {
    let read: Value = serde_json::from_str(schemes).expect("what is taken is JSON");
    let read = read.as_object().unwrap();
    assert!(read.keys().eq(security.schemes().keys()));
    for scheme in read.values() {
        let kinds = scheme.as_object().unwrap().values().filter(|kind| !kind.is_null());
        assert_eq!(kinds.count(), 1);
    }
}

/// The card has these schemes and requirements, in the words of both versions.
fn shown(security: &Security, written: &str, required: &str) {
    let definition = r#"{"name":"a","model":{"provider":"demo"}}"#;
    let definition: AgentDefinition = serde_json::from_str(definition).unwrap();
    let url = "https://example.com/a2a/a";
    let card = card::public(&Subject { definition: &definition, url, version: "1", security });
    let document = Document::card(card, &SigningKeys::default(), Timestamp::from_micros(0));
    let response = document.response(&Method::GET, &HeaderMap::new());
    let card: Value = serde_json::from_slice(response.body()).expect("a card is JSON");
    let written: Value = serde_json::from_str(written).unwrap();
    let none = Value::default();
    for (name, scheme) in written.as_object().unwrap() {
        let both = &card["securitySchemes"][name];
        for (kind, members) in scheme.as_object().unwrap() {
            assert_eq!(both.get(kind), Some(members), "{name} in 1.0");
        }
        let types = ["apiKey", "http", "oauth2", "openIdConnect", "mutualTLS"];
        assert!(types.iter().any(|kind| both["type"] == *kind), "{name} in 0.3");
    }
    let shown = card.get("securitySchemes").unwrap_or(&none).as_object();
    assert_eq!(shown.map_or(0, serde_json::Map::len), security.schemes().len());
    let shown = card.get("securityRequirements").unwrap_or(&none);
    let required: Value = serde_json::from_str(required).unwrap();
    assert!(*shown == required || (shown.is_null() && required == Value::Array(Vec::new())));
}
