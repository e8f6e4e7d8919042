//! All that is wrong with some parameters, although a reader ends at the first value that it cannot
//! take.

use serde_json::Value;

use crate::error::{A2aError, Cause, FieldViolation};

/// Reading again costs the client nothing and us much, so it is done for what people write.
const MAX_BYTES: usize = 64 * 1024;
/// The most fields that are looked behind.
const MAX_FIELDS: usize = 16;

/// Reads `text` with `read`. If that is refused for some fields, reads on without them, until nothing
/// else is wrong, and names all that was.
///
/// What a field is in, and what is in it, is not named beside it: without it they are others.
pub(crate) fn all_wrong<T>(
    text: &str,
    read: impl Fn(&str) -> Result<T, A2aError>,
) -> Result<T, A2aError> {
    let first = match read(text) {
        Err(error) if error.cause() == Cause::InvalidParams && text.len() <= MAX_BYTES => error,
        result => return result,
    };
    let Ok(mut rest) = serde_json::from_str::<Value>(text) else { return Err(first) };
    let mut found = first.violations().to_vec();
    let mut newest = found.clone();
    let mut removed: Vec<String> = Vec::new();
    while removed.len() < MAX_FIELDS {
        let before = removed.len();
        for FieldViolation { field, .. } in &newest {
            // An element of a list takes the list along: the others would have other places.
            let path = field.split('[').next().unwrap_or_default();
            if remove(&mut rest, path) {
                removed.push(path.to_owned());
            }
        }
        if removed.len() == before {
            break;
        }
        let Err(error) = read(&rest.to_string()) else { break };
        let known = |field: &str| {
            found.iter().any(|known| known.field == field)
                || removed.iter().any(|path| related(path, field))
        };
        newest = error.violations().iter().filter(|v| !known(&v.field)).cloned().collect();
        found.extend(newest.iter().cloned());
    }
    Err(if found.len() > first.violations().len() {
        A2aError::invalid_fields(found)
    } else {
        first
    })
}

/// Takes the member at `path` out, if there is one.
fn remove(value: &mut Value, path: &str) -> bool {
    let (parents, last) = path.rsplit_once('.').unwrap_or(("", path));
    let mut parents = parents.split('.').filter(|name| !name.is_empty());
    let parent = parents.try_fold(value, |value, name| value.get_mut(name));
    parent.and_then(Value::as_object_mut).is_some_and(|object| object.remove(last).is_some())
}

/// Whether one of the two is in the other, or is it.
fn related(path: &str, field: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    within(path, field) || within(field, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ListTasksRequest, Place, SendMessageRequest};

    fn fields(result: Result<impl Sized, A2aError>) -> Vec<String> {
        let error = result.err().unwrap();
        error.violations().iter().map(|violation| violation.field.clone()).collect()
    }

    fn list(text: &str) -> Vec<String> {
        fields(all_wrong(text, |text| ListTasksRequest::read(text, Place::default())))
    }

    fn send(text: &str) -> Vec<String> {
        fields(all_wrong(text, |text| SendMessageRequest::read(text, Place::default())))
    }

    /// O12.
    #[test]
    fn each_value_that_cannot_be_read_is_named_beside_those_that_are_out_of_range() {
        let text =
            r#"{"pageSize":"0","status":"X","historyLength":-1,"statusTimestampAfter":"now"}"#;
        let mut found = list(text);
        found.sort();
        assert_eq!(found, ["historyLength", "pageSize", "status", "statusTimestampAfter"]);
        assert_eq!(list(r#"{"pageSize":0,"page_token":[]}"#), ["page_token", "pageSize"]);
    }

    #[test]
    fn a_field_within_a_message_hides_no_other_of_it() {
        let text = r#"{"message":{"role":"user","parts":[{"text":1}]},
                       "configuration":{"historyLength":"x"}}"#;
        assert_eq!(
            send(text),
            [
                "message.role",
                "configuration.historyLength",
                "message.parts[0].text",
                "message.messageId"
            ]
        );
    }

    #[test]
    fn what_is_wrong_only_for_want_of_another_field_is_not_named() {
        assert_eq!(send(r#"{"message":5}"#), ["message"]);
        assert_eq!(send(r#"{"message":{"messageId":"m","role":1,"parts":[]}}"#), ["message.parts"]);
        assert_eq!(send("[]"), [""]);
    }

    #[test]
    fn what_is_long_is_read_once() {
        let long = "x".repeat(MAX_BYTES);
        assert_eq!(list(&format!(r#"{{"pageSize":0,"status":"X","x":"{long}"}}"#)), ["status"]);
    }
}
