//! Processes as `/proc` shows them.

use std::collections::HashSet;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process, told from a later one with the same number by when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pid: Pid,
    parent: i32,
    started: u64,
}

impl Process {
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Sends a signal, unless the process is gone.
    pub(crate) fn signal(&self, signal: Signal) {
        // The descriptor first, the look afterwards: it is then the process that was looked at.
        if let Ok(held) = pidfd_open(self.pid, PidfdFlags::empty())
            && read(self.pid.as_raw_nonzero().get()).is_some_and(|now| now.started == self.started)
        {
            let _ = pidfd_send_signal(held, signal);
        }
    }
}

/// The living children of a process.
pub(crate) fn children(of: Pid) -> Vec<Process> {
    let of = of.as_raw_nonzero().get();
    all().into_iter().filter(|process| process.parent == of).collect()
}

/// The living processes below a process.
pub(crate) fn descendants(of: Pid) -> Vec<Process> {
    let mut rest = all();
    let mut above = HashSet::from([of.as_raw_nonzero().get()]);
    let mut found = Vec::new();
    loop {
        let (below, others): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|process| above.contains(&process.parent));
        if below.is_empty() {
            return found;
        }
        above = below.iter().map(|process| process.pid.as_raw_nonzero().get()).collect();
        found.extend(below);
        rest = others;
    }
}

/// Ends every process below one. First all are stopped, until no new one appears: what is stopped
/// starts nothing. May have to be repeated, where they are started faster than we look.
pub(crate) fn kill_descendants(of: Pid) {
    const LOOKS: usize = 16;
    let mut stopped = HashSet::new();
    for _ in 0..LOOKS {
        let below = descendants(of);
        let fresh: Vec<_> = below.iter().filter(|p| stopped.insert((p.pid, p.started))).collect();
        if fresh.is_empty() {
            break;
        }
        for process in fresh {
            process.signal(Signal::STOP);
        }
    }
    for process in descendants(of) {
        process.signal(Signal::KILL);
    }
}

/// Ends every process of a user, and those that these start meanwhile. For a machine of our own.
pub(crate) fn kill_user(uid: u32) {
    use std::os::unix::fs::MetadataExt as _;
    const LOOKS: usize = 64;
    let of_user = |process: &Process| {
        let at = format!("/proc/{}", process.pid.as_raw_nonzero());
        std::fs::metadata(at).is_ok_and(|folder| folder.uid() == uid)
    };
    for _ in 0..LOOKS {
        let found: Vec<_> = all().into_iter().filter(of_user).collect();
        if found.is_empty() {
            return;
        }
        for process in found {
            process.signal(Signal::KILL);
        }
    }
}

fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(read).collect()
}

/// Looks at one process. `None`: it is gone, or only waits to be reaped.
fn read(pid: i32) -> Option<Process> {
    parse(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// `pid (name) state parent … start time …`; the name may hold anything, also `)`.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    let dead = matches!(state, "Z" | "X");
    Pid::from_raw(pid).filter(|_| !dead).map(|pid| Process { pid, parent, started })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_move_the_fields() {
        let stat = "7 (a) b) S 3 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4242 1 1";
        let process = parse(7, stat).unwrap();
        assert_eq!((process.parent, process.started), (3, 4242));
        assert_eq!(parse(7, &stat.replace(" S ", " Z ")), None);
        assert_eq!(parse(7, "7 (a"), None);
    }
}
