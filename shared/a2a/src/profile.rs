//! What an agent offers, as far as the protocol decides by it.

use domain::AgentDefinition;

/// What an agent offers of the protocol's options. Its card says the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    pub streaming: bool,
    pub push_notifications: bool,
    pub extended_agent_card: bool,
    /// The tenants that requests may name. Any other is as good as not there (A2A §8.3.2).
    pub tenants: Vec<String>,
    pub extensions: Vec<OfferedExtension>,
}

/// An extension of the protocol that the agent knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedExtension {
    pub uri: String,
    /// A request that does not ask for it is refused.
    pub required: bool,
}

impl Profile {
    pub fn of(definition: &AgentDefinition) -> Self {
        let a2a = &definition.a2a;
        let extension = |declared: &domain::agent_definition::Extension| OfferedExtension {
            uri: declared.uri.clone(),
            required: declared.required,
        };
        Self {
            streaming: a2a.capabilities.streaming,
            push_notifications: a2a.capabilities.push_notifications,
            extended_agent_card: a2a.capabilities.extended_agent_card,
            tenants: a2a.tenants.iter().map(|tenant| tenant.as_str().to_owned()).collect(),
            extensions: a2a.extensions.iter().map(extension).collect(),
        }
    }
}
