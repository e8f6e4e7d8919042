//! Who may change the workspace, and the moment at which that is decided.
//!
//! ```text
//!            lease(n) renews            lease(n+1) adopts
//!   open(n) ───────────────► open(n)  ───────────────────► open(n+1)
//!      │ now > lease_until + grace        ▲
//!      └──────────► run out (n) ──────────┴── lease(n) renews
//! ```
//!
//! **A change takes place while the fence is held for reading, an adoption while it is held for
//! writing**: once an adoption is answered, nothing of an older owner lands any more.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use sandbox_protocol::ErrorCode;
use sandbox_protocol::lease::{LeaseReply, LeaseRequest, LeaseState};

use crate::refusal::Refusal;

/// What a request says of its owner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) generation: Option<i64>,
    pub(crate) run_fence: Option<i64>,
}

/// The current owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    generation: i64,
    run_fence: Option<i64>,
    lease_until: Option<i64>,
}

/// The fence around the workspace.
#[derive(Debug)]
pub(crate) struct Fence {
    owner: RwLock<Owner>,
    grace_ms: i64,
}

const FENCED: Refusal = Refusal(ErrorCode::Fenced, "a newer owner holds the workspace");
const RAN_OUT: Refusal = Refusal(ErrorCode::Fenced, "the owner's lease ran out");
const UNKNOWN: Refusal = Refusal(ErrorCode::UnknownGeneration, "announce the generation first");

impl Fence {
    pub(crate) fn new(generation: i64, lease_until: Option<i64>, grace: Duration) -> Self {
        let owner = Owner { generation, run_fence: None, lease_until };
        let grace_ms = i64::try_from(grace.as_millis()).unwrap_or(i64::MAX);
        Self { owner: RwLock::new(owner), grace_ms }
    }

    /// Whether a request's owner is the current one. A higher run fence is remembered.
    pub(crate) fn admit(&self, ticket: Ticket) -> Result<(), Refusal> {
        if ticket.run_fence.is_none() {
            return self.read(|owner| owner.check(ticket));
        }
        let mut owner = self.owner.write().unwrap_or_else(PoisonError::into_inner);
        owner.check(ticket)?;
        owner.run_fence = owner.run_fence.max(ticket.run_fence);
        Ok(())
    }

    /// Makes a change, unless its owner is no longer the current one or ran out of lease.
    pub(crate) fn commit<T>(
        &self,
        ticket: Ticket,
        now_ms: i64,
        change: impl FnOnce() -> T,
    ) -> Result<T, Refusal> {
        self.read(|owner| {
            owner.check(ticket)?;
            match owner.lease_until {
                Some(until) if now_ms > until.saturating_add(self.grace_ms) => Err(RAN_OUT),
                _ => Ok(change()),
            }
        })
    }

    /// Renews or adopts. `adopted` is called while nobody may change anything: whatever it finds is
    /// an older owner's.
    pub(crate) fn lease<T>(
        &self,
        request: &LeaseRequest,
        adopted: impl FnOnce() -> T,
    ) -> Result<(LeaseReply, Option<T>), Refusal> {
        let mut owner = self.owner.write().unwrap_or_else(PoisonError::into_inner);
        if request.generation < owner.generation {
            return Err(FENCED);
        }
        let mut found = None;
        if request.generation > owner.generation {
            *owner = Owner {
                generation: request.generation,
                run_fence: request.run_fence,
                lease_until: request.lease_until,
            };
            found = Some(adopted());
        } else {
            if request.run_fence.is_some_and(|fence| Some(fence) < owner.run_fence) {
                return Err(FENCED);
            }
            owner.run_fence = owner.run_fence.max(request.run_fence);
            owner.lease_until = owner.lease_until.max(request.lease_until);
        }
        let (generation, lease_until) = (owner.generation, owner.lease_until);
        Ok((LeaseReply { generation, lease_until, state: LeaseState::Admitted }, found))
    }

    /// Generation and end of the lease, for people.
    pub(crate) fn describe(&self) -> (i64, Option<i64>) {
        self.read(|owner| (owner.generation, owner.lease_until))
    }

    fn read<T>(&self, f: impl FnOnce(&Owner) -> T) -> T {
        f(&self.owner.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Owner {
    fn check(&self, ticket: Ticket) -> Result<(), Refusal> {
        match ticket.generation {
            Some(generation) if generation < self.generation => return Err(FENCED),
            Some(generation) if generation > self.generation => return Err(UNKNOWN),
            _ => {}
        }
        match ticket.run_fence {
            Some(fence) if Some(fence) < self.run_fence => Err(FENCED),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
