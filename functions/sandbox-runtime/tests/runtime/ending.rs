//! How it ends, and that nothing of it is left.

use std::process::{Command, Stdio};
use std::time::Duration;

use sandbox_protocol::bootstrap::RunPayload;
use sandbox_protocol::client::{Client, Error, Hooks, Transport};
use sandbox_protocol::exec::{ExecState, StartExec};
use sandbox_protocol::files::LsRequest;
use sandbox_protocol::health::HealthStatus;
use sandbox_protocol::runtime_token;
use tokio::io::AsyncWriteExt as _;

use crate::support::{
    BIN, GENERATION, Server, announced, finished, folder, id, marker, prepare, running, until,
};

/// A command that has left a part of itself behind in another session, out of reach of signals to
/// its group.
fn stubborn(mark: &str) -> StartExec {
    StartExec::shell(format!(
        "(setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 100.{mark}; done' &); sleep 100.{mark}"
    ))
}

async fn begin(server: &Server) -> String {
    let mark = marker();
    server.client().exec_start(id(1), &stubborn(&mark)).await.unwrap();
    until("both parts run", || running(&format!("sleep 100.{mark}")) >= 3).await;
    mark
}

#[tokio::test]
async fn the_terminate_hook_ends_all_commands_and_all_service() {
    let server = Server::start().await;
    let mark = begin(&server).await;
    server.hooks().terminate().await.unwrap();
    assert_eq!(running(&mark), 0);
    assert!(matches!(server.client().ls(&LsRequest::default()).await, Err(Error::NotReady)));
    assert_eq!(server.stranger().health().await.unwrap().status, HealthStatus::Terminating);
    server.hooks().terminate().await.unwrap();
    assert!(server.hooks().run(&server.payload()).await.is_err());
}

#[tokio::test]
async fn a_request_to_stop_ends_the_server_after_its_commands() {
    let mut server = Server::start().await;
    let mark = begin(&server).await;
    let stop = Command::new("kill").arg(server.at.pid.to_string()).status().unwrap();
    assert!(stop.success());
    until("the server ends", || server.process.try_wait().unwrap().is_some()).await;
    assert!(server.process.wait().unwrap().success());
    assert_eq!(running(&mark), 0);
}

#[tokio::test]
async fn a_server_that_is_killed_leaves_no_command_behind() {
    let mut server = Server::start().await;
    let mark = begin(&server).await;
    server.process.kill().unwrap();
    until("nothing is left", || running(&mark) == 0).await;
}

#[tokio::test]
async fn a_lock_that_the_server_was_given_is_free_when_no_command_is_left() {
    let folder = folder();
    let path = folder.path().join("lock");
    let lock = std::fs::File::create(&path).unwrap();
    lock.lock().unwrap();
    let mut server = Server::launch_with(&[], lock.into()).await;
    server.hooks().run(&server.payload()).await.unwrap();
    let mark = begin(&server).await;
    let free = || std::fs::File::open(&path).unwrap().try_lock().is_ok();
    assert!(!free());
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    until("the lock is free", free).await;
    assert_eq!(running(&mark), 0);
}

#[tokio::test]
async fn a_supervisor_that_is_killed_is_told_and_leaves_nothing() {
    let server = Server::start().await;
    let mark = begin(&server).await;
    let supervisor = children(server.at.pid);
    assert_eq!(supervisor.len(), 1);
    Command::new("kill").arg("-9").arg(supervisor[0].to_string()).status().unwrap();
    let status = finished(&server.client(), 1).await;
    assert_eq!((status.state, status.exit_code), (ExecState::Lost, None));
    until("nothing is left", || running(&mark) == 0).await;
    // The server goes on.
    assert_eq!(server.run(2, &StartExec::shell("true")).await.exit_code, Some(0));
}

#[tokio::test]
async fn nothing_is_left_unreaped() {
    let server = Server::start().await;
    for number in 1..=5 {
        server.run(number, &StartExec::shell("(true &); (sleep 0.1 &)")).await;
    }
    until("all supervisors are gone", || children(server.at.pid).is_empty()).await;
}

fn children(of: u32) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split(' ').nth(2));
        parent == Some(&of.to_string())
    })
    .collect()
}

#[tokio::test]
async fn the_server_ends_with_its_parent_and_so_do_the_commands() {
    let folder = folder();
    let (template, ready, _) = prepare(folder.path(), &[("COG_PARENT_DEATH", "1")]);
    // A parent that starts a server and waits.
    let mut parent = Command::new("/bin/sh");
    parent.args(["-c", "\"$0\" & wait", BIN]).env_clear();
    for (name, value) in template.get_envs() {
        parent.env(name, value.unwrap_or_default());
    }
    let mut parent = parent.stderr(Stdio::null()).spawn().unwrap();
    let at = announced(&ready).await;
    let transport = Transport::new().unwrap();
    let token = runtime_token(b"k", id(1));
    let hooks = Hooks::new(&transport, &format!("http://127.0.0.1:{}", at.hook_port));
    hooks.run(&RunPayload::new(id(1), GENERATION, token.clone())).await.unwrap();
    let client = Client::new(&transport, &format!("http://127.0.0.1:{}", at.port), token)
        .with_generation(GENERATION);
    let mark = marker();
    client.exec_start(id(1), &stubborn(&mark)).await.unwrap();
    until("both parts run", || running(&format!("sleep 100.{mark}")) >= 3).await;
    parent.kill().unwrap();
    parent.wait().unwrap();
    until("the commands end", || running(&mark) == 0).await;
    until("the server ends", || !std::path::Path::new(&format!("/proc/{}", at.pid)).exists()).await;
}

#[tokio::test]
async fn the_server_ends_with_whoever_reads_its_output_and_so_do_the_commands() {
    let folder = folder();
    let (mut command, ready, _) = prepare(folder.path(), &[("COG_FOLLOW_READER", "1")]);
    let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
    let at = announced(&ready).await;
    let transport = Transport::new().unwrap();
    let token = runtime_token(b"k", id(1));
    let hooks = Hooks::new(&transport, &format!("http://127.0.0.1:{}", at.hook_port));
    hooks.run(&RunPayload::new(id(1), GENERATION, token.clone())).await.unwrap();
    let client = Client::new(&transport, &format!("http://127.0.0.1:{}", at.port), token)
        .with_generation(GENERATION);
    let mark = marker();
    client.exec_start(id(1), &stubborn(&mark)).await.unwrap();
    until("both parts run", || running(&format!("sleep 100.{mark}")) >= 3).await;
    drop(process.stdout.take());
    until("the commands end", || running(&mark) == 0).await;
    until("the server ends", || process.try_wait().unwrap().is_some()).await;
}

#[tokio::test]
async fn a_server_whose_parent_is_gone_already_does_not_start() {
    let folder = folder();
    let (mut command, ready, _) = prepare(folder.path(), &[("COG_PARENT_DEATH", "4194304")]);
    assert!(!command.status().unwrap().success());
    assert!(!ready.exists());
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("follow the parent: the parent is gone"), "{log}");
}

#[tokio::test]
async fn scenario_35_a_crash_in_the_middle_of_an_upload_leaves_the_old_file() {
    let mut server = Server::start().await;
    std::fs::write(server.workspace().join("file"), "old").unwrap();
    let address = format!("127.0.0.1:{}", server.at.port);
    let mut upload = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "PUT /v1/files?path=file HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         x-cog-generation: {GENERATION}\r\ncontent-length: 20971520\r\n\r\n",
        server.token.expose()
    );
    upload.write_all(head.as_bytes()).await.unwrap();
    upload.write_all(&vec![b'x'; 10 * 1024 * 1024]).await.unwrap();
    let workspace = server.workspace();
    until("some of it is on disk", || {
        let files = std::fs::read_dir(&workspace).unwrap().flatten();
        files.filter_map(|entry| entry.metadata().ok()).any(|file| file.len() > 1024 * 1024)
    })
    .await;
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    assert_eq!(std::fs::read(workspace.join("file")).unwrap(), b"old");
}

#[tokio::test]
async fn after_a_restart_the_folder_is_there_and_the_commands_are_unknown() {
    let mut server = Server::start().await;
    server.run(1, &StartExec::shell("echo kept > file")).await;
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    let root = server.workspace();
    let settings = [("COGNITION_WORKSPACE_ROOT", root.to_str().unwrap())];
    let uid = server.uid.map(|uid| uid.to_string());
    let uid = uid.iter().map(|uid| ("COG_WORKLOAD_UID", uid.as_str()));
    let settings: Vec<_> = settings.into_iter().chain(uid).collect();
    let next = Server::start_with(&settings).await;
    let unknown = next.client().exec_wait(id(1), Duration::ZERO).await;
    assert!(matches!(unknown, Err(Error::NotFound)), "{unknown:?}");
    let status = next.run(2, &StartExec::shell("cat file")).await;
    assert_eq!(crate::support::stdout(&status), "kept\n");
}
