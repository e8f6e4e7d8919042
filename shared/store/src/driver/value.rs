//! Values on their way in and out, the same for both engines.

use std::fmt;

use domain::{
    ArtifactId, CallId, InstanceId, MessageId, OutboxId, PublicationId, RunId, ScopeDigest,
    SessionId, TaskId, Timestamp, WebhookId,
};
use serde::Serialize;
use uuid::Uuid;

use crate::error::{Error, Mismatch};

/// A parameter of a statement, or one cell of its result.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// A null whose type the statement makes clear (`values ($1)`, `column = $1`).
    Null,
    /// A null that says its type, for statements that leave it open (`$1 is null`).
    NullOf(Kind),
    Bool(bool),
    I32(i32),
    I64(i64),
    F64(f64),
    /// Never holds U+0000, which PostgreSQL cannot store: a statement with one is refused.
    Text(String),
    Bytes(Vec<u8>),
    Uuid(Uuid),
    Time(Timestamp),
    /// The text of a JSON object, for `jsonb`.
    Json(String),
}

/// The type of a [`Value`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bool,
    I32,
    I64,
    F64,
    Text,
    Bytes,
    Uuid,
    Time,
    Json,
}

/// The text of a JSON object, to and from a `jsonb` column. PostgreSQL gives it back in its own
/// spelling: white space and the order of keys are not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json(pub String);

impl Value {
    /// `value` as JSON, for a `jsonb` column.
    pub fn json(value: &impl Serialize) -> Result<Self, Error> {
        serde_json::to_string(value).map(Self::Json).map_err(Error::Json)
    }

    /// What it holds, in a word that may be logged.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Null | Self::NullOf(_) => "null",
            Self::Bool(_) => "a boolean",
            Self::I32(_) | Self::I64(_) => "an integer",
            Self::F64(_) => "a number",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::Uuid(_) => "a uuid",
            Self::Time(_) => "a time",
            Self::Json(_) => "json",
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Null | Self::NullOf(_))
    }
}

impl fmt::Debug for Value {
    /// Prints what kind of value it is; contents never reach a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

/// A type that can be a parameter, and whose null has a type too.
pub trait Param: Into<Value> {
    const KIND: Kind;
}

impl<T: Param> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::NullOf(T::KIND), Into::into)
    }
}

macro_rules! param {
    ($($type:ty => $kind:ident, |$value:ident| $make:expr;)*) => {$(
        impl From<$type> for Value {
            fn from($value: $type) -> Self {
                Self::$kind($make)
            }
        }

        impl Param for $type {
            const KIND: Kind = Kind::$kind;
        }
    )*};
}

param! {
    bool => Bool, |v| v;
    i32 => I32, |v| v;
    i64 => I64, |v| v;
    u32 => I64, |v| i64::from(v);
    f64 => F64, |v| v;
    &str => Text, |v| v.to_owned();
    &String => Text, |v| v.clone();
    String => Text, |v| v;
    &[u8] => Bytes, |v| v.to_vec();
    &Vec<u8> => Bytes, |v| v.clone();
    Vec<u8> => Bytes, |v| v;
    Uuid => Uuid, |v| v;
    Timestamp => Time, |v| v;
    Json => Json, |v| v.0;
    &ScopeDigest => Text, |v| v.as_str().to_owned();
    &CallId => Text, |v| v.0.clone();
    CallId => Text, |v| v.0;
    &ArtifactId => Text, |v| v.0.clone();
    ArtifactId => Text, |v| v.0;
}

/// A type that a cell can be read as.
pub trait FromValue: Sized {
    fn from_value(value: Value) -> Result<Self, Mismatch>;
}

fn mismatch<T>(wanted: &'static str, found: &Value) -> Result<T, Mismatch> {
    if found.is_null() {
        Err(Mismatch::Null)
    } else {
        Err(Mismatch::Type { wanted, found: found.describe() })
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Result<Self, Mismatch> {
        if value.is_null() { Ok(None) } else { T::from_value(value).map(Some) }
    }
}

impl FromValue for bool {
    fn from_value(value: Value) -> Result<Self, Mismatch> {
        match value {
            Value::Bool(truth) => Ok(truth),
            // SQLite has no booleans.
            Value::I64(0) => Ok(false),
            Value::I64(1) => Ok(true),
            other => mismatch("a boolean", &other),
        }
    }
}

impl FromValue for i64 {
    fn from_value(value: Value) -> Result<Self, Mismatch> {
        match value {
            Value::I64(number) => Ok(number),
            Value::I32(number) => Ok(number.into()),
            other => mismatch("an integer", &other),
        }
    }
}

macro_rules! narrow {
    ($($type:ty, $wanted:literal;)*) => {$(
        impl FromValue for $type {
            fn from_value(value: Value) -> Result<Self, Mismatch> {
                let wide = i64::from_value(value)?;
                Self::try_from(wide)
                    .map_err(|_| Mismatch::Type { wanted: $wanted, found: "a number out of its range" })
            }
        }
    )*};
}

narrow! {
    i32, "an integer of 32 bits";
    u32, "an unsigned integer of 32 bits";
    u64, "an unsigned integer";
}

impl FromValue for f64 {
    fn from_value(value: Value) -> Result<Self, Mismatch> {
        match value {
            Value::F64(number) => Ok(number),
            Value::I32(number) => Ok(number.into()),
            #[expect(clippy::cast_precision_loss, reason = "the caller asked for a float")]
            Value::I64(number) => Ok(number as f64),
            other => mismatch("a number", &other),
        }
    }
}

impl FromValue for String {
    fn from_value(value: Value) -> Result<Self, Mismatch> {
        match value {
            Value::Text(text) => Ok(text),
            other => mismatch("text", &other),
        }
    }
}

impl FromValue for Json {
    fn from_value(value: Value) -> Result<Self, Mismatch> {
        match value {
            Value::Json(text) | Value::Text(text) => Ok(Self(text)),
            other => mismatch("json", &other),
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: Value) -> Result<Self, Mismatch> {
        match value {
            Value::Bytes(bytes) => Ok(bytes),
            other => mismatch("bytes", &other),
        }
    }
}

impl FromValue for Uuid {
    fn from_value(value: Value) -> Result<Self, Mismatch> {
        match value {
            Value::Uuid(uuid) => Ok(uuid),
            // SQLite keeps it as text.
            Value::Text(text) => Self::try_parse(&text)
                .map_err(|_| Mismatch::Type { wanted: "a uuid", found: "other text" }),
            other => mismatch("a uuid", &other),
        }
    }
}

impl FromValue for Timestamp {
    fn from_value(value: Value) -> Result<Self, Mismatch> {
        match value {
            Value::Time(time) => Ok(time),
            // SQLite keeps microseconds.
            Value::I64(micros) => Ok(Self::from_micros(micros)),
            other => mismatch("a time", &other),
        }
    }
}

macro_rules! ids {
    ($($id:ty),*) => {$(
        impl From<$id> for Value {
            fn from(id: $id) -> Self {
                Self::Uuid(id.as_uuid())
            }
        }

        impl Param for $id {
            const KIND: Kind = Kind::Uuid;
        }

        impl FromValue for $id {
            fn from_value(value: Value) -> Result<Self, Mismatch> {
                Uuid::from_value(value).map(Self::from_uuid)
            }
        }
    )*};
}

ids!(SessionId, TaskId, RunId, MessageId, PublicationId, InstanceId, OutboxId, WebhookId);

impl FromValue for CallId {
    fn from_value(value: Value) -> Result<Self, Mismatch> {
        String::from_value(value).map(Self)
    }
}

impl FromValue for ArtifactId {
    fn from_value(value: Value) -> Result<Self, Mismatch> {
        String::from_value(value).map(Self)
    }
}

/// The parameters of a statement: `&params![run, "active", 3_i64]`.
#[macro_export]
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        [$($crate::Value::from($value)),*]
    };
}
