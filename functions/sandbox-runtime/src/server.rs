//! Listening, and ending.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use sandbox_protocol::bootstrap::Announcement;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

use crate::config::{InvalidSetting, Settings};
use crate::log::Log;
use crate::process::{self, Children, Follow, Workload};
use crate::sandbox::Sandbox;
use crate::workers::Workers;
use crate::{clock, hooks, routes};

/// Connections of one port at the same time; more of them wait.
const MAX_CONNECTIONS: usize = 256;
/// A client that has not sent its request's head by then is turned away.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Enough for any request that is ours.
const MAX_HEAD: usize = 64 * 1024;

/// Why the server did not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
    #[error("{0}")]
    Io(&'static str, #[source] io::Error),
}

/// Says why the server stopped, as a line of the log.
pub fn report(error: &Error, log: &mut dyn Write) {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    let line = serde_json::json!({ "time": clock::now_ms(), "error": text });
    let _ = writeln!(log, "{line}");
}

fn when(doing: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| Error::Io(doing, error)
}

/// Serves until it is told to end, or until the process that it follows ends; then ends all
/// commands. The whole process is the server's: it reaps every child there is.
pub fn serve(settings: Settings, log: Box<dyn Write + Send>) -> Result<(), Error> {
    let _shared = process::share_input().map_err(when("share the standard input"))?;
    process::harden().map_err(io::Error::from).map_err(when("set up the process"))?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(when("start the runtime"))?
        .block_on(run(settings, Log::new(log)))
}

async fn run(settings: Settings, log: Log) -> Result<(), Error> {
    let parent = settings.follow_parent.map(Follow::parent).transpose();
    let parent = parent.map_err(when("follow the parent"))?;
    let reader = settings.follow_reader.then(Follow::reader).transpose();
    let reader = reader.map_err(when("follow the reader"))?;
    let workload = Workload::of(&settings);
    for folder in [&settings.root, &settings.home, &settings.tmpdir] {
        make_folder(folder, workload).map_err(when("make a folder of the workload"))?;
    }
    let workers = Workers::start(workload).map_err(when("start the file threads"))?;
    let children = Arc::new(Children::default());
    let (bind, ready_file) = (settings.bind, settings.ready_file.clone());
    let control = listen(SocketAddr::new(bind, settings.port)).await?;
    let hook = listen(SocketAddr::new(bind, settings.hook_port)).await?;
    let sandbox = Sandbox::new(settings, workers, Arc::clone(&children), workload);
    let sandbox = Arc::new(sandbox);
    let mut stop = signal(SignalKind::terminate()).map_err(when("wait for signals"))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(when("wait for signals"))?;
    if let Some(file) = ready_file {
        announce(&file, &control, &hook).map_err(when("announce the ports"))?;
    }
    let ended = async |followed: Option<Follow>| match followed {
        Some(followed) => followed.ended().await,
        None => std::future::pending().await,
    };
    let mut reaped = std::pin::pin!(children.reap());
    let outcome = tokio::select! {
        () = accept(control, routes::router(&sandbox, &log)) => Ok(()),
        () = accept(hook, hooks::router(&sandbox, &log)) => Ok(()),
        outcome = &mut reaped => outcome.map_err(when("reap")),
        outcome = ended(parent) => outcome.map_err(when("follow the parent")),
        outcome = ended(reader) => outcome.map_err(when("follow the reader")),
        _ = stop.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    };
    tokio::select! {
        () = sandbox.terminate() => {}
        _ = reaped => {}
    }
    outcome
}

/// A folder that is missing is made, and is then the workload's.
fn make_folder(folder: &Path, workload: Option<Workload>) -> io::Result<()> {
    match std::fs::metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder)?;
            let made = std::fs::metadata(folder)?;
            match workload {
                Some(user) if made.uid() != user.uid => {
                    chown(folder, Some(user.uid), Some(user.gid))
                }
                _ => Ok(()),
            }
        }
        other => other.map(drop),
    }
}

async fn listen(at: SocketAddr) -> Result<TcpListener, Error> {
    TcpListener::bind(at).await.map_err(when("listen"))
}

/// Writes the ports beside the file first, so that a reader finds all of it or nothing.
fn announce(file: &Path, control: &TcpListener, hook: &TcpListener) -> io::Result<()> {
    let announcement = Announcement {
        port: control.local_addr()?.port(),
        hook_port: hook.local_addr()?.port(),
        pid: std::process::id(),
    };
    let draft = file.with_extension("tmp");
    std::fs::write(&draft, serde_json::to_vec(&announcement)?)?;
    std::fs::rename(draft, file)
}

async fn accept(listener: TcpListener, router: Router) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let router = router.clone();
                tokio::spawn(async move {
                    converse(stream, router).await;
                    drop(place);
                });
            }
            // Out of descriptors, most often: give others the time to end.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Answers the requests of one connection. What is no HTTP ends it, and nothing else.
async fn converse(stream: TcpStream, router: Router) {
    let _ = stream.set_nodelay(true);
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .await;
}
