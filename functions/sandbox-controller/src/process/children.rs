//! The servers that this process has started.
//!
//! **A server is in the table from the moment in which it exists**, so that a caller who is dropped
//! at any await leaves none behind that nobody knows.

use std::collections::{HashMap, HashSet};
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{io, thread};

use domain::InstanceId;
use sandbox_protocol::bootstrap::Announcement;

use crate::backend::LaunchError;

#[derive(Debug)]
pub(super) struct Children {
    table: Mutex<Table>,
    starter: Starter,
}

#[derive(Debug, Default)]
struct Table {
    started: HashMap<InstanceId, Server>,
    /// Those that are never started again: their rows say, or will say, that they have ended.
    condemned: HashSet<InstanceId>,
}

#[derive(Debug)]
struct Server {
    child: Child,
    /// As it said before it ran the first command: later that file may hold anything.
    announced: Option<Announcement>,
}

/// Whether a server was started by this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spawned {
    New,
    /// There is one, which may have ended.
    Already,
}

impl Children {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { table: Mutex::default(), starter: Starter::new()? })
    }

    /// Starts the instance's server, once.
    pub(super) fn spawn(
        &self,
        instance: InstanceId,
        command: impl FnOnce() -> Result<Command, LaunchError>,
    ) -> Result<Spawned, LaunchError> {
        let mut table = self.table();
        if table.condemned.contains(&instance) {
            return Err(LaunchError::Ended);
        }
        if table.started.contains_key(&instance) {
            return Ok(Spawned::Already);
        }
        let child = self.starter.start(command()?).map_err(LaunchError::Spawn)?;
        table.started.insert(instance, Server { child, announced: None });
        Ok(Spawned::New)
    }

    pub(super) fn is_running(&self, instance: InstanceId) -> bool {
        self.table().started.get_mut(&instance).is_some_and(Server::is_running)
    }

    /// Where the instance's server listens, as far as that is known.
    pub(super) fn announced(&self, instance: InstanceId) -> Option<Announcement> {
        self.table().started.get(&instance)?.announced
    }

    pub(super) fn announce(&self, instance: InstanceId, announcement: Announcement) {
        if let Some(server) = self.table().started.get_mut(&instance) {
            server.announced.get_or_insert(announcement);
        }
    }

    /// Sees to it that the instance is not started from now on.
    pub(super) fn condemn(&self, instance: InstanceId) {
        self.table().condemned.insert(instance);
    }

    /// Lets go of the server's output, by which it knows that it is to end, and its commands.
    pub(super) fn let_go(&self, instance: InstanceId) {
        if let Some(server) = self.table().started.get_mut(&instance) {
            server.child.stdout = None;
        }
    }

    pub(super) fn kill(&self, instance: InstanceId) {
        if let Some(server) = self.table().started.get_mut(&instance) {
            // Fails for one that has ended already, which is what we want.
            let _ = server.child.kill();
        }
    }

    /// Forgets a server that has ended.
    pub(super) fn forget(&self, instance: InstanceId) {
        self.table().started.remove(&instance);
    }

    pub(super) fn running(&self) -> Vec<(InstanceId, u32)> {
        let mut table = self.table();
        let all = table.started.iter_mut();
        all.filter_map(|(id, server)| server.is_running().then_some((*id, server.child.id())))
            .collect()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that starts processes, and lives as long as they may: bubblewrap asks the kernel to be
/// killed with its parent, and the kernel takes the *thread* for that. The threads of the callers
/// come and go.
#[derive(Debug)]
struct Starter(Sender<(Command, Sender<io::Result<Child>>)>);

impl Starter {
    fn new() -> io::Result<Self> {
        let (orders, received) = channel::<(Command, Sender<_>)>();
        let work = move || {
            for (mut command, answer) in received {
                // Whoever asked waits for it.
                let _ = answer.send(command.spawn());
            }
        };
        thread::Builder::new().name("sandboxes".to_owned()).spawn(work)?;
        Ok(Self(orders))
    }

    /// Takes as long as the kernel needs to make a process.
    fn start(&self, command: Command) -> io::Result<Child> {
        let (answer, answered) = channel();
        let gone = || io::Error::other("the thread that starts processes is gone");
        self.0.send((command, answer)).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    }
}

impl Server {
    /// What cannot be told is taken for running: nothing is launched beside it then.
    fn is_running(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for server in self.table().started.values_mut() {
            let _ = server.child.kill();
            let _ = server.child.wait();
        }
    }
}
