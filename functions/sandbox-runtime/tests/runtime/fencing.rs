//! Who may change the workspace.

use std::time::Duration;

use sandbox_protocol::client::Error;
use sandbox_protocol::exec::{ExecState, KillExec, StartExec};
use sandbox_protocol::files::{LsRequest, ReadRequest, WriteRequest};
use sandbox_protocol::lease::LeaseRequest;
use sandbox_protocol::{ErrorCode, Secret};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{GENERATION, Server, answer, code, id, marker, running, until};

fn write() -> WriteRequest {
    WriteRequest { path: "file".to_owned(), content: "new".to_owned() }
}

fn lease(generation: i64) -> LeaseRequest {
    LeaseRequest { generation, lease_until: None, run_fence: None }
}

#[tokio::test]
async fn scenario_20_a_command_of_an_older_generation_is_not_started() {
    let server = Server::start().await;
    let stale = server.stranger().with_generation(GENERATION - 1);
    let started = stale.exec_start(id(1), &StartExec::shell("touch ran")).await;
    assert!(matches!(started, Err(Error::Fenced)), "{started:?}");
    assert!(server.client().exec_list().await.unwrap().execs.is_empty());
    assert!(!server.workspace().join("ran").exists());
}

#[tokio::test]
async fn what_changes_something_needs_a_generation() {
    let server = Server::start().await;
    assert_eq!(code(server.stranger().write(&write()).await), ErrorCode::BadRequest);
    let started = server.stranger().exec_start(id(1), &StartExec::shell("true")).await;
    assert_eq!(code(started), ErrorCode::BadRequest);
    let odd = server.request("GET", "/v1/execs").header("x-cog-run-fence", "one");
    assert_eq!(answer(odd).await, (400, "bad_request".to_owned()));
    server.stranger().ls(&LsRequest::default()).await.unwrap();
}

#[tokio::test]
async fn scenario_21_generations_go_forward_only_and_are_announced_first() {
    let server = Server::start().await;
    let thief = sandbox_protocol::client::Client::new(
        &server.transport,
        &server.control_url(),
        Secret::new("wrong"),
    );
    assert!(matches!(thief.lease(&lease(6)).await, Err(Error::Unauthorized)));
    server.client().write(&write()).await.unwrap();
    let ahead = server.stranger().with_generation(7);
    assert!(matches!(ahead.write(&write()).await, Err(Error::UnknownGeneration)));
    assert_eq!(server.stranger().lease(&lease(6)).await.unwrap().generation, 6);
    assert!(matches!(server.client().write(&write()).await, Err(Error::Fenced)));
    assert!(matches!(server.stranger().lease(&lease(5)).await, Err(Error::Fenced)));
    assert!(matches!(server.client().ls(&LsRequest::default()).await, Err(Error::Fenced)));
    server.stranger().with_generation(6).write(&write()).await.unwrap();
}

#[tokio::test]
async fn an_older_run_of_the_same_generation_is_fenced() {
    let server = Server::start().await;
    server.client().with_run_fence(9).write(&write()).await.unwrap();
    let older = server.client().with_run_fence(8);
    assert!(matches!(older.write(&write()).await, Err(Error::Fenced)));
    assert!(matches!(older.exec_list().await, Err(Error::Fenced)));
    server.stranger().lease(&lease(6)).await.unwrap();
    server.stranger().with_generation(6).with_run_fence(1).write(&write()).await.unwrap();
}

#[tokio::test]
async fn an_upload_under_way_is_refused_once_another_owner_took_over() {
    let server = Server::start().await;
    server.client().write(&write()).await.unwrap();
    let address = format!("127.0.0.1:{}", server.at.port);
    let mut upload = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "PUT /v1/files?path=file HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         x-cog-generation: {GENERATION}\r\ncontent-length: 600000\r\n\r\n",
        server.token.expose()
    );
    upload.write_all(head.as_bytes()).await.unwrap();
    upload.write_all(&vec![b'x'; 300_000]).await.unwrap();
    let drafts = || std::fs::read_dir(server.workspace()).unwrap().count();
    until("the upload has begun", || drafts() == 2).await;
    server.stranger().lease(&lease(GENERATION + 1)).await.unwrap();
    upload.write_all(&vec![b'x'; 300_000]).await.unwrap();
    let mut reply = vec![0; 12];
    upload.read_exact(&mut reply).await.unwrap();
    assert_eq!(String::from_utf8(reply).unwrap(), "HTTP/1.1 409");
    assert_eq!(std::fs::read(server.workspace().join("file")).unwrap(), b"new");
    until("the draft is gone", || drafts() == 1).await;
}

#[tokio::test]
async fn an_adoption_ends_what_an_older_owner_has_running_and_a_renewal_does_not() {
    let server = Server::start().await;
    let (mark, kept) = (marker(), marker());
    let left = format!("(sleep 100.{kept} >/dev/null 2>&1 &); echo left");
    server.client().exec_start(id(1), &StartExec::shell(left)).await.unwrap();
    server.client().exec_wait(id(1), Duration::from_secs(20)).await.unwrap();
    let command = StartExec::shell(format!("sleep 100.{mark}; touch late"));
    server.client().exec_start(id(2), &command).await.unwrap();
    until("it runs", || running(&mark) >= 2).await;
    server.stranger().lease(&lease(GENERATION)).await.unwrap();
    assert!(running(&mark) >= 2);

    server.stranger().lease(&lease(GENERATION + 1)).await.unwrap();
    assert_eq!(running(&mark), 0, "gone when the adoption is answered");
    assert!(!server.workspace().join("late").exists());
    assert!(running(&kept) >= 1, "what a finished command has left on purpose goes on");
    let next = server.stranger().with_generation(GENERATION + 1);
    let status = next.exec_wait(id(2), Duration::ZERO).await.unwrap();
    assert_eq!(status.state, ExecState::Killed);
    next.exec_start(id(3), &StartExec::shell("true")).await.unwrap();
}

#[tokio::test]
async fn scenario_49_without_a_live_lease_nothing_changes_and_what_runs_goes_on() {
    let server = Server::launch(&[("COG_LEASE_GRACE_S", "0")]).await;
    let mut payload = server.payload();
    payload.lease_until = Some(1);
    server.hooks().run(&payload).await.unwrap();
    let client = server.client();
    let renew = async |lease_until| {
        let renewed = LeaseRequest { lease_until: Some(lease_until), ..lease(GENERATION) };
        client.lease(&renewed).await.unwrap().lease_until
    };
    let soon = async || client.health().await.unwrap().time + 300;
    while client.exec_start(id(1), &StartExec::shell("sleep 100")).await.is_err() {
        renew(soon().await).await;
    }
    // The lease ends by itself, a moment later.
    while client.write(&write()).await.is_ok() {}
    assert!(matches!(client.write(&write()).await, Err(Error::Fenced)));
    let started = client.exec_start(id(2), &StartExec::shell("true")).await;
    assert!(matches!(started, Err(Error::Fenced)));
    client.ls(&LsRequest::default()).await.unwrap();
    assert!(!client.exec_wait(id(1), Duration::ZERO).await.unwrap().is_over());
    assert_eq!(renew(i64::MAX).await, Some(i64::MAX));
    client.write(&write()).await.unwrap();
    client.exec_kill(id(1), &KillExec::default()).await.unwrap();
    let read = ReadRequest { path: "file".to_owned(), ..ReadRequest::default() };
    assert_eq!(client.read(&read).await.unwrap().content, "new");
}
