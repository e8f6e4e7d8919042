use std::sync::{Arc, Mutex};

use lambda_kit::chain;
use lambda_kit::env::Env;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

/// An endpoint that gives these answers, one per connection, and keeps what it was asked.
struct Endpoint {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Endpoint {
    async fn answering(answers: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answers: Vec<String> = answers.iter().map(|&answer| answer.to_owned()).collect();
        let log = Arc::clone(&asked);
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                // HEAD, GET and DELETE have no body. Closing with one unread would reset the line.
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let length = length.map_or(0, |length| length.parse().unwrap());
                stream.read_exact(&mut vec![0; length]).await.unwrap();
                log.lock().unwrap().push(head);
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { url, asked }
    }

    async fn objects(&self) -> S3Objects {
        S3Objects::connect(settings(&self.url)).await
    }

    /// The request lines, in order.
    fn lines(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|head| head.lines().next().unwrap().to_owned()).collect()
    }
}

fn settings(endpoint: &str) -> S3Settings {
    S3Settings {
        bucket: "bucket-one".to_owned(),
        prefix: "/pre/fix/".to_owned(),
        endpoint_url: Some(endpoint.to_owned()),
        region: Some("eu-central-1".to_owned()),
        force_path_style: true,
        credentials: Some(StaticCredentials {
            access_key: "access".to_owned(),
            secret_key: Secret::new("secret"),
        }),
    }
}

fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

/// The answer to a HEAD request, which has no body.
const NOT_FOUND: &str = "HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
const FORBIDDEN: &str = "HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n";

async fn head(answers: &[&str]) -> (Result<Presence, Error>, Vec<String>) {
    let endpoint = Endpoint::answering(answers).await;
    (endpoint.objects().await.head("a/key").await, endpoint.lines())
}

#[tokio::test]
async fn an_object_is_missing_only_when_the_bucket_is_there() {
    let (answer, asked) = head(&[NOT_FOUND, OK]).await;
    assert_eq!(answer, Ok(Presence::Missing));
    assert_eq!(asked, ["HEAD /bucket-one/pre/fix/a/key HTTP/1.1", "HEAD /bucket-one/ HTTP/1.1"]);
}

/// Publication scenario 42.
#[tokio::test]
async fn a_bucket_that_is_gone_or_closed_is_an_error_and_not_a_missing_object() {
    let (answer, _) = head(&[NOT_FOUND, NOT_FOUND]).await;
    assert!(matches!(answer, Err(Error::Refused { doing: Doing::Head, .. })), "{answer:?}");
    let (answer, _) = head(&[NOT_FOUND, FORBIDDEN]).await;
    assert!(matches!(answer, Err(Error::Denied { doing: Doing::Head, .. })), "{answer:?}");
}

/// Publication scenario 42.
#[tokio::test]
async fn a_denied_look_is_an_error_and_asks_no_further() {
    let (answer, asked) = head(&[FORBIDDEN]).await;
    assert!(matches!(answer, Err(Error::Denied { doing: Doing::Head, .. })), "{answer:?}");
    assert_eq!(asked.len(), 1);
}

#[tokio::test]
async fn an_error_names_neither_bucket_nor_key_nor_principal() {
    let text = "<Error><Code>AccessDenied</Code><Message>User: arn:aws:iam::1:user/eve is not \
                authorized to perform: s3:PutObject on resource: \
                arn:aws:s3:::bucket-one/pre/fix/a/key</Message><BucketName>bucket-one</BucketName>\
                </Error>";
    let endpoint = Endpoint::answering(&[&answer("403 Forbidden", text)]).await;
    let error = endpoint.objects().await.get("a/key", 10).await.unwrap_err();
    assert_eq!(chain(&error).to_string(), "get the object: denied: status 403, AccessDenied");
    let printed = format!("{error:?}");
    assert!(!printed.contains("bucket-one") && !printed.contains("eve"), "{printed}");
}

#[tokio::test]
async fn an_object_in_a_bucket_that_is_gone_is_an_error() {
    let text = "<Error><Code>NoSuchBucket</Code><BucketName>bucket-one</BucketName></Error>";
    let endpoint = Endpoint::answering(&[&answer("404 Not Found", text)]).await;
    let answer = endpoint.objects().await.get("a/key", 10).await;
    assert!(matches!(answer, Err(Error::Refused { doing: Doing::Get, .. })), "{answer:?}");
}

#[tokio::test]
async fn a_body_that_ends_too_early_is_an_error_and_not_a_short_object() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\nconnection: close\r\n\r\n12345";
    let endpoint = Endpoint::answering(&[cut]).await;
    let answer = endpoint.objects().await.get("a/key", 10).await;
    assert!(matches!(answer, Err(Error::Unavailable { doing: Doing::Get, .. })), "{answer:?}");
}

#[tokio::test]
async fn a_body_without_a_length_is_read_no_further_than_the_limit() {
    let endless = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                   5\r\n12345\r\n5\r\n67890\r\n1\r\n!\r\n";
    let endpoint = Endpoint::answering(&[endless]).await;
    let answer = endpoint.objects().await.get("a/key", 10).await;
    assert_eq!(answer, Err(Error::TooLarge { doing: Doing::Get }));
}

#[tokio::test]
async fn an_object_that_says_that_it_is_too_large_is_not_read() {
    let huge = "HTTP/1.1 200 OK\r\ncontent-length: 9223372036854775807\r\n\r\n";
    let endpoint = Endpoint::answering(&[huge]).await;
    let answer = endpoint.objects().await.get("a/key", 10).await;
    assert_eq!(answer, Err(Error::TooLarge { doing: Doing::Get }));
}

#[tokio::test]
async fn an_endpoint_that_is_not_there_is_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = S3Objects::connect(settings(&url)).await.delete("a/key").await.unwrap_err();
    assert_eq!(chain(&error).to_string(), "delete the object: unavailable: connection refused");
    assert!(error.is_retryable());
}

#[tokio::test]
async fn a_put_sends_condition_tag_and_checksum_in_one_request() {
    let endpoint = Endpoint::answering(&[OK]).await;
    let options = PutOptions {
        content_type: "text/csv".to_owned(),
        tag: Some(Tag::new("cognition:content-class", "published-file")),
        sha256: [7; 32],
    };
    let put = endpoint.objects().await.put_new("a/key", Bytes::from_static(b"1"), options).await;
    assert_eq!(put, Ok(Put::Stored));
    let asked = endpoint.asked.lock().unwrap().join("");
    for header in [
        "if-none-match: *",
        "x-amz-tagging: cognition%3Acontent%2Dclass=published%2Dfile",
        "x-amz-checksum-sha256: BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=",
        "content-type: text/csv",
    ] {
        assert!(asked.lines().any(|line| line == header), "{header} is not in {asked}");
    }
}

#[tokio::test]
async fn a_signed_address_lives_at_most_seven_days() {
    let objects = S3Objects::connect(settings("http://127.0.0.1:1")).await;
    for (life, granted) in [(0, false), (1, true), (604_800, true), (604_801, false)] {
        let options = PresignOptions {
            life: Duration::from_secs(life),
            content_type: "text/csv".to_owned(),
            content_disposition: "attachment".to_owned(),
        };
        assert_eq!(objects.presign_get("a/key", options).await.is_ok(), granted, "{life}");
    }
}

#[test]
fn settings_are_read_by_their_names() {
    let env = Env::of([
        ("COGNITION_S3_BUCKET", "files"),
        ("COGNITION_S3_ENDPOINT_URL", "http://127.0.0.1:9000"),
        ("COGNITION_S3_FORCE_PATH_STYLE", "true"),
    ]);
    let mut read = env.reader();
    let settings = S3Settings::read(&mut read);
    let settings = read.finish(|| settings).unwrap();
    assert_eq!(settings.bucket, "files");
    assert_eq!(settings.prefix, "cognition");
    assert_eq!(settings.endpoint_url.as_deref(), Some("http://127.0.0.1:9000"));
    assert_eq!(settings.region, None);
    assert!(settings.force_path_style);
    assert_eq!(format!("{settings:?}"), "S3Settings");
}

#[test]
fn wrong_settings_are_named() {
    let env = Env::of([("COGNITION_S3_ENDPOINT_URL", "minio:9000")]);
    let mut read = env.reader();
    let settings = S3Settings::read(&mut read);
    assert_eq!(
        read.finish(|| settings).unwrap_err().to_string(),
        "settings: COGNITION_S3_BUCKET is not set; \
         COGNITION_S3_ENDPOINT_URL must be an http or https address"
    );
}

#[test]
fn only_plain_http_to_this_machine_goes_without_a_proxy() {
    for (endpoint, here) in [
        ("http://127.0.0.1:9000", true),
        ("http://localhost:9000/", true),
        ("http://[::1]:9000", true),
        ("https://localhost:9000", false),
        ("http://s3.example.com", false),
        ("http://127.0.0.1.example.com", false),
    ] {
        assert_eq!(is_on_this_machine(endpoint), here, "{endpoint}");
    }
}
