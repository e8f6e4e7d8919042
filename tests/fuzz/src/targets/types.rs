//! The protocol's objects: what is read and written again reads equal, and is written equal.

use std::fmt::Debug;

use a2a::types::{Artifact, Message, SendResult, StreamResponse, Task};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The input is JSON of any of them.
pub(crate) fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    round_trip::<Message>(text);
    round_trip::<Task>(text);
    round_trip::<Artifact>(text);
    round_trip::<SendResult>(text);
    round_trip::<StreamResponse>(text);
}

fn round_trip<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) {
    let Ok(value) = serde_json::from_str::<T>(text) else { return };
    let written = serde_json::to_string(&value).expect("what was read can be written");
    let once: T = serde_json::from_str(&written).expect("what we write we read");
    // Times are written to the millisecond: the first writing may round, no later one does.
    let again = serde_json::to_string(&once).unwrap();
    assert_eq!(again, written);
    let twice: T = serde_json::from_str(&again).unwrap();
    assert_eq!(twice, once);
}
