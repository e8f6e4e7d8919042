//! The card as clients of A2A 0.3 read it, alone or within the card of 1.0.
//!
//! The two have fields in common, and those of 0.3 that are not in 1.0 are unknown to it. Where one
//! name holds two shapes (security schemes), the members of both stand in one object: each reader
//! finds its own.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::security::{Flows, SecurityRequirement, SecurityScheme};
use super::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill,
    ApiKeyLocation, Binding, LEGACY_VERSION,
};

/// The agent's card in 0.3, as `agent/getAuthenticatedExtendedCard` answers with it. Never signed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct V03Card<'a> {
    name: &'a str,
    description: &'a str,
    version: &'a str,
    /// With its patch number, which 0.3 still had.
    protocol_version: &'static str,
    url: &'a str,
    preferred_transport: Binding,
    additional_interfaces: Vec<Interface<'a>>,
    supports_authenticated_extended_card: bool,
    capabilities: Capabilities<'a>,
    default_input_modes: &'a [String],
    default_output_modes: &'a [String],
    skills: Vec<Skill<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    security_schemes: BTreeMap<&'a str, Scheme<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<&'a SecurityRequirementMap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a AgentProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    documentation_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icon_url: Option<&'a str>,
}

/// Scheme to scopes: in 0.3 without the wrappers of 1.0.
type SecurityRequirementMap = BTreeMap<String, Vec<String>>;

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Interface<'a> {
    url: &'a str,
    transport: Binding,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Capabilities<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    streaming: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    push_notifications: Option<bool>,
    #[serde(skip_serializing_if = "<[AgentExtension]>::is_empty")]
    extensions: &'a [AgentExtension],
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Skill<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    tags: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    examples: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    input_modes: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    output_modes: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    security: Vec<&'a SecurityRequirementMap>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
enum Scheme<'a> {
    #[serde(rename = "apiKey")]
    ApiKey {
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        r#in: ApiKeyLocation,
        name: &'a str,
    },
    #[serde(rename = "http")]
    Http {
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        scheme: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        bearer_format: Option<&'a str>,
    },
    #[serde(rename = "oauth2")]
    OAuth2 {
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        /// A flow that 0.3 does not know is a field that its readers skip; those of 1.0 that look
        /// at `type` first find it here.
        flows: &'a Flows,
        #[serde(skip_serializing_if = "Option::is_none")]
        oauth2_metadata_url: Option<&'a str>,
    },
    #[serde(rename = "openIdConnect")]
    OpenIdConnect {
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        open_id_connect_url: &'a str,
    },
    #[serde(rename = "mutualTLS")]
    MutualTls {
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
    },
}

impl AgentCard {
    /// The same card for clients of 0.3, without signatures: they would be those of another text.
    /// Its interfaces are the ones that speak 0.3.
    pub fn v03(&self) -> V03Card<'_> {
        let spoken: Vec<&AgentInterface> = self
            .supported_interfaces
            .iter()
            .filter(|interface| interface.protocol_version == LEGACY_VERSION)
            .collect();
        let preferred = spoken.first();
        V03Card {
            name: &self.name,
            description: &self.description,
            version: &self.version,
            protocol_version: "0.3.0",
            url: preferred.map_or("", |interface| &interface.url),
            preferred_transport: preferred
                .map_or(Binding::JsonRpc, |interface| interface.protocol_binding),
            additional_interfaces: spoken
                .iter()
                .map(|interface| Interface {
                    url: &interface.url,
                    transport: interface.protocol_binding,
                })
                .collect(),
            supports_authenticated_extended_card: self.capabilities.extended_agent_card
                == Some(true),
            capabilities: capabilities(&self.capabilities),
            default_input_modes: &self.default_input_modes,
            default_output_modes: &self.default_output_modes,
            skills: self.skills.iter().map(skill).collect(),
            security_schemes: self
                .security_schemes
                .iter()
                .map(|(name, declared)| (name.as_str(), scheme(declared)))
                .collect(),
            security: requirements(&self.security_requirements),
            provider: self.provider.as_ref(),
            documentation_url: self.documentation_url.as_deref(),
            icon_url: self.icon_url.as_deref(),
        }
    }

    /// One JSON that clients of 1.0 and of 0.3 both read (D8).
    pub(super) fn hybrid(&self) -> Value {
        let mut both = value(self);
        add(&mut both, value(&self.v03()));
        both
    }
}

fn value<T: Serialize>(card: &T) -> Value {
    serde_json::to_value(card).expect("strings, booleans, lists and maps with names as their keys")
}

/// Adds the members that are not there, at every depth. What is there stays.
fn add(to: &mut Value, from: Value) {
    match (to, from) {
        (Value::Object(to), Value::Object(from)) => {
            for (name, member) in from {
                match to.get_mut(&name) {
                    Some(there) => add(there, member),
                    None => {
                        to.insert(name, member);
                    }
                }
            }
        }
        // The lists that both have are of the same things in the same order.
        (Value::Array(to), Value::Array(from)) => {
            for (to, from) in to.iter_mut().zip(from) {
                add(to, from);
            }
        }
        _ => {}
    }
}

fn capabilities(capabilities: &AgentCapabilities) -> Capabilities<'_> {
    Capabilities {
        streaming: capabilities.streaming,
        push_notifications: capabilities.push_notifications,
        extensions: &capabilities.extensions,
    }
}

fn skill(skill: &AgentSkill) -> Skill<'_> {
    Skill {
        id: &skill.id,
        name: &skill.name,
        description: &skill.description,
        tags: &skill.tags,
        examples: &skill.examples,
        input_modes: &skill.input_modes,
        output_modes: &skill.output_modes,
        security: requirements(&skill.security_requirements),
    }
}

fn requirements(requirements: &[SecurityRequirement]) -> Vec<&SecurityRequirementMap> {
    requirements.iter().map(SecurityRequirement::schemes).collect()
}

fn scheme(scheme: &SecurityScheme) -> Scheme<'_> {
    match scheme {
        SecurityScheme::ApiKey(key) => Scheme::ApiKey {
            description: key.description.as_deref(),
            r#in: key.location,
            name: &key.name,
        },
        SecurityScheme::HttpAuth(http) => Scheme::Http {
            description: http.description.as_deref(),
            scheme: &http.scheme,
            bearer_format: http.bearer_format.as_deref(),
        },
        SecurityScheme::OAuth2(oauth) => Scheme::OAuth2 {
            description: oauth.description.as_deref(),
            flows: &oauth.flows,
            oauth2_metadata_url: oauth.oauth2_metadata_url.as_deref(),
        },
        SecurityScheme::OpenIdConnect(connect) => Scheme::OpenIdConnect {
            description: connect.description.as_deref(),
            open_id_connect_url: &connect.open_id_connect_url,
        },
        SecurityScheme::MutualTls(tls) => {
            Scheme::MutualTls { description: tls.description.as_deref() }
        }
    }
}
