//! Who may change the workspace.

use std::time::Duration;

use sandbox_protocol::client::Error;
use sandbox_protocol::exec::{ExecState, KillExec, StartExec};
use sandbox_protocol::files::{DeleteRequest, LsRequest, ReadRequest, WriteRequest};
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

#[tokio::test]
async fn scenario_21_an_adoption_may_carry_the_generation_that_it_announces() {
    let server = Server::start().await;
    let next = GENERATION + 1;
    let adoption = server
        .request_of(next, "PUT", "/v1/lease")
        .header("content-type", "application/json")
        .body(format!(r#"{{"generation":{next}}}"#));
    assert_eq!(answer(adoption).await.0, 200);
    server.stranger().with_generation(next).write(&write()).await.unwrap();
}

/// Whoever sees no new owner must not end what another one may have started meanwhile.
#[tokio::test]
async fn scenario_49_without_a_live_lease_nothing_is_ended_or_forgotten() {
    let server = Server::start_with(&[("COG_LEASE_GRACE_S", "0")]).await;
    let client = server.client();
    let done = server.run(1, &StartExec::shell("true")).await;
    client.exec_start(id(2), &StartExec::shell("sleep 100")).await.unwrap();
    let past = LeaseRequest { lease_until: Some(1), ..lease(GENERATION) };
    client.lease(&past).await.unwrap();
    let killed = client.exec_kill(id(2), &KillExec::default()).await;
    assert!(matches!(killed, Err(Error::Fenced)), "{killed:?}");
    assert!(matches!(client.exec_ack(id(1)).await, Err(Error::Fenced)));
    assert!(!client.exec_wait(id(2), Duration::ZERO).await.unwrap().is_over());
    assert_eq!(client.exec_wait(id(1), Duration::ZERO).await.unwrap(), done);
    // Callers that know no generations are held to the lease, too, and before their body is read.
    let head = "POST /upload HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    let mut slow = Slow::begin(&server, head, 1_000, "").await;
    assert_eq!(slow.status().await, "HTTP/1.1 409");
}

/// A request of which half has come when another owner takes over.
struct Slow(tokio::net::TcpStream);

impl Slow {
    async fn begin(server: &Server, head: &str, length: usize, first: &str) -> Self {
        let mut stream =
            tokio::net::TcpStream::connect(("127.0.0.1", server.at.port)).await.unwrap();
        let bearer = server.token.expose();
        let head =
            format!("{head}authorization: Bearer {bearer}\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(first.as_bytes()).await.unwrap();
        Self(stream)
    }

    async fn status(&mut self) -> String {
        let mut status = [0; 12];
        let read = self.0.read_exact(&mut status);
        tokio::time::timeout(Duration::from_secs(10), read).await.expect("an answer").unwrap();
        String::from_utf8_lossy(&status).into_owned()
    }
}

#[tokio::test]
async fn a_request_whose_body_ends_after_another_owner_took_over_changes_nothing() {
    let server = Server::start().await;
    server.client().write(&write()).await.unwrap();
    let requests = [
        ("POST", "/v1/fs/write", r#"{"path":"late/a","content":"x"}"#),
        ("POST", "/v1/fs/edit", r#"{"path":"file","old":"new","new":"x"}"#),
        ("POST", "/v1/fs/mkdir", r#"{"path":"made"}"#),
        ("POST", "/v1/fs/delete", r#"{"path":"file"}"#),
        ("POST", "/upload", r#"{"path":"up/a","content":"x"}"#),
        ("PUT", "/v1/execs/late", r#"{"shell":"touch ran","cwd":"there"}"#),
    ];
    let mut under_way = Vec::new();
    for (method, path, body) in requests {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
             expect: 100-continue\r\nx-cog-generation: {GENERATION}\r\n"
        );
        let mut slow = Slow::begin(&server, &head, body.len(), "").await;
        // The server asks for the body once it has let the request in.
        assert_eq!(slow.status().await, "HTTP/1.1 100", "{path}");
        let mut rest = [0; 13];
        slow.0.read_exact(&mut rest).await.unwrap();
        under_way.push((slow, path, body));
    }
    server.stranger().lease(&lease(GENERATION + 1)).await.unwrap();
    for (mut slow, path, body) in under_way {
        slow.0.write_all(body.as_bytes()).await.unwrap();
        assert_eq!(slow.status().await, "HTTP/1.1 409", "{path}");
    }
    let left: Vec<_> = std::fs::read_dir(server.workspace()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(std::fs::read(server.workspace().join("file")).unwrap(), b"new");
}

#[tokio::test]
async fn a_removal_under_way_stops_when_another_owner_takes_over() {
    let server = Server::start().await;
    let many = StartExec::shell("mkdir many && cd many && seq 1 40000 | xargs touch");
    assert_eq!(server.run(1, &many).await.exit_code, Some(0));
    let count = || std::fs::read_dir(server.workspace().join("many")).map_or(0, Iterator::count);
    let all = count();
    let client = server.client();
    let request = DeleteRequest { path: "many".to_owned() };
    let adopted = async {
        until("the removal is under way", || count() < all).await;
        server.stranger().lease(&lease(GENERATION + 1)).await.unwrap();
        count()
    };
    let (removed, left) = tokio::join!(client.delete(&request), adopted);
    assert!(matches!(removed, Err(Error::Fenced)), "{removed:?}");
    assert!(left > 0);
    assert_eq!(count(), left, "nothing of the older owner's lands after the adoption");
}
