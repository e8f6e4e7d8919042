//! The conformance agent, and how a system is set up to serve it and nothing else
//! (a2a-protocol.md §2).
//!
//! **It is an agent like any other**: what it does goes through admission, queue, run, tool calls and
//! event log. Only its model is scripted, and reads in its scenario what each message asks for.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use clap::ValueEnum;
use domain::AgentDefinition;
use domain::agent_definition::{Capabilities, Extension};

use crate::Options;
use crate::system::private;

/// The agent's name, and its scenario's.
pub const AGENT: &str = "conformance";
/// The extension that a request must ask for under [`Profile::RequiredExtension`].
pub const REQUIRED_EXTENSION: &str = "urn:cognition:a2a:conformance:required";

/// Not among the agents that a plain start serves: nobody wants it beside an agent of theirs.
const DEFINITION: &str = include_str!("../conformance/agent.json");
const SCENARIO: &str = include_str!("../conformance/scenario.json");
/// A kit leaves tasks at work, and goes on with the next ones.
const RUNS: usize = 64;

/// Where the webhooks of a kit on this machine are.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// What the agent's card offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// Streaming, push notifications and an extended card.
    Full,
    /// None of the options of the protocol.
    Minimal,
    /// As full, with an extension that every request must ask for.
    RequiredExtension,
}

/// The agent with the card of a profile.
pub fn definition(profile: Profile) -> anyhow::Result<AgentDefinition> {
    let mut agent: AgentDefinition =
        serde_json::from_str(DEFINITION).context("read the conformance agent")?;
    match profile {
        Profile::Full => {}
        Profile::Minimal => {
            agent.a2a.capabilities = Capabilities {
                streaming: false,
                push_notifications: false,
                extended_agent_card: false,
            };
            agent.a2a.extended_card = None;
        }
        Profile::RequiredExtension => agent.a2a.extensions.push(Extension {
            uri: REQUIRED_EXTENSION.to_owned(),
            description: Some("Does nothing but being required.".to_owned()),
            required: true,
            params: None,
        }),
    }
    Ok(agent)
}

/// The options of a system that serves only the conformance agent. Kits reuse ids of messages, so
/// that a messageId that comes again is another request, and their webhooks are on this machine.
/// Everything is kept in a folder of its own below `data`, and agent and scenario are written there.
pub fn options(options: Options, profile: Profile) -> anyhow::Result<Options> {
    let data = options.data.join(AGENT);
    let file = format!("{AGENT}.json");
    let write = |folder: &str, text: &str| {
        let folder = data.join(folder);
        put(&folder, &file, text).with_context(|| format!("write {}", folder.display()))?;
        anyhow::Ok(folder)
    };
    let agents = write("agents", &serde_json::to_string_pretty(&definition(profile)?)?)?;
    let scenarios = Some(write("scenarios", SCENARIO)?);
    let runs = options.runs.max(RUNS);
    let mut allow_webhooks = options.allow_webhooks;
    allow_webhooks.extend(LOOPBACK.map(str::to_owned));
    Ok(Options { data, agents, scenarios, idempotent: false, runs, allow_webhooks, ..options })
}

fn put(folder: &Path, file: &str, text: &str) -> std::io::Result<()> {
    private(folder)?;
    fs::write(folder.join(file), text)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use run_orchestrator::config::{Models, Provider};

    use super::*;

    #[test]
    fn a_profile_is_what_the_card_offers() {
        for profile in [Profile::Full, Profile::Minimal, Profile::RequiredExtension] {
            let agent = definition(profile).unwrap();
            assert!(agent.a2a.exposed);
            assert_eq!((agent.name.as_str(), agent.model.model.as_str()), (AGENT, AGENT));
            let capabilities = agent.a2a.capabilities;
            let all = [
                capabilities.streaming,
                capabilities.push_notifications,
                capabilities.extended_agent_card,
                agent.a2a.extended_card.is_some(),
            ];
            assert_eq!(all, [profile != Profile::Minimal; 4]);
            let required = agent.a2a.extensions.iter().any(|extension| extension.required);
            assert_eq!(required, profile == Profile::RequiredExtension);
        }
    }

    #[test]
    fn only_this_agent_is_served_whatever_the_folder_of_agents_was() {
        let home = tempfile::tempdir().unwrap();
        let usual = Options { data: home.path().to_owned(), ..Options::default() };
        let served = options(usual, Profile::Full).unwrap();
        let agents = a2a_ingress::agents::Agents::load(&served.agents).unwrap();
        assert_eq!(agents.names().collect::<Vec<_>>(), [AGENT]);
        assert!(!served.idempotent);
        assert_eq!(served.allow_webhooks, LOOPBACK);
        let models = Models {
            enabled: vec![Provider::Scripted],
            scenarios: served.scenarios,
            demo_latency: Duration::ZERO,
        };
        assert!(models.providers().is_ok(), "the scenario can be played");
    }
}
