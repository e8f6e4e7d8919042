//! Sandboxes: who may write a workspace, and which allocation serves it.
//!
//! ```text
//!            launching      initializing        ready
//!  reserved ─────────► launching ──► initializing ──► ready ⟲ adopted by the next run
//!     │                    │              │             │
//!     └────────────────────┴──────┬───────┴─────────────┤
//!                                 ▼                     ▼ begin_release, another configuration
//!                     failed_launch, terminated (lost)  releasing ──► terminated
//! ```
//!
//! - **At most one allocation of a workspace is live; the database itself forbids a second one.** A
//!   successor is reserved only when its predecessor is proven to have ended.
//! - **The generation of a workspace grows whenever another may write it, and never shrinks.** A run
//!   has its sandbox when it is the holder, the allocation is ready, and the generation that the
//!   sandbox itself has confirmed is the lease's. Another worker of the same run keeps it: there the
//!   run's fence tells old and new apart.
//! - **Only the controller calls what changes an allocation.** A worker asks ([`ask`]), looks
//!   ([`held`]) and renews ([`renew`]); all three are guarded by its run's fence.
//!
//! Within a transaction rows are locked in the order run, lease, instance.

mod acquire;
mod launch;
mod release;
mod sweep;
#[cfg(test)]
mod tests;
mod words;
mod worker;

use std::time::Duration;

use domain::{InstanceId, ScopeDigest};

use crate::{Error, Row};

pub use acquire::{Acquired, MAX_LAUNCHES, Wish, acquire};
pub use launch::{Ready, failed, initializing, launching, lost, orphaned, ready};
pub use release::{Releasing, begin_release, released};
pub use sweep::{of_other_runners, sweep};
pub use words::{InstanceState, WorkspaceKey};
pub use worker::{Held, HeldSandbox, ask, held, renew};

/// When the sweeper looks at an allocation that has not come to rest: longer than a launch takes.
const CHECK_AFTER: Duration = Duration::from_secs(60);

/// One allocation, and the generation of its workspace at the moment of reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    pub id: InstanceId,
    pub scope: ScopeDigest,
    pub workspace: WorkspaceKey,
    pub state: InstanceState,
    /// What the sandbox is told when it starts: it never changes, so that a repeated launch is the
    /// same launch.
    pub generation_at_launch: i64,
    /// What the sandbox has confirmed.
    pub confirmed: i64,
    /// The lease's: what the sandbox is to confirm.
    pub generation: i64,
    pub backend: String,
    pub config_digest: String,
    /// The process that owns it, where only that one may end it.
    pub runner: Option<String>,
    pub endpoint: Option<String>,
    /// Nobody is known to work with it now.
    pub lease_expired: bool,
}

/// The columns that [`read`] needs; `i` is the instance and `l` its lease.
macro_rules! columns {
    () => {
        "i.instance_id, i.scope_digest, i.workspace_key, i.state, i.generation_at_launch,
         i.generation as confirmed, i.backend, i.config_digest, i.runner, i.endpoint,
         l.generation,
         case when l.lease_until >= statement_timestamp() then 0 else 1 end as lease_expired"
    };
}
use columns;

fn read(row: &Row) -> Result<Instance, Error> {
    let scope: String = row.get("scope_digest")?;
    let workspace: String = row.get("workspace_key")?;
    let lease_expired: i32 = row.get("lease_expired")?;
    Ok(Instance {
        id: row.get("instance_id")?,
        scope: scope
            .try_into()
            .map_err(|source| Error::corrupt("sandbox_instances", "scope_digest", source))?,
        workspace: workspace
            .parse()
            .map_err(|source| Error::corrupt("sandbox_instances", "workspace_key", source))?,
        state: words::read_state(row)?,
        generation_at_launch: row.get("generation_at_launch")?,
        confirmed: row.get("confirmed")?,
        generation: row.get("generation")?,
        backend: row.get("backend")?,
        config_digest: row.get("config_digest")?,
        runner: row.get("runner")?,
        endpoint: row.get("endpoint")?,
        lease_expired: lease_expired == 1,
    })
}
