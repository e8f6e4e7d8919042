use bytes::Bytes;
use http::header::{HeaderMap, IF_MODIFIED_SINCE, IF_NONE_MATCH};
use http::{Method, Response, StatusCode};
use sha2::{Digest as _, Sha256};

use super::*;

const DATE: &str = "Mon, 30 Nov 2026 09:00:00 GMT";

fn document() -> Document {
    Document::card(card(""), &SigningKeys::default(), SINCE)
}

fn asked(method: &Method, headers: &[(http::header::HeaderName, &str)]) -> Response<Bytes> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(name, value.parse().unwrap());
    }
    document().response(method, &map)
}

fn get(headers: &[(http::header::HeaderName, &str)]) -> StatusCode {
    let reply = asked(&Method::GET, headers);
    assert_eq!(reply.body().is_empty(), reply.status() == StatusCode::NOT_MODIFIED);
    reply.status()
}

#[test]
fn d4_the_tag_is_that_of_the_bytes() {
    let reply = asked(&Method::GET, &[]);
    assert_eq!(reply.status(), StatusCode::OK);
    assert_eq!(reply.headers()["content-type"], "application/json");
    assert_eq!(reply.headers()["cache-control"], "private, max-age=60");
    assert_eq!(reply.headers()["last-modified"], DATE);
    let digest = hex::encode(Sha256::digest(reply.body()));
    assert_eq!(reply.headers()["etag"], format!("\"{digest}\""));
    let other = Document::card(
        AgentCard { version: "2".to_owned(), ..card("") },
        &SigningKeys::default(),
        SINCE,
    );
    let other = other.response(&Method::GET, &HeaderMap::new());
    assert_ne!(other.headers()["etag"], reply.headers()["etag"]);
}

#[test]
fn d4_a_client_that_has_the_card_is_told_so() {
    let full = asked(&Method::GET, &[]);
    let tag = full.headers()["etag"].to_str().unwrap();
    for known in [tag.to_owned(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".to_owned()] {
        let reply = asked(&Method::GET, &[(IF_NONE_MATCH, &known)]);
        assert_eq!((reply.status(), reply.body().len()), (StatusCode::NOT_MODIFIED, 0), "{known}");
        for same in ["etag", "cache-control", "last-modified"] {
            assert_eq!(reply.headers()[same], full.headers()[same]);
        }
        assert_eq!(
            reply.headers().get("content-type"),
            None,
            "there is nothing that it could be of"
        );
    }
    // A list may go on in another line.
    let lines = [(IF_NONE_MATCH, "\"other\""), (IF_NONE_MATCH, tag)];
    assert_eq!(get(&lines), StatusCode::NOT_MODIFIED);
    assert_eq!(get(&[(IF_NONE_MATCH, "\"other\"")]), StatusCode::OK);
}

#[test]
fn d4_a_date_says_it_where_there_is_no_tag() {
    assert_eq!(get(&[(IF_MODIFIED_SINCE, DATE)]), StatusCode::NOT_MODIFIED);
    let later = "Tue, 01 Dec 2026 00:00:00 GMT";
    assert_eq!(get(&[(IF_MODIFIED_SINCE, later)]), StatusCode::NOT_MODIFIED);
    let earlier = "Mon, 30 Nov 2026 08:59:59 GMT";
    assert_eq!(get(&[(IF_MODIFIED_SINCE, earlier)]), StatusCode::OK);
    assert_eq!(get(&[(IF_MODIFIED_SINCE, "yesterday")]), StatusCode::OK);
    assert_eq!(get(&[(IF_MODIFIED_SINCE, DATE), (IF_MODIFIED_SINCE, DATE)]), StatusCode::OK);
    assert_eq!(get(&[(IF_NONE_MATCH, "\"other\""), (IF_MODIFIED_SINCE, DATE)]), StatusCode::OK);
}

#[test]
fn d4_a_head_has_the_headers_of_a_get_and_no_body() {
    let (get, head) = (asked(&Method::GET, &[]), asked(&Method::HEAD, &[]));
    assert_eq!((head.status(), head.body().len()), (StatusCode::OK, 0));
    assert_eq!(head.headers(), get.headers());
}

#[test]
fn a_card_can_be_read_and_nothing_else() {
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS] {
        let reply = asked(&method, &[]);
        assert_eq!(reply.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(reply.headers()["allow"], "GET, HEAD");
        let body: Value = serde_json::from_slice(reply.body()).unwrap();
        assert_eq!(body["error"]["code"], 405);
    }
}

#[test]
fn the_keys_are_the_same_for_everybody() {
    let keys = Document::keys(&SigningKeys::default(), SINCE);
    let reply = keys.response(&Method::GET, &HeaderMap::new());
    assert_eq!(reply.body(), &r#"{"keys":[]}"#);
    assert_eq!(reply.headers()["cache-control"], "public, max-age=60");
}
