//! Arguments, read field by field from the declaration that the schema is printed from: what the
//! model is told and what is checked cannot drift apart.

use serde_json::{Map, Value, json};

use super::{ToolCode, ToolError};

/// One argument of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) need: Need,
    pub(super) about: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Text,
    Boolean,
    /// With the least value that is allowed, if any.
    Integer(Option<i64>),
    Choice(&'static [&'static str]),
    /// A list of texts.
    Texts,
    /// Any JSON value.
    Any,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Need {
    Required,
    /// May be left out or null.
    Optional,
    /// May be left out; the schema shows this default, in JSON.
    Default(&'static str),
}

/// One thing that is wrong with the arguments: a JSON pointer, and what was expected there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub pointer: String,
    pub reason: String,
}

impl Violation {
    pub(super) fn at(name: &str, reason: impl Into<String>) -> Self {
        let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        Self { pointer, reason: reason.into() }
    }
}

/// Prints the JSON schema (draft 2020-12) of a tool's arguments.
pub(super) fn schema(fields: &[Field]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in fields {
        let mut property = Map::new();
        let kind = match field.kind {
            Kind::Text | Kind::Choice(_) => Some("string"),
            Kind::Boolean => Some("boolean"),
            Kind::Integer(_) => Some("integer"),
            Kind::Texts => Some("array"),
            Kind::Any => None,
        };
        let kind = kind.map(|kind| match field.need {
            Need::Optional => json!([kind, "null"]),
            Need::Required | Need::Default(_) => json!(kind),
        });
        property.extend(kind.map(|kind| ("type".into(), kind)));
        property.insert("description".into(), field.about.into());
        match field.kind {
            Kind::Choice(words) => drop(property.insert("enum".into(), json!(words))),
            Kind::Integer(Some(least)) => drop(property.insert("minimum".into(), least.into())),
            Kind::Texts => drop(property.insert("items".into(), json!({"type": "string"}))),
            Kind::Integer(None) | Kind::Text | Kind::Boolean | Kind::Any => {}
        }
        match field.need {
            Need::Required => required.push(field.name),
            Need::Default(text) => {
                let value = serde_json::from_str(text).unwrap_or(Value::Null);
                property.insert("default".into(), value);
            }
            Need::Optional => {}
        }
        properties.insert(field.name.into(), property.into());
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// The arguments of one call. Reads what is asked of it and remembers all that was wrong.
#[derive(Debug)]
pub(super) struct Args<'a> {
    values: &'a Map<String, Value>,
    violations: Vec<Violation>,
}

impl<'a> Args<'a> {
    /// Checks `values` against the whole declaration.
    pub(super) fn new(fields: &[Field], values: &'a Map<String, Value>) -> Self {
        let mut violations = Vec::new();
        for field in fields {
            match values.get(field.name) {
                None if matches!(field.need, Need::Required) => {
                    violations.push(Violation::at(field.name, "is required"));
                }
                None => {}
                Some(Value::Null) if matches!(field.need, Need::Optional) => {}
                Some(value) => {
                    if let Some(reason) = mismatch(field.kind, value) {
                        violations.push(Violation::at(field.name, reason));
                    }
                }
            }
        }
        for name in values.keys().filter(|name| fields.iter().all(|f| f.name != name.as_str())) {
            violations.push(Violation::at(name, "is not an argument of this tool"));
        }
        Self { values, violations }
    }

    /// Adds a rule that the declaration cannot express.
    pub(super) fn refuse(&mut self, name: &str, reason: impl Into<String>) {
        self.violations.push(Violation::at(name, reason));
    }

    /// The text at `name`, if it is there. What is there and is no text has been noted already.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.values.get(name).and_then(Value::as_str)
    }

    /// Whatever is at `name`, null included.
    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        self.values.get(name)
    }

    /// The list of texts at `name`, empty where there is none.
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let list = self.values.get(name).and_then(Value::as_array);
        let texts = list.into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    }

    pub(super) fn integer(&self, name: &str) -> Option<i64> {
        self.values.get(name).and_then(as_integer)
    }

    pub(super) fn boolean(&self, name: &str) -> Option<bool> {
        self.values.get(name).and_then(Value::as_bool)
    }

    /// All that was wrong, as one error, or nothing.
    pub(super) fn finish(self) -> Result<(), ToolError> {
        if self.violations.is_empty() {
            return Ok(());
        }
        let mut text = String::from("The arguments do not fit this tool:");
        for Violation { pointer, reason } in &self.violations {
            text.extend(["\n", pointer, " ", reason]);
        }
        Err(ToolError::new(ToolCode::InvalidArguments, text))
    }
}

fn mismatch(kind: Kind, value: &Value) -> Option<String> {
    match kind {
        Kind::Text if !value.is_string() => Some("must be a string".into()),
        Kind::Texts if !value.as_array().is_some_and(|all| all.iter().all(Value::is_string)) => {
            Some("must be a list of strings".into())
        }
        Kind::Boolean if !value.is_boolean() => Some("must be true or false".into()),
        Kind::Integer(least) => match (as_integer(value), least) {
            (None, _) => Some("must be an integer".into()),
            (Some(n), Some(least)) if n < least => Some(format!("must be at least {least}")),
            _ => None,
        },
        Kind::Choice(words) if !value.as_str().is_some_and(|word| words.contains(&word)) => {
            Some(format!("must be one of {}", words.join(", ")))
        }
        _ => None,
    }
}

/// JSON Schema calls 1.0 an integer too.
fn as_integer(value: &Value) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
        let whole = number as i64;
        (number.fract() == 0.0 && number.abs() <= EXACT).then_some(whole)
    })
}
