//! Whose work it is. A scope comes from trusted ingress or from the database and from nowhere else:
//! never from a message, a file name, a URL, a tool argument or an id.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Most bytes of one value.
pub const MAX_VALUE_BYTES: usize = 1024;
/// Most keys of one scope.
pub const MAX_KEYS: usize = 32;

/// An exact scope: string to string, compared as a whole. Its values are never printed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    values: BTreeMap<String, String>,
}

/// Why a scope was refused. Carries no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    #[error("more than {MAX_KEYS} scope keys")]
    TooManyKeys,
    #[error("a scope value is longer than {MAX_VALUE_BYTES} bytes")]
    ValueTooLong,
    #[error("a scope value holds a control character")]
    ControlCharacter,
    #[error("a scope key does not match [a-z][a-z0-9_]{{0,31}}")]
    InvalidKey,
    #[error("the stored scope cannot be read")]
    Unreadable,
}

impl Scope {
    /// The scope of a request that carries none, where scoping is not required.
    pub fn empty() -> Self {
        Self { values: BTreeMap::new() }
    }

    /// Makes a scope from pairs that trusted ingress has established.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Result<Self, ScopeError> {
        let values: BTreeMap<_, _> = pairs.into_iter().collect();
        if values.len() > MAX_KEYS {
            return Err(ScopeError::TooManyKeys);
        }
        for (key, value) in &values {
            if !is_key(key) {
                return Err(ScopeError::InvalidKey);
            }
            if value.len() > MAX_VALUE_BYTES {
                return Err(ScopeError::ValueTooLong);
            }
            if value.chars().any(char::is_control) {
                return Err(ScopeError::ControlCharacter);
            }
        }
        Ok(Self { values })
    }

    /// Reads what [`Scope::canonical`] wrote to the database.
    pub fn from_canonical(text: &str) -> Result<Self, ScopeError> {
        let values: BTreeMap<String, String> =
            serde_json::from_str(text).map_err(|_| ScopeError::Unreadable)?;
        Self::new(values)
    }

    /// The JSON object with sorted keys, compact, all but ASCII escaped as `\uXXXX`: byte for byte
    /// what the original computes its digests over.
    pub fn canonical(&self) -> String {
        let mut out = String::from("{");
        for (index, (key, value)) in self.values.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            push_ascii(&mut out, key);
            out.push(':');
            push_ascii(&mut out, value);
        }
        out.push('}');
        out
    }

    /// The index key of the database: unkeyed SHA-256 of the canonical form.
    pub fn digest(&self) -> ScopeDigest {
        ScopeDigest(hex::encode(Sha256::digest(self.canonical())))
    }

    /// The storage namespace: HMAC-SHA256 of the canonical form, so that an object key tells
    /// nothing to those who do not hold `key`.
    pub fn storage_digest(&self, key: &[u8]) -> String {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
            unreachable!("HMAC takes a key of any length")
        };
        mac.update(self.canonical().as_bytes());
        hex::encode(mac.finalize().into_bytes())
    }
}

/// Whether `key` may name a part of a scope.
pub fn is_key(key: &str) -> bool {
    let mut bytes = key.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && key.len() <= 32
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// Appends `text` as a JSON string of ASCII characters only.
fn push_ascii(out: &mut String, text: &str) {
    let json = serde_json::Value::from(text).to_string();
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
}

impl fmt::Debug for Scope {
    /// Prints the keys; a value never reaches a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scope").field(&self.values.keys().collect::<Vec<_>>()).finish()
    }
}

/// The SHA-256 of a canonical scope in lower-case hex: in every row and in every statement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ScopeDigest(String);

impl ScopeDigest {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ScopeDigest {
    type Error = ScopeError;

    fn try_from(text: String) -> Result<Self, ScopeError> {
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if text.len() == 64 && text.bytes().all(hex) {
            Ok(Self(text))
        } else {
            Err(ScopeError::Unreadable)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[(&str, &str)], canonical: &str, hmac: &str, sha: &str) {
        let pairs = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let scope = Scope::new(pairs).unwrap();
        assert_eq!(scope.canonical(), canonical);
        assert_eq!(scope.storage_digest(b"test-key"), hmac);
        assert_eq!(scope.digest().as_str(), sha);
        assert_eq!(Scope::from_canonical(canonical), Ok(scope));
    }

    /// Publication scenario 46: the vectors of the original.
    #[test]
    fn the_digests_are_those_of_the_original() {
        check(
            &[],
            "{}",
            "cebaba593292593b9c411e62ce0d4992e1622a16828737d2af1077fca5333735",
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        );
        check(
            &[("tenant", "acme")],
            r#"{"tenant":"acme"}"#,
            "34da0ade79a6525c31c2e36e54db3b1cf9f9cff63acf34e9d92d16810faeba06",
            "b9510057a95822a002724d80c6956d174ce18252a8b40ef5820ae380888199f1",
        );
        check(
            &[("tenant", "acme"), ("project", "shared")],
            r#"{"project":"shared","tenant":"acme"}"#,
            "26959fd1671d387e35ebe70d5a2b266806de4e642c46975d05df6f04a9f29bb8",
            "daeb026031f7453773c00b6aa0c0b6388890f63df58f1732eabe5aee63b40b52",
        );
        check(
            &[("tenant", "zoë")],
            r#"{"tenant":"zo\u00eb"}"#,
            "130ae01afa4b872db8f6e215de3767d0ecaab268d9bdea708ca2ca831cd49cfb",
            "46a4aeda7b3891635f424099c48fb505e2cc7541128886c33dee743b26f8dd63",
        );
        check(
            &[("tenant", "a\"b\\c/😀")],
            r#"{"tenant":"a\"b\\c/\ud83d\ude00"}"#,
            "318dcf33c767d915872783da942424d4cccc3fa8afdc87a405ad6aeef073ef73",
            "40cb11788ab06db738d08533add913327418361f68cd50ac61c10874350b173f",
        );
    }

    #[test]
    fn hostile_values_are_refused() {
        let one = |k: &str, v: &str| Scope::new([(k.to_owned(), v.to_owned())]).unwrap_err();
        assert_eq!(one("user", "a\nb"), ScopeError::ControlCharacter);
        assert_eq!(one("user", &"x".repeat(1025)), ScopeError::ValueTooLong);
        assert_eq!(one("User", "a"), ScopeError::InvalidKey);
        assert_eq!(one("", "a"), ScopeError::InvalidKey);
        let many = (0..33).map(|i| (format!("k{i}"), String::new()));
        assert_eq!(Scope::new(many), Err(ScopeError::TooManyKeys));
    }

    #[test]
    fn a_printed_scope_shows_no_value() {
        let scope = Scope::new([("user".to_owned(), "canary".to_owned())]).unwrap();
        assert!(!format!("{scope:?}").contains("canary"));
    }
}
