//! What a builder says of an agent. A run pins a copy of it.

use std::collections::BTreeMap;
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
    pub capabilities: Capabilities,
    /// Extensions of the protocol that the agent knows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<Extension>,
    /// The tenants that requests may name. Each has tasks of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<Tenant>,
    /// Tools with which the model speaks to the client otherwise than by its answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_tools: Vec<ClientTool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
    /// What callers who are known learn beyond the public card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extended_card: Option<ExtendedCard>,
    /// Where clients reach this agent, if not below the deployment's own address. The card shows it
    /// byte for byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_interface_url: Option<String>,
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
            capabilities: Capabilities::default(),
            extensions: Vec::new(),
            tenants: Vec::new(),
            client_tools: Vec::new(),
            provider: None,
            documentation_url: None,
            icon_url: None,
            extended_card: None,
            public_interface_url: None,
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

/// The options of the protocol that the agent offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Capabilities {
    pub streaming: bool,
    pub push_notifications: bool,
    pub extended_agent_card: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { streaming: true, push_notifications: true, extended_agent_card: false }
    }
}

/// An extension of the protocol, as the Agent Card shows it (A2A §4.6).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    pub uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A request that does not ask for it is refused.
    #[serde(default)]
    pub required: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<serde_json::Map<String, serde_json::Value>>,
}

/// Who runs the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    pub organization: String,
    pub url: String,
}

/// What the card for callers who are known says in place of the public one, or beyond it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExtendedCard {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Skills beyond the public ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<Skill>,
}

/// A tool with which the model speaks to the client otherwise than by its answer. An agent has none
/// unless its definition names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientTool {
    /// Asks the client for input or for an authorization: the task waits for it.
    AskClient,
    /// Refuses the request: the task is rejected.
    DeclineTask,
    /// Answers with a bare message, without a task for the client to follow.
    ReplyDirectly,
    /// Completes the task with a status message.
    Conclude,
    /// Hands over text, data or a link as an artifact of its own.
    PutArtifact,
}

/// `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`: a part of an agent's clients, as the protocol names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Tenant(String);

/// A text that cannot name a tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a tenant's name matches [A-Za-z0-9][A-Za-z0-9._-]{{0,63}}")]
pub struct InvalidTenant;

impl Tenant {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Tenant {
    type Error = InvalidTenant;

    fn try_from(name: String) -> Result<Self, InvalidTenant> {
        let ok = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        let first = name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
        // These stand where a tenant could stand in a path.
        let taken = ["tasks", "extendedAgentCard", "v1"].contains(&name.as_str());
        if first && name.len() <= 64 && name.bytes().all(ok) && !taken {
            Ok(Self(name))
        } else {
            Err(InvalidTenant)
        }
    }
}

/// Under what the rows of an agent are kept: its name, or `name@tenant` where the request names a
/// tenant. No agent and no tenant can be named so that two of these are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentKey(String);

impl AgentKey {
    pub fn new(agent: &AgentName, tenant: Option<&Tenant>) -> Self {
        match tenant {
            Some(tenant) => Self(format!("{agent}@{}", tenant.as_str())),
            None => Self(agent.to_string()),
        }
    }

    /// Reads a key that was stored.
    pub fn from_stored(key: &str) -> Result<Self, InvalidKey> {
        let (agent, tenant) = key.split_once('@').map_or((key, None), |(a, t)| (a, Some(t)));
        let agent = AgentName::try_from(agent.to_owned()).map_err(|_| InvalidKey)?;
        let tenant = tenant.map(|tenant| Tenant::try_from(tenant.to_owned())).transpose();
        Ok(Self::new(&agent, tenant.map_err(|_| InvalidKey)?.as_ref()))
    }

    /// The agent's own name.
    pub fn agent(&self) -> AgentName {
        let name = self.0.split('@').next().unwrap_or_default();
        AgentName(name.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A stored text that is no key of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("read an agent's key")]
pub struct InvalidKey;

impl From<AgentName> for AgentKey {
    fn from(agent: AgentName) -> Self {
        Self::new(&agent, None)
    }
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
    /// In place of the agent's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    /// In place of the agent's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    /// Alternatives, each with the schemes that it takes together and their scopes. The schemes are
    /// those of the deployment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub security: Vec<BTreeMap<String, Vec<String>>>,
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
    fn a_stored_key_reads_back_and_names_its_agent() {
        let agent = AgentName::try_from("analyst".to_owned()).unwrap();
        let tenant = Tenant::try_from("acme".to_owned()).unwrap();
        for key in [AgentKey::new(&agent, None), AgentKey::new(&agent, Some(&tenant))] {
            let read = AgentKey::from_stored(key.as_str()).unwrap();
            assert_eq!((read.agent(), &read), (agent.clone(), &key));
        }
        for bad in ["", "@acme", "analyst@", "An@acme", "analyst@a@b", "analyst@tasks"] {
            assert!(AgentKey::from_stored(bad).is_err(), "{bad}");
        }
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
