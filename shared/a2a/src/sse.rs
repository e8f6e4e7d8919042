//! Server-sent events. **One event is one `data:` line, whatever it carries.**

use std::fmt::Write as _;

use bytes::Bytes;

/// A comment that keeps a silent stream open. Without an empty line behind it, which some clients
/// take for an event without data.
pub const PING: Bytes = Bytes::from_static(b": ping\n");

/// One event. `json` is a JSON text; `id` is what `Last-Event-ID` will repeat.
pub fn frame(id: Option<i64>, name: Option<&str>, json: &[u8]) -> Bytes {
    let mut out = String::new();
    if let Some(id) = id {
        let _ = writeln!(out, "id: {id}");
    }
    if let Some(name) = name {
        let _ = writeln!(out, "event: {name}");
    }
    out.push_str("data: ");
    let mut out = out.into_bytes();
    out.reserve(json.len() + 2);
    push_one_line(&mut out, json);
    out.extend_from_slice(b"\n\n");
    out.into()
}

/// Appends a JSON text so that no reader, however it splits lines, sees a line end in it.
///
/// Line feed and carriage return can only stand between the tokens of a JSON text, where a space
/// means the same. NEL and the two separators, at which some readers split as well, can only stand
/// inside strings, where their escapes mean the same.
fn push_one_line(out: &mut Vec<u8>, json: &[u8]) {
    let mut rest = json;
    while let Some(at) = rest.iter().position(|b| matches!(b, b'\n' | b'\r' | 0xC2 | 0xE2)) {
        let (plain, tail) = rest.split_at(at);
        out.extend_from_slice(plain);
        let (taken, instead): (usize, &[u8]) = match tail {
            [b'\n' | b'\r', ..] => (1, b" "),
            [0xC2, 0x85, ..] => (2, b"\\u0085"),
            [0xE2, 0x80, 0xA8, ..] => (3, b"\\u2028"),
            [0xE2, 0x80, 0xA9, ..] => (3, b"\\u2029"),
            // The first byte of some other character.
            _ => (1, tail.get(..1).unwrap_or_default()),
        };
        out.extend_from_slice(instead);
        rest = tail.get(taken..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests;
