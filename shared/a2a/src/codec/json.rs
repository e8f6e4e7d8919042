//! Free JSON of a client, kept as the text that it sent.

use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde_json::value::RawValue;

use super::object::Wire;

/// Any JSON value, null included, as text. Equality is that of the texts.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct JsonText(Box<RawValue>);

/// A text that is not JSON, or not of the kind that is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the JSON that is needed here")]
pub struct InvalidJson;

impl JsonText {
    /// Takes a text that is JSON; white space around it is dropped.
    pub fn new(text: String) -> Result<Self, InvalidJson> {
        RawValue::from_string(text).map(Self).map_err(|_| InvalidJson)
    }

    /// The text as it was sent.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Whether our own reader can make sense of the value. JSON allows what it cannot: numbers
    /// beyond a double, halves of surrogate pairs, nesting without end.
    pub fn is_readable(&self) -> bool {
        serde_json::from_str::<Walk>(self.as_str()).is_ok()
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for JsonText {}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(deserializer).map(Self)
    }
}

/// A JSON object, as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct JsonObject(JsonText);

impl JsonObject {
    /// Takes a text that is a JSON object.
    pub fn new(text: String) -> Result<Self, InvalidJson> {
        Self::from_json(JsonText::new(text)?).ok_or(InvalidJson)
    }

    fn from_json(json: JsonText) -> Option<Self> {
        json.as_str().starts_with('{').then_some(Self(json))
    }

    /// The text as it was sent.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// See [`JsonText::is_readable`].
    pub fn is_readable(&self) -> bool {
        self.0.is_readable()
    }

    /// The same text, as JSON of any kind.
    pub(crate) fn into_json(self) -> JsonText {
        self.0
    }
}

impl Wire for JsonObject {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        let json = JsonText::deserialize(deserializer)?;
        if json.as_str() == "null" {
            return Ok(None);
        }
        Self::from_json(json).map(Some).ok_or_else(|| D::Error::custom("expected an object"))
    }

    fn absent() -> Option<Self> {
        None
    }
}

/// Reads a value as any reader would, and keeps nothing.
struct Walk;

impl<'de> Deserialize<'de> for Walk {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Walk;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Walk, E> {
                Ok(Walk)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Walk, E> {
                Ok(Walk)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Walk, E> {
                Ok(Walk)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Walk, E> {
                Ok(Walk)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Walk, E> {
                Ok(Walk)
            }

            fn visit_str<E>(self, _: &str) -> Result<Walk, E> {
                Ok(Walk)
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Walk, A::Error> {
                while let Some(Walk) = seq.next_element()? {}
                Ok(Walk)
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Walk, A::Error> {
                while let Some((Walk, Walk)) = map.next_entry()? {}
                Ok(Walk)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
