//! Cards as clients get them: requirements D1 to D8, and the signatures that no kit looks at.

mod document;
mod fields;
mod hybrid;
mod rules;
mod security;
mod signing;

use domain::{AgentDefinition, Timestamp};
use serde_json::Value;

use super::*;

const URL: &str = "https://example.com/a2a/analyst";
/// 2026-11-30T09:00:00.5Z.
const SINCE: Timestamp = Timestamp::from_micros(1_796_029_200_500_000);
/// One scheme of each kind.
const SCHEMES: &str = r#"{
    "bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
    "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key", "description": "ours"}},
    "login": {"oauth2SecurityScheme": {"oauth2MetadataUrl": "https://id.example.com/meta", "flows":
        {"authorizationCode": {"authorizationUrl": "https://id.example.com/a", "tokenUrl":
         "https://id.example.com/t", "scopes": {"run": "Run tasks"}, "pkceRequired": true}}}},
    "service": {"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl":
        "https://id.example.com/t", "refreshUrl": "https://id.example.com/r", "scopes": {"run": "Run"}}}}},
    "tv": {"oauth2SecurityScheme": {"flows": {"deviceCode": {"deviceAuthorizationUrl":
        "https://id.example.com/d", "tokenUrl": "https://id.example.com/t", "scopes": {"run": "Run"}}}}},
    "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://id.example.com/o"}},
    "mutual": {"mtlsSecurityScheme": {"description": "our own authority"}}
}"#;
const REQUIREMENTS: &str = r#"[{"schemes": {"login": {"list": ["run"]}}},
    {"schemes": {"bearer": {}, "mutual": {"list": []}}}]"#;

/// A definition with a canary in every field that a card must not show.
fn definition(extra: &str) -> AgentDefinition {
    let json = format!(
        r#"{{"name":"analyst","model":{{"provider":"canary-provider","model":"canary-model"}},
            "system_prompt":"canary-prompt"{extra}}}"#
    );
    serde_json::from_str(&json).unwrap()
}

fn secured() -> Security {
    Security::parse(SCHEMES, REQUIREMENTS).unwrap()
}

fn card_with(extra: &str, security: &Security) -> AgentCard {
    let definition = definition(extra);
    check(&definition).unwrap();
    public(&Subject { definition: &definition, url: URL, version: "1.2.3", security })
}

fn card(extra: &str) -> AgentCard {
    card_with(extra, &Security::default())
}

/// An agent that says everything.
const FULL: &str = r#","display_name":"Data Analyst","description":"Reads numbers.","a2a":{
    "provider":{"organization":"Example","url":"https://example.com"},
    "documentation_url":"https://example.com/docs","icon_url":"https://example.com/icon.png",
    "default_input_modes":["text/csv","image/*","TEXT/CSV"],
    "capabilities":{"push_notifications":false,"extended_agent_card":true},
    "extensions":[{"uri":"https://example.com/ext/v1","required":true,"params":{"rate":1.50,"big":1e21}},
                  {"uri":"urn:plain"}],
    "tenants":["t1"],
    "skills":[{"id":"sum","name":"Sum","description":"Adds.","tags":["math"," "],"examples":["1+1"],
               "input_modes":["text/csv"],"output_modes":["text/plain"],
               "security":[{"login":["run"]}]}],
    "extended_card":{"description":"Reads all numbers.","skills":[
        {"id":"secret-sum","name":"More","description":"Adds more.","tags":["math"]}]}}"#;

fn text<T: Serialize>(card: &T) -> String {
    serde_json::to_string(card).unwrap()
}

fn value<T: Serialize>(card: &T) -> Value {
    serde_json::to_value(card).unwrap()
}
