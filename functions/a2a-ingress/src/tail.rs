//! What happens to a task, as it happens: the event log read behind one narrow function.
//!
//! **The log is the only source:** a tail sees the same events in the same order whichever process
//! wrote them, and one that starts after a position misses nothing and repeats nothing.

use std::collections::VecDeque;
use std::time::Duration;

use domain::{Event, EventBody, ScopeDigest, TaskId};
use store::driver::Wake;
use store::{Error, Pool, events};
use tokio::time::{Instant, sleep, timeout};

/// How soon the log is read again while events flow, and when it has long been silent.
const FLOWING: Duration = Duration::from_millis(50);
const IDLE: Duration = Duration::from_millis(500);
/// Events read at once.
const PAGE: i64 = 100;

/// A reader of one task's log.
#[derive(Debug)]
pub(crate) struct Tail {
    pool: Pool,
    scope: ScopeDigest,
    task: TaskId,
    position: i64,
    read: VecDeque<Event>,
    pause: Duration,
    /// Ends a pause early, where writers are of this process.
    wake: Option<Wake>,
    ended: bool,
    /// Nothing is appended any more.
    over: bool,
    until: Option<Instant>,
}

impl Tail {
    /// Reads what comes after `position`, until the task ends or, if given, until then.
    pub(crate) fn new(
        pool: Pool,
        scope: ScopeDigest,
        task: TaskId,
        position: i64,
        until: Option<Instant>,
    ) -> Self {
        Self {
            wake: events::wake(&pool, task),
            pool,
            scope,
            task,
            position,
            read: VecDeque::new(),
            pause: FLOWING,
            ended: false,
            over: false,
            until,
        }
    }

    /// For a task that has ended: does not wait for what can come no more.
    pub(crate) fn of_ended(mut self) -> Self {
        self.over = true;
        self
    }

    /// The next event, or `None` when the task has ended or the time is over. Waits as long as it
    /// takes; dropping the wait loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.read.pop_front() {
                self.position = event.sequence;
                self.ended = is_last(&event);
                return Ok(Some(event));
            }
            if self.ended {
                return Ok(None);
            }
            let page =
                events::after(&self.pool, &self.scope, self.task, self.position, PAGE).await?;
            if page.is_empty() {
                if self.over || self.until.is_some_and(|until| Instant::now() >= until) {
                    return Ok(None);
                }
                self.rest().await;
                self.pause = (self.pause * 3 / 2).min(IDLE);
            } else {
                self.pause = FLOWING;
                self.read.extend(page);
            }
        }
    }

    /// Waits for the next look: until something was appended, if that can be told, and no longer
    /// than the pause, nor than there is time.
    async fn rest(&mut self) {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let pause = left.map_or(self.pause, |left| left.min(self.pause));
        match &mut self.wake {
            // Woken or not, the log is read again.
            Some(wake) => drop(timeout(pause, wake.woken()).await),
            None => sleep(pause).await,
        }
    }
}

/// Nothing follows a terminal status.
fn is_last(event: &Event) -> bool {
    matches!(event.body, EventBody::Status { state, .. } if state.is_terminal())
}

#[cfg(test)]
mod tests;
