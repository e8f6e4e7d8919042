//! What a person can try.

use domain::AgentDefinition;

/// What is asked where the agent gives no example.
const HELLO: &str = "Hello";

/// A request to an agent as lines for a shell, good each time: its messageId is a new one. Where
/// callers must be `known`, it says who asks.
pub fn curl(url: &str, agent: &AgentDefinition, known: bool) -> Vec<String> {
    let (streams, operation) = if agent.a2a.capabilities.streaming {
        (" -N", "message:stream")
    } else {
        ("", "message:send")
    };
    let mut lines = vec![
        format!("curl{streams} {url}/a2a/{}/{operation} \\", agent.name),
        "  -H 'A2A-Version: 1.0' -H 'Content-Type: application/json' \\".to_owned(),
    ];
    let required = agent.a2a.extensions.iter().filter(|extension| extension.required);
    let required: Vec<&str> = required.map(|extension| extension.uri.as_str()).collect();
    if !required.is_empty() {
        lines.push(format!("  -H 'A2A-Extensions: {}' \\", required.join(", ")));
    }
    if known {
        lines.push("  -H 'X-Cognition-Scope-User: me' \\".to_owned());
    }
    let example = agent.a2a.skills.iter().flat_map(|skill| &skill.examples).next();
    // The shell's quotes end at an apostrophe.
    let text = example.map(String::as_str).filter(|text| !text.contains('\'')).unwrap_or(HELLO);
    let text = serde_json::Value::from(text);
    lines.push(format!(
        r#"  -d '{{"message":{{"messageId":"'$(date +%s%N)'","role":"ROLE_USER","parts":[{{"text":{text}}}]}}}}'"#
    ));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Profile, REQUIRED_EXTENSION, definition};

    fn lines(profile: Profile) -> String {
        curl("http://here", &definition(profile).unwrap(), false).join("\n")
    }

    #[test]
    fn a_request_fits_what_the_agent_offers_and_asks_for() {
        let full = lines(Profile::Full);
        assert!(full.contains("-N http://here/a2a/conformance/message:stream"), "{full}");
        assert!(full.contains(r#"[{"text":"tck-complete-task"}]"#), "{full}");
        let minimal = lines(Profile::Minimal);
        assert!(minimal.contains("curl http://here/a2a/conformance/message:send"), "{minimal}");
        assert!(lines(Profile::RequiredExtension).contains(REQUIRED_EXTENSION));
    }
}
