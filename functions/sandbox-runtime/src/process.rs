//! What this process is to the kernel: init of its children, closed to its neighbours.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Mode;
use rustix::io::{Errno, FdFlags, dup, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, getpid, getppid,
    pidfd_open, set_child_subreaper, set_dumpable_behavior, setrlimit, umask, wait,
};
use rustix::thread::set_no_new_privs;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::config::Settings;
use crate::tree;

/// The user that commands and file changes run as, where it is not the server's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Workload {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl Workload {
    /// `None`: the server is not root, or is told to stay who it is.
    pub(crate) fn of(settings: &Settings) -> Option<Self> {
        let root = rustix::process::geteuid().is_root();
        (root && settings.workload_uid != 0)
            .then_some(Self { uid: settings.workload_uid, gid: settings.workload_gid })
    }
}

/// Makes the process one that adopts orphans, gains no rights by executing files, leaves no core,
/// and whose memory and environment no other process of the same user can read.
pub(crate) fn harden() -> rustix::io::Result<()> {
    umask(Mode::from_raw_mode(0o022));
    set_child_subreaper(Some(getpid()))?;
    set_no_new_privs(true)?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    // Last: what is set before it may need files below /proc/self.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

/// Lets supervisors hold what the server has as standard input. Where that is a lock, it is free
/// when the server *and all of its commands* are gone.
pub(crate) fn share_input() -> io::Result<OwnedFd> {
    // Without close-on-exec.
    Ok(dup(io::stdin())?)
}

/// Keeps what the supervisor was started with, a lock or a socket of the server's parent, from the
/// command.
///
/// The list is read while nothing else runs, and nothing is closed: at worst a number names another
/// file by then, which had to stay out of the command anyway.
pub(crate) fn keep_inherited_files() -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|number| number.parse().ok());
        if let Some(number) = number.filter(|number| *number > 2) {
            #[expect(unsafe_code, reason = "a number of /proc/self/fd has no owner to borrow from")]
            // SAFETY: it is borrowed for one call that neither closes it nor keeps it; a number that
            // names nothing any more makes that call fail.
            let file = unsafe { BorrowedFd::borrow_raw(number) };
            let _ = fcntl_setfd(file, FdFlags::CLOEXEC);
        }
    }
    Ok(())
}

/// Whether the process is the first of its machine or container.
pub(crate) fn is_init() -> bool {
    getpid().is_init()
}

/// The processes that this one started, and the only place that reaps.
#[derive(Debug, Default)]
pub(crate) struct Children {
    /// Held while a child is started and while children are reaped: a start that fails waits for
    /// its own child.
    started: Mutex<HashSet<Pid>>,
}

impl Children {
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<()> {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        started.insert(Pid::from_child(&child));
        Ok(())
    }

    /// Reaps for as long as the server runs.
    ///
    /// A supervisor ends well only when nothing that it looked after is left. One that ends
    /// otherwise was killed, and what it leaves comes to us: it is killed too.
    pub(crate) async fn reap(&self) -> io::Result<()> {
        let mut ended = signal(SignalKind::child())?;
        let mut strays = false;
        loop {
            {
                let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
                while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
                    strays |= started.remove(&pid) && status.exit_status() != Some(0);
                }
                if strays {
                    let found = tree::children(getpid());
                    let found = found.iter().filter(|process| !started.contains(&process.pid()));
                    strays = found.fold(false, |_, stray| {
                        stray.signal(Signal::KILL);
                        true
                    });
                }
            }
            if ended.recv().await.is_none() {
                return Ok(());
            }
        }
    }
}

/// Those whose end is ours.
#[derive(Debug)]
pub(crate) struct Follow {
    what: OwnedFd,
    /// What of it tells the end, beside an error or a hang-up.
    flags: PollFlags,
}

impl Follow {
    /// Takes hold of whoever reads our standard output. A pipe tells its writer when the last
    /// reader is gone, however it went, and through whatever stands between the two processes.
    pub(crate) fn reader() -> io::Result<Self> {
        let what = fcntl_dupfd_cloexec(io::stdout().as_fd(), 3)?;
        Ok(Self { what, flags: PollFlags::empty() })
    }

    /// Takes hold of the parent. `expected` above 1 is its number, and another parent is an error:
    /// the right one is gone already.
    ///
    /// A descriptor of the process and not the kernel's death signal, which comes when the *thread*
    /// that started us ends.
    pub(crate) fn parent(expected: u32) -> io::Result<Self> {
        let gone = || io::Error::new(io::ErrorKind::NotFound, "the parent is gone");
        let parent = getppid().ok_or_else(gone)?;
        if expected > 1 && i64::from(expected) != i64::from(parent.as_raw_nonzero().get()) {
            return Err(gone());
        }
        let what = pidfd_open(parent, PidfdFlags::empty())?;
        if getppid() == Some(parent) {
            Ok(Self { what, flags: PollFlags::IN })
        } else {
            Err(gone())
        }
    }

    /// Returns when they have ended.
    pub(crate) async fn ended(self) -> io::Result<()> {
        let (tell, told) = oneshot::channel();
        std::thread::Builder::new().name("follow".to_owned()).spawn(move || {
            let mut followed = [PollFd::new(&self.what, self.flags)];
            while poll(&mut followed, None) == Err(Errno::INTR) {}
            let _ = tell.send(());
        })?;
        told.await.map_err(io::Error::other)
    }
}
