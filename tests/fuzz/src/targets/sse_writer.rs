//! Events of a stream: whatever JSON an event carries, a reader that splits lines wherever any
//! client does sees one event with that JSON, its id and its name.

use a2a::sse;
use serde_json::Value;

use crate::sse::Event;

/// The input is JSON; its length is the id.
pub(crate) fn check(input: &[u8]) {
    let Ok(sent) = serde_json::from_slice::<Value>(input) else { return };
    // Between tokens, vertical tab and form feed are no JSON: what is left of them is escaped.
    let id = i64::try_from(input.len()).unwrap();
    for name in [None, Some("error")] {
        let frame = sse::frame(Some(id), name, input);
        let frame = std::str::from_utf8(&frame).unwrap();
        let [Event { id: read, name: said, data }] = &crate::sse::read(frame)[..] else {
            panic!("one event: {frame:?}")
        };
        assert_eq!(read.as_deref(), Some(id.to_string().as_str()));
        assert_eq!(said.as_deref(), name);
        assert_eq!(serde_json::from_str::<Value>(data).unwrap(), sent);
    }
}
