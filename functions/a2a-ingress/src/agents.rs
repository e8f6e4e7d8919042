//! The agents that this deployment knows, read once from a folder of JSON files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use a2a::card::{self, InvalidSettings};
use domain::AgentDefinition;
use sha2::{Digest as _, Sha256};

/// A definition with what a run pins of it.
#[derive(Debug)]
pub struct Agent {
    pub definition: AgentDefinition,
    /// The definition as canonical JSON, and its SHA-256.
    pub manifest: String,
    pub manifest_digest: String,
}

/// All agents by name.
#[derive(Debug, Clone, Default)]
pub struct Agents {
    by_name: Arc<BTreeMap<String, Arc<Agent>>>,
}

/// A folder that does not hold agents.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("read the agents folder {}", .0.display())]
    Folder(PathBuf, #[source] std::io::Error),
    #[error("read the agent {}", .0.display())]
    File(PathBuf, #[source] std::io::Error),
    #[error("understand the agent {}", .0.display())]
    Json(PathBuf, #[source] serde_json::Error),
    #[error("two agents are named {0}")]
    Duplicate(String),
    #[error("make a card of the agent {0}")]
    Card(String, #[source] InvalidSettings),
}

impl Agents {
    /// Reads every `*.json` of a folder. One that is wrong is an error, not a gap.
    pub fn load(folder: &Path) -> Result<Self, LoadError> {
        let unreadable = |source| LoadError::Folder(folder.to_owned(), source);
        let mut definitions = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let text = std::fs::read_to_string(&path)
                .map_err(|source| LoadError::File(path.clone(), source))?;
            definitions
                .push(serde_json::from_str(&text).map_err(|source| LoadError::Json(path, source))?);
        }
        Self::new(definitions)
    }

    pub fn new(definitions: Vec<AgentDefinition>) -> Result<Self, LoadError> {
        let mut by_name = BTreeMap::new();
        for definition in definitions {
            let name = definition.name.to_string();
            card::check(&definition).map_err(|source| LoadError::Card(name.clone(), source))?;
            // A value keeps its keys sorted, so that equal definitions have equal digests.
            let manifest = serde_json::to_value(&definition)
                .map_err(|source| LoadError::Json(PathBuf::from(&name), source))?
                .to_string();
            let manifest_digest = hex::encode(Sha256::digest(&manifest));
            let agent = Arc::new(Agent { definition, manifest, manifest_digest });
            if by_name.insert(name.clone(), agent).is_some() {
                return Err(LoadError::Duplicate(name));
            }
        }
        Ok(Self { by_name: Arc::new(by_name) })
    }

    /// An agent that clients may see. One that is hidden is as absent as one that is not there.
    pub fn exposed(&self, name: &str) -> Option<Arc<Agent>> {
        self.by_name.get(name).filter(|agent| agent.definition.a2a.exposed).cloned()
    }

    /// The first exposed one, in the order of names: whose card the origin shows.
    pub fn first(&self) -> Option<Arc<Agent>> {
        self.by_name.values().find(|agent| agent.definition.a2a.exposed).cloned()
    }

    /// All of them, exposed or not.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Agent> {
        self.by_name.values().map(|agent| &**agent)
    }

    /// The names of the exposed ones, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name
            .iter()
            .filter(|(_, agent)| agent.definition.a2a.exposed)
            .map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str, exposed: bool) -> AgentDefinition {
        serde_json::from_value(serde_json::json!({
            "name": name, "model": {"provider": "demo"}, "a2a": {"exposed": exposed},
        }))
        .unwrap()
    }

    #[test]
    fn a_hidden_agent_is_absent() {
        let agents = Agents::new(vec![agent("hidden", false), agent("seen", true)]).unwrap();
        assert!(agents.exposed("hidden").is_none());
        assert_eq!(agents.first().unwrap().definition.name.as_str(), "seen");
        assert_eq!(agents.names().collect::<Vec<_>>(), ["seen"]);
    }

    #[test]
    fn two_of_one_name_are_refused() {
        let twice = Agents::new(vec![agent("a", true), agent("a", true)]);
        assert!(matches!(twice, Err(LoadError::Duplicate(_))));
    }

    #[test]
    fn an_agent_whose_card_would_be_wrong_is_refused_by_its_name() {
        let mut wrong = agent("wrong", true);
        wrong.a2a.default_input_modes = vec!["text".to_owned()];
        let error = Agents::new(vec![wrong]).unwrap_err();
        assert_eq!(
            lambda_kit::chain(&error).to_string(),
            "make a card of the agent wrong: a2a.default_input_modes[0] is not of the form type/subtype"
        );
    }

    #[test]
    fn a_folder_with_a_wrong_file_is_refused_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.json"), r#"{"name":"a","mdel":{}}"#).unwrap();
        let error = Agents::load(folder.path()).unwrap_err();
        assert!(error.to_string().contains("a.json"), "{error}");
    }
}
