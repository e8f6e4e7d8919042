//! Combined output, as the `execute` tool wants it.

use sandbox_protocol::exec::{Capture, CapturedContent, ExecState, StartExec};
use sandbox_protocol::files::ReadRequest;

use crate::support::Server;

fn captured(line: &str) -> StartExec {
    let path = Some("large_tool_results/call_1".to_owned());
    let capture = Some(Capture { path, ..Capture::default() });
    StartExec { capture, ..StartExec::shell(line) }
}

#[tokio::test]
async fn t17_short_output_comes_in_the_order_in_which_it_was_written() {
    let server = Server::start().await;
    let line = "for n in 1 2 3; do echo out$n; echo err$n >&2; done; exit 3";
    let status = server.run(1, &captured(line)).await;
    assert_eq!((status.state, status.exit_code), (ExecState::Exited, Some(3)));
    assert_eq!((status.stdout, status.stderr), (None, None));
    let text = "out1\nerr1\nout2\nerr2\nout3\nerr3\n".to_owned();
    assert_eq!(status.output.unwrap().content, CapturedContent::Inline { text });
    assert_eq!(std::fs::read_dir(server.workspace()).unwrap().count(), 0, "no file is left");
}

#[tokio::test]
async fn t18_long_output_is_previewed_and_the_rest_is_in_its_file() {
    let server = Server::start().await;
    let status = server.run(1, &captured("seq 1 150000; exit 4")).await;
    assert_eq!(status.exit_code, Some(4));
    let output = status.output.unwrap();
    let CapturedContent::Preview { head, tail, path, incomplete } = output.content else {
        panic!("a preview")
    };
    assert_eq!(head, "1\n2\n3\n4\n5\n");
    assert_eq!(tail, "149996\n149997\n149998\n149999\n150000\n");
    assert!(!incomplete);
    let path = path.unwrap();
    let file = std::fs::metadata(server.workspace().join(&path)).unwrap();
    assert_eq!(file.len(), output.total_bytes);
    let read = ReadRequest { path, offset: 149_999, ..ReadRequest::default() };
    assert_eq!(server.client().read(&read).await.unwrap().content, "150000");
}

#[tokio::test]
async fn t18_output_over_the_cap_is_drained_and_the_exit_code_is_kept() {
    let server = Server::start().await;
    let status = server.run(1, &captured("yes | head -c 20971520; exit 5")).await;
    assert_eq!(status.exit_code, Some(5));
    let output = status.output.unwrap();
    assert_eq!(output.total_bytes, 20_971_520);
    let CapturedContent::Preview { path, incomplete, .. } = output.content else {
        panic!("a preview")
    };
    assert!(incomplete);
    let file = std::fs::metadata(server.workspace().join(path.unwrap())).unwrap();
    assert_eq!(file.len(), 10 * 1024 * 1024);
}

#[tokio::test]
async fn t18_what_was_printed_before_a_time_limit_is_kept() {
    let server = Server::start().await;
    let exec = StartExec { timeout_s: Some(1), ..captured("echo before; sleep 100") };
    let status = server.run(1, &exec).await;
    assert_eq!((status.state, status.exit_code), (ExecState::TimedOut, Some(124)));
    let text = "before\n".to_owned();
    assert_eq!(status.output.unwrap().content, CapturedContent::Inline { text });
}

#[tokio::test]
async fn a_capture_that_cannot_be_written_costs_no_outcome() {
    let server = Server::start().await;
    std::fs::write(server.workspace().join("large_tool_results"), "in the way").unwrap();
    let status = server.run(1, &captured("seq 1 150000")).await;
    assert_eq!(status.exit_code, Some(0));
    let output = status.output.unwrap().content;
    assert!(matches!(output, CapturedContent::Preview { path: None, incomplete: true, .. }));
}
