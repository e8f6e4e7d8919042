//! One command, from its start until nothing of it is left.
//!
//! ```text
//!   running ──exit──► draining ──pipes closed, or 250 ms──► over ──► what it left running ends
//!      │                                                     ▲
//!      └──limit or kill──► ending ──exit, and nothing left───┘
//! ```

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use sandbox_protocol::exec::ExecState;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};

use super::capture::Capture;
use super::journal::{Outcome, Output, Record};
use super::plan::{self, Plan};
use super::window::Window;
use crate::process::{Children, Workload};
use crate::supervisor::{Kill, Order, ROLE, Report};
use crate::workers::Workers;
use crate::workspace::Workspace;

/// Between the request to stop and the end by force, when the time limit is reached.
const GRACE: Duration = Duration::from_secs(2);
/// How long output is waited for after the command ended.
const DRAIN: Duration = Duration::from_millis(250);
/// How long, after force, the end of everything is waited for.
const FORCE: Duration = Duration::from_secs(3);
const PIECE: usize = 64 * 1024;

/// What a start needs of its surroundings.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) children: Arc<Children>,
    pub(crate) workspace: Workspace,
    pub(crate) workers: Workers,
    pub(crate) workload: Option<Workload>,
    pub(crate) max_stream: usize,
}

/// Starts a command's supervisor, and a task that follows it. The command itself starts a moment
/// later; that it cannot is its outcome.
pub(crate) fn start(
    launch: &Launch,
    record: Arc<Record>,
    plan: Plan,
    kills: UnboundedReceiver<Duration>,
) -> io::Result<()> {
    let combined = matches!(plan.output, plan::Output::Captured { .. });
    let (ours, theirs) = Socket::pair()?;
    ours.set_nonblocking(true)?;
    let (stdout, stdout_end) = io::pipe()?;
    let (stderr, stderr_end) = if combined {
        (None, stdout_end.try_clone()?)
    } else {
        let (stderr, end) = io::pipe()?;
        (Some(pipe::Receiver::from_owned_fd(stderr.into())?), end)
    };
    let stdout = Some(pipe::Receiver::from_owned_fd(stdout.into())?);
    let (reports, orders) = UnixStream::from_std(ours)?.into_split();
    let order = Order {
        argv: plan.argv,
        cwd: launch.workspace.root().join(plan.cwd.as_str()).to_string_lossy().into_owned(),
        env: plan.env,
        stdin_b64: plan.stdin_b64,
        user: launch.workload.map(|user| (user.uid, user.gid)),
    };
    let mut order = serde_json::to_vec(&order)?;
    order.push(b'\n');
    let mut supervisor = Command::new("/proc/self/exe");
    supervisor.arg(ROLE).env_clear().current_dir("/");
    supervisor.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(stdout_end).stderr(stderr_end);
    let sink = match plan.output {
        plan::Output::Streams => {
            let stream = || Window::new(launch.max_stream);
            *record.output() = Output::Streams { stdout: stream(), stderr: stream() };
            None
        }
        plan::Output::Captured { path, inline, max } => {
            *record.output() = Output::Captured(None);
            let (workspace, workers) = (launch.workspace.clone(), launch.workers.clone());
            Some(Capture::new(workspace, workers, path, inline, max))
        }
    };
    launch.children.spawn(&mut supervisor)?;
    let reports = BufReader::new(reports).lines();
    let limit = Instant::now() + plan.limit;
    let run = Run {
        record,
        stdout,
        stderr,
        reports: Some(reports),
        orders,
        kills,
        limit,
        sink,
        end: None,
    };
    tokio::spawn(run.follow(order));
    Ok(())
}

struct Run {
    record: Arc<Record>,
    stdout: Option<pipe::Receiver>,
    stderr: Option<pipe::Receiver>,
    /// `None`: nothing is left of the command.
    reports: Option<Lines<BufReader<OwnedReadHalf>>>,
    /// Open for as long as anything is left: to close it means to end everything.
    orders: OwnedWriteHalf,
    kills: UnboundedReceiver<Duration>,
    limit: Instant,
    sink: Option<Capture>,
    /// It is being ended: by what, and by when all of it should be over.
    end: Option<(ExecState, Instant)>,
}

impl Run {
    async fn follow(mut self, order: Vec<u8>) {
        // Where the supervisor is gone, its silence is the report.
        let _ = self.orders.write_all(&order).await;
        drop(order);
        let (report, at) = self.until_over().await;
        (self.stdout, self.stderr) = (None, None);
        if let Some(capture) = self.sink.take() {
            *self.record.output() = Output::Captured(Some(capture.finish().await));
        } else if let Output::Streams { stdout, stderr } = &mut *self.record.output() {
            stdout.close();
            stderr.close();
        }
        let ended_by = self.end.map(|(state, _)| state);
        self.record.end(outcome(report, ended_by, at));
        self.until_nothing_left().await;
        self.record.nothing_left();
    }

    /// Follows the command until its outcome can be told, and tells when it ended.
    async fn until_over(&mut self) -> (Option<Report>, Duration) {
        let mut exited: Option<(Report, Duration, Instant)> = None;
        let (mut out, mut err) = (BytesMut::new(), BytesMut::new());
        loop {
            if let Some((report, at, drained)) = exited {
                let silent = self.stdout.is_none() && self.stderr.is_none();
                let quiet = silent || Instant::now() >= drained;
                let ended = self.reports.is_none()
                    || self.end.is_none_or(|(_, force)| Instant::now() >= force);
                if quiet && ended {
                    return (Some(report), at);
                }
            } else if self.reports.is_none() {
                return (None, self.record.age());
            }
            let running = exited.is_none();
            let next = match (exited, self.end) {
                (Some((_, _, drained)), Some((_, force))) if Instant::now() >= drained => force,
                (Some((_, _, drained)), _) => drained,
                (None, None) => self.limit,
                // The report comes, or the supervisor goes.
                (None, Some((_, force))) => force.max(Instant::now() + FORCE),
            };
            tokio::select! {
                read = piece(&mut self.stdout, &mut out) => self.printed(read, true).await,
                read = piece(&mut self.stderr, &mut err) => self.printed(read, false).await,
                report = report(&mut self.reports) => {
                    if let Some(report) = report {
                        exited = Some((report, self.record.age(), Instant::now() + DRAIN));
                    }
                }
                Some(grace) = self.kills.recv() => {
                    let state = if running { ExecState::Killed } else { ExecState::Exited };
                    self.kill(state, grace).await;
                }
                () = sleep_until(next) => {
                    if running && self.end.is_none() {
                        self.kill(ExecState::TimedOut, GRACE).await;
                    }
                }
            }
        }
    }

    async fn until_nothing_left(&mut self) {
        while self.reports.is_some() {
            tokio::select! {
                _ = report(&mut self.reports) => {}
                Some(grace) = self.kills.recv() => self.kill(ExecState::Exited, grace).await,
            }
        }
    }

    /// Asks the supervisor to end everything. The first reason stands; an earlier end is taken.
    async fn kill(&mut self, state: ExecState, grace: Duration) {
        let force = Instant::now() + grace + FORCE;
        self.end = Some(match self.end {
            Some((first, earlier)) => (first, earlier.min(force)),
            None => (state, force),
        });
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        let mut line = serde_json::to_vec(&Kill { grace_ms }).unwrap_or_default();
        line.push(b'\n');
        let _ = self.orders.write_all(&line).await;
    }

    async fn printed(&mut self, read: Option<Bytes>, to_stdout: bool) {
        let Some(bytes) = read else {
            *(if to_stdout { &mut self.stdout } else { &mut self.stderr }) = None;
            return;
        };
        if let Some(capture) = &mut self.sink {
            capture.push(bytes).await;
        } else if let Output::Streams { stdout, stderr } = &mut *self.record.output() {
            if to_stdout { stdout.push(&bytes) } else { stderr.push(&bytes) }
        }
    }
}

/// The next bytes of a pipe; `None` at its end. Never, where there is no pipe.
async fn piece(pipe: &mut Option<pipe::Receiver>, buffer: &mut BytesMut) -> Option<Bytes> {
    let Some(open) = pipe else { return std::future::pending().await };
    buffer.reserve(PIECE);
    match open.read_buf(buffer).await {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(buffer.split().freeze()),
    }
}

/// The supervisor's next report; `None`, and no more reports, where it is gone. Never, where it
/// was gone before.
async fn report(reports: &mut Option<Lines<BufReader<OwnedReadHalf>>>) -> Option<Report> {
    let Some(open) = reports else { return std::future::pending().await };
    let line = open.next_line().await.ok().flatten();
    let report = line.and_then(|line| serde_json::from_str(&line).ok());
    if report.is_none() {
        *reports = None;
    }
    report
}

fn outcome(report: Option<Report>, ended_by: Option<ExecState>, duration: Duration) -> Outcome {
    let state = ended_by.unwrap_or(ExecState::Exited);
    let (state, exit_code, signal) = match report {
        None => (ExecState::Lost, None, None),
        Some(_) if state == ExecState::TimedOut => (state, Some(124), None),
        Some(Report::Exited { code } | Report::Failed { code }) => (state, Some(code), None),
        Some(Report::Signaled { signal }) => (state, Some(128 + signal), Some(signal)),
    };
    Outcome { state, exit_code, signal, duration }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_says_who_ended_the_command() {
        let told = |report, ended_by| {
            let outcome = outcome(report, ended_by, Duration::ZERO);
            (outcome.state, outcome.exit_code, outcome.signal)
        };
        let (nine, seven) = (Report::Signaled { signal: 9 }, Report::Exited { code: 7 });
        assert_eq!(told(Some(seven), None), (ExecState::Exited, Some(7), None));
        assert_eq!(told(Some(nine), None), (ExecState::Exited, Some(137), Some(9)));
        let (killed, late) = (Some(ExecState::Killed), Some(ExecState::TimedOut));
        assert_eq!(told(Some(nine), killed), (ExecState::Killed, Some(137), Some(9)));
        assert_eq!(told(Some(nine), late), (ExecState::TimedOut, Some(124), None));
        assert_eq!(told(None, killed), (ExecState::Lost, None, None));
    }
}
