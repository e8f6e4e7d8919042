//! The process that looks after one command: `cog-sandboxd supervise`.
//!
//! ```text
//! cog-sandboxd ──socket──► supervisor ──► command ──► whatever it starts
//!                             ▲ adopts what is orphaned below it
//! ```
//!
//! **Everything that a command starts stays below its supervisor**, however often it forks and
//! whatever session it opens, because the supervisor adopts orphans. So "end this command" means
//! what it says; a group or a session could be left by those in it.
//!
//! **When the server is gone, the socket closes and the supervisor ends everything.**
//!
//! It lives until nothing is left below it, also when the command itself is long over.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, getpid, setrlimit, setsid, wait,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use serde::{Deserialize, Serialize};

use crate::{process, tree};

/// The argument that makes the binary a supervisor.
pub const ROLE: &str = "supervise";

/// Open files of a command.
const FILES: u64 = 4_096;
/// Processes of the workload's user, where it has one of its own.
const PROCESSES: u64 = 1_024;
/// Between two looks while everything is being ended.
const LOOK: Duration = Duration::from_millis(20);

/// The first line that the server sends.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: String,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) stdin_b64: Option<String>,
    /// The user and group to become.
    pub(crate) user: Option<(u32, u32)>,
}

/// Any later line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Kill {
    pub(crate) grace_ms: u64,
}

/// What the supervisor sends, once. The end of the stream says that nothing is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    Exited {
        code: i32,
    },
    Signaled {
        signal: i32,
    },
    /// Nothing was started. The code is what a shell would exit with.
    Failed {
        code: i32,
    },
}

enum Event {
    Reaped(Pid, Report),
    NothingLeft,
    Kill(Duration),
    Abandoned,
}

/// Looks after the one command that standard input tells of. Standard output and error are the
/// command's.
pub fn supervise() -> ExitCode {
    match look_after() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn look_after() -> io::Result<()> {
    process::keep_inherited_files()?;
    setsid()?;
    // Out of memory, the command should go before the server does. May be forbidden.
    let _ = std::fs::write("/proc/self/oom_score_adj", "500");
    process::harden()?;
    let mut server = UnixStream::from(fcntl_dupfd_cloexec(io::stdin().as_fd(), 3)?);
    let mut lines = BufReader::new(server.try_clone()?);
    let order: Order = receive(&mut lines)?;
    let started = start(&order);
    drop(order);
    release_output()?;
    let child = match started {
        Ok(child) => child,
        Err(error) => {
            let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
            return send(&mut server, Report::Failed { code });
        }
    };
    let (events, happened) = channel();
    let kills = events.clone();
    std::thread::spawn(move || listen(&mut lines, &kills));
    std::thread::spawn(move || reap(&events));
    watch(child, &mut server, &happened)
}

/// Starts the command: a group of its own in the supervisor's session, the given environment and
/// nothing else.
fn start(order: &Order) -> io::Result<Pid> {
    let limit = |at| Rlimit { current: Some(at), maximum: Some(at) };
    // Also the supervisor's: a lower limit of the host stays.
    let _ = setrlimit(Resource::Nofile, limit(FILES));
    let [program, arguments @ ..] = order.argv.as_slice() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(&order.env).current_dir(&order.cwd);
    command.stdin(input(order.stdin_b64.as_deref())?).process_group(0);
    if let Some((uid, gid)) = order.user {
        // Counted per user: only for a user that nobody else is.
        setrlimit(Resource::Nproc, limit(PROCESSES))?;
        command.uid(uid).gid(gid);
    }
    command.spawn().map(|child| Pid::from_child(&child))
}

fn input(stdin_b64: Option<&str>) -> io::Result<Stdio> {
    let Some(text) = stdin_b64 else { return Ok(Stdio::null()) };
    let bytes = STANDARD.decode(text).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut file = std::fs::File::from(memfd_create("stdin", MemfdFlags::CLOEXEC)?);
    file.write_all(&bytes)?;
    file.rewind()?;
    Ok(file.into())
}

/// Lets go of the pipes: they end when the command and its children let go, too.
fn release_output() -> io::Result<()> {
    let null = OwnedFd::from(std::fs::File::options().read(true).write(true).open("/dev/null")?);
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok(())
}

/// Goes on until nothing is left.
fn watch(command: Pid, server: &mut UnixStream, events: &Receiver<Event>) -> io::Result<()> {
    let mut running = Some(command);
    let mut force_at: Option<Instant> = None;
    loop {
        let event = match force_at {
            None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => events.recv_timeout(at.saturating_duration_since(Instant::now())),
        };
        match event {
            Ok(Event::Reaped(pid, report)) if running == Some(pid) => {
                running = None;
                // A server that is gone is told by `Abandoned`.
                let _ = send(server, report);
            }
            Ok(Event::Reaped(..)) => {}
            Ok(Event::NothingLeft) => return Ok(()),
            Ok(Event::Kill(grace)) => {
                for process in tree::descendants(getpid()) {
                    process.signal(Signal::TERM);
                }
                let at = Instant::now() + grace;
                force_at = Some(force_at.map_or(at, |earlier| earlier.min(at)));
            }
            Ok(Event::Abandoned) | Err(RecvTimeoutError::Timeout) => {
                tree::kill_descendants(getpid());
                force_at = Some(Instant::now() + LOOK);
            }
            Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

/// Passes on what the server says, and that it is gone.
fn listen(lines: &mut BufReader<UnixStream>, events: &Sender<Event>) {
    while let Ok(Kill { grace_ms }) = receive(lines) {
        if events.send(Event::Kill(Duration::from_millis(grace_ms))).is_err() {
            return;
        }
    }
    let _ = events.send(Event::Abandoned);
}

/// Passes on who ended, and that nobody is left. There is no moment at which a process below us is
/// not below one of our children: it becomes our child while its parent still waits to be reaped.
fn reap(events: &Sender<Event>) {
    loop {
        let event = match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Event::Reaped(pid, Report::Exited { code }),
                (_, Some(signal)) => Event::Reaped(pid, Report::Signaled { signal }),
                _ => continue,
            },
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            Err(_) => Event::NothingLeft,
        };
        let last = matches!(event, Event::NothingLeft);
        if events.send(event).is_err() || last {
            return;
        }
    }
}

fn receive<T: for<'de> Deserialize<'de>>(lines: &mut BufReader<UnixStream>) -> io::Result<T> {
    let mut line = Vec::new();
    lines.read_until(b'\n', &mut line)?;
    Ok(serde_json::from_slice(&line)?)
}

fn send(server: &mut UnixStream, report: Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(&report)?;
    line.push(b'\n');
    server.write_all(&line)
}
