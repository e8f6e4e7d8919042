//! How the fields of a message are read: each type says what null and absence mean for it.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, Deserializer};

/// A type that can be a field.
pub(crate) trait Wire: Sized {
    /// `None` where JSON says null.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error>;

    /// What a field holds that was not sent. `None`: it must be sent.
    fn absent() -> Option<Self>;

    /// Whether this value means the same as absence (proto3 has no empty string of its own).
    fn is_unset(&self) -> bool {
        false
    }
}

impl<T: Wire> Wire for Option<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Ok(Some(T::read(deserializer)?.filter(|value| !value.is_unset())))
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Wire> Wire for Box<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Ok(T::read(deserializer)?.map(Self::new))
    }

    fn absent() -> Option<Self> {
        T::absent().map(Self::new)
    }

    fn is_unset(&self) -> bool {
        T::is_unset(self)
    }
}

impl<T: for<'a> Deserialize<'a>> Wire for Vec<T> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Deserialize::deserialize(deserializer)
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

/// Reads one field's value.
pub(crate) struct Field<T>(PhantomData<T>);

impl<T> Field<T> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: Wire> DeserializeSeed<'de> for Field<T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        T::read(deserializer)
    }
}

impl<T> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Field")
    }
}

/// Reads a struct from a JSON object in one pass, each field under any of its names.
///
/// Not derived, because a derived reader also takes an array, which is no message, and because null
/// and absence are one thing in ProtoJSON. A field that comes twice is refused, whichever of its
/// names it comes under: two readers could otherwise see two different messages.
macro_rules! from_object {
    ($type:ident { $($field:ident: $name:literal $(| $other:literal)*),+ $(,)? }) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[expect(non_camel_case_types, reason = "named after the fields")]
                enum Key { $($field,)+ __other }

                struct KeyVisitor;
                impl serde::de::Visitor<'_> for KeyVisitor {
                    type Value = Key;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a field's name")
                    }

                    fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                        Ok(match name {
                            $($name $(| $other)* => Key::$field,)+
                            _ => Key::__other,
                        })
                    }
                }

                impl<'de> serde::Deserialize<'de> for Key {
                    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                        d.deserialize_identifier(KeyVisitor)
                    }
                }

                struct ObjectVisitor;
                impl<'de> serde::de::Visitor<'de> for ObjectVisitor {
                    type Value = $type;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$type, A::Error> {
                        use serde::de::Error as _;
                        use $crate::codec::object::Field;
                        $(let mut $field = None;)+
                        while let Some(key) = map.next_key()? {
                            match key {
                                $(Key::$field => {
                                    let value = map.next_value_seed(Field::new())?;
                                    if $field.is_some() {
                                        return Err(A::Error::duplicate_field($name));
                                    }
                                    $field = value;
                                })+
                                Key::__other => {
                                    map.next_value::<serde::de::IgnoredAny>()?;
                                }
                            }
                        }
                        Ok($type {
                            $($field: match $field {
                                Some(value) => value,
                                None => $crate::codec::object::absent($name)?,
                            },)+
                        })
                    }
                }

                deserializer.deserialize_map(ObjectVisitor)
            }
        }

        impl $crate::codec::object::Wire for $type {
            fn read<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Self>, D::Error> {
                serde::Deserialize::deserialize(d)
            }

            fn absent() -> Option<Self> {
                None
            }
        }
    };
}
pub(crate) use from_object;

/// What a field holds that was not sent, or that it is missing.
pub(crate) fn absent<T: Wire, E: serde::de::Error>(name: &'static str) -> Result<T, E> {
    T::absent().ok_or_else(|| E::missing_field(name))
}
