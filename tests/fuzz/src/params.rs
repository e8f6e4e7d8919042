//! Parameters of JSON-RPC, said in a path and a query.

use std::fmt::Write as _;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// The path with its parameters. `None` where a parameter is missing, or could be read otherwise
/// in a path.
pub(crate) fn placed(path: &str, pairs: &[(String, Value)]) -> Option<String> {
    let mut out = String::new();
    let mut rest = path;
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, at)| Some((before, at.split_once('}')?)))
    {
        let snake = match name {
            "taskId" => "task_id",
            "pushNotificationConfigId" => "push_notification_config_id",
            other => other,
        };
        let mut values = pairs.iter().filter(|(key, _)| key == name || key == snake);
        let (Some((_, Value::String(id))), None) = (values.next(), values.next()) else {
            return None;
        };
        // A colon would be read as the start of a verb.
        if id.is_empty() || id.contains(':') {
            return None;
        }
        out.push_str(before);
        write!(out, "{}", utf8_percent_encode(id, NON_ALPHANUMERIC)).unwrap();
        rest = after;
    }
    Some(out + rest)
}

/// Parameters as a query. `None` where a query cannot say the same.
pub(crate) fn query(pairs: &[(String, Value)]) -> Option<String> {
    let mut query = String::new();
    for (name, value) in pairs {
        let value = match value {
            // In a query every value is a text, and an enum is its name.
            Value::String(text) if !name.starts_with("include") => text.clone(),
            Value::Number(number) if name != "status" && number.is_i64() => number.to_string(),
            Value::Bool(yes) if name.starts_with("include") => yes.to_string(),
            _ => return None,
        };
        let escaped = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        write!(query, "{}={}&", escaped(name), escaped(&value)).unwrap();
    }
    Some(query)
}

/// The members of an object, also those that come twice.
pub(crate) struct Pairs(pub(crate) Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Pairs;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Members)
    }
}
