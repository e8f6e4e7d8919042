//! A stream that is open.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use serde_json::Value;

use super::{Binding, Outcome, wire};

/// Server-sent events, as they come.
pub(crate) struct Events {
    binding: Binding,
    body: BoxStream<'static, reqwest::Result<Bytes>>,
    read: Vec<u8>,
}

/// One event: its `id:`, and what it says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    /// Nothing where resuming makes no sense.
    pub(crate) id: Option<String>,
    pub(crate) says: Value,
}

/// Which of the four a `StreamResponse` is (S2).
pub(crate) fn kind(response: &Value) -> &str {
    let members = super::members(response);
    assert_eq!(members.len(), 1, "S2: exactly one member: {response:#}");
    let known = ["task", "message", "statusUpdate", "artifactUpdate"];
    assert!(known.contains(&members[0]), "S2: {response:#}");
    members[0]
}

impl Events {
    pub(super) fn new(binding: Binding, response: reqwest::Response) -> Self {
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(response.status(), 200, "S1");
        assert_eq!(header("cache-control"), "no-store", "S7");
        assert_eq!(header("x-accel-buffering"), "no", "S7");
        Self { binding, body: response.bytes_stream().boxed(), read: Vec::new() }
    }

    /// `None` when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Seen> {
        loop {
            while let Some(end) = self.read.windows(2).position(|two| two == b"\n\n") {
                let frame: Vec<u8> = self.read.drain(..end + 2).collect();
                if let Some(seen) = seen(self.binding, std::str::from_utf8(&frame).unwrap()) {
                    return Some(seen);
                }
            }
            self.read.extend_from_slice(&self.body.next().await?.unwrap());
        }
    }

    /// The next event, which must come.
    pub(crate) async fn one(&mut self) -> Seen {
        self.next().await.expect("the stream goes on")
    }

    /// Events up to and with the first one that is wanted.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Seen> {
        let mut all = Vec::new();
        loop {
            let seen = self.one().await;
            let found = wanted(&seen.says);
            all.push(seen);
            if found {
                return all;
            }
        }
    }

    /// Everything that still comes.
    pub(crate) async fn rest(mut self) -> Vec<Seen> {
        let mut all = Vec::new();
        while let Some(seen) = self.next().await {
            all.push(seen);
        }
        all
    }
}

/// One frame; `None` when it is only a comment.
fn seen(binding: Binding, frame: &str) -> Option<Seen> {
    let lines: Vec<&str> = frame.lines().filter(|line| !line.is_empty()).collect();
    let field = |name: &str| {
        let mut found = lines.iter().filter_map(|line| line.strip_prefix(name));
        let value = found.next().map(|value| value.strip_prefix(' ').unwrap_or(value).to_owned());
        assert_eq!(found.next(), None, "S6: one {name} line: {frame}");
        value
    };
    let Some(data) = field("data:") else {
        assert!(lines.iter().all(|line| line.starts_with(':')), "S6: {frame}");
        return None;
    };
    let event: Value = serde_json::from_str(&data).unwrap_or_else(|_| panic!("S1: {frame}"));
    let outcome: Outcome = match binding {
        Binding::JsonRpc => {
            assert_eq!(event["id"], wire::ID, "S1: {frame}");
            wire::json_rpc(event)
        }
        Binding::HttpJson => {
            assert_eq!(field("event:"), None, "S5: the stream broke: {frame}");
            Ok(event)
        }
    };
    let says = outcome.unwrap_or_else(|refusal| panic!("S5: the stream broke: {refusal:?}"));
    Some(Seen { id: field("id:"), says })
}
