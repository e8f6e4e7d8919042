//! One row of a result.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::value::{FromValue, Json, Value};
use crate::error::{Error, Mismatch};

/// One row of a result, whole and independent of its connection.
#[derive(Clone, PartialEq)]
pub struct Row {
    columns: Arc<[String]>,
    values: Vec<Value>,
}

impl Row {
    pub(super) fn new(columns: Arc<[String]>, values: Vec<Value>) -> Self {
        Self { columns, values }
    }

    /// The value of a column, as a type that fits it on both engines.
    pub fn get<T: FromValue>(&self, column: &str) -> Result<T, Error> {
        let value = self.columns.iter().position(|name| name == column);
        value
            .and_then(|index| self.values.get(index))
            .ok_or(Mismatch::Absent)
            .and_then(|value| T::from_value(value.clone()))
            .map_err(|source| Error::Column { column: column.to_owned(), source })
    }

    /// Whether a column is there and not null.
    pub(crate) fn holds(&self, column: &str) -> bool {
        let index = self.columns.iter().position(|name| name == column);
        let value = index.and_then(|index| self.values.get(index));
        value.is_some_and(|value| !value.is_null())
    }

    /// A `jsonb` column, as the type that was written to it. `table` and `column` name its place in
    /// the error.
    pub fn json<T: DeserializeOwned>(
        &self,
        table: &'static str,
        column: &'static str,
    ) -> Result<T, Error> {
        let Json(text) = self.get(column)?;
        serde_json::from_str(&text).map_err(|source| Error::corrupt(table, column, source))
    }
}

impl fmt::Debug for Row {
    /// Prints the columns and what kinds of values they hold.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.columns.iter().zip(&self.values)).finish()
    }
}
