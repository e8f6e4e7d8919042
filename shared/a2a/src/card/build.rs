//! From an agent's settings to its card.

use domain::AgentDefinition;
use domain::agent_definition::{Extension, Skill};

use super::security::{Security, SecurityRequirement};
use super::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill,
    Binding, LEGACY_VERSION, PROTOCOL_VERSION,
};

/// Whose card is built, and what of it the deployment says.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub definition: &'a AgentDefinition,
    /// Where the deployment serves the agent; its own `public_interface_url` goes before.
    pub url: &'a str,
    /// Of the software.
    pub version: &'a str,
    pub security: &'a Security,
}

/// The card for everybody.
///
/// An agent without skills shows one, `primary`, made of its name and description: the protocol
/// wants at least one.
pub fn public(subject: &Subject<'_>) -> AgentCard {
    let definition = subject.definition;
    let a2a = &definition.a2a;
    let name =
        definition.display_name.clone().unwrap_or_else(|| definition.name.as_str().to_owned());
    let description =
        definition.description.clone().unwrap_or_else(|| format!("{name} is an A2A agent."));
    let mut skills: Vec<_> = a2a.skills.iter().map(skill).collect();
    if skills.is_empty() {
        skills.push(AgentSkill {
            id: "primary".to_owned(),
            name: name.clone(),
            description: description.clone(),
            tags: vec!["primary".to_owned()],
            examples: Vec::new(),
            input_modes: Vec::new(),
            output_modes: Vec::new(),
            security_requirements: Vec::new(),
        });
    }
    AgentCard {
        name,
        description,
        supported_interfaces: interfaces(subject, None),
        provider: a2a.provider.as_ref().map(|provider| AgentProvider {
            organization: provider.organization.clone(),
            url: provider.url.clone(),
        }),
        version: subject.version.to_owned(),
        documentation_url: a2a.documentation_url.clone(),
        capabilities: AgentCapabilities {
            streaming: Some(a2a.capabilities.streaming),
            push_notifications: Some(a2a.capabilities.push_notifications),
            extensions: a2a.extensions.iter().map(extension).collect(),
            extended_agent_card: Some(a2a.capabilities.extended_agent_card),
        },
        security_schemes: subject.security.schemes().clone(),
        security_requirements: subject.security.requirements().to_vec(),
        default_input_modes: distinct(&a2a.default_input_modes),
        default_output_modes: distinct(&a2a.default_output_modes),
        skills,
        signatures: Vec::new(),
        icon_url: a2a.icon_url.clone(),
    }
}

/// The card for callers who are known: the public one with what the settings add to it. `None`
/// where they add nothing. One that was asked for by a tenant leads back to that tenant.
pub fn extended(subject: &Subject<'_>, tenant: Option<&str>) -> Option<AgentCard> {
    let more = subject.definition.a2a.extended_card.as_ref()?;
    let mut card = public(subject);
    if let Some(description) = &more.description {
        card.description.clone_from(description);
    }
    card.skills.extend(more.skills.iter().map(skill));
    card.supported_interfaces = interfaces(subject, tenant);
    Some(card)
}

/// Both bindings in the version that clients should speak, then in the one that they may.
fn interfaces(subject: &Subject<'_>, tenant: Option<&str>) -> Vec<AgentInterface> {
    let own = subject.definition.a2a.public_interface_url.as_deref();
    let interface = |protocol_version, protocol_binding| AgentInterface {
        url: own.unwrap_or(subject.url).to_owned(),
        protocol_binding,
        tenant: tenant.map(str::to_owned),
        protocol_version,
    };
    let both =
        |version| [interface(version, Binding::JsonRpc), interface(version, Binding::HttpJson)];
    [both(PROTOCOL_VERSION), both(LEGACY_VERSION)].concat()
}

fn extension(extension: &Extension) -> AgentExtension {
    AgentExtension {
        uri: extension.uri.clone(),
        description: extension.description.clone(),
        required: extension.required,
        params: extension.params.clone().filter(|params| !params.is_empty()),
    }
}

fn skill(skill: &Skill) -> AgentSkill {
    let spoken = |texts: &[String]| -> Vec<String> {
        texts.iter().filter(|text| !text.trim().is_empty()).cloned().collect()
    };
    AgentSkill {
        id: skill.id.clone(),
        name: skill.name.clone(),
        description: skill.description.clone(),
        tags: spoken(&skill.tags),
        examples: spoken(&skill.examples),
        input_modes: distinct(&skill.input_modes),
        output_modes: distinct(&skill.output_modes),
        security_requirements: skill.security.iter().map(SecurityRequirement::of).collect(),
    }
}

/// Without what came before, in the order of the first.
fn distinct(modes: &[String]) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    modes.iter().filter(|mode| seen.insert(mode.to_ascii_lowercase())).cloned().collect()
}
