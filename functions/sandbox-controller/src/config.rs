//! The settings.

use std::path::PathBuf;
use std::time::Duration;

use cloud::sqs::SqsSettings;
use lambda_kit::env::{Env, Invalid, Reader, Secret};
use messages::Queue;

use crate::process;

/// The fewest characters of a runtime key: it stands between anyone on the machine and the sandbox.
const KEY_LENGTH: usize = 32;

/// Everything that the function reads from its environment.
#[derive(Debug)]
pub struct Config {
    /// `COGNITION_DATABASE_URL`: `postgres://…`.
    pub database_url: Secret,
    /// `COGNITION_QUEUE_RUNS_URL`: where waiting runs are woken.
    pub queues: SqsSettings,
    /// `COGNITION_SANDBOX_RUNTIME_KEY`: of it the bearers of sandboxes are derived. The same for
    /// every function; at least 32 characters.
    pub runtime_key: Secret,
    /// `COGNITION_SANDBOX_PATIENCE_SECONDS` (20): how long a sandbox may take to answer.
    pub patience: Duration,
    pub backend: Backend,
}

/// `COGNITION_SANDBOX_BACKEND`: which kind of sandboxes is launched.
#[derive(Debug)]
pub enum Backend {
    /// `process`, the default.
    Process(process::Settings),
}

impl Config {
    pub fn read(env: &Env) -> Result<Self, Invalid> {
        let mut read = env.reader();
        let database_url = read.required("COGNITION_DATABASE_URL");
        let queues = SqsSettings::read(&mut read, &[Queue::Runs]);
        let runtime_key = runtime_key(&mut read);
        let patience = read.or("COGNITION_SANDBOX_PATIENCE_SECONDS", Duration::from_secs(20));
        let backend = Backend::read(&mut read, runtime_key.as_ref());
        read.finish(|| {
            Some(Self {
                database_url: database_url?,
                queues: queues?,
                runtime_key: runtime_key?,
                patience,
                backend: backend?,
            })
        })
    }
}

fn runtime_key(read: &mut Reader<'_>) -> Option<Secret> {
    const NAME: &str = "COGNITION_SANDBOX_RUNTIME_KEY";
    let key: Secret = read.required(NAME)?;
    if key.expose().len() < KEY_LENGTH {
        read.problem(NAME, "must have at least 32 characters");
        return None;
    }
    Some(key)
}

impl Backend {
    /// Reads `COGNITION_SANDBOX_BACKEND` and, for `process`:
    ///
    /// - `COGNITION_SANDBOX_SERVER`: the binary `cog-sandboxd`; the one beside this program.
    /// - `COGNITION_SANDBOX_DATA` (`.local/sandboxes`): the folder of the workspaces.
    /// - `COGNITION_SANDBOX_BUBBLEWRAP` (true): commands are put behind bubblewrap where that works.
    /// - `COGNITION_SANDBOX_START_SECONDS` (20): how long a server may take to start.
    fn read(read: &mut Reader<'_>, runtime_key: Option<&Secret>) -> Option<Self> {
        read.parsed("COGNITION_SANDBOX_BACKEND", "process", |name| {
            (name == "process").then_some(())
        });
        let server = read.optional::<String>("COGNITION_SANDBOX_SERVER").map(PathBuf::from);
        let data = read.or("COGNITION_SANDBOX_DATA", ".local/sandboxes".to_owned());
        let bubblewrap = read.or("COGNITION_SANDBOX_BUBBLEWRAP", true);
        let start_timeout = read.or("COGNITION_SANDBOX_START_SECONDS", Duration::from_secs(20));
        Some(Self::Process(process::Settings {
            server: server.unwrap_or_else(beside_this_program),
            data: data.into(),
            runtime_key: runtime_key?.clone(),
            bubblewrap,
            start_timeout,
        }))
    }
}

fn beside_this_program() -> PathBuf {
    let server = PathBuf::from("cog-sandboxd");
    std::env::current_exe().map_or(server.clone(), |program| program.with_file_name(server))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef0123456789abcdef";

    fn env<'a>(extra: &[(&'a str, &'a str)]) -> Env {
        let known = [
            ("COGNITION_DATABASE_URL", "postgres://localhost/cognition"),
            ("COGNITION_QUEUE_RUNS_URL", "http://localhost/runs"),
            ("COGNITION_SANDBOX_RUNTIME_KEY", KEY),
        ];
        Env::of(known.into_iter().chain(extra.iter().copied()))
    }

    #[test]
    fn what_is_not_set_has_a_default() {
        let config = Config::read(&env(&[])).unwrap();
        let Backend::Process(settings) = config.backend;
        assert_eq!(settings.data, PathBuf::from(".local/sandboxes"));
        assert!(settings.server.ends_with("cog-sandboxd"));
        assert_eq!(settings.runtime_key, config.runtime_key);
    }

    #[test]
    fn a_backend_that_is_not_there_stops_the_start() {
        let invalid = Config::read(&env(&[("COGNITION_SANDBOX_BACKEND", "docker")])).unwrap_err();
        assert_eq!(invalid.to_string(), "settings: COGNITION_SANDBOX_BACKEND must be process");
    }

    #[test]
    fn all_that_is_missing_is_named_at_once() {
        let invalid = Config::read(&Env::of::<&str, &str>([])).unwrap_err().to_string();
        for name in
            ["COGNITION_DATABASE_URL", "COGNITION_QUEUE_RUNS_URL", "COGNITION_SANDBOX_RUNTIME_KEY"]
        {
            assert!(invalid.contains(name), "{invalid}");
        }
    }

    #[test]
    fn a_short_key_is_refused() {
        let short = env(&[("COGNITION_SANDBOX_RUNTIME_KEY", "secret")]);
        let invalid = Config::read(&short).unwrap_err().to_string();
        assert!(invalid.contains("at least 32 characters") && !invalid.contains("secret"));
    }
}
