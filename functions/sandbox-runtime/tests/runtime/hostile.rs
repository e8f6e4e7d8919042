//! What a workload, or a stranger, may try.

use std::time::Duration;

use sandbox_protocol::ErrorCode;
use sandbox_protocol::exec::StartExec;
use sandbox_protocol::files::WriteRequest;
use sandbox_protocol::health::HealthStatus;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Server, answer, code, http, stdout};

async fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).await.unwrap()
}

/// All that comes until the other side closes, which it must.
async fn to_the_end(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let mut piece = [0; 4096];
    let read = async {
        while let Ok(read @ 1..) = stream.read(&mut piece).await {
            all.extend_from_slice(&piece[..read]);
        }
    };
    tokio::time::timeout(Duration::from_secs(10), read).await.expect("it closes");
    String::from_utf8_lossy(&all).into_owned()
}

#[tokio::test]
async fn scenario_19_without_the_bearer_no_body_is_read() {
    let server = Server::start().await;
    for bearer in ["", "authorization: Bearer wrong\r\n", "authorization: Basic x\r\n"] {
        let mut stream = connect(server.at.port).await;
        let head = format!(
            "PUT /v1/files?path=x HTTP/1.1\r\nhost: x\r\n{bearer}content-length: 52428800\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // Not a byte of the body was sent, and the answer is there.
        let reply = to_the_end(&mut stream).await;
        assert!(reply.starts_with("HTTP/1.1 401"), "{reply}");
        assert!(reply.contains("unauthorized"), "{reply}");
    }
}

#[tokio::test]
async fn scenario_19_a_body_that_is_not_wanted_is_cut_off() {
    let server = Server::start().await;
    let mut stream = connect(server.at.port).await;
    let head = "PUT /v1/files?path=x HTTP/1.1\r\nhost: x\r\ncontent-length: 52428800\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let piece = vec![b'x'; 64 * 1024];
    let flood = async {
        let mut sent = 0;
        while stream.write_all(&piece).await.is_ok() {
            sent += piece.len();
        }
        sent
    };
    let sent = tokio::time::timeout(Duration::from_secs(10), flood).await.expect("it closes");
    // What was sent lies in the kernel's buffers; the whole body does not fit there.
    assert!(sent < 40 * 1024 * 1024, "{sent}");
    assert!(!server.workspace().join("x").exists());
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_whether_or_not_it_says_so() {
    let server = Server::start_with(&[("COGNITION_MAX_BODY_BYTES", "1000")]).await;
    let said = server.request("PUT", "/v1/files?path=x").body(vec![b'x'; 1_001]);
    assert_eq!(answer(said).await, (413, "too_large".to_owned()));
    let mut stream = connect(server.at.port).await;
    let head = format!(
        "PUT /v1/files?path=x HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         x-cog-generation: 5\r\ntransfer-encoding: chunked\r\n\r\n3e9\r\n{}\r\n",
        server.token.expose(),
        "x".repeat(1_001)
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 413");
    assert_eq!(std::fs::read_dir(server.workspace()).unwrap().count(), 0);
    let fits = server.request("PUT", "/v1/files?path=x").body(vec![b'x'; 1_000]);
    assert_eq!(answer(fits).await.0, 200);
}

#[tokio::test]
async fn scenario_32_a_command_cannot_look_into_the_server() {
    let server = Server::start().await;
    let line = format!(
        "for pid in {} $PPID; do for file in environ mem; do \
         head -c 1 /proc/$pid/$file > /dev/null 2>&1 && echo open $pid $file; done; \
         ls /proc/$pid/fd > /dev/null 2>&1 && echo listed $pid; done; \
         ls /proc/self/fd | wc -l; cat /proc/self/status | grep -E 'NoNewPrivs|CapEff'",
        server.at.pid
    );
    let status = server.run(1, &StartExec::shell(line)).await;
    let seen: Vec<_> = stdout(&status).lines().map(|line| line.replace('\t', "")).collect();
    // Its own three descriptors, and the one by which `ls` looks.
    assert_eq!(seen, ["4", "CapEff:0000000000000000", "NoNewPrivs:1"]);
}

#[tokio::test]
async fn scenario_32_a_command_without_the_bearer_is_nobody() {
    let server = Server::start().await;
    let url = format!("{}/upload", server.control_url());
    assert_eq!(answer(http().post(url)).await, (401, "unauthorized".to_owned()));
}

#[tokio::test]
async fn scenario_41_what_is_no_http_closes_its_connection_and_nothing_else() {
    let server = Server::start().await;
    let client_hello = [0x16, 3, 1, 0, 5, 1, 0, 0, 1, 3, b'\r', b'\n', b'\r', b'\n'];
    for port in [server.at.port, server.at.hook_port] {
        for garbage in
            [&client_hello[..], b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n", &vec![b'A'; 100_000]]
        {
            let mut stream = connect(port).await;
            let _ = stream.write_all(garbage).await;
            to_the_end(&mut stream).await;
        }
        // One that says nothing at all holds up nobody.
        let _silent = connect(port).await;
        assert_eq!(server.stranger().health().await.unwrap().status, HealthStatus::Ok);
    }
}

#[tokio::test]
async fn odd_requests_get_an_answer_in_the_usual_form() {
    let server = Server::start().await;
    let json = |method, path, body: &'static str| {
        server.request(method, path).header("content-type", "application/json").body(body)
    };
    assert_eq!(answer(server.request("GET", "/nowhere")).await, (404, "not_found".to_owned()));
    let method = answer(server.request("DELETE", "/v1/lease")).await;
    assert_eq!(method, (405, "method_not_allowed".to_owned()));
    let form = server.request("POST", "/v1/fs/ls").body("path=x");
    assert_eq!(answer(form).await, (415, "unsupported_media_type".to_owned()));
    for (path, body) in [
        ("/v1/fs/ls", "[]"),
        ("/v1/fs/ls", "{"),
        ("/v1/fs/ls", r#"{"path":"","more":1}"#),
        ("/v1/fs/grep", r#"{"pattern":""}"#),
        ("/v1/fs/grep", r#"{"pattern":"a","max_count":0}"#),
        ("/v1/fs/glob", r#"{"pattern":"../*"}"#),
        ("/v1/fs/glob", r#"{"pattern":"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"}"#),
    ] {
        let refused = answer(json("POST", path, body)).await;
        assert_eq!(refused, (400, "bad_request".to_owned()), "{path} {body}");
    }
    let id = answer(json("PUT", "/v1/execs/a%2Fb", r#"{"shell":"true"}"#)).await;
    assert_eq!(id, (400, "bad_request".to_owned()));
    let query = answer(server.request("GET", "/v1/execs/a?wait_ms=soon")).await;
    assert_eq!(query, (400, "bad_request".to_owned()));
    let no_path = answer(server.request("PUT", "/v1/files").body("x")).await;
    assert_eq!(no_path, (400, "bad_request".to_owned()));
}

#[tokio::test]
async fn scenario_66_the_log_tells_routes_and_no_secrets_paths_or_commands() {
    let server = Server::start().await;
    let content = "canary-content".to_owned();
    let write = WriteRequest { path: "canary-path".to_owned(), content };
    server.client().write(&write).await.unwrap();
    server.run(0x00ca_0a17, &StartExec::shell("echo canary-command")).await;
    let named = server.request("GET", "/v1/execs").header("x-request-id", "req-1.a_b");
    assert_eq!(named.send().await.unwrap().headers()["x-request-id"], "req-1.a_b");
    let odd = server.request("GET", "/v1/execs").header("x-request-id", "canary request");
    let made = odd.send().await.unwrap().headers()["x-request-id"].to_str().unwrap().to_owned();
    assert_eq!(made.len(), 32);
    let log = server.log();
    assert!(!log.contains("canary") && !log.contains(server.token.expose()), "{log}");
    let lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let lines: Vec<_> = lines.collect();
    let line = lines.iter().find(|line| line["request.id"] == "req-1.a_b").unwrap();
    assert_eq!((line["route"].as_str(), line["status"].as_u64()), (Some("/v1/execs"), Some(200)));
    assert!(lines.iter().any(|line| line["route"] == "/v1/execs/{id}" && line["method"] == "PUT"));
}

/// Where others reach the hook port, none of them ends an instance or learns whose it is.
#[tokio::test]
async fn on_a_shared_host_an_instance_that_is_somebodys_takes_no_hook() {
    let server = Server::start_with(&[("COG_SHARED_HOST", "1")]).await;
    assert_eq!(code(server.hooks().terminate().await), ErrorCode::PermissionDenied);
    assert_eq!(code(server.hooks().validate().await), ErrorCode::PermissionDenied);
    server.hooks().run(&server.payload()).await.unwrap();
    let status = server.run(1, &StartExec::shell("echo alive")).await;
    assert_eq!(stdout(&status), "alive\n");
}

/// What such a client was about to send is not read as its next request.
#[tokio::test]
async fn scenario_19_a_request_that_is_turned_away_is_its_connection_s_last() {
    let server = Server::start().await;
    let head = "GET /v1/execs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer wrong\r\n\r\n";
    let mut stream = connect(server.at.port).await;
    stream.write_all(head.repeat(2).as_bytes()).await.unwrap();
    let reply = to_the_end(&mut stream).await;
    assert_eq!(reply.matches("HTTP/1.1").count(), 1, "{reply}");
    assert!(reply.to_ascii_lowercase().contains("connection: close"), "{reply}");
}

#[tokio::test]
async fn scenario_19_a_secret_is_no_bearer_under_another_scheme() {
    let server = Server::start().await;
    let token = server.token.expose();
    let with = |scheme: &str| {
        let url = format!("{}/v1/execs", server.control_url());
        http().get(url).header("authorization", format!("{scheme} {token}"))
    };
    assert_eq!(answer(with("Basic")).await, (401, "unauthorized".to_owned()));
    assert_eq!(answer(with("bEARER")).await.0, 200);
}
