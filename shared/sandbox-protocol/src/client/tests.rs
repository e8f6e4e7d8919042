use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;
use crate::error::ErrorCode;
use crate::path::RelativePath;

/// A server that gives the same reply to every connection and then closes it.
async fn answering(reply: Vec<u8>) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(&reply).await;
        }
    });
    Client::new(&Transport::new().unwrap(), &endpoint, Secret::new("t"))
}

fn http(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut reply = format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n").into_bytes();
    reply.extend_from_slice(body);
    reply
}

async fn bounded(headers: &str, body: &[u8], max: u64) -> Result<BoundedFile, Error> {
    let client = answering(http("200 OK", headers, body)).await;
    client.read_bounded(&RelativePath::parse("a").unwrap(), max).await
}

const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

#[tokio::test]
async fn a_bounded_read_gives_the_bytes_that_were_announced() {
    let file =
        bounded(&format!("content-length: 3\r\nx-content-sha256: {ABC}\r\n"), b"abc", 3).await;
    assert_eq!(file.unwrap(), BoundedFile { bytes: "abc".into(), sha256: ABC.to_owned() });
}

#[tokio::test]
async fn scenario_38_a_reply_over_the_limit_is_cut_off_whether_or_not_it_says_so() {
    let body = vec![b'x'; 100_000];
    let said = bounded("content-length: 100000\r\nx-content-sha256: 00\r\n", &body, 100).await;
    assert!(matches!(said, Err(Error::TooLarge)), "{said:?}");
    let unsaid = bounded("x-content-sha256: 00\r\n", &body, 100).await;
    assert!(matches!(unsaid, Err(Error::TooLarge)), "{unsaid:?}");
}

#[tokio::test]
async fn scenario_38_a_wrong_digest_or_length_is_not_a_file() {
    let wrong = bounded("content-length: 3\r\nx-content-sha256: 00\r\n", b"abc", 3).await;
    assert!(matches!(wrong, Err(Error::BadReply(_))), "{wrong:?}");
    let silent = bounded("content-length: 3\r\n", b"abc", 3).await;
    assert!(matches!(silent, Err(Error::BadReply(_))), "{silent:?}");
    let endless = bounded(&format!("x-content-sha256: {ABC}\r\n"), b"abc", 3).await;
    assert!(matches!(endless, Err(Error::BadReply(_))), "{endless:?}");
    let short = format!("content-length: 4\r\nx-content-sha256: {ABC}\r\n");
    let short = bounded(&short, b"abc", 4).await;
    assert!(matches!(short, Err(Error::Interrupted(_))), "{short:?}");
}

#[tokio::test]
async fn an_endless_json_reply_is_cut_off() {
    let client = answering(http("200 OK", "", &vec![b' '; MAX_REPLY + 1])).await;
    let list = client.exec_list().await;
    assert!(matches!(list, Err(Error::TooLarge)), "{list:?}");
}

#[tokio::test]
async fn each_refusal_is_what_a_caller_branches_on() {
    let code = |status: &'static str, code: &'static str| async move {
        let body = format!(r#"{{"error":{{"code":"{code}","message":"m"}}}}"#);
        let client = answering(http(status, "", body.as_bytes())).await;
        client.exec_list().await.unwrap_err()
    };
    assert!(matches!(code("409 Conflict", "fenced").await, Error::Fenced));
    assert!(matches!(code("503 X", "not_ready").await, Error::NotReady));
    assert!(matches!(code("404 X", "not_found").await, Error::NotFound));
    assert!(matches!(code("429 X", "quota").await, Error::Busy));
    let refused = code("409 Conflict", "conflict").await;
    assert!(matches!(refused, Error::Refused { code: ErrorCode::Conflict, .. }));
    assert_eq!(refused.code(), Some(ErrorCode::Conflict));
}

#[tokio::test]
async fn a_gateway_in_front_is_told_by_its_status() {
    for (status, ready) in [("502 Bad Gateway", true), ("503 X", true), ("403 X", false)] {
        let client = answering(http(status, "", b"<html>")).await;
        let error = client.exec_list().await.unwrap_err();
        assert_eq!(matches!(error, Error::NotReady), ready, "{status}");
        assert_eq!(matches!(error, Error::Unauthorized), !ready, "{status}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let there = "location: http://127.0.0.1:9/\r\ncontent-length: 0\r\n";
    let error = answering(http("302 Found", there, b"")).await.exec_list().await.unwrap_err();
    assert!(matches!(error, Error::BadReply(_)), "{error:?}");
}

#[tokio::test]
async fn nobody_there_is_told_from_a_broken_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = Client::new(&Transport::new().unwrap(), &endpoint, Secret::new("t"));
    assert!(matches!(client.exec_list().await, Err(Error::Unreachable(_))));
    let broken = answering(Vec::new()).await.exec_list().await;
    assert!(matches!(broken, Err(Error::Interrupted(_))), "{broken:?}");
}

#[tokio::test]
async fn errors_and_clients_do_not_print_where_or_with_what_they_call() {
    let client =
        Client::new(&Transport::new().unwrap(), "http://127.0.0.1:1", Secret::new("canary"))
            .with_header("x-aws-proxy-auth", Secret::new("canary"));
    let error = client.exec_list().await.unwrap_err();
    assert!(!format!("{error:?} {client:?}").contains("canary"));
    assert!(!format!("{error:?}").contains("127.0.0.1:1/"));
}

#[test]
fn an_endpoint_without_a_scheme_is_https() {
    assert_eq!(transport::base("vm.example"), "https://vm.example");
    assert_eq!(transport::base("http://127.0.0.1:1/"), "http://127.0.0.1:1");
}
