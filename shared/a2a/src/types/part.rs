//! Parts: the smallest piece of content.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::codec::base64::Base64;
use crate::codec::json::{JsonObject, JsonText};
use crate::codec::object::{Field, Wire};

/// One piece of content, with what is said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub content: Content,
    pub filename: Option<String>,
    pub media_type: Option<String>,
    pub metadata: Option<JsonObject>,
}

/// What a Part holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Text(String),
    Raw(Base64),
    /// Where the content is. Nobody here fetches it.
    Url(String),
    /// Any JSON, null included.
    Data(JsonText),
}

impl Part {
    /// Content of which nothing else is said.
    pub const fn new(content: Content) -> Self {
        Self { content, filename: None, media_type: None, metadata: None }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match &self.content {
            Content::Text(text) => map.serialize_entry("text", text)?,
            Content::Raw(bytes) => map.serialize_entry("raw", bytes)?,
            Content::Url(url) => map.serialize_entry("url", url)?,
            Content::Data(json) => map.serialize_entry("data", json)?,
        }
        if let Some(filename) = &self.filename {
            map.serialize_entry("filename", filename)?;
        }
        if let Some(media_type) = &self.media_type {
            map.serialize_entry("mediaType", media_type)?;
        }
        if let Some(metadata) = &self.metadata {
            map.serialize_entry("metadata", metadata)?;
        }
        map.end()
    }
}

/// Written by hand: one pass, no buffering, and null means three different things here. Beside
/// another content it is an absent field, as everywhere; a Part whose only content is `data: null`
/// holds the JSON value null; and `text: null` alone is an empty Part.
impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PartVisitor)
    }
}

struct PartVisitor;

impl<'de> Visitor<'de> for PartVisitor {
    type Value = Part;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Part")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Part, A::Error> {
        let mut content = None;
        let mut data_null = None;
        let (mut filename, mut media_type, mut metadata) = (None, None, None);
        while let Some(key) = map.next_key()? {
            let found = match key {
                Key::Text => map.next_value::<Option<_>>()?.map(Content::Text),
                Key::Url => map.next_value::<Option<_>>()?.map(Content::Url),
                Key::Raw => map.next_value_seed(Field::<Base64>::new())?.map(Content::Raw),
                Key::Data => {
                    let json = map.next_value::<JsonText>()?;
                    if json.as_str() == "null" {
                        set(&mut data_null, Some(json))?;
                        None
                    } else {
                        Some(Content::Data(json))
                    }
                }
                Key::Filename => {
                    set(&mut filename, text(&mut map)?)?;
                    None
                }
                Key::MediaType => {
                    set(&mut media_type, text(&mut map)?)?;
                    None
                }
                Key::Metadata => {
                    set(&mut metadata, map.next_value_seed(Field::<JsonObject>::new())?)?;
                    None
                }
                Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                    None
                }
            };
            if found.is_some() && content.is_some() {
                return Err(A::Error::custom(EXACTLY_ONE));
            }
            content = found.or(content);
        }
        let content = content
            .or(data_null.map(Content::Data))
            .ok_or_else(|| A::Error::custom(EXACTLY_ONE))?;
        Ok(Part { content, filename, media_type, metadata })
    }
}

const EXACTLY_ONE: &str = "a Part holds exactly one of text, raw, url and data";

/// Takes a value for a field that may come once.
fn set<T, E: Error>(field: &mut Option<T>, value: Option<T>) -> Result<(), E> {
    if field.is_some() {
        return Err(E::custom("a field is given twice"));
    }
    *field = value;
    Ok(())
}

/// A string that is absent when it is null or empty.
fn text<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<String>, A::Error> {
    Ok(map.next_value_seed(Field::<String>::new())?.filter(|text| !text.is_empty()))
}

enum Key {
    Text,
    Raw,
    Url,
    Data,
    Filename,
    MediaType,
    Metadata,
    Other,
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field's name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                Ok(match name {
                    "text" => Key::Text,
                    "raw" => Key::Raw,
                    "url" => Key::Url,
                    "data" => Key::Data,
                    "filename" => Key::Filename,
                    "mediaType" | "media_type" => Key::MediaType,
                    "metadata" => Key::Metadata,
                    _ => Key::Other,
                })
            }
        }
        deserializer.deserialize_identifier(Name)
    }
}

impl Wire for Base64 {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Base64;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("base64")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Base64, E> {
                Base64::parse(text).map_err(|_| E::custom("expected base64"))
            }
        }
        crate::codec::scalar::nullable(deserializer, Text)
    }

    fn absent() -> Option<Self> {
        None
    }
}
