//! The right to write for one run.

use domain::{RunId, ScopeDigest, SessionId, TaskId};

use crate::{Error, Tx};

/// A claimed run. Every write of a worker takes it, and carries its fence in the statement: a
/// worker that was overtaken changes no row.
#[derive(Debug, Clone)]
pub struct Lease {
    pub(crate) run: RunId,
    pub(crate) task: TaskId,
    pub(crate) session: SessionId,
    pub(crate) scope: ScopeDigest,
    pub(crate) fence: i64,
}

impl Lease {
    pub fn run(&self) -> RunId {
        self.run
    }

    pub fn task(&self) -> TaskId {
        self.task
    }

    pub fn session(&self) -> SessionId {
        self.session
    }

    pub fn scope(&self) -> &ScopeDigest {
        &self.scope
    }

    /// Grows with every claim. Sandboxes get it too, and refuse a lower one than they have seen.
    pub fn fence(&self) -> i64 {
        self.fence
    }

    /// Locks the run and its task until the transaction ends, if the run is still ours: first
    /// statement of every commit of a worker.
    ///
    /// Rows are locked in one order everywhere: run, task, session. A commit moves the session's
    /// counters before it ends the task, so that it takes the task first; somebody who has the task
    /// and waits for the session (a message to it) would otherwise wait for ever.
    pub(crate) async fn guard(&self, tx: &mut Tx) -> Result<(), Error> {
        let row = tx
            .query_opt(
                "-- store::lease::guard
                 select r.run_id from runs r join tasks t on t.task_id = r.task_id
                  where r.run_id = $1 and r.scope_digest = $2 and r.fence = $3
                    and r.state = 'active'
                    for no key update",
                &[self.run.into(), self.scope.as_str().into(), self.fence.into()],
            )
            .await?;
        row.map(drop).ok_or(Error::LeaseLost)
    }
}
