//! Paths, queries and bodies of HTTP+JSON. Whatever the request is, the answer is JSON whose status
//! and body agree; a slash behind the path and a `%3A` for a colon change nothing.

use bytes::Bytes;
use http::{Method, Request, Uri};

use crate::world::ask;

const METHODS: [Method; 5] =
    [Method::GET, Method::POST, Method::DELETE, Method::PUT, Method::OPTIONS];

/// The input is `VERB path?query`, a line end, and the body.
pub(crate) fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let (head, body) = text.split_once('\n').unwrap_or((text, ""));
    let Some((verb, target)) = head.split_once(' ') else { return };
    let Some(method) = METHODS.iter().find(|method| method.as_str() == verb) else { return };
    let Ok(uri) = target.parse::<Uri>() else { return };
    let path = uri.path();
    // That is the other binding.
    if path.trim_matches('/').is_empty() {
        return;
    }
    let request = || {
        Request::builder()
            .method(method)
            .uri(&uri)
            .header("content-type", "application/a2a+json")
            .header("a2a-version", "1.0")
            .body(Bytes::copy_from_slice(body.as_bytes()))
            .unwrap()
    };
    let answer = ask(path, request());
    assert_eq!(ask(&format!("{path}/"), request()), answer, "a slash behind");
    assert_eq!(ask(&path.replace(':', "%3A"), request()), answer, "an escaped colon");
}
