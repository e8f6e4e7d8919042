//! What the local runner can be told.

use std::path::{Path, PathBuf};
use std::time::Duration;

use a2a_ingress::cards::Trust;
use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cloud::s3::S3Settings;
use lambda_kit::env::{Env, Secret};
use sealing::Keyring;
use webhook::Guard;

/// How a system is set up. [`Options::default`] is what `serve` does without arguments.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where everything is kept: database, objects, workspaces, keys.
    pub data: PathBuf,
    /// `postgres://…`; without it, a SQLite file in `data`.
    pub database_url: Option<String>,
    /// The database is kept in memory, and gone with the process.
    pub memory: bool,
    /// Zero takes any that is free.
    pub port: u16,
    pub agents: PathBuf,
    /// Scenarios for agents whose provider is `scripted`.
    pub scenarios: Option<PathBuf>,
    pub demo_latency: Duration,
    /// Whether a messageId that comes again means the same request.
    pub idempotent: bool,
    /// Runs that are worked on at the same time.
    pub runs: usize,
    /// Model and tool steps after which a run goes back to the queue; 0 is without limit.
    pub max_steps_per_invocation: u32,
    pub sweep_every: Duration,
    /// The sandbox server's binary; without it, the one beside this program.
    pub sandboxd: Option<PathBuf>,
    /// A bucket elsewhere (`COGNITION_S3_*`); without it, a folder in `data` behind an S3 endpoint.
    pub s3: Option<S3Settings>,
    /// Webhooks that may be called although they are none of the public internet: hosts, hosts with a
    /// port, networks.
    pub allow_webhooks: Vec<String>,
    /// The keys that seal webhooks (`COGNITION_PUSH_KEYS`); without them, one that `data` keeps.
    /// Processes on one database need the same.
    pub push_keys: Option<Secret>,
    /// How callers prove who they are, and what cards are signed with (`COGNITION_A2A_SECURITY_*`,
    /// `COGNITION_CARD_SIGNING_KEYS`).
    pub trust: Trust,
    /// The keys of sandboxes and of storage namespaces; without them, those that `data` keeps.
    pub keys: Option<Keys>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            data: PathBuf::from(".local"),
            database_url: None,
            memory: false,
            port: 8700,
            agents: PathBuf::from("infra/local/agents"),
            scenarios: None,
            demo_latency: Duration::ZERO,
            idempotent: true,
            runs: 8,
            max_steps_per_invocation: 0,
            sweep_every: Duration::from_secs(5),
            sandboxd: None,
            s3: None,
            allow_webhooks: Vec::new(),
            push_keys: None,
            trust: Trust::default(),
            keys: None,
        }
    }
}

impl Options {
    /// Takes what the environment says of buckets and keys, by the names that the functions use.
    pub fn with_environment(mut self, env: &Env) -> anyhow::Result<Self> {
        if env.value("COGNITION_S3_BUCKET").is_some() {
            let mut read = env.reader();
            let s3 = S3Settings::read(&mut read);
            self.s3 = Some(read.finish(|| s3)?);
        }
        let runtime = env.value("COGNITION_SANDBOX_RUNTIME_KEY");
        let scope = env.value("COGNITION_S3_SCOPE_HMAC_KEY");
        if let Some((runtime, scope)) = runtime.zip(scope) {
            self.keys = Some(Keys { runtime: Secret::new(runtime), scope: Secret::new(scope) });
        }
        self.push_keys = env.value("COGNITION_PUSH_KEYS").map(Secret::new);
        if let Some(allow) = env.value("COGNITION_PUSH_ALLOW") {
            self.allow_webhooks.push(allow.to_owned());
        }
        let mut read = env.reader();
        let trust = Trust::read(&mut read);
        self.trust = read.finish(|| Some(trust))?;
        if env.value("COGNITION_A2A_IDEMPOTENCY") == Some("off") {
            self.idempotent = false;
        }
        Ok(self)
    }

    pub(crate) fn database(&self) -> String {
        match (&self.database_url, self.memory) {
            (Some(url), _) => url.clone(),
            (None, true) => "sqlite::memory:".to_owned(),
            (None, false) => format!("sqlite:{}", self.data.join("cognition.db").display()),
        }
    }

    /// The keys that seal webhooks. Asks the data folder, which must be there.
    pub(crate) fn keyring(&self) -> anyhow::Result<Keyring> {
        let text = if let Some(keys) = &self.push_keys {
            keys.expose().to_owned()
        } else {
            let key = hex::decode(kept(&self.data, "push.key")?.expose())?;
            format!("local:{}", STANDARD.encode(key))
        };
        Keyring::parse(&text).context("read the keys of webhooks")
    }

    pub(crate) fn guard(&self) -> anyhow::Result<Guard> {
        let allow = self.allow_webhooks.join(",").parse();
        Ok(Guard::new(allow.context("read the webhooks that are allowed")?))
    }

    pub(crate) fn sandboxd(&self) -> anyhow::Result<PathBuf> {
        match &self.sandboxd {
            Some(path) => Ok(path.clone()),
            None => Ok(std::env::current_exe()
                .context("find this program")?
                .with_file_name("cog-sandboxd")),
        }
    }
}

/// The deployment's keys.
#[derive(Debug, Clone)]
pub struct Keys {
    /// From which the bearers of sandboxes are derived.
    pub runtime: Secret,
    /// From which storage namespaces are derived.
    pub scope: Secret,
}

impl Keys {
    /// The keys that `data` keeps; made at the first time, readable for nobody else.
    pub(crate) fn kept(data: &Path) -> anyhow::Result<Self> {
        Ok(Self { runtime: kept(data, "runtime.key")?, scope: kept(data, "scope.key")? })
    }
}

fn kept(data: &Path, name: &str) -> anyhow::Result<Secret> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    let path = data.join(name);
    if !path.exists() {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).context("make a key")?;
        // Complete before it has its name, so that no other process reads half a key; the name is
        // given only once, so that two processes keep the same one.
        let draft = data.join(format!("{name}.{}", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(hex::encode(bytes).as_bytes())?;
        let named = std::fs::hard_link(&draft, &path);
        std::fs::remove_file(&draft)?;
        if let Err(error) = named
            && error.kind() != std::io::ErrorKind::AlreadyExists
        {
            return Err(error).context("keep a key");
        }
    }
    Ok(Secret::new(std::fs::read_to_string(&path).context("read a key")?))
}
