//! A reader of server-sent events, after the WHATWG's rules, and suspicious: it also splits lines
//! where some clients do.

/// An event as a client gets it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

/// The events of a stream. Panics where a line is none of the protocol's, or an event is left
/// unfinished.
pub(crate) fn read(stream: &str) -> Vec<Event> {
    let ends: &[char] = &['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{b}', '\u{c}'];
    let mut events = Vec::new();
    let mut event = Event::default();
    let mut lines: Vec<&str> = stream.split(ends).collect();
    assert_eq!(lines.pop(), Some(""), "a stream ends with a line end");
    for line in lines {
        match line.split_once(": ") {
            _ if line.is_empty() => events.push(std::mem::take(&mut event)),
            Some(("id", id)) => event.id = Some(id.to_owned()),
            Some(("event", name)) => event.name = Some(name.to_owned()),
            Some(("data", data)) => {
                assert!(event.data.is_empty(), "one data line per event");
                data.clone_into(&mut event.data);
            }
            Some(("", _)) => {}
            _ => panic!("no line of the protocol: {line:?}"),
        }
    }
    assert_eq!(event, Event::default(), "an event without an end");
    events
}
