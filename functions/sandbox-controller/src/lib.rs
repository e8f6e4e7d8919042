//! Gives runs their sandboxes, and ends them: the only one that starts and stops sandboxes.
//!
//! **Intent is committed before the call that it stands for, and the result after it; every call may
//! be repeated.** So a controller may die on any line: the message comes again, finds the row where it
//! was left, and goes on with the same sandbox.

mod backend;
pub mod config;
mod confirm;
pub mod process;

use std::sync::Arc;
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use cloud::queues::Queues;
use domain::{Ids, InstanceId, RunId, ScopeDigest};
use lambda_kit::chain;
use lambda_kit::env::Secret;
use lambda_kit::sqs::{self, Failure};
use messages::Message as _;
use messages::sandboxes::{Command, SandboxCommand};
use sandbox_protocol::client::{self, Transport};
use store::sandboxes::{self, Acquired, Instance, InstanceState, Ready, Releasing};
use store::{Outgoing, Pool};

pub use backend::{Backend, End, Fate, LaunchError};
use confirm::{Confirmation, confirm};

/// How often one message looks at its workspace anew: for an end, two launches, and others who
/// moved things meanwhile.
const ROUNDS: usize = 8;

/// Why an idle sandbox ends, as its row says.
const IDLE: &str = "idle";

/// The function.
#[derive(Debug)]
pub struct SandboxController {
    pub pool: Pool,
    pub queues: Arc<dyn Queues>,
    pub ids: Ids,
    pub backend: Backend,
    pub sandboxes: Transport,
    /// Of it the bearers of sandboxes are derived.
    pub runtime_key: Secret,
    /// How long a sandbox may take to confirm its generation.
    pub patience: Duration,
}

/// Whether a message is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    Done,
    /// The rows have changed: look again.
    Again,
}

/// Why a message is left for another time.
#[derive(Debug, thiserror::Error)]
enum Later {
    #[error("another live run holds the workspace")]
    Busy,
    #[error("the sandbox is another runner's, which lives")]
    OtherRunner,
    #[error("the sandbox has not ended yet")]
    Ending,
    #[error("the sandbox does not answer")]
    Silent(#[source] client::Error),
    #[error("the workspace does not come to rest")]
    Restless,
}

/// The message belongs to nothing that we know.
#[derive(Debug, thiserror::Error)]
#[error("there is no such {0} in this scope")]
struct Unknown(&'static str);

impl SandboxController {
    /// Handles the messages of one event. The event source mapping must have
    /// `ReportBatchItemFailures` set.
    pub async fn handle(&self, event: SqsEvent) -> SqsBatchResponse {
        sqs::for_each(event, SandboxCommand::parse, |command| self.command(command)).await
    }

    /// Handles one message.
    pub async fn handle_message(&self, body: &str) -> Result<(), Failure> {
        self.command(SandboxCommand::parse(body).map_err(Failure::reject)?).await
    }

    /// Safe to repeat: a command that came too late finds its row in another state and is done.
    async fn command(&self, command: SandboxCommand) -> Result<(), Failure> {
        let SandboxCommand { scope, command, .. } = command;
        match command {
            Command::Acquire { run } => self.acquire(&scope, run).await,
            Command::Release { instance } => self.release(&scope, instance).await,
        }
    }

    /// Gives the run a sandbox on its workspace, and wakes it: with the sandbox, or with the news
    /// that there is none.
    async fn acquire(&self, scope: &ScopeDigest, run: RunId) -> Result<(), Failure> {
        for _ in 0..ROUNDS {
            let wish = self.backend.wish();
            let found = sandboxes::acquire(&self.pool, &self.ids, scope, run, &wish).await;
            let round = match found.map_err(store_failure)? {
                Acquired::Launch(instance) => self.launch(instance, run).await?,
                Acquired::Adopt(instance) => self.adopt(instance, run).await?,
                Acquired::Replace(instance) => self.end(&instance).await?,
                Acquired::Failed(outgoing) => {
                    tracing::warn!(run.id = %run, "gave up on a sandbox");
                    self.send(outgoing).await;
                    Round::Done
                }
                Acquired::Busy => return Err(Failure::retry(Later::Busy)),
                Acquired::Over => Round::Done,
                Acquired::Unknown => return Err(Failure::reject(Unknown("run"))),
            };
            if round == Round::Done {
                return Ok(());
            }
        }
        Err(Failure::retry(Later::Restless))
    }

    /// From `reserved`, or wherever an earlier attempt left it, to `ready`.
    async fn launch(&self, mut instance: Instance, run: RunId) -> Result<Round, Failure> {
        if instance.runner.as_deref() != self.backend.wish().runner {
            return self.take_from_other_runner(&instance).await;
        }
        if instance.state != InstanceState::Initializing
            && !sandboxes::launching(&self.pool, &instance).await.map_err(store_failure)?
        {
            return Ok(Round::Again);
        }
        let endpoint = match self.backend.launch(&instance).await {
            Ok(endpoint) => endpoint,
            Err(error) => {
                tracing::warn!(instance.id = %instance.id, "{}", chain(&error));
                return self.give_up(&instance, error.word()).await;
            }
        };
        let noted = sandboxes::initializing(&self.pool, &instance, &endpoint).await;
        if !noted.map_err(store_failure)? {
            return Ok(Round::Again);
        }
        instance.endpoint = Some(endpoint);
        match self.confirm(&instance).await {
            Confirmation::Yes { workspace_root } => {
                self.ready(&instance, run, &workspace_root).await
            }
            Confirmation::Fenced => Ok(Round::Again),
            Confirmation::Gone => self.give_up(&instance, "exited").await,
            Confirmation::No(error) => {
                tracing::warn!(instance.id = %instance.id, "{}", chain(&error));
                self.give_up(&instance, "not_ready").await
            }
        }
    }

    /// A launch did not work: first nothing runs any more, then it is written down.
    async fn give_up(&self, instance: &Instance, reason: &'static str) -> Result<Round, Failure> {
        match self.backend.terminate(instance).await {
            End::Confirmed => {}
            End::Pending => return Err(Failure::retry(Later::Ending)),
        }
        sandboxes::failed(&self.pool, instance, reason).await.map_err(store_failure)?;
        Ok(Round::Again)
    }

    /// A sandbox that runs becomes the run's; a dead one is replaced.
    async fn adopt(&self, instance: Instance, run: RunId) -> Result<Round, Failure> {
        match self.confirm(&instance).await {
            Confirmation::Yes { workspace_root } => {
                self.ready(&instance, run, &workspace_root).await
            }
            Confirmation::Fenced => Ok(Round::Again),
            Confirmation::Gone => self.lose(&instance, "lost").await,
            Confirmation::No(error) => match self.backend.terminate(&instance).await {
                End::Confirmed => {
                    tracing::warn!(instance.id = %instance.id, "ended: {}", chain(&error));
                    self.lose(&instance, "silent").await
                }
                End::Pending => Err(Failure::retry(Later::Silent(error))),
            },
        }
    }

    async fn take_from_other_runner(&self, instance: &Instance) -> Result<Round, Failure> {
        match self.backend.fate(instance).await {
            Fate::Gone => self.lose(instance, "runner_ended").await,
            Fate::Alive | Fate::Unsure => Err(Failure::retry(Later::OtherRunner)),
        }
    }

    async fn lose(&self, instance: &Instance, reason: &'static str) -> Result<Round, Failure> {
        sandboxes::lost(&self.pool, instance, reason).await.map_err(store_failure)?;
        // What the row says must be true for good.
        self.backend.terminate(instance).await;
        Ok(Round::Again)
    }

    async fn ready(
        &self,
        instance: &Instance,
        run: RunId,
        workspace_root: &str,
    ) -> Result<Round, Failure> {
        let ready = sandboxes::ready(&self.pool, &self.ids, instance, run, workspace_root).await;
        match ready.map_err(store_failure)? {
            Ready::Yes(outgoing) => {
                self.send(outgoing).await;
                Ok(Round::Done)
            }
            Ready::Moved => Ok(Round::Again),
        }
    }

    /// Ends a sandbox whose row says `releasing`, and records that it has ended.
    async fn end(&self, instance: &Instance) -> Result<Round, Failure> {
        match self.backend.terminate(instance).await {
            End::Confirmed => {
                sandboxes::released(&self.pool, instance).await.map_err(store_failure)?;
                Ok(Round::Again)
            }
            End::Pending => Err(Failure::retry(Later::Ending)),
        }
    }

    /// Ends a sandbox that nobody has used for long.
    async fn release(&self, scope: &ScopeDigest, instance: InstanceId) -> Result<(), Failure> {
        let found = sandboxes::begin_release(&self.pool, scope, instance, IDLE).await;
        match found.map_err(store_failure)? {
            Releasing::Terminate(instance) => match self.backend.terminate(&instance).await {
                End::Confirmed => {
                    sandboxes::released(&self.pool, &instance).await.map_err(store_failure)
                }
                // It stays `releasing`; the sweeper asks again, and perhaps another runner.
                End::Pending => Ok(()),
            },
            Releasing::Ended | Releasing::InUse => Ok(()),
            Releasing::Unknown => Err(Failure::reject(Unknown("sandbox"))),
        }
    }

    /// Puts rows right that an earlier process of this machine left behind. To be called once at
    /// the start, before the first message; safe to repeat. Returns how many there were.
    pub async fn recover(&self) -> Result<usize, store::Error> {
        let Backend::Process(process) = &self.backend;
        let left =
            sandboxes::of_other_runners(&self.pool, process::Process::NAME, process.runner())
                .await?;
        let mut lost = 0;
        for instance in left {
            // Another runner's that lives is left alone.
            if self.backend.terminate(&instance).await == End::Pending {
                continue;
            }
            if instance.state == InstanceState::Releasing {
                sandboxes::released(&self.pool, &instance).await?;
            } else {
                let reason = "runner_ended";
                let outgoing =
                    sandboxes::orphaned(&self.pool, &self.ids, &instance, reason).await?;
                self.send(outgoing).await;
            }
            lost += 1;
        }
        process.tidy();
        Ok(lost)
    }

    async fn confirm(&self, instance: &Instance) -> Confirmation {
        let key = self.runtime_key.expose().as_bytes();
        confirm(&self.backend, &self.sandboxes, key, instance, self.patience).await
    }

    async fn send(&self, outgoing: Option<Outgoing>) {
        dispatch::send_all(&self.pool, &*self.queues, outgoing).await;
    }
}

/// Which store errors are worth another try. A row that has moved is one: the next attempt looks
/// at it anew.
fn store_failure(error: store::Error) -> Failure {
    let moved = matches!(error, store::Error::Conflict | store::Error::UniqueViolation { .. });
    if moved || error.is_retryable() { Failure::retry(error) } else { Failure::reject(error) }
}

#[cfg(test)]
mod tests;
