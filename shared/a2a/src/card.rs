//! The Agent Card: what anybody who may see the agent learns of it (A2A §8).
//!
//! **It is built from the fields named here and from no others**: no prompt, model, tool or scope
//! can reach it.

use bytes::Bytes;
use domain::AgentDefinition;
use domain::agent_definition::Skill;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use http::{Response, StatusCode};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::codec::object::from_object;

/// The protocol version of both interfaces.
pub const PROTOCOL_VERSION: &str = "1.0";

/// An agent as its clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCard {
    pub name: String,
    pub description: String,
    /// In order of preference.
    pub supported_interfaces: Vec<AgentInterface>,
    /// Of the software that serves the agent.
    pub version: String,
    pub capabilities: AgentCapabilities,
    pub default_input_modes: Vec<String>,
    pub default_output_modes: Vec<String>,
    pub skills: Vec<AgentSkill>,
}

from_object!(AgentCard {
    name: "name",
    description: "description",
    supported_interfaces: "supportedInterfaces" | "supported_interfaces",
    version: "version",
    capabilities: "capabilities",
    default_input_modes: "defaultInputModes" | "default_input_modes",
    default_output_modes: "defaultOutputModes" | "default_output_modes",
    skills: "skills",
});

/// One way to reach the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInterface {
    pub url: String,
    /// `JSONRPC` or `HTTP+JSON`.
    pub protocol_binding: String,
    pub protocol_version: String,
}

from_object!(AgentInterface {
    url: "url",
    protocol_binding: "protocolBinding" | "protocol_binding",
    protocol_version: "protocolVersion" | "protocol_version",
});

/// What the agent can do beyond the minimum. Each is said, also where it is false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    pub streaming: bool,
    pub push_notifications: bool,
    pub extended_agent_card: bool,
}

from_object!(AgentCapabilities {
    streaming: "streaming",
    push_notifications: "pushNotifications" | "push_notifications",
    extended_agent_card: "extendedAgentCard" | "extended_agent_card",
});

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
}

from_object!(AgentSkill {
    id: "id",
    name: "name",
    description: "description",
    tags: "tags",
    examples: "examples",
});

/// The card of an agent that is reached at `interface_url` by both bindings.
///
/// An agent without skills shows one, `primary`, made of its name and description: the protocol
/// wants at least one.
pub fn build(definition: &AgentDefinition, interface_url: &str, version: &str) -> AgentCard {
    let name =
        definition.display_name.clone().unwrap_or_else(|| definition.name.as_str().to_owned());
    let description =
        definition.description.clone().unwrap_or_else(|| format!("{name} is an A2A agent."));
    let interface = |binding: &str| AgentInterface {
        url: interface_url.to_owned(),
        protocol_binding: binding.to_owned(),
        protocol_version: PROTOCOL_VERSION.to_owned(),
    };
    let mut skills: Vec<_> = definition.a2a.skills.iter().map(skill).collect();
    if skills.is_empty() {
        skills.push(AgentSkill {
            id: "primary".to_owned(),
            name: name.clone(),
            description: description.clone(),
            tags: vec!["primary".to_owned()],
            examples: Vec::new(),
        });
    }
    AgentCard {
        name,
        description,
        supported_interfaces: vec![interface("JSONRPC"), interface("HTTP+JSON")],
        version: version.to_owned(),
        capabilities: AgentCapabilities {
            streaming: true,
            push_notifications: false,
            extended_agent_card: false,
        },
        default_input_modes: definition.a2a.default_input_modes.clone(),
        default_output_modes: definition.a2a.default_output_modes.clone(),
        skills,
    }
}

fn skill(skill: &Skill) -> AgentSkill {
    AgentSkill {
        id: skill.id.clone(),
        name: skill.name.clone(),
        description: skill.description.clone(),
        tags: skill.tags.clone(),
        examples: skill.examples.clone(),
    }
}

/// The strong entity tag of a card: SHA-256 of its compact JSON with sorted keys.
pub fn etag(card: &AgentCard) -> String {
    // A `Value` holds its keys sorted.
    let sorted = serde_json::to_value(card).unwrap_or_default().to_string();
    format!("\"{}\"", hex::encode(Sha256::digest(sorted)))
}

/// The card as the answer to a GET: 304 where the client has it already (A2A §8.6).
pub fn response(card: &AgentCard, request: &HeaderMap) -> Response<Bytes> {
    let etag = etag(card);
    let known = request.get_all(IF_NONE_MATCH).iter().any(|tags| {
        let mut tags = tags.to_str().unwrap_or_default().split(',').map(str::trim);
        tags.any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
    });
    let mut response = if known {
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        Response::new(serde_json::to_vec(card).unwrap_or_default().into())
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, max-age=60"));
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        headers.insert(ETAG, etag);
    }
    response
}

#[cfg(test)]
mod tests;
