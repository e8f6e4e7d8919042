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
use webhook::{Allow, Guard};

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

/// The settings that local runs read, beside those of [`BUCKET`] and [`KEYS`].
const READ: [&str; 7] = [
    "COGNITION_LOG",
    "COGNITION_A2A_IDEMPOTENCY",
    "COGNITION_A2A_SECURITY_SCHEMES",
    "COGNITION_A2A_SECURITY_REQUIREMENTS",
    "COGNITION_CARD_SIGNING_KEYS",
    "COGNITION_PUSH_ALLOW",
    "COGNITION_PUSH_KEYS",
];
/// A bucket elsewhere: the first one asks for it, and only then the others are read.
const BUCKET: [&str; 5] = [
    "COGNITION_S3_BUCKET",
    "COGNITION_S3_PREFIX",
    "COGNITION_S3_ENDPOINT_URL",
    "COGNITION_S3_REGION",
    "COGNITION_S3_FORCE_PATH_STYLE",
];
/// The deployment's keys: both or none.
const KEYS: [&str; 2] = ["COGNITION_SANDBOX_RUNTIME_KEY", "COGNITION_S3_SCOPE_HMAC_KEY"];

impl Options {
    /// The settings of ours that are set, and that local runs do not read: they are for functions of
    /// their own.
    pub fn unread(env: &Env) -> Vec<&str> {
        let set = |name: &str| env.value(name).is_some();
        let bucket = set(BUCKET[0]);
        let keys = KEYS.into_iter().all(set);
        let read = |name: &str| {
            READ.contains(&name)
                || (bucket && BUCKET.contains(&name))
                || (keys && KEYS.contains(&name))
        };
        env.names().filter(|name| name.starts_with("COGNITION_") && !read(name)).collect()
    }

    /// Takes what the environment says of buckets and keys, by the names that the functions use.
    pub fn with_environment(mut self, env: &Env) -> anyhow::Result<Self> {
        if env.value(BUCKET[0]).is_some() {
            let mut read = env.reader();
            let s3 = S3Settings::read(&mut read);
            self.s3 = Some(read.finish(|| s3)?);
        }
        let [runtime, scope] = KEYS.map(|name| env.value(name));
        if let Some((runtime, scope)) = runtime.zip(scope) {
            self.keys = Some(Keys { runtime: Secret::new(runtime), scope: Secret::new(scope) });
        }
        self.push_keys = env.value("COGNITION_PUSH_KEYS").map(Secret::new);
        let mut read = env.reader();
        // Read again where they are used; who set them is told of mistakes by their names.
        read.tried("COGNITION_PUSH_KEYS", Keyring::parse);
        let allow = read
            .tried("COGNITION_PUSH_ALLOW", |text| text.parse::<Allow>().map(|_| text.to_owned()));
        self.allow_webhooks.extend(allow);
        let idempotent =
            read.parsed("COGNITION_A2A_IDEMPOTENCY", "`on` or `off`", |word| match word {
                "on" => Some(true),
                "off" => Some(false),
                _ => None,
            });
        self.idempotent = idempotent.unwrap_or(self.idempotent);
        let trust = Trust::read(&mut read);
        self.trust = read.finish(|| Some(trust))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// As they are when `lambda.env` was read into the shell.
    #[test]
    fn settings_for_functions_of_their_own_are_named() {
        let text = include_str!("../lambda.env");
        let set: Vec<_> = text.lines().filter_map(|line| line.split_once('=')).collect();
        let env = Env::of(set.iter().copied());
        let unread = Options::unread(&env);
        for name in ["DATABASE_URL", "PUBLIC_URL", "AGENTS_DIR", "SCOPING_ENABLED", "SCOPE_SOURCE"]
        {
            assert!(unread.contains(&format!("COGNITION_{name}").as_str()), "{unread:?}");
        }
        for name in ["COGNITION_S3_BUCKET", "COGNITION_S3_REGION", KEYS[0], "COGNITION_PUSH_KEYS"] {
            assert!(!unread.contains(&name), "{unread:?}");
        }
    }

    #[test]
    fn what_is_read_only_beside_another_setting_is_named_without_it() {
        let alone = Env::of([("COGNITION_S3_REGION", "x"), (KEYS[1], "x"), ("OTHER", "x")]);
        assert_eq!(Options::unread(&alone), ["COGNITION_S3_REGION", KEYS[1]]);
        let nothing = Env::of([("COGNITION_LOG", "info"), ("COGNITION_PUBLIC_URL", "")]);
        assert!(Options::unread(&nothing).is_empty());
    }

    #[test]
    fn a_wrong_setting_is_named_with_its_entry_and_without_what_it_holds() {
        let env = Env::of([
            ("COGNITION_PUSH_ALLOW", "host,can ary"),
            ("COGNITION_PUSH_KEYS", "canary"),
            ("COGNITION_A2A_IDEMPOTENCY", "canary"),
        ]);
        let refused = Options::default().with_environment(&env).unwrap_err().to_string();
        for told in ["COGNITION_PUSH_ALLOW is refused: entry 2", "COGNITION_PUSH_KEYS", "`on` or"] {
            assert!(refused.contains(told), "{refused}");
        }
        assert!(!refused.contains("ary"), "{refused}");
    }
}
