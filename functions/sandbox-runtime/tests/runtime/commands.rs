//! Commands: outcomes, streams, the journal.

use std::time::{Duration, Instant};

use sandbox_protocol::client::{Error, Started};
use sandbox_protocol::compat::{CommandLine, ExecuteReply, ExecuteRequest};
use sandbox_protocol::exec::{ExecState, KillExec, StartExec};
use sandbox_protocol::{ErrorCode, exec::ExecStatus};

use crate::support::{Server, answer, code, finished, id, marker, running, stdout, until};

fn outcome(status: &ExecStatus) -> (ExecState, Option<i32>, Option<i32>) {
    (status.state, status.exit_code, status.signal)
}

#[tokio::test]
async fn scenario_22_a_command_s_outcome_is_told() {
    let server = Server::start().await;
    let echo = server.run(1, &StartExec::shell("echo hi; echo no >&2")).await;
    assert_eq!(outcome(&echo), (ExecState::Exited, Some(0), None));
    assert_eq!((stdout(&echo), echo.stderr.as_ref().unwrap().text.as_str()), ("hi\n", "no\n"));
    let seven = server.run(2, &StartExec::shell("exit 7")).await;
    assert_eq!(outcome(&seven), (ExecState::Exited, Some(7), None));
    let nine = server.run(3, &StartExec::shell("kill -9 $$")).await;
    assert_eq!(outcome(&nine), (ExecState::Exited, Some(137), Some(9)));
    let argv = vec!["printf".to_owned(), "%s|".to_owned(), "a b".to_owned(), "$c".to_owned()];
    let argv = server.run(4, &StartExec { argv: Some(argv), ..StartExec::default() }).await;
    assert_eq!(stdout(&argv), "a b|$c|");
    let missing = vec!["/no/such/program".to_owned()];
    let missing = server.run(5, &StartExec { argv: Some(missing), ..StartExec::default() }).await;
    assert_eq!(outcome(&missing), (ExecState::Exited, Some(127), None));
}

#[tokio::test]
async fn standard_input_is_what_was_given_and_otherwise_empty() {
    let server = Server::start().await;
    let stdin_b64 = Some("aGVsbG8=".to_owned());
    let given = server.run(1, &StartExec { stdin_b64, ..StartExec::shell("cat") }).await;
    assert_eq!(stdout(&given), "hello");
    let empty = server.run(2, &StartExec::shell("cat; echo end")).await;
    assert_eq!(stdout(&empty), "end\n");
}

#[tokio::test]
async fn scenario_23_a_time_limit_ends_everything_that_a_command_started() {
    let server = Server::start().await;
    let mark = marker();
    let line = format!(
        "sleep 100.{mark} & setsid sleep 100.{mark} & \
         (trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 100.{mark}; true' &) & wait) & \
         sleep 100.{mark}"
    );
    let began = Instant::now();
    let exec = StartExec { timeout_s: Some(1), ..StartExec::shell(line) };
    server.client().exec_start(id(1), &exec).await.unwrap();
    until("all of it runs", || running(&format!("sleep 100.{mark}")) >= 4).await;
    let status = finished(&server.client(), 1).await;
    assert_eq!(outcome(&status), (ExecState::TimedOut, Some(124), None));
    // One second, two of grace, and what a busy machine takes; by itself it would be a hundred.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert_eq!(running(&mark), 0);
}

#[tokio::test]
async fn scenario_24_what_a_command_leaves_running_does_not_hold_it_up() {
    let server = Server::start().await;
    let mark = marker();
    let began = Instant::now();
    let status = server.run(1, &StartExec::shell(format!("(sleep 60.{mark} &); echo done"))).await;
    assert_eq!((stdout(&status), status.exit_code), ("done\n", Some(0)));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(running(&format!("sleep 60.{mark}")), 1);
    // It can still be ended, and that changes no outcome.
    let killed = server.client().exec_kill(id(1), &KillExec::default()).await.unwrap();
    assert_eq!(outcome(&killed), (ExecState::Exited, Some(0), None));
    assert_eq!(running(&mark), 0);
}

#[tokio::test]
async fn scenario_25_a_flood_is_counted_and_kept_in_part_in_little_memory() {
    let server = Server::start().await;
    let status = server.run(1, &StartExec::shell("yes | head -c 104857600")).await;
    assert_eq!(status.exit_code, Some(0));
    let (mut from, mut kept) = (0, 0);
    loop {
        let status = server.client().exec_poll(id(1), Duration::ZERO, from, 0).await.unwrap();
        let chunk = status.stdout.unwrap();
        assert_eq!((chunk.truncated, chunk.total), (true, 104_857_600));
        kept += chunk.text.len();
        from = chunk.next;
        if from == chunk.total {
            break;
        }
    }
    assert_eq!(kept, 2 * 1024 * 1024);
    let memory = std::fs::read_to_string(format!("/proc/{}/status", server.at.pid)).unwrap();
    let peak = memory.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 40 * 1024, "{peak} kB");
}

#[tokio::test]
async fn scenario_28_same_exec_id_twice_is_one_process() {
    let server = Server::start().await;
    let exec = StartExec::shell("echo x >> ran; sleep 0.2");
    let (one, two) = (server.client(), server.client());
    let (one, two) = tokio::join!(one.exec_start(id(1), &exec), two.exec_start(id(1), &exec));
    let new = |started: &Started| matches!(started, Started::New(_));
    assert_ne!(new(&one.unwrap()), new(&two.unwrap()));
    let other = server.client().exec_start(id(1), &StartExec::shell("echo y >> ran")).await;
    assert_eq!(code(other), ErrorCode::Conflict);
    finished(&server.client(), 1).await;
    let again = server.client().exec_start(id(1), &exec).await.unwrap();
    assert!(matches!(again, Started::Known(status) if status.exit_code == Some(0)));
    assert_eq!(std::fs::read(server.workspace().join("ran")).unwrap(), b"x\n");
}

#[tokio::test]
async fn scenario_29_a_command_outlives_its_client_and_is_gone_once_acknowledged() {
    let server = Server::start().await;
    let client = server.client();
    client.exec_start(id(1), &StartExec::shell("sleep 0.3; echo done")).await.unwrap();
    assert_eq!(code(client.exec_ack(id(1)).await), ErrorCode::Conflict);
    drop(client);
    let client = server.client();
    assert_eq!(stdout(&finished(&client, 1).await), "done\n");
    client.exec_ack(id(1)).await.unwrap();
    client.exec_ack(id(1)).await.unwrap();
    let gone = client.exec_wait(id(1), Duration::ZERO).await;
    assert!(matches!(gone, Err(Error::NotFound)), "{gone:?}");
    let again = client.exec_start(id(1), &StartExec::shell("sleep 0.3; echo done")).await;
    assert_eq!(code(again), ErrorCode::Conflict);
    let never = client.exec_wait(id(2), Duration::ZERO).await;
    assert!(matches!(never, Err(Error::NotFound)), "{never:?}");
}

#[tokio::test]
async fn scenario_30_the_ninth_command_is_turned_away() {
    let server = Server::start().await;
    let client = server.client();
    for number in 1..=8 {
        client.exec_start(id(number), &StartExec::shell("sleep 100")).await.unwrap();
    }
    let ninth = client.exec_start(id(9), &StartExec::shell("true")).await;
    assert!(matches!(ninth, Err(Error::Busy)), "{ninth:?}");
    assert_eq!(client.health().await.unwrap().active_execs, 8);
    let killed = client.exec_kill(id(1), &KillExec::default()).await.unwrap();
    assert_eq!(outcome(&killed), (ExecState::Killed, Some(143), Some(15)));
    assert_eq!(client.exec_kill(id(1), &KillExec::default()).await.unwrap(), killed);
    client.exec_start(id(9), &StartExec::shell("true")).await.unwrap();
    assert_eq!(client.exec_list().await.unwrap().execs.len(), 9);
}

#[tokio::test]
async fn scenario_31_a_command_sees_only_its_own_environment() {
    let server = Server::launch(&[]).await;
    let mut payload = server.payload();
    payload.env.insert("FROM_PAYLOAD".to_owned(), "1".to_owned());
    server.hooks().run(&payload).await.unwrap();
    let env = [("FROM_REQUEST".to_owned(), "2".to_owned())].into();
    let status = server.run(1, &StartExec { env, ..StartExec::shell("/usr/bin/env") }).await;
    let mut names: Vec<_> =
        stdout(&status).lines().filter_map(|line| line.split_once('=')).collect();
    names.sort_unstable();
    let root = server.workspace();
    let root = root.to_str().unwrap();
    let expected = [
        ("COGNITION_WORKSPACE_ROOT", root),
        ("FROM_PAYLOAD", "1"),
        ("FROM_REQUEST", "2"),
        ("HOME", root),
        ("LANG", "C.UTF-8"),
        ("PWD", root),
        ("TMPDIR", "/tmp"),
    ];
    let ours = |(name, _): &&(&str, &str)| !["PATH", "OLDPWD", "_", "SHLVL"].contains(name);
    assert_eq!(names.iter().filter(ours).copied().collect::<Vec<_>>(), expected);
    assert!(!stdout(&status).contains("canary"));
}

#[tokio::test]
async fn scenario_33_a_command_s_folder_is_made_below_the_workspace() {
    let server = Server::start().await;
    let at = |cwd: &str| StartExec { cwd: Some(cwd.to_owned()), ..StartExec::shell("pwd") };
    let refused = server.client().exec_start(id(1), &at("../..")).await;
    assert_eq!(code(refused), ErrorCode::InvalidPath);
    let made = server.run(2, &at("new/dir")).await;
    assert_eq!(stdout(&made).trim_end(), server.workspace().join("new/dir").to_str().unwrap());
    std::os::unix::fs::symlink("/", server.workspace().join("link")).unwrap();
    let refused = server.client().exec_start(id(3), &at("link/tmp")).await;
    assert_eq!(code(refused), ErrorCode::InvalidPath);
    // A start that was refused did not use up its id.
    server.client().exec_start(id(3), &at("new")).await.unwrap();
}

#[tokio::test]
async fn a_poll_waits_for_the_end_and_not_longer_than_it_is_told() {
    let server = Server::start().await;
    let client = server.client();
    client
        .exec_start(id(1), &StartExec::shell("until test -e go; do sleep 0.01; done"))
        .await
        .unwrap();
    let (began, wait) = (Instant::now(), Duration::from_millis(200));
    assert!(!client.exec_wait(id(1), wait).await.unwrap().is_over());
    assert!(began.elapsed() >= wait);
    let (waited, ()) = tokio::join!(client.exec_wait(id(1), Duration::from_secs(20)), async {
        std::fs::write(server.workspace().join("go"), "").unwrap();
    });
    assert!(waited.unwrap().is_over());
    assert!(began.elapsed() < Duration::from_secs(10), "the end ends the wait");
}

#[tokio::test]
async fn a_start_whose_client_goes_away_does_not_keep_its_place() {
    let server = Server::start().await;
    // Making the folder takes a while, and in that while the connections break.
    for number in 0..40 {
        let body = format!(r#"{{"shell":"true","cwd":"{number}/{}"}}"#, ["d"; 400].join("/"));
        let head = format!(
            "PUT /v1/execs/{number} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             x-cog-generation: 5\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            server.token.expose(),
            body.len()
        );
        let mut stream =
            tokio::net::TcpStream::connect(("127.0.0.1", server.at.port)).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, head.as_bytes()).await.unwrap();
        let made = server.workspace().join(number.to_string());
        until("the start is under way", || made.exists()).await;
    }
    let client = server.client();
    let none_runs = async {
        while client.health().await.unwrap().active_execs > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), none_runs).await.expect("nothing is stuck");
}

#[tokio::test]
async fn the_original_s_route_waits_for_the_command() {
    let server = Server::start().await;
    let execute = |command, timeout| {
        let request = ExecuteRequest {
            command,
            args: None,
            cwd: None,
            timeout_seconds: timeout,
            env: [("A".to_owned(), "1".to_owned())].into(),
            stdin: Some("in".to_owned()),
        };
        // Without a generation: its callers know none.
        server
            .request("POST", "/execute")
            .header("content-type", "application/json")
            .body(serde_json::to_vec(&request).unwrap())
    };
    let shell = |line: &str| CommandLine::Shell(line.to_owned());
    let reply = execute(shell("cat; echo $A; exit 3"), None).send().await.unwrap();
    let reply: ExecuteReply = serde_json::from_slice(&reply.bytes().await.unwrap()).unwrap();
    assert_eq!((reply.exit_code, reply.stdout.as_str()), (3, "in1\n"));
    assert!(!reply.timed_out && !reply.stdout_truncated && reply.stdout_bytes == 4);
    let reply = execute(shell("sleep 100"), Some(1)).send().await.unwrap();
    let reply: ExecuteReply = serde_json::from_slice(&reply.bytes().await.unwrap()).unwrap();
    assert_eq!((reply.exit_code, reply.timed_out), (124, true));
    let long = answer(execute(shell("true"), Some(121))).await;
    assert_eq!(long, (400, "bad_request".to_owned()));
    assert!(server.client().exec_list().await.unwrap().execs.is_empty());
}
