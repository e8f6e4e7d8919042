//! The commands of `cognition-local`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use lambda_kit::env::Env;
use tokio::signal::unix::{SignalKind, signal};
use webhook::Allow;

use crate::options::Options;
use crate::screen::Screen;
use crate::system::System;
use crate::{bench, conformance, demo, hint, invoke};

/// The whole system in one process, for trying and for developing.
#[derive(Debug, Parser)]
#[command(name = "cognition-local", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves A2A until Ctrl-C.
    Serve {
        #[command(flatten)]
        common: Common,
        /// The port to listen on; 0 takes any that is free.
        #[arg(long, default_value_t = 8700)]
        port: u16,
        /// Serve the conformance agent alone, in a data folder of its own: a messageId that comes
        /// again is another request, and webhooks of this machine are called.
        #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "full")]
        conformance: Option<conformance::Profile>,
    },
    /// Shows the main job: a request, its stream, and the files that come of it.
    Demo {
        #[command(flatten)]
        common: Common,
        /// What to ask for.
        #[arg(long, default_value = demo::REQUEST)]
        request: String,
        /// Where the files are saved; without it, in the folder demo/deliverables of the data folder.
        #[arg(long)]
        save: Option<PathBuf>,
    },
    /// Runs one handler on one sample event and prints its answer.
    Invoke {
        #[command(flatten)]
        common: Common,
        /// One of a2a-ingress, run-orchestrator, sandbox-controller, artifact-publisher,
        /// push-notifier, sweeper.
        #[arg(long)]
        function: String,
        /// A file with the event as JSON.
        #[arg(long)]
        event: PathBuf,
    },
    /// Applies the migrations.
    Migrate {
        #[command(flatten)]
        common: Common,
    },
    /// Measures completion at several levels of concurrency, as ratios to the first.
    Bench {
        #[command(flatten)]
        common: Common,
        #[arg(long, value_delimiter = ',', default_value = "1,10,50")]
        levels: Vec<usize>,
        /// How long the model thinks at each step, in milliseconds.
        #[arg(long, default_value_t = 200)]
        model_latency_ms: u64,
    },
}

#[derive(Debug, Args)]
struct Common {
    /// Where everything is kept.
    #[arg(long, default_value = ".local")]
    data: PathBuf,
    /// postgres://…; without it, a SQLite file in the data folder.
    #[arg(long)]
    database_url: Option<String>,
    /// Keep the database in memory.
    #[arg(long)]
    memory: bool,
    /// The folder of agent definitions.
    #[arg(long, default_value = "infra/local/agents")]
    agents: PathBuf,
    /// The folder of scenarios for agents whose provider is `scripted`.
    #[arg(long)]
    scenarios: Option<PathBuf>,
    /// A webhook that may be called although it is not on the public internet: a host, a host with a
    /// port, or a network. May be repeated.
    #[arg(long = "allow-webhook", value_name = "HOST", value_parser = receiver)]
    allow_webhooks: Vec<String>,
    /// The sandbox server's binary; without it, the one beside this program.
    #[arg(long)]
    sandboxd: Option<PathBuf>,
}

/// A receiver that the guard can read, and one at least.
fn receiver(text: &str) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    if text.trim().is_empty() {
        return Err("it names no host".into());
    }
    text.parse::<Allow>()?;
    Ok(text.to_owned())
}

impl Common {
    fn options(self, env: &Env) -> anyhow::Result<Options> {
        Options {
            data: self.data,
            database_url: self.database_url,
            memory: self.memory,
            agents: self.agents,
            scenarios: self.scenarios,
            sandboxd: self.sandboxd,
            allow_webhooks: self.allow_webhooks,
            ..Options::default()
        }
        .with_environment(env)
    }
}

impl Cli {
    /// How much is logged, where the environment does not say: a server tells what it does, but not
    /// each of its frequent sweeps; what has its own output logs only what a person should see.
    pub fn log(&self, env: &Env) -> Env {
        if env.value("COGNITION_LOG").or_else(|| env.value("RUST_LOG")).is_some() {
            return env.clone();
        }
        let filter = match self.command {
            Command::Serve { .. } => "info,sweeper=warn,aws_config=warn,hyper=warn,s3s=warn",
            _ => "warn",
        };
        Env::of([("COGNITION_LOG", filter)])
    }

    /// Does what was asked for.
    pub async fn run(self, env: &Env, screen: &Screen) -> anyhow::Result<()> {
        let unread = Options::unread(env);
        if !unread.is_empty() {
            screen.warn(&format!("set, and not read by local runs: {}", unread.join(", ")));
        }
        match self.command {
            Command::Serve { common, port, conformance } => {
                let options = Options { port, ..common.options(env)? };
                let options = match conformance {
                    Some(profile) => conformance::options(options, profile)?,
                    None => options,
                };
                serve(&options, screen).await
            }
            Command::Demo { common, request, save } => {
                let options = common.options(env)?;
                let data = options.data.join("demo");
                let save = save.unwrap_or_else(|| data.join("deliverables"));
                show(&Options { data, port: 0, ..options }, &request, &save, screen).await
            }
            Command::Invoke { common, function, event } => {
                let answer = invoke::invoke(&common.options(env)?, &function, &event).await?;
                screen.line(&serde_json::to_string_pretty(&answer)?);
                Ok(())
            }
            Command::Migrate { common } => {
                let options = common.options(env)?;
                std::fs::create_dir_all(&options.data)?;
                let pool = store::Pool::connect(&options.database(), 1).await?;
                let applied = store::migrations::migrate(&pool).await?;
                for name in &applied.0 {
                    screen.line(&format!("applied {name}"));
                }
                if applied.0.is_empty() {
                    screen.line("nothing to do: all migrations were applied before");
                }
                Ok(())
            }
            Command::Bench { common, levels, model_latency_ms } => {
                let demo_latency = Duration::from_millis(model_latency_ms);
                let options = Options { port: 0, demo_latency, runs: 64, ..common.options(env)? };
                measure(&options, &levels, screen).await
            }
        }
    }
}

async fn serve(options: &Options, screen: &Screen) -> anyhow::Result<()> {
    let system = System::start(options).await?;
    for line in system.describe() {
        screen.line(&line);
    }
    if let Some(agent) = system.functions().ingress.agents.first() {
        screen.line(&format!("agent      {}/a2a/{}", system.url(), agent.definition.name));
        screen.heading("try this in another terminal, and end with Ctrl-C here");
        let known = options.trust.security.is_required();
        for line in hint::curl(system.url(), &agent.definition, known) {
            screen.line(&line);
        }
    }
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    screen.heading("ending; what is at work goes on at the next start");
    system.stop().await;
    Ok(())
}

async fn show(
    options: &Options,
    request: &str,
    save: &std::path::Path,
    screen: &Screen,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let system = System::start(options).await?;
    screen.heading(&format!("started in {:.2} s", began.elapsed().as_secs_f64()));
    for line in system.describe() {
        screen.line(&line);
    }
    let shown = demo::run(&system, request, save, screen).await;
    system.stop().await;
    shown
}

async fn measure(options: &Options, levels: &[usize], screen: &Screen) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let options = Options { data: folder.path().to_owned(), ..options.clone() };
    let system = System::start(&options).await?;
    for line in system.describe() {
        screen.line(&line);
    }
    // The first task pays for what every later one finds warm.
    bench::level(&system, 1).await?;
    screen.heading("completion of the demo task, from sending to the finished task");
    let mut first = None;
    for concurrent in levels {
        let level = bench::level(&system, *concurrent).await?;
        let base = *first.get_or_insert(level.median.as_secs_f64());
        screen.line(&format!(
            "{:>3} at once: median {:>6.2} s ({:>5.2} × the first), slowest {:>6.2} s, outside model and tools {:>4.1} %",
            level.concurrent,
            level.median.as_secs_f64(),
            level.median.as_secs_f64() / base,
            level.slowest.as_secs_f64(),
            level.overhead * 100.0,
        ));
    }
    system.stop().await;
    Ok(())
}
