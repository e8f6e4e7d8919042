//! An S3 server of another make, which keeps our own endpoint honest.
//!
//! **Nothing of it outlives the test process, whatever ends that**: a small shell waits for the end of
//! a pipe, then stops the server and removes its files.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::net::TcpStream;

/// Ends the server (the arguments) and removes the folder (the first one) when its input ends.
const KEEPER: &str = r#"folder=$1; shift
"$@" & server=$!
cat >/dev/null
kill -9 $server; wait $server
rm -rf "$folder""#;

/// A `SeaweedFS` server with an empty folder. It ends with this value.
#[derive(Debug)]
pub struct Seaweed {
    keeper: Child,
    folder: PathBuf,
    pub endpoint_url: String,
    pub access_key: String,
    pub secret_key: String,
}

impl Seaweed {
    /// Starts `weed` and waits until it serves S3.
    ///
    /// The program is `$WEED_BIN`, or on the `PATH`, or where `make tools` installs it.
    pub async fn start() -> Result<Self> {
        let weed = find()?;
        // Another process may take a free port before the server does; then it ends, and the next
        // attempt has other ports.
        let mut attempts = 3;
        loop {
            attempts -= 1;
            match Self::attempt(&weed).await {
                Err(_) if attempts > 0 => {}
                outcome => return outcome,
            }
        }
    }

    async fn attempt(weed: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("seaweed-").tempdir()?.keep();
        let (access_key, secret_key) = ("test-access", "test-secret");
        let config = folder.join("s3.json");
        fs::write(&config, identity(access_key, secret_key))?;
        let [s3, rest @ ..] = free_ports()?;
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .arg(&folder)
            .arg(weed)
            .args(arguments(&folder, &config, s3, rest))
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(File::create(folder.join("log"))?)
            .spawn()
            .context("start a shell")?;
        let running = Self {
            keeper,
            folder,
            endpoint_url: format!("http://127.0.0.1:{s3}"),
            access_key: access_key.to_owned(),
            secret_key: secret_key.to_owned(),
        };
        running.serves(s3).await?;
        Ok(running)
    }

    /// Waits until the port takes connections.
    async fn serves(&self, port: u16) -> Result<()> {
        let serving = async {
            while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        if tokio::time::timeout(Duration::from_mins(1), serving).await.is_err() {
            let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            bail!("SeaweedFS does not serve S3 within a minute:\n{log}");
        }
        Ok(())
    }
}

impl Drop for Seaweed {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// One identity that may do everything.
fn identity(access_key: &str, secret_key: &str) -> String {
    format!(
        r#"{{"identities":[{{"name":"test",
            "credentials":[{{"accessKey":"{access_key}","secretKey":"{secret_key}"}}],
            "actions":["Admin","Read","Write","List","Tagging"]}}]}}"#
    )
}

/// Everything on this machine only, and no report to anybody.
fn arguments(folder: &Path, config: &Path, s3: u16, ports: [u16; 7]) -> Vec<OsString> {
    let names = [
        "master.port",
        "master.port.grpc",
        "volume.port",
        "volume.port.grpc",
        "filer.port",
        "filer.port.grpc",
        "s3.port.grpc",
    ];
    let mut arguments: Vec<OsString> = [
        "server",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-filer",
        "-s3",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-master.telemetry=false",
        "-master.volumeSizeLimitMB=64",
        "-volume.max=20",
    ]
    .map(OsString::from)
    .into();
    arguments.push(format!("-s3.port={s3}").into());
    arguments.extend(names.iter().zip(ports).map(|(name, port)| format!("-{name}={port}").into()));
    for (name, path) in [
        ("-dir=", folder.to_owned()),
        ("-s3.config=", config.to_owned()),
        ("-s3.localSocket=", folder.join("s3.sock")),
        ("-filer.localSocket=", folder.join("filer.sock")),
    ] {
        let mut argument = OsString::from(name);
        argument.push(path);
        arguments.push(argument);
    }
    arguments
}

fn free_ports() -> Result<[u16; 8]> {
    let mut listeners = Vec::new();
    let mut ports = [0; 8];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

fn find() -> Result<PathBuf> {
    if let Some(named) = env::var_os("WEED_BIN") {
        return Ok(named.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/venv/bin");
    env::split_paths(&path)
        .chain([installed])
        .map(|folder| folder.join("weed"))
        .find(|weed| weed.is_file())
        .context("no SeaweedFS found: run `make tools`, which installs it, or set WEED_BIN to weed")
}
