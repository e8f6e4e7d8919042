//! Commands behind a wall, where the machine permits one: bubblewrap.
//!
//! Inside there are the system's programs (read only), the workspace, and a `/tmp` of its own; other
//! processes, the home folders and the data folder are not there. The network is the machine's.

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
        ]);
        for folder in ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt"] {
            command.args(["--ro-bind-try", folder, folder]);
        }
        command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/run"]);
        command
    }
}
