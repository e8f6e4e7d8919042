//! The sandbox of a run, as far as this worker has it.
//!
//! **It is acquired when the first tool needs it, never before**: a conversation without tools has
//! none. Only the controller starts and ends sandboxes; the worker asks, looks and uses.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::{InstanceId, Timestamp, limits};
use sandbox_protocol::client::{Client, Error};
use sandbox_protocol::lease::LeaseRequest;
use sandbox_protocol::runtime_token;
use store::Lease;
use store::sandboxes::{self, Held, HeldSandbox};
use tokio::time::Instant;

use crate::Orchestrator;
use crate::worker::{Stop, Worker};

/// Between two looks at a sandbox that is being made: at first, and at most.
const FIRST_LOOK: Duration = Duration::from_millis(20);
const LONGEST_LOOK: Duration = Duration::from_millis(250);

/// Where the worker keeps what it has acquired; its heartbeat looks here too.
#[derive(Debug, Default)]
pub(crate) struct Slot(Mutex<Option<Arc<Sandbox>>>);

/// A sandbox that takes this worker's commands.
#[derive(Debug)]
pub(crate) struct Sandbox {
    pub(crate) instance: InstanceId,
    pub(crate) generation: i64,
    pub(crate) client: Client,
    fence: i64,
}

/// What came of the wish for a sandbox.
#[derive(Debug)]
pub(crate) enum Acquired {
    Ready(Arc<Sandbox>),
    /// The controller is at it; the run is woken when there is news.
    Later,
    /// It was tried often enough.
    Failed,
}

impl Slot {
    pub(crate) fn present(&self) -> Option<Arc<Sandbox>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn put(&self, sandbox: Option<Arc<Sandbox>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = sandbox;
    }
}

impl Sandbox {
    fn new(on: &Orchestrator, lease: &Lease, held: &HeldSandbox) -> Self {
        let token = runtime_token(on.runtime_key.expose().as_bytes(), held.instance.as_uuid());
        let fence = lease.fence();
        let client = Client::new(&on.transport, &held.endpoint, token)
            .with_generation(held.generation)
            .with_run_fence(fence);
        Self { instance: held.instance, generation: held.generation, client, fence }
    }

    /// Tells the sandbox that its owner lives.
    pub(crate) async fn renew(&self, now: Timestamp) -> Result<(), Error> {
        let life = i64::try_from(limits::LEASE.as_millis()).unwrap_or(i64::MAX);
        let lease_until = Some((now.as_micros() / 1000).saturating_add(life));
        let lease =
            LeaseRequest { generation: self.generation, lease_until, run_fence: Some(self.fence) };
        self.client.lease(&lease).await.map(drop)
    }
}

impl Worker<'_> {
    /// The run's sandbox, asking for one where there is none and waiting a little for it.
    pub(crate) async fn acquire_sandbox(&self) -> Result<Acquired, Stop> {
        if let Some(sandbox) = self.sandbox.present() {
            return Ok(Acquired::Ready(sandbox));
        }
        let began = Instant::now();
        let mut asked = false;
        let mut wait = FIRST_LOOK;
        loop {
            match sandboxes::held(&self.on.pool, &self.lease).await? {
                Held::Ready(held) => return self.take(&held).await.map(Acquired::Ready),
                Held::Failed { reason } => {
                    tracing::warn!(run.id = %self.run(), "{} gets no sandbox: {reason}", self.run());
                    return Ok(Acquired::Failed);
                }
                // An earlier worker may have asked in vain: once more does no harm.
                Held::None | Held::Waiting if !asked => {
                    asked = true;
                    self.ask_for_sandbox().await?;
                }
                Held::None | Held::Waiting => {}
            }
            let left = self.on.settings.time.patience.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(Acquired::Later);
            }
            self.sleep(wait.min(left)).await?;
            wait = (wait * 2).min(LONGEST_LOOK);
        }
    }

    async fn take(&self, held: &HeldSandbox) -> Result<Arc<Sandbox>, Stop> {
        // The workspace may still name an earlier worker of this run as its holder.
        sandboxes::renew(&self.on.pool, &self.lease).await?;
        let sandbox = Arc::new(Sandbox::new(self.on, &self.lease, held));
        self.sandbox.put(Some(Arc::clone(&sandbox)));
        Ok(sandbox)
    }

    /// Reports that the sandbox does not answer: the controller looks after it and wakes the run.
    pub(crate) async fn give_up_sandbox(&self) -> Result<(), Stop> {
        self.sandbox.put(None);
        self.ask_for_sandbox().await
    }

    async fn ask_for_sandbox(&self) -> Result<(), Stop> {
        let outgoing = sandboxes::ask(&self.on.pool, &self.on.ids, &self.lease).await?;
        self.send(outgoing).await;
        Ok(())
    }
}

/// What the run holds at this moment, without asking for anything.
pub(crate) async fn held_now(
    on: &Orchestrator,
    lease: &Lease,
) -> Result<Option<Arc<Sandbox>>, store::Error> {
    Ok(match sandboxes::held(&on.pool, lease).await? {
        Held::Ready(held) => Some(Arc::new(Sandbox::new(on, lease, &held))),
        Held::Waiting | Held::None | Held::Failed { .. } => None,
    })
}
