//! What a builder says of an agent. A run pins a copy of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// `[a-z0-9][a-z0-9_-]{0,63}`: safe in a path and in a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct AgentName(String);

/// A text that cannot name an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an agent's name matches [a-z0-9][a-z0-9_-]{{0,63}}")]
pub struct InvalidAgentName;

impl AgentName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AgentName {
    type Error = InvalidAgentName;

    fn try_from(name: String) -> Result<Self, InvalidAgentName> {
        let ok = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-';
        let first =
            name.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if first && name.len() <= 64 && name.bytes().all(ok) {
            Ok(Self(name))
        } else {
            Err(InvalidAgentName)
        }
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A whole agent, as its JSON file has it. Unknown fields are refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentDefinition {
    /// The version of this form; 1 where a file does not say.
    #[serde(default)]
    pub v: Version,
    pub name: AgentName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub model: ModelTarget,
    #[serde(default)]
    pub system_prompt: String,
    #[serde(default)]
    pub a2a: A2aSettings,
    #[serde(default)]
    pub limits: RunLimits,
}

/// The one version of [`AgentDefinition`] that this code knows. Another number is refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Version;

/// A version of agent definitions that is unknown here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an agent definition of version {0} is unknown here")]
pub struct UnknownVersion(u32);

impl TryFrom<u32> for Version {
    type Error = UnknownVersion;

    fn try_from(version: u32) -> Result<Self, UnknownVersion> {
        if version == 1 { Ok(Self) } else { Err(UnknownVersion(version)) }
    }
}

impl From<Version> for u32 {
    fn from(_: Version) -> Self {
        1
    }
}

/// Which provider answers, and with which of its models (for `scripted`: the scenario's name).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelTarget {
    pub provider: String,
    #[serde(default)]
    pub model: String,
}

/// How the agent shows itself to A2A clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct A2aSettings {
    /// Only an exposed agent is found.
    pub exposed: bool,
    pub default_input_modes: Vec<String>,
    pub default_output_modes: Vec<String>,
    pub input_modes_policy: InputModesPolicy,
    pub skills: Vec<Skill>,
}

impl Default for A2aSettings {
    fn default() -> Self {
        let modes = || vec!["text/plain".to_owned(), "application/json".to_owned()];
        Self {
            exposed: false,
            default_input_modes: modes(),
            default_output_modes: modes(),
            input_modes_policy: InputModesPolicy::default(),
            skills: Vec::new(),
        }
    }
}

/// What happens to a Part whose media type the card does not declare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputModesPolicy {
    /// It is kept (seed 001).
    #[default]
    Retain,
    /// It is refused with -32005 (A2A §3.1.1).
    Enforce,
}

/// A skill as the Agent Card shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skill {
    pub id: String,
    pub name: String,
    pub description: String,
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
}

/// What one run may use (agent-loop.md §19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunLimits {
    pub max_steps: u32,
    pub max_model_calls: u32,
    pub max_tool_calls: u32,
    pub timeout_seconds: u32,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { max_steps: 1000, max_model_calls: 200, max_tool_calls: 1000, timeout_seconds: 3600 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_their_path_are_refused() {
        for bad in ["", "../x", "a/b", "A", "-a", "a b", &"x".repeat(65)] {
            assert!(AgentName::try_from(bad.to_owned()).is_err(), "{bad}");
        }
        assert!(AgentName::try_from("analyst-2".to_owned()).is_ok());
    }

    #[test]
    fn a_definition_says_its_version_and_another_one_is_refused() {
        let read = |v: &str| {
            let text = format!(r#"{{{v}"name":"a","model":{{"provider":"demo"}}}}"#);
            serde_json::from_str::<AgentDefinition>(&text)
        };
        let written = serde_json::to_value(read("").unwrap()).unwrap();
        assert_eq!(written["v"], 1);
        assert!(read("\"v\":1,").is_ok());
        assert!(read("\"v\":2,").is_err());
    }

    #[test]
    fn an_unknown_field_is_refused() {
        let text = r#"{"name":"a","model":{"provider":"demo"},"tools":[]}"#;
        assert!(serde_json::from_str::<AgentDefinition>(text).is_err());
    }
}
