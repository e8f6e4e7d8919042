//! What every object store must do, whatever it is: run over the fake, the local endpoint and an
//! independent server.

#![expect(
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a contract that is broken fails its test, by a panic"
)]

use std::time::Duration;

use bytes::Bytes;
use cloud::objects::{
    Doing, Error, Objects, Presence, PresignOptions, Put, PutOptions, Tag, attachment,
};
use futures_util::future::join_all;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use sha2::{Digest as _, Sha256};

/// Puts `text` as a new object.
pub async fn new(objects: &dyn Objects, key: &str, text: &str) -> Result<Put, Error> {
    let bytes = Bytes::from(text.to_owned());
    let options = options(&bytes);
    objects.put_new(key, bytes, options).await
}

/// A table without a tag.
pub fn options(bytes: &Bytes) -> PutOptions {
    let sha256 = Sha256::digest(bytes).into();
    PutOptions { content_type: "text/csv".to_owned(), tag: None, sha256 }
}

/// A key as the publisher makes it: longer than a file name may be, were it one.
fn long_key(name: &str) -> String {
    let hex = "0123456789abcdef".repeat(4);
    format!("scopes/{hex}/published/01234567-89ab-cdef-0123-456789abcdef/{name}/{hex}")
}

/// All but signed addresses. The store is empty at the beginning.
pub async fn holds(objects: &dyn Objects) {
    bytes_come_back(objects).await;
    nothing_is_overwritten(objects).await;
    one_of_sixteen_writers_wins(objects).await;
    damaged_bytes_are_not_stored(objects).await;
    a_read_is_bounded(objects).await;
    a_missing_object_is_an_answer(objects).await;
    keys_are_listed_in_order_and_by_prefix(objects).await;
    a_delete_can_be_repeated(objects).await;
}

async fn bytes_come_back(objects: &dyn Objects) {
    let all_bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    for (name, bytes) in [("empty", Vec::new()), ("one", vec![0]), ("many", all_bytes)] {
        let (key, bytes) = (long_key(name), Bytes::from(bytes));
        let put = objects.put_new(&key, bytes.clone(), options(&bytes)).await;
        assert_eq!(put, Ok(Put::Stored), "{name}");
        let size = bytes.len() as u64;
        assert_eq!(objects.head(&key).await, Ok(Presence::Here { size }), "{name}");
        assert_eq!(objects.get(&key, size).await, Ok(Some(bytes)), "{name}");
    }
}

async fn nothing_is_overwritten(objects: &dyn Objects) {
    assert_eq!(new(objects, "twice", "first").await, Ok(Put::Stored));
    assert_eq!(new(objects, "twice", "second").await, Ok(Put::AlreadyThere));
    assert_eq!(new(objects, "twice", "first").await, Ok(Put::AlreadyThere));
    assert_eq!(objects.get("twice", 100).await, Ok(Some(Bytes::from_static(b"first"))));
}

async fn one_of_sixteen_writers_wins(objects: &dyn Objects) {
    for round in 0..4 {
        let key = format!("race/{round}");
        let writers = (0..16).map(|writer| {
            let key = &key;
            // Bodies of different length, so that a mixture would show.
            let text = format!("{writer:02}").repeat(1000 + writer);
            async move { (new(objects, key, &text).await, text) }
        });
        let answers = join_all(writers).await;
        let won: Vec<_> = answers.iter().filter(|a| a.0 == Ok(Put::Stored)).collect();
        let lost = answers.iter().filter(|a| a.0 == Ok(Put::AlreadyThere)).count();
        assert_eq!((won.len(), lost), (1, 15), "{answers:.0?}");
        let stored = objects.get(&key, 1 << 20).await;
        assert_eq!(stored, Ok(Some(Bytes::from(won[0].1.clone()))), "round {round}");
    }
}

async fn damaged_bytes_are_not_stored(objects: &dyn Objects) {
    let options = options(&Bytes::from_static(b"meant"));
    let put = objects.put_new("damaged", Bytes::from_static(b"other"), options).await;
    assert!(matches!(put, Err(Error::Mismatch { doing: Doing::Put, .. })), "{put:?}");
    assert_eq!(objects.head("damaged").await, Ok(Presence::Missing));
    assert_eq!(new(objects, "damaged", "meant").await, Ok(Put::Stored));
}

async fn a_read_is_bounded(objects: &dyn Objects) {
    assert_eq!(new(objects, "bounded", "12345").await, Ok(Put::Stored));
    assert_eq!(objects.get("bounded", 5).await, Ok(Some(Bytes::from_static(b"12345"))));
    assert_eq!(objects.get("bounded", 4).await, Err(Error::TooLarge { doing: Doing::Get }));
}

async fn a_missing_object_is_an_answer(objects: &dyn Objects) {
    assert_eq!(objects.get("missing", 5).await, Ok(None));
    assert_eq!(objects.head("missing").await, Ok(Presence::Missing));
}

async fn keys_are_listed_in_order_and_by_prefix(objects: &dyn Objects) {
    // No key is another one's folder: servers that keep folders list such keys in another order.
    let mut names: Vec<String> = ["b", "a b+ü&<'", "c", "a", "d/1", "a-"].map(str::to_owned).into();
    for name in &names {
        assert_eq!(new(objects, &format!("list/{name}"), "x").await, Ok(Put::Stored), "{name}");
    }
    names.sort();
    let keys: Vec<String> = names.iter().map(|name| format!("list/{name}")).collect();
    assert_eq!(objects.list("list/", None).await.as_ref(), Ok(&keys));
    assert_eq!(objects.list("list/", Some(&keys[2])).await.as_deref(), Ok(&keys[3..]));
    assert_eq!(objects.list("list/d", None).await.as_deref(), Ok(&keys[5..]));
    assert_eq!(objects.list("list/e", None).await, Ok(Vec::new()));
    assert_eq!(objects.list("list/", keys.last().map(String::as_str)).await, Ok(Vec::new()));
    assert_eq!(objects.get(&keys[1], 9).await, Ok(Some(Bytes::from_static(b"x"))));
}

async fn a_delete_can_be_repeated(objects: &dyn Objects) {
    assert_eq!(new(objects, "gone", "x").await, Ok(Put::Stored));
    assert_eq!(objects.delete("gone").await, Ok(()));
    assert_eq!(objects.head("gone").await, Ok(Presence::Missing));
    assert_eq!(objects.delete("gone").await, Ok(()));
    assert_eq!(new(objects, "gone", "again").await, Ok(Put::Stored));
}

/// The tag goes with the bytes and nowhere else; `tags` reads them past the port.
pub async fn tags_are_kept(objects: &dyn Objects, tags: impl AsyncFn(&str) -> Vec<Tag>) {
    let tag = Tag::new("cognition:content-class", "published-file");
    let bytes = Bytes::from_static(b"tagged");
    for (key, tag) in [("tagged", Some(tag)), ("untagged", None)] {
        let options = PutOptions { tag: tag.clone(), ..options(&bytes) };
        assert_eq!(objects.put_new(key, bytes.clone(), options).await, Ok(Put::Stored));
        assert_eq!(tags(key).await, tag.into_iter().collect::<Vec<_>>());
    }
}

/// What a signed address gives to somebody without credentials.
pub async fn signed_addresses_hold(objects: &dyn Objects) {
    let key = long_key("signed");
    assert_eq!(new(objects, &key, "day,sales").await, Ok(Put::Stored));
    let life = Duration::from_mins(15);
    let options = PresignOptions {
        life,
        content_type: "text/markdown; charset=utf-8".to_owned(),
        content_disposition: attachment("Bericht für März.md"),
    };
    let url = objects.presign_get(&key, options.clone()).await.unwrap();
    let url = url.expose();
    assert!(url.contains("X-Amz-Expires=900"));

    let answer = fetch("GET", url).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "day,sales"));
    assert_eq!(answer.header("content-type"), "text/markdown; charset=utf-8");
    assert_eq!(
        answer.header("content-disposition"),
        "attachment; filename*=UTF-8''Bericht%20f%C3%BCr%20M%C3%A4rz.md"
    );

    let tampered = [
        url.replace("signed/", "signee/"),
        url.replace("X-Amz-Expires=900", "X-Amz-Expires=90000"),
        url.replace("M%25C3%25A4rz", "Mai").replace("M%C3%A4rz", "Mai"),
        url.replace("text%2Fmarkdown", "text%2Fhtml"),
        url.split('?').next().unwrap_or_default().to_owned(),
    ];
    for tampered in tampered {
        assert_ne!(tampered, url);
        assert_eq!(fetch("GET", &tampered).await.status, 403, "{tampered}");
    }
    assert_eq!(fetch("PUT", url).await.status, 403);
    assert_eq!(fetch("DELETE", url).await.status, 403);
    assert_eq!(fetch("GET", url).await.status, 200);

    let missing = objects.presign_get("missing", options.clone()).await.unwrap();
    assert_eq!(fetch("GET", missing.expose()).await.status, 404);

    let short = PresignOptions { life: Duration::from_secs(1), ..options };
    let short = objects.presign_get(&key, short).await.unwrap();
    crate::eventually(Duration::from_secs(60), async || {
        fetch("GET", short.expose()).await.status == 403
    })
    .await;
}

struct Answer {
    status: u16,
    headers: http::HeaderMap,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// Asks without credentials.
async fn fetch(method: &str, url: &str) -> Answer {
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let request = http::Request::builder().method(method).uri(url);
    let request = request.body(Empty::new()).expect("the store makes addresses that parse");
    let (head, body) = client.request(request).await.expect("the store answers").into_parts();
    let body = body.collect().await.expect("the answer is whole").to_bytes();
    Answer {
        status: head.status.as_u16(),
        headers: head.headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    }
}
