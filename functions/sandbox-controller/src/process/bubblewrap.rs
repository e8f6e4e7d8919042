//! Commands behind a wall, where the machine permits one: bubblewrap.
//!
//! Inside there are the system's programs (read only), the workspace, and a `/tmp` of its own; other
//! processes, the home folders, the data folder and the system's secrets are not there. Nothing
//! inside has a capability, also not where the runner is root: a mount stays as it is. The network is
//! the machine's.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::time::timeout;

use super::Place;

/// Where the workspace is inside.
const WORKSPACE: &str = "/workspace";
/// Where the server writes its ports.
const EXCHANGE: &str = "/run/cog";
const SERVER: &str = "/run/cog-sandboxd";

/// What of the machine is inside, read only: programs, and what they need to find each other, names
/// and certificates. Not all of `/etc`: what is root's there can be read by a runner that is root.
const SHOWN: [&str; 18] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/resolv.conf",
    "/etc/ssl/certs",
];

/// How long the trial may take.
const TRIAL: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Bubblewrap {
    binary: PathBuf,
}

impl Bubblewrap {
    /// Looks for it, and tries it: many machines have it and forbid what it needs.
    pub(super) async fn that_works(data: &Path) -> Option<Self> {
        let binary = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"]
            .into_iter()
            .map(PathBuf::from)
            .find(|path| path.is_file())?;
        let found = Self { binary };
        let mut trial = found.walls();
        trial.arg("--bind").arg(data).arg(WORKSPACE).args(["/bin/sh", "-c", "test -w /workspace"]);
        trial.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut trial = tokio::process::Command::from(trial);
        let status = timeout(TRIAL, trial.kill_on_drop(true).status()).await.ok()?.ok()?;
        status.success().then_some(found)
    }

    /// The server behind the wall. It ends with the process that starts it.
    pub(super) fn command(&self, server: &Path, place: &Place) -> Command {
        let mut command = self.walls();
        command
            .arg("--bind")
            .arg(&place.workspace)
            .arg(WORKSPACE)
            .arg("--bind")
            .arg(place.exchange())
            .arg(EXCHANGE)
            .arg("--ro-bind")
            .arg(server)
            .arg(SERVER)
            .args(["--chdir", WORKSPACE, SERVER])
            .env("COG_READY_FILE", format!("{EXCHANGE}/ready.json"))
            .env("COGNITION_WORKSPACE_ROOT", WORKSPACE);
        command
    }

    fn walls(&self) -> Command {
        let mut command = Command::new(&self.binary);
        command.env_clear().args([
            "--die-with-parent",
            "--unshare-user-try",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--cap-drop",
            "ALL",
        ]);
        for shown in SHOWN {
            command.args(["--ro-bind-try", shown, shown]);
        }
        command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/run"]);
        command
    }
}
