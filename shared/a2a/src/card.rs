//! The Agent Card: what anybody who may see the agent learns of it (A2A §8).
//!
//! **It is built from the fields named here and from no others**: no prompt, model, tool or scope
//! can reach it. **A signed card is the 1.0 card and nothing else, without a field that holds its
//! default**, so that every reading of §8.4 signs the same bytes.
//!
//! ```text
//! AgentDefinition ─ checked by rules ─► build ─► AgentCard ─┬─ signing ─► Document (1.0, signed)
//!                        security ───────┘                 └─ v03 ─────► Document (hybrid)
//! ```

mod build;
mod document;
mod rules;
mod security;
mod signing;
mod v03;

use std::collections::BTreeMap;

use serde::Serialize;

pub use build::{Subject, extended, public};
pub use document::{Document, FRESH};
pub use rules::{InvalidSettings, check};
pub use security::{
    ApiKey, ApiKeyLocation, AuthorizationCode, ClientCredentials, DeviceCode, Flows, HttpAuth,
    InvalidSecurity, MutualTls, OAuth2, OpenIdConnect, Scopes, Security, SecurityRequirement,
    SecurityScheme,
};
pub use signing::{InvalidKeys, SigningKeys};
pub use v03::V03Card;

/// The protocol version that both bindings speak, and the older one that they speak besides.
pub const PROTOCOL_VERSION: &str = "1.0";
pub const LEGACY_VERSION: &str = "0.3";

/// An agent as its clients see it: the card of A2A 1.0.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCard {
    pub name: String,
    pub description: String,
    /// In order of preference.
    pub supported_interfaces: Vec<AgentInterface>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<AgentProvider>,
    /// Of the software that serves the agent.
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
    pub capabilities: AgentCapabilities,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security_requirements: Vec<SecurityRequirement>,
    pub default_input_modes: Vec<String>,
    pub default_output_modes: Vec<String>,
    pub skills: Vec<AgentSkill>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<AgentCardSignature>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_url: Option<String>,
}

/// One way to reach the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInterface {
    pub url: String,
    pub protocol_binding: Binding,
    /// What requests by this interface carry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    pub protocol_version: &'static str,
}

/// A binding by its name in cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Binding {
    #[serde(rename = "JSONRPC")]
    JsonRpc,
    #[serde(rename = "HTTP+JSON")]
    HttpJson,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentProvider {
    pub organization: String,
    pub url: String,
}

/// What the agent can do beyond the minimum. Each is said, also where it is false, unless the card
/// is signed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_notifications: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<AgentExtension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extended_agent_card: Option<bool>,
}

/// An extension of the protocol that the agent knows (A2A §4.6).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentExtension {
    pub uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<serde_json::Map<String, serde_json::Value>>,
}

/// Something the agent is good at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSkill {
    pub id: String,
    pub name: String,
    pub description: String,
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// In place of the card's defaults; so are the output modes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub input_modes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output_modes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security_requirements: Vec<SecurityRequirement>,
}

/// A detached JWS over the canonical card (A2A §8.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentCardSignature {
    pub protected: String,
    pub signature: String,
}

#[cfg(test)]
mod tests;
