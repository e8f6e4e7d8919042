//! The settings, each a variable of the environment. Read once, at start.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use sandbox_protocol::limits;

/// Everything that can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `COG_BIND`, 0.0.0.0. A local backend sets 127.0.0.1.
    pub bind: IpAddr,
    /// `PORT`, 8080: the control port. 0 takes a free one.
    pub port: u16,
    /// `COG_HOOK_PORT`, 9000. 0 takes a free one.
    pub hook_port: u16,
    /// `COG_READY_FILE`: where the ports are written once the server listens.
    pub ready_file: Option<PathBuf>,
    /// `COG_PARENT_DEATH`: end when the process that started this one ends. `1`, or the number of
    /// that process, which also covers that it ended before we looked.
    pub follow_parent: Option<u32>,
    /// `COG_FOLLOW_READER`, 0: with 1, end when nobody reads the standard output any more, which
    /// must be a pipe. It tells the end of a process that is not the parent, too.
    pub follow_reader: bool,
    /// `COG_SHARED_HOST`, 0: with 1, others on this machine can reach the hook port. No hook but a
    /// repeated `run` is taken then once the instance is somebody's.
    pub shared_host: bool,
    /// `COGNITION_WORKSPACE_ROOT`, /workspace.
    pub root: PathBuf,
    /// `COG_WORKLOAD_UID`, 1000: who commands and file changes run as. Without effect unless the
    /// server is root.
    pub workload_uid: u32,
    /// `COG_WORKLOAD_GID`, the same number as the uid.
    pub workload_gid: u32,
    /// `COG_WORKLOAD_HOME`: `HOME` of commands, the workspace by default.
    pub home: PathBuf,
    /// `COG_WORKLOAD_TMPDIR`: `TMPDIR` of commands, /tmp by default.
    pub tmpdir: PathBuf,
    /// `PATH`, as commands get it.
    pub path: String,
    /// `COGNITION_MAX_BODY_BYTES`, 50 MiB.
    pub max_body: usize,
    /// `COGNITION_MAX_CAPTURE_BYTES`, 2 MiB: what is kept of each stream.
    pub max_stream: usize,
    /// `COG_MAX_EXECS`, 8: commands at the same time.
    pub max_execs: usize,
    /// `COG_EXEC_DEFAULT_S`, 300.
    pub exec_default: Duration,
    /// `COG_EXEC_MAX_S`, 3 600.
    pub exec_max: Duration,
    /// `COG_JOURNAL_BYTES`, 64 MiB: kept output of finished commands.
    pub journal_bytes: usize,
    /// `COG_LEASE_GRACE_S`, 30: how long after the end of a lease changes are still taken.
    pub lease_grace: Duration,
}

/// A setting that cannot be used. Its value is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read the setting {0}")]
pub struct InvalidSetting(&'static str);

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl Settings {
    /// Takes the settings out of an environment.
    pub fn from_pairs(
        pairs: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, InvalidSetting> {
        let pairs: Vec<(OsString, OsString)> = pairs.into_iter().collect();
        let env = Env(&pairs);
        let seconds = |name, default: u32| {
            env.parsed(name, default).map(|seconds| Duration::from_secs(seconds.into()))
        };
        let root = env.path("COGNITION_WORKSPACE_ROOT").unwrap_or_else(|| "/workspace".into());
        if !root.is_absolute() || root == *"/" {
            return Err(InvalidSetting("COGNITION_WORKSPACE_ROOT"));
        }
        let workload_uid = env.parsed("COG_WORKLOAD_UID", 1000)?;
        Ok(Self {
            bind: env.parsed("COG_BIND", IpAddr::from([0, 0, 0, 0]))?,
            port: env.parsed("PORT", 8080)?,
            hook_port: env.parsed("COG_HOOK_PORT", 9000)?,
            ready_file: env.path("COG_READY_FILE"),
            follow_parent: Some(env.parsed("COG_PARENT_DEATH", 0)?).filter(|parent| *parent != 0),
            follow_reader: env.parsed("COG_FOLLOW_READER", 0_u8)? == 1,
            shared_host: env.parsed("COG_SHARED_HOST", 0_u8)? == 1,
            workload_uid,
            workload_gid: env.parsed("COG_WORKLOAD_GID", workload_uid)?,
            home: env.path("COG_WORKLOAD_HOME").unwrap_or_else(|| root.clone()),
            tmpdir: env.path("COG_WORKLOAD_TMPDIR").unwrap_or_else(|| "/tmp".into()),
            path: env.parsed("PATH", PATH.to_owned())?,
            max_body: env.parsed("COGNITION_MAX_BODY_BYTES", limits::MAX_BODY)?,
            max_stream: env.parsed("COGNITION_MAX_CAPTURE_BYTES", limits::MAX_STREAM)?,
            max_execs: env.parsed("COG_MAX_EXECS", limits::MAX_RUNNING_EXECS)?,
            exec_default: seconds("COG_EXEC_DEFAULT_S", limits::DEFAULT_TIMEOUT_S)?,
            exec_max: seconds("COG_EXEC_MAX_S", limits::MAX_TIMEOUT_S)?,
            journal_bytes: env.parsed("COG_JOURNAL_BYTES", 64 * 1024 * 1024)?,
            lease_grace: seconds("COG_LEASE_GRACE_S", 30)?,
            root,
        })
    }
}

struct Env<'a>(&'a [(OsString, OsString)]);

impl Env<'_> {
    fn path(&self, name: &str) -> Option<PathBuf> {
        let mut found = self.0.iter().filter(|(key, value)| key == name && !value.is_empty());
        found.next().map(|(_, value)| value.into())
    }

    fn parsed<T: FromStr>(&self, name: &'static str, default: T) -> Result<T, InvalidSetting> {
        match self.path(name) {
            None => Ok(default),
            Some(value) => {
                value.to_str().and_then(|text| text.parse().ok()).ok_or(InvalidSetting(name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings, InvalidSetting> {
        Settings::from_pairs(pairs.iter().map(|(key, value)| (key.into(), value.into())))
    }

    #[test]
    fn without_an_environment_it_is_the_image_s_server() {
        let settings = read(&[]).unwrap();
        assert_eq!((settings.port, settings.hook_port), (8080, 9000));
        assert_eq!(settings.root, PathBuf::from("/workspace"));
        assert_eq!((settings.workload_uid, settings.workload_gid), (1000, 1000));
        assert_eq!(settings.home, settings.root);
        assert_eq!(settings.follow_parent, None);
    }

    #[test]
    fn a_setting_that_cannot_be_read_stops_the_start() {
        for (name, value) in [
            ("PORT", "http"),
            ("COG_BIND", "localhost"),
            ("COG_MAX_EXECS", "-1"),
            ("COGNITION_WORKSPACE_ROOT", "workspace"),
            ("COGNITION_WORKSPACE_ROOT", "/"),
        ] {
            assert_eq!(read(&[(name, value)]), Err(InvalidSetting(name)), "{name}");
        }
    }

    #[test]
    fn an_empty_setting_is_an_absent_one() {
        assert_eq!(read(&[("PORT", ""), ("COG_READY_FILE", "")]), read(&[]));
    }
}
