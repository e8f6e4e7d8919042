//! Values in PostgreSQL's binary format.

use std::error::Error as StdError;

use bytes::{BufMut as _, BytesMut};
use domain::Timestamp;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use crate::driver::{Kind, Value};

type Failure = Box<dyn StdError + Sync + Send>;

/// Microseconds from 1970 to 2000, where PostgreSQL's time begins.
const EPOCH: i64 = 946_684_800_000_000;

/// The version of the binary format of jsonb.
const JSONB: u8 = 1;

/// The type under which a parameter is sent.
pub(super) fn type_of(value: &Value) -> Type {
    match value {
        // The server finds out.
        Value::Null => Type::UNKNOWN,
        Value::NullOf(kind) => of_kind(*kind),
        Value::Bool(_) => Type::BOOL,
        Value::I32(_) => Type::INT4,
        Value::I64(_) => Type::INT8,
        Value::F64(_) => Type::FLOAT8,
        Value::Text(_) => Type::TEXT,
        Value::Bytes(_) => Type::BYTEA,
        Value::Uuid(_) => Type::UUID,
        Value::Time(_) => Type::TIMESTAMPTZ,
        Value::Json(_) => Type::JSONB,
    }
}

fn of_kind(kind: Kind) -> Type {
    match kind {
        Kind::Bool => Type::BOOL,
        Kind::I32 => Type::INT4,
        Kind::I64 => Type::INT8,
        Kind::F64 => Type::FLOAT8,
        Kind::Text => Type::TEXT,
        Kind::Bytes => Type::BYTEA,
        Kind::Uuid => Type::UUID,
        Kind::Time => Type::TIMESTAMPTZ,
        Kind::Json => Type::JSONB,
    }
}

impl ToSql for Value {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        match self {
            Self::Null | Self::NullOf(_) => return Ok(IsNull::Yes),
            Self::Bool(truth) => out.put_u8(u8::from(*truth)),
            Self::I32(number) => out.put_i32(*number),
            Self::I64(number) => out.put_i64(*number),
            Self::F64(number) => out.put_f64(*number),
            Self::Text(text) => out.put_slice(text.as_bytes()),
            Self::Bytes(bytes) => out.put_slice(bytes),
            Self::Uuid(uuid) => out.put_slice(uuid.as_bytes()),
            Self::Time(time) => {
                let micros = time.as_micros().checked_sub(EPOCH);
                out.put_i64(micros.ok_or("a time out of range")?);
            }
            Self::Json(text) => {
                out.put_u8(JSONB);
                out.put_slice(text.as_bytes());
            }
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Failure> {
        Ok(match *kind {
            Type::BOOL => Self::Bool(raw != [0]),
            Type::INT2 => Self::I32(i16::from_be_bytes(raw.try_into()?).into()),
            Type::INT4 => Self::I32(i32::from_be_bytes(raw.try_into()?)),
            Type::INT8 => Self::I64(i64::from_be_bytes(raw.try_into()?)),
            Type::FLOAT4 => Self::F64(f32::from_be_bytes(raw.try_into()?).into()),
            Type::FLOAT8 => Self::F64(f64::from_be_bytes(raw.try_into()?)),
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN => {
                Self::Text(str::from_utf8(raw)?.to_owned())
            }
            Type::BYTEA => Self::Bytes(raw.to_vec()),
            Type::UUID => Self::Uuid(Uuid::from_slice(raw)?),
            Type::TIMESTAMPTZ => {
                let micros = i64::from_be_bytes(raw.try_into()?).checked_add(EPOCH);
                Self::Time(Timestamp::from_micros(micros.ok_or("a time out of range")?))
            }
            Type::JSONB => match raw.split_first() {
                Some((&JSONB, text)) => Self::Json(str::from_utf8(text)?.to_owned()),
                _ => return Err("an unknown format of jsonb".into()),
            },
            // What a function without a result gives.
            Type::VOID => Self::Null,
            _ => return Err("a column type outside the subset of both engines".into()),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Failure> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
