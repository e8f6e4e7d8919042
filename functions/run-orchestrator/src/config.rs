//! The settings.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cloud::sqs::SqsSettings;
use lambda_kit::env::{Env, Invalid, Secret};
use messages::Queue;
use model::scripted::LoadError;
use model::{DemoModel, ModelProvider, Providers, ScriptedModel};

use crate::Settings;

/// Everything that the function reads from its environment.
#[derive(Debug)]
pub struct Config {
    /// `COGNITION_DATABASE_URL`: `postgres://…`.
    pub database_url: Secret,
    /// `COGNITION_QUEUE_{RUNS,SANDBOXES,PUBLICATIONS}_URL`.
    pub queues: SqsSettings,
    /// `COGNITION_SANDBOX_RUNTIME_KEY`: of it the bearers of sandboxes are derived.
    pub runtime_key: Secret,
    pub models: Models,
    /// `COGNITION_MAX_STEPS_PER_INVOCATION` (0: without limit) and
    /// `COGNITION_ARTIFACT_PUBLICATION_ENABLED` (false).
    pub settings: Settings,
}

/// The model providers of this deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Models {
    /// `COGNITION_MODEL_PROVIDERS`: names separated by commas (`demo`). An agent that names another
    /// one fails.
    pub enabled: Vec<Provider>,
    /// `COGNITION_SCRIPTED_FOLDER`: where the scenarios of `scripted` are.
    pub scenarios: Option<PathBuf>,
    /// `COGNITION_DEMO_LATENCY_SECONDS`: how long `demo` thinks (0).
    pub demo_latency: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Demo,
    /// For tests: it answers from a file.
    Scripted,
}

impl Provider {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Demo => "demo",
            Self::Scripted => "scripted",
        }
    }

    fn list(text: &str) -> Option<Vec<Self>> {
        let known = |name: &str| {
            [Self::Demo, Self::Scripted].into_iter().find(|provider| provider.name() == name)
        };
        text.split(',').map(|name| known(name.trim())).collect()
    }
}

impl Models {
    /// Makes the providers. Scenarios are read here, so that one that cannot be used stops the
    /// start.
    pub fn providers(&self) -> Result<Providers, LoadError> {
        let mut providers = Providers::new();
        for provider in &self.enabled {
            let model: Arc<dyn ModelProvider> = match (provider, &self.scenarios) {
                (Provider::Demo, _) => Arc::new(DemoModel::new(self.demo_latency)),
                (Provider::Scripted, Some(folder)) => Arc::new(ScriptedModel::load(folder)?),
                (Provider::Scripted, None) => Arc::new(ScriptedModel::new()),
            };
            providers = providers.with(provider.name(), model);
        }
        Ok(providers)
    }
}

impl Config {
    pub fn read(env: &Env) -> Result<Self, Invalid> {
        const PROVIDERS: &str = "COGNITION_MODEL_PROVIDERS";
        const SCENARIOS: &str = "COGNITION_SCRIPTED_FOLDER";
        let mut read = env.reader();
        let database_url = read.required("COGNITION_DATABASE_URL");
        let queues = SqsSettings::read(&mut read, &Queue::ALL);
        let runtime_key = read.required("COGNITION_SANDBOX_RUNTIME_KEY");
        let enabled = read.parsed(PROVIDERS, "a list of demo and scripted", Provider::list);
        let enabled = enabled.unwrap_or_else(|| vec![Provider::Demo]);
        let scenarios: Option<String> = read.optional(SCENARIOS);
        if enabled.contains(&Provider::Scripted) && scenarios.is_none() {
            read.problem(SCENARIOS, "is not set, and COGNITION_MODEL_PROVIDERS lists scripted");
        }
        let models = Models {
            enabled,
            scenarios: scenarios.map(PathBuf::from),
            demo_latency: read.or("COGNITION_DEMO_LATENCY_SECONDS", Duration::ZERO),
        };
        let settings = Settings {
            max_steps_per_invocation: read.or("COGNITION_MAX_STEPS_PER_INVOCATION", 0),
            publication: read.or("COGNITION_ARTIFACT_PUBLICATION_ENABLED", false),
            ..Settings::default()
        };
        read.finish(|| {
            Some(Self {
                database_url: database_url?,
                queues: queues?,
                runtime_key: runtime_key?,
                models,
                settings,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDED: [(&str, &str); 6] = [
        ("COGNITION_DATABASE_URL", "postgres://localhost/x"),
        ("COGNITION_QUEUE_RUNS_URL", "https://queue/runs"),
        ("COGNITION_QUEUE_SANDBOXES_URL", "https://queue/sandboxes"),
        ("COGNITION_QUEUE_PUBLICATIONS_URL", "https://queue/publications"),
        ("COGNITION_QUEUE_NOTIFICATIONS_URL", "https://queue/notifications"),
        ("COGNITION_SANDBOX_RUNTIME_KEY", "key"),
    ];

    fn read(more: &[(&str, &str)]) -> Result<Config, String> {
        let env = Env::of(NEEDED.iter().chain(more).copied());
        Config::read(&env).map_err(|invalid| invalid.to_string())
    }

    #[test]
    fn what_is_missing_is_named_at_once() {
        let invalid = Config::read(&Env::of::<&str, &str>([])).unwrap_err().to_string();
        for (name, _) in NEEDED {
            assert!(invalid.contains(name), "{invalid}");
        }
    }

    #[test]
    fn only_the_demo_model_is_there_unless_others_are_named() {
        assert_eq!(read(&[]).unwrap().models.enabled, [Provider::Demo]);
        let both = [
            ("COGNITION_MODEL_PROVIDERS", "demo, scripted"),
            ("COGNITION_SCRIPTED_FOLDER", "/scenarios"),
        ];
        assert_eq!(read(&both).unwrap().models.enabled, [Provider::Demo, Provider::Scripted]);
        assert!(read(&[("COGNITION_MODEL_PROVIDERS", "bedrok")]).is_err());
        assert!(read(&[("COGNITION_MODEL_PROVIDERS", "scripted")]).is_err());
    }

    #[test]
    fn an_enabled_provider_is_there_and_no_other() {
        let models = read(&[]).unwrap().models;
        let providers = models.providers().unwrap();
        assert!(providers.find("demo").is_ok());
        assert!(providers.find("scripted").is_err());
        let nowhere = Models {
            enabled: vec![Provider::Scripted],
            scenarios: Some("/no/such/folder".into()),
            ..models
        };
        assert!(nowhere.providers().is_err(), "a missing scenario stops the start");
    }

    #[test]
    fn publication_is_off_unless_it_is_switched_on() {
        assert!(!read(&[]).unwrap().settings.publication);
        let on = read(&[("COGNITION_ARTIFACT_PUBLICATION_ENABLED", "true")]).unwrap();
        assert!(on.settings.publication);
    }
}
