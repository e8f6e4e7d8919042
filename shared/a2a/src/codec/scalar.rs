//! Strings, numbers, enums and times as ProtoJSON allows them.

use std::fmt;

use domain::{TaskState, Timestamp};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::Serializer;

use super::object::Wire;

impl Wire for String {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Deserialize::deserialize(deserializer)
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }

    fn is_unset(&self) -> bool {
        self.is_empty()
    }
}

/// `true` or `"true"`: in a query every value is a string.
impl Wire for bool {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        struct Bool;
        impl Visitor<'_> for Bool {
            type Value = bool;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true or false")
            }

            fn visit_bool<E>(self, value: bool) -> Result<bool, E> {
                Ok(value)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<bool, E> {
                text.parse().map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        nullable(deserializer, Bool)
    }

    fn absent() -> Option<Self> {
        Some(false)
    }
}

/// `5`, `5.0` or `"5"`: an int32.
impl Wire for i32 {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        struct Int;
        impl Visitor<'_> for Int {
            type Value = i32;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a 32-bit integer")
            }

            fn visit_i64<E: Error>(self, n: i64) -> Result<i32, E> {
                i32::try_from(n)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(n), &self))
            }

            fn visit_u64<E: Error>(self, n: u64) -> Result<i32, E> {
                i32::try_from(n)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(n), &self))
            }

            fn visit_f64<E: Error>(self, n: f64) -> Result<i32, E> {
                if n.fract() == 0.0 && n >= f64::from(i32::MIN) && n <= f64::from(i32::MAX) {
                    #[expect(
                        clippy::cast_possible_truncation,
                        reason = "checked on the line above"
                    )]
                    Ok(n as i32)
                } else {
                    Err(E::invalid_value(serde::de::Unexpected::Float(n), &self))
                }
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<i32, E> {
                text.parse().map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        nullable(deserializer, Int)
    }

    fn absent() -> Option<Self> {
        Some(0)
    }
}

/// What a server counts: an int32 that is never below zero.
impl Wire for u32 {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        let number = <i32 as Wire>::read(deserializer)?;
        let number =
            number.map(|n| Self::try_from(n).map_err(|_| D::Error::custom("is not negative")));
        number.transpose()
    }

    fn absent() -> Option<Self> {
        Some(0)
    }
}

impl Wire for u64 {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Ok(<u32 as Wire>::read(deserializer)?.map(Self::from))
    }

    fn absent() -> Option<Self> {
        Some(0)
    }
}

/// The states with their numbers in `a2a.proto`.
const TASK_STATES: [(TaskState, &str, u64); 8] = [
    numbered(TaskState::Submitted, 1),
    numbered(TaskState::Working, 2),
    numbered(TaskState::Completed, 3),
    numbered(TaskState::Failed, 4),
    numbered(TaskState::Canceled, 5),
    numbered(TaskState::InputRequired, 6),
    numbered(TaskState::Rejected, 7),
    numbered(TaskState::AuthRequired, 8),
];

const fn numbered(state: TaskState, number: u64) -> (TaskState, &'static str, u64) {
    (state, task_state_name(state), number)
}

impl Wire for TaskState {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        nullable(
            deserializer,
            Word { what: "a task state, such as TASK_STATE_WORKING", words: &TASK_STATES },
        )
    }

    fn absent() -> Option<Self> {
        None
    }
}

/// A state to look for. `TASK_STATE_UNSPECIFIED` looks for none in particular, as absence does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StateFilter(pub(crate) Option<TaskState>);

const fn filtered((state, name, number): (TaskState, &'static str, u64)) -> Filter {
    (StateFilter(Some(state)), name, number)
}

type Filter = (StateFilter, &'static str, u64);

/// [`TASK_STATES`], and the one that is no state.
const STATE_FILTERS: [Filter; 9] = {
    let [a, b, c, d, e, f, g, h] = TASK_STATES;
    [
        (StateFilter(None), "TASK_STATE_UNSPECIFIED", 0),
        filtered(a),
        filtered(b),
        filtered(c),
        filtered(d),
        filtered(e),
        filtered(f),
        filtered(g),
        filtered(h),
    ]
};

impl Wire for StateFilter {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        nullable(
            deserializer,
            Word { what: "a task state, such as TASK_STATE_WORKING", words: &STATE_FILTERS },
        )
    }

    fn absent() -> Option<Self> {
        Some(Self(None))
    }
}

/// The protocol's name of a state.
const fn task_state_name(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "TASK_STATE_SUBMITTED",
        TaskState::Working => "TASK_STATE_WORKING",
        TaskState::Completed => "TASK_STATE_COMPLETED",
        TaskState::Failed => "TASK_STATE_FAILED",
        TaskState::Canceled => "TASK_STATE_CANCELED",
        TaskState::InputRequired => "TASK_STATE_INPUT_REQUIRED",
        TaskState::Rejected => "TASK_STATE_REJECTED",
        TaskState::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
    }
}

#[expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
pub(crate) fn write_state_filter<S: Serializer>(
    state: &Option<TaskState>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match state {
        Some(state) => write_task_state(state, serializer),
        None => serializer.serialize_none(),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
pub(crate) fn write_task_state<S: Serializer>(
    state: &TaskState,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(task_state_name(*state))
}

/// RFC 3339 with any offset and up to nine decimals.
impl Wire for Timestamp {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        struct Time;
        impl Visitor<'_> for Time {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 timestamp")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Timestamp, E> {
                let invalid = || E::invalid_value(serde::de::Unexpected::Str(text), &self);
                // The parser takes more than RFC 3339: other separators, names of zones.
                let time: jiff::Timestamp = if is_rfc3339(text) {
                    text.parse().map_err(|_| invalid())?
                } else {
                    return Err(invalid());
                };
                Ok(Timestamp::from_micros(time.as_microsecond()))
            }
        }
        nullable(deserializer, Time)
    }

    fn absent() -> Option<Self> {
        None
    }
}

/// Whether a text has the form `2026-09-21T14:13:20[.123456789](Z|+02:00)`.
fn is_rfc3339(text: &str) -> bool {
    let form = |text: &str, form: &str| {
        text.len() == form.len()
            && text.bytes().zip(form.bytes()).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                b'+' => matches!(byte, b'+' | b'-'),
                _ => byte == form,
            })
    };
    let Some((seconds, rest)) = text.split_at_checked(19) else { return false };
    let offset = match rest.strip_prefix('.') {
        Some(rest) => {
            let offset = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            if !(1..=9).contains(&(rest.len() - offset.len())) {
                return false;
            }
            offset
        }
        None => rest,
    };
    form(seconds, "0000-00-00T00:00:00") && (offset == "Z" || form(offset, "+00:00"))
}

#[expect(clippy::ref_option, reason = "serde asks for a reference")]
pub(crate) fn write_timestamp<S: Serializer>(
    time: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => serializer.collect_str(time),
        None => serializer.serialize_none(),
    }
}

/// An enum's value by name or number.
pub(crate) struct Word<T: 'static> {
    pub(crate) what: &'static str,
    pub(crate) words: &'static [(T, &'static str, u64)],
}

impl<T: Copy> Word<T> {
    fn find<E: Error>(&self, is: impl Fn(&str, u64) -> bool) -> Result<T, E> {
        let found = self.words.iter().find(|(_, name, number)| is(name, *number));
        found
            .map(|(value, ..)| *value)
            .ok_or_else(|| E::custom(format_args!("expected {}", self.what)))
    }
}

impl<T: Copy> Visitor<'_> for Word<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.find(|name, _| name == text)
    }

    fn visit_u64<E: Error>(self, n: u64) -> Result<T, E> {
        self.find(|_, number| number == n)
    }
}

/// Reads with `visitor`, and null as `None`.
pub(crate) fn nullable<'de, D, V>(deserializer: D, visitor: V) -> Result<Option<V::Value>, D::Error>
where
    D: Deserializer<'de>,
    V: Visitor<'de>,
{
    struct Nullable<V>(V);
    impl<'de, V: Visitor<'de>> Visitor<'de> for Nullable<V> {
        type Value = Option<V::Value>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.expecting(f)
        }

        fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Self::Value, D::Error> {
            d.deserialize_any(self.0).map(Some)
        }
    }
    deserializer.deserialize_option(Nullable(visitor))
}
