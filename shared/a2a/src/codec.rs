//! Our own ProtoJSON: tolerant in what it reads, exact in what it writes.
//!
//! Read: camelCase and `snake_case` names, enums by name or number, integers as `5`, `5.0` or `"5"`,
//! booleans also as `"true"`, null as absent, unknown fields skipped. **What a client sent as free JSON (`data`, `metadata`)
//! stays the text that it sent**: no number, escape or repeated key in it is touched.
//!
//! Written: camelCase, enums by name, default values left out unless a type says otherwise.

pub(crate) mod base64;
pub(crate) mod json;
pub(crate) mod object;
pub(crate) mod scalar;
mod wrong;

use serde::Deserialize;
use serde_json::error::Category;

use crate::error::A2aError;
pub(crate) use wrong::all_wrong;

/// Reads parameters out of a text that is known to be JSON. A mistake comes back as a field
/// violation that says where it is.
///
/// The common case is one pass. Only a text that does not fit is read again, slower, to find the
/// path of what does not.
#[inline]
pub(crate) fn params<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, A2aError> {
    serde_json::from_str(text).map_err(|error| unfit::<T>(text, &error))
}

/// What keeps the text from being a `T`, and where.
#[cold]
fn unfit<'a, T: Deserialize<'a>>(text: &'a str, error: &serde_json::Error) -> A2aError {
    let mut reader = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(&mut reader) {
        Err(error) => violation(&error.path().to_string(), error.inner()),
        // Text behind the value, which only the first reader looks at.
        Ok(_) => violation("", error),
    }
}

/// Whether a text is JSON at all.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Says what was expected and not what was found: found is the client's, and may be long.
fn violation(path: &str, error: &serde_json::Error) -> A2aError {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(head, _)| head);
    let description = match (error.classify(), text.rsplit_once(", expected ")) {
        (Category::Data, Some((_, expected))) => format!("expected {expected}"),
        (Category::Data, None) => text.to_owned(),
        _ => "cannot be read".to_owned(),
    };
    let path: String = if path == "." { String::new() } else { path.chars().take(200).collect() };
    A2aError::invalid(path, description)
}

#[cfg(test)]
mod tests;
