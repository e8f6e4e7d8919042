//! Two ingresses behind one port, on each engine. **Every test of the protocol shares them**: a
//! request goes to the one, the next one to the other, and nothing tells.
//!
//! - On PostgreSQL they are two processes, each with workers, that share a database and a bucket.
//! - A SQLite file has one process; there, one ingress is served twice.
//!
//! They live on a runtime of their own, as long as the test process does. What they leave on the disk
//! goes away after it.

use std::future::Future;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use cognition_local::s3::LocalS3;
use cognition_local::{Options, System, front};
use lambda_kit::env::Env;
use testkit::Database;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{OnceCell, watch};

use super::home::{Home, PUSH_KEYS, WEBHOOKS};
use super::life::{Deployment, Life};
use super::{cast, relay};

pub(crate) use store::driver::Engine;

/// A deployment.
#[derive(Debug)]
pub(crate) struct Pair {
    /// The port behind which both ingresses take turns.
    pub(crate) url: String,
    /// Each of them alone.
    pub(crate) each: [String; 2],
    _alive: Alive,
}

/// What a deployment is made of. It is dropped by nobody.
#[derive(Debug)]
struct Alive {
    _database: Option<Database>,
    _s3: Option<LocalS3>,
    _system: System,
    _other: Option<Life>,
    _stop: watch::Sender<bool>,
    _cleaner: Child,
}

/// The deployment on this engine, which the first call starts.
pub(crate) async fn on(engine: Engine) -> &'static Pair {
    static SQLITE: OnceCell<Pair> = OnceCell::const_new();
    static POSTGRES: OnceCell<Pair> = OnceCell::const_new();
    match engine {
        Engine::Sqlite => SQLITE.get_or_init(|| elsewhere(sqlite(&[]))).await,
        Engine::Postgres => POSTGRES.get_or_init(|| elsewhere(postgres(&[]))).await,
    }
}

/// What makes a deployment ask who one is, and sign its cards. The key is that of RFC 7515 A.3.
const GUARDED: [(&str, &str); 5] = [
    (
        "COGNITION_A2A_SECURITY_SCHEMES",
        r#"{"bearer":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}}"#,
    ),
    ("COGNITION_A2A_SECURITY_REQUIREMENTS", r#"[{"schemes":{"bearer":{}}}]"#),
    (
        "COGNITION_CARD_SIGNING_KEYS",
        r#"{"kty":"EC","crv":"P-256","kid":"one","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}"#,
    ),
    ("COGNITION_PUSH_KEYS", PUSH_KEYS),
    ("COGNITION_PUSH_ALLOW", WEBHOOKS),
];

/// A deployment on this engine that declares security, and whose cards are signed.
pub(crate) async fn guarded(engine: Engine) -> &'static Pair {
    static SQLITE: OnceCell<Pair> = OnceCell::const_new();
    static POSTGRES: OnceCell<Pair> = OnceCell::const_new();
    match engine {
        Engine::Sqlite => SQLITE.get_or_init(|| elsewhere(sqlite(&GUARDED))).await,
        Engine::Postgres => POSTGRES.get_or_init(|| elsewhere(postgres(&GUARDED))).await,
    }
}

/// The settings of a deployment, for its processes and for what runs in this one.
type Settings = &'static [(&'static str, &'static str)];

/// Runs `start` where it outlives the test that is the first to ask.
async fn elsewhere(start: impl Future<Output = Pair> + Send + 'static) -> Pair {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(2).enable_all().build().unwrap()
    });
    runtime.spawn(start).await.expect("the deployment starts")
}

async fn sqlite(settings: Settings) -> Pair {
    let home = cast::home();
    let system = System::start(&options(&home, settings)).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let second = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(front::serve(listener, system.functions().ingress.clone(), stopped));
    let each = [system.url().to_owned(), second];
    let alive = Alive {
        _database: None,
        _s3: None,
        _system: system,
        _other: None,
        _stop: stop,
        _cleaner: cleaner(home, None),
    };
    Pair { url: relay::before(each.to_vec()).await, each, _alive: alive }
}

async fn postgres(settings: Settings) -> Pair {
    let home = cast::home();
    let database = Database::postgres().await;
    let s3 = home.objects().await;
    let bucket = s3.bucket("protocol").unwrap();
    let options = Options {
        data: home.path().join("first"),
        database_url: Some(database.url().to_owned()),
        s3: Some(bucket.clone()),
        ..options(&home, settings)
    };
    let system = System::start(&options).await.unwrap();
    let deployment = Deployment { home: &home, database: database.url(), s3: bucket, log: "warn" };
    let other = deployment.begin_with(settings).await;
    let each = [system.url().to_owned(), other.url.clone()];
    let alive = Alive {
        _database: Some(database),
        _s3: Some(s3),
        _system: system,
        _stop: watch::channel(false).0,
        _cleaner: cleaner(home, other.pid()),
        _other: Some(other),
    };
    Pair { url: relay::before(each.to_vec()).await, each, _alive: alive }
}

fn options(home: &Home, settings: Settings) -> Options {
    let options = Options { runs: 16, ..home.options() };
    if settings.is_empty() {
        return options;
    }
    options.with_environment(&Env::of(settings.iter().copied())).unwrap()
}

/// Waits for the end of its standard input, which is the end of the test process, and tidies up.
fn cleaner(home: Home, process: Option<u32>) -> Child {
    const CLEAN: &str = r#"read -r _; [ -z "$2" ] || kill -KILL "$2" 2>/dev/null; rm -rf "$1""#;
    Command::new("sh")
        .args(["-c", CLEAN, "sh"])
        .arg(home.keep())
        .arg(process.map(|id| id.to_string()).unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}
