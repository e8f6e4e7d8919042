//! JSON as the original prints it for a model: sorted keys, a space after `:` and `,`, nothing
//! escaped that need not be, numbers as they were sent.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;

/// Deeper than this a value is printed as it was sent.
const MAX_DEPTH: u32 = 64;

/// An object whose fields come in the order in which they are added: add them sorted.
#[derive(Debug, Default)]
pub(super) struct Object(String);

impl Object {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn text(mut self, key: &str, value: Option<&str>) -> Self {
        self.key(key);
        match value {
            Some(value) => push_string(&mut self.0, value),
            None => self.0.push_str("null"),
        }
        self
    }

    pub(super) fn strings(mut self, key: &str, values: &[String]) -> Self {
        self.key(key);
        self.0.push('[');
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.0.push_str(", ");
            }
            push_string(&mut self.0, value);
        }
        self.0.push(']');
        self
    }

    /// A value that was sent as JSON text, or `default` where there is none.
    pub(super) fn json_or(mut self, key: &str, value: Option<&str>, default: &str) -> Self {
        self.key(key);
        match value {
            Some(value) => push_json(&mut self.0, value, 0),
            None => self.0.push_str(default),
        }
        self
    }

    fn key(&mut self, key: &str) {
        if !self.0.is_empty() {
            self.0.push_str(", ");
        }
        push_string(&mut self.0, key);
        self.0.push_str(": ");
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}", self.0)
    }
}

fn push_string(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

/// Prints a JSON text anew. What is not JSON is shown as a string, since it must stay on one line.
fn push_json(out: &mut String, text: &str, depth: u32) {
    let text = text.trim();
    let printed = match text.bytes().next() {
        Some(b'{') if depth < MAX_DEPTH => serde_json::from_str(text)
            .map(|fields: BTreeMap<String, &RawValue>| {
                out.push('{');
                for (index, (key, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    push_string(out, key);
                    out.push_str(": ");
                    push_json(out, value.get(), depth + 1);
                }
                out.push('}');
            })
            .is_ok(),
        Some(b'[') if depth < MAX_DEPTH => serde_json::from_str(text)
            .map(|values: Vec<&RawValue>| {
                out.push('[');
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    push_json(out, value.get(), depth + 1);
                }
                out.push(']');
            })
            .is_ok(),
        Some(b'"') => {
            serde_json::from_str::<String>(text).map(|value| push_string(out, &value)).is_ok()
        }
        // A number or a word is kept to the letter; a deep value too, if it fits on one line.
        _ => match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) if !raw.get().contains(['\n', '\r']) => {
                out.push_str(raw.get());
                true
            }
            _ => false,
        },
    };
    if !printed {
        push_string(out, text);
    }
}
