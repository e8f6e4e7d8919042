//! Who was started, and what became of them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sandbox_protocol::ErrorCode;
use sandbox_protocol::exec::{CapturedOutput, ExecList, ExecState, ExecStatus, ExecSummary};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::window::Window;
use crate::refusal::Refusal;

/// Finished commands whose output is kept.
const MAX_KEPT: usize = 256;
/// Ids that are remembered.
const MAX_KNOWN: usize = 65_536;

const UNKNOWN: Refusal = Refusal(ErrorCode::NotFound, "there is no such exec");
const OTHER_BODY: Refusal = Refusal(ErrorCode::Conflict, "the id stands for another command");
const ACKNOWLEDGED: Refusal = Refusal(ErrorCode::Conflict, "the exec was acknowledged");
const BUSY: Refusal = Refusal(ErrorCode::Quota, "too many commands run");
const RUNNING: Refusal = Refusal(ErrorCode::Conflict, "the command still runs");
const BAD_ID: Refusal = Refusal::bad_request("an exec id is 1 to 128 of A-Z a-z 0-9 . _ -");

/// What the journal may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) running: usize,
    pub(crate) kept_bytes: usize,
}

/// All commands of this instance, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    by_id: HashMap<String, Entry>,
    order: VecDeque<String>,
}

#[derive(Debug)]
enum Entry {
    Known(Arc<Record>),
    Acknowledged,
}

/// One command.
#[derive(Debug)]
pub(crate) struct Record {
    id: String,
    digest: [u8; 32],
    started: Instant,
    /// `None` while it runs.
    outcome: watch::Sender<Option<Outcome>>,
    /// Whether nothing of it is left, not even what it left running.
    gone: watch::Sender<bool>,
    output: Mutex<Output>,
    kills: mpsc::UnboundedSender<Duration>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) state: ExecState,
    pub(super) exit_code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) duration: Duration,
}

/// What it printed.
#[derive(Debug)]
pub(super) enum Output {
    Streams {
        stdout: Window,
        stderr: Window,
    },
    /// `None` while it runs.
    Captured(Option<CapturedOutput>),
    Dropped,
}

/// Whether an id is new.
#[derive(Debug)]
pub(crate) enum Reserved {
    /// It is, and it is ours to start. The receiver brings requests to end it.
    New(Arc<Record>, mpsc::UnboundedReceiver<Duration>),
    Known(Arc<Record>),
}

impl Journal {
    /// Takes an id for a command, once.
    pub(crate) fn reserve(
        &self,
        id: &str,
        digest: [u8; 32],
        limits: Limits,
    ) -> Result<Reserved, Refusal> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if id.is_empty() || id.len() > 128 || !id.bytes().all(allowed) {
            return Err(BAD_ID);
        }
        let mut entries = self.lock();
        match entries.by_id.get(id) {
            Some(Entry::Acknowledged) => return Err(ACKNOWLEDGED),
            Some(Entry::Known(record)) if record.digest != digest => return Err(OTHER_BODY),
            Some(Entry::Known(record)) => return Ok(Reserved::Known(Arc::clone(record))),
            None => {}
        }
        if entries.records().filter(|record| record.is_running()).count() >= limits.running {
            return Err(BUSY);
        }
        entries.make_room(limits.kept_bytes);
        let (kills, asked) = mpsc::unbounded_channel();
        let record = Arc::new(Record {
            id: id.to_owned(),
            digest,
            started: Instant::now(),
            outcome: watch::Sender::new(None),
            gone: watch::Sender::new(false),
            output: Mutex::new(Output::Dropped),
            kills,
        });
        entries.by_id.insert(id.to_owned(), Entry::Known(Arc::clone(&record)));
        entries.order.push_back(id.to_owned());
        Ok(Reserved::New(record, asked))
    }

    /// Forgets a command that could not be started: its id is free again.
    pub(crate) fn release(&self, record: &Record) {
        let mut entries = self.lock();
        entries.by_id.remove(&record.id);
        entries.order.retain(|id| *id != record.id);
        drop(entries);
        record.gone.send_replace(true);
    }

    pub(crate) fn find(&self, id: &str) -> Result<Arc<Record>, Refusal> {
        match self.lock().by_id.get(id) {
            Some(Entry::Known(record)) => Ok(Arc::clone(record)),
            Some(Entry::Acknowledged) | None => Err(UNKNOWN),
        }
    }

    /// Drops the record of a command that is over. May be repeated.
    pub(crate) fn acknowledge(&self, id: &str) -> Result<(), Refusal> {
        let mut entries = self.lock();
        let entry = entries.by_id.get_mut(id).ok_or(UNKNOWN)?;
        if let Entry::Known(record) = entry {
            if record.is_running() {
                return Err(RUNNING);
            }
            *entry = Entry::Acknowledged;
        }
        Ok(())
    }

    pub(crate) fn list(&self) -> ExecList {
        let entries = self.lock();
        let summary = |record: &Arc<Record>| ExecSummary {
            id: record.id.clone(),
            state: record.outcome.borrow().map_or(ExecState::Running, |outcome| outcome.state),
        };
        ExecList { execs: entries.records().map(summary).collect() }
    }

    pub(crate) fn running(&self) -> usize {
        self.lock().records().filter(|record| record.is_running()).count()
    }

    /// Ends all commands and what they left running; returns when nothing is left, or when the time
    /// is up.
    pub(crate) async fn kill_all(&self, grace: Duration, patience: Duration) {
        let records = self.lock().records().cloned().collect();
        Stopping::of(records, grace).gone(patience).await;
    }

    /// Begins to end the commands that run. What those that are over have left running stays.
    pub(crate) fn stop_running(&self, grace: Duration) -> Stopping {
        let entries = self.lock();
        let running = entries.records().filter(|record| record.is_running());
        Stopping::of(running.cloned().collect(), grace)
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Commands that were asked to end.
#[derive(Debug)]
pub(crate) struct Stopping(Vec<Arc<Record>>);

impl Stopping {
    fn of(records: Vec<Arc<Record>>, grace: Duration) -> Self {
        for record in &records {
            let _ = record.kills.send(grace);
        }
        Self(records)
    }

    /// Returns when nothing of them is left, or when the time is up.
    pub(crate) async fn gone(self, patience: Duration) {
        let all_gone = async {
            for record in &self.0 {
                record.wait_gone().await;
            }
        };
        let _ = timeout(patience, all_gone).await;
    }
}

impl Entries {
    fn records(&self) -> impl DoubleEndedIterator<Item = &Arc<Record>> {
        self.order.iter().filter_map(|id| match self.by_id.get(id) {
            Some(Entry::Known(record)) => Some(record),
            Some(Entry::Acknowledged) | None => None,
        })
    }

    /// Drops output of the oldest finished commands, and forgets the oldest of very many ids.
    fn make_room(&mut self, kept_bytes: usize) {
        let (mut kept, mut bytes) = (0, 0);
        for record in self.records().rev().filter(|record| !record.is_running()) {
            let mut output = record.output();
            let size = output.size();
            kept += usize::from(!matches!(*output, Output::Dropped));
            bytes += size;
            if kept > MAX_KEPT || bytes > kept_bytes {
                *output = Output::Dropped;
            }
        }
        while self.order.len() >= MAX_KNOWN {
            let idle = |id: &String| match self.by_id.get(id) {
                Some(Entry::Known(record)) => !record.is_running(),
                Some(Entry::Acknowledged) | None => true,
            };
            let Some(oldest) = self.order.iter().position(idle) else { return };
            if let Some(id) = self.order.remove(oldest) {
                self.by_id.remove(&id);
            }
        }
    }
}

impl Record {
    pub(crate) fn is_running(&self) -> bool {
        self.outcome.borrow().is_none()
    }

    pub(super) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    pub(super) fn output(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn end(&self, outcome: Outcome) {
        self.outcome.send_replace(Some(outcome));
    }

    pub(super) fn nothing_left(&self) {
        self.gone.send_replace(true);
    }

    /// Waits for the end, but no longer than this.
    pub(crate) async fn wait(&self, patience: Duration) {
        let mut outcome = self.outcome.subscribe();
        let _ = timeout(patience, outcome.wait_for(Option::is_some)).await;
    }

    async fn wait_gone(&self) {
        let _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    /// Ends the command and what it left running. Returns when nothing is left, or when that takes
    /// much longer than it should.
    pub(crate) async fn kill(&self, grace: Duration) {
        const MARGIN: Duration = Duration::from_secs(5);
        if self.kills.send(grace).is_ok() {
            let _ = timeout(grace + MARGIN, self.wait_gone()).await;
            self.wait(MARGIN).await;
        }
    }

    pub(crate) fn status(&self, stdout_from: u64, stderr_from: u64) -> ExecStatus {
        // The outcome first: output that is read after it is complete.
        let outcome = *self.outcome.borrow();
        let output = self.output();
        let mut status = ExecStatus {
            id: self.id.clone(),
            state: outcome.map_or(ExecState::Running, |outcome| outcome.state),
            exit_code: outcome.and_then(|outcome| outcome.exit_code),
            signal: outcome.and_then(|outcome| outcome.signal),
            duration_ms: millis(outcome.map_or_else(|| self.age(), |outcome| outcome.duration)),
            stdout: None,
            stderr: None,
            output: None,
            output_dropped: false,
        };
        match &*output {
            Output::Streams { stdout, stderr } => {
                status.stdout = Some(stdout.chunk(stdout_from));
                status.stderr = Some(stderr.chunk(stderr_from));
            }
            Output::Captured(captured) => status.output.clone_from(captured),
            Output::Dropped => status.output_dropped = outcome.is_some(),
        }
        status
    }

    /// Both streams as far as they are kept, with their totals: `(text, total, truncated)`.
    pub(crate) fn streams(&self) -> [(String, u64, bool); 2] {
        match &*self.output() {
            Output::Streams { stdout, stderr } => {
                [stdout, stderr].map(|one| (one.whole(), one.total(), one.truncated()))
            }
            Output::Captured(_) | Output::Dropped => Default::default(),
        }
    }
}

impl Output {
    fn size(&self) -> usize {
        match self {
            Self::Streams { stdout, stderr } => stdout.kept() + stderr.kept(),
            // Two ends, or a text of at most 80 000 bytes.
            Self::Captured(_) => 80_000,
            Self::Dropped => 0,
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
