//! A webhook's address and secrets, as they are stored: sealed as a whole.

use std::fmt;

use domain::{ScopeDigest, TaskId};
use sealing::{Keyring, Sealed};
use serde::{Deserialize, Serialize};

/// The longest id, token, scheme and credentials.
const MAX_ID: usize = 256;
const MAX_TOKEN: usize = 4096;
const MAX_SCHEME: usize = 64;
const MAX_CREDENTIALS: usize = 8192;

/// What is known of a receiver. Its address may hold a secret like the rest.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub v: u32,
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
}

/// Where a record is kept. One that is copied elsewhere cannot be opened there.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub scope: &'a ScopeDigest,
    pub task: TaskId,
    pub config_id: &'a str,
}

/// A part of a record that cannot be sent as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRecord {
    #[error("must be 1 to {MAX_ID} bytes without control characters")]
    Id,
    #[error("must be 1 to {MAX_TOKEN} visible characters of ASCII")]
    Token,
    #[error("must be a token of HTTP of at most {MAX_SCHEME} bytes")]
    Scheme,
    #[error("must be 1 to {MAX_CREDENTIALS} visible characters of ASCII")]
    Credentials,
}

/// Why a record could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("open a sealed webhook")]
    Sealed(#[from] sealing::Error),
    #[error("read a webhook's record")]
    Record,
    #[error("version {0} of a webhook's record is unknown here")]
    Version(u32),
}

impl Record {
    pub const VERSION: u32 = 1;

    /// Whether each part can stand where it is sent: nothing in it ends a header and begins another.
    pub fn check(&self) -> Result<(), InvalidRecord> {
        if !self.token.as_deref().is_none_or(|token| is_value(token, MAX_TOKEN)) {
            return Err(InvalidRecord::Token);
        }
        if !self.scheme.as_deref().is_none_or(is_scheme) {
            return Err(InvalidRecord::Scheme);
        }
        if !self.credentials.as_deref().is_none_or(|word| is_value(word, MAX_CREDENTIALS)) {
            return Err(InvalidRecord::Credentials);
        }
        Ok(())
    }

    /// Whether a client's id can name a webhook.
    pub fn check_id(id: &str) -> Result<(), InvalidRecord> {
        let fits = (1..=MAX_ID).contains(&id.len()) && !id.chars().any(char::is_control);
        if fits { Ok(()) } else { Err(InvalidRecord::Id) }
    }

    /// What stands in `Authorization`, if anything does.
    pub fn authorization(&self) -> Option<String> {
        let (scheme, credentials) = self.scheme.as_deref().zip(self.credentials.as_deref())?;
        Some(format!("{scheme} {credentials}"))
    }

    pub fn seal(&self, keys: &Keyring, place: Place<'_>) -> Sealed {
        // A plain struct of strings: there is no map key or number that JSON cannot hold.
        let text = serde_json::to_vec(self).unwrap_or_else(|_| unreachable!("records serialise"));
        keys.seal(&text, &place.bytes())
    }

    pub fn open(keys: &Keyring, place: Place<'_>, sealed: &Sealed) -> Result<Self, Unreadable> {
        let text = keys.open(sealed, &place.bytes())?;
        // What is wrong with it is not told: serde would quote it.
        let record: Self = serde_json::from_slice(&text).map_err(|_| Unreadable::Record)?;
        if record.v == Self::VERSION { Ok(record) } else { Err(Unreadable::Version(record.v)) }
    }
}

impl fmt::Debug for Record {
    /// Prints no part of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("v", &self.v).finish_non_exhaustive()
    }
}

impl Place<'_> {
    /// Unmistakable: the first two have a fixed length and no line in them.
    fn bytes(&self) -> Vec<u8> {
        let Self { scope, task, config_id } = self;
        format!("webhook\n{}\n{}\n{config_id}", scope.as_str(), task.as_uuid()).into_bytes()
    }
}

/// Visible ASCII, with single spaces between.
fn is_value(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len())
        && text.bytes().all(|b| (b' '..=b'~').contains(&b))
        && text.trim() == text
}

fn is_scheme(text: &str) -> bool {
    let mark = |b: u8| b"!#$%&'*+-.^_`|~".contains(&b);
    (1..=MAX_SCHEME).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || mark(b))
}

#[cfg(test)]
mod tests {
    use domain::{Ids, Scope};

    use super::*;

    fn record() -> Record {
        Record {
            v: Record::VERSION,
            url: "https://example.com/canary".to_owned(),
            token: Some("canary-token".to_owned()),
            scheme: Some("Bearer".to_owned()),
            credentials: Some("canary-credentials".to_owned()),
        }
    }

    fn keys() -> Keyring {
        Keyring::parse(&format!("k1:{}=", "A".repeat(43))).unwrap()
    }

    #[test]
    fn a_record_opens_in_its_place_and_in_no_other() {
        let (ids, keys) = (Ids::seeded(1), keys());
        let (scope, task) = (Scope::empty().digest(), ids.task());
        let place = Place { scope: &scope, task, config_id: "a" };
        let sealed = record().seal(&keys, place);
        assert_eq!(Record::open(&keys, place, &sealed).unwrap(), record());
        let other = Scope::new([("user".to_owned(), "b".to_owned())]).unwrap().digest();
        for elsewhere in [
            Place { config_id: "b", ..place },
            Place { task: ids.task(), ..place },
            Place { scope: &other, ..place },
        ] {
            assert!(Record::open(&keys, elsewhere, &sealed).is_err(), "{elsewhere:?}");
        }
    }

    #[test]
    fn a_record_of_a_later_version_is_not_guessed_at() {
        let (keys, scope) = (keys(), Scope::empty().digest());
        let place = Place { scope: &scope, task: Ids::seeded(1).task(), config_id: "a" };
        let sealed = Record { v: 2, ..record() }.seal(&keys, place);
        let opened = Record::open(&keys, place, &sealed);
        assert!(matches!(opened, Err(Unreadable::Version(2))), "{opened:?}");
    }

    #[test]
    fn p6_nothing_that_ends_a_header_is_taken() {
        record().check().unwrap();
        for bad in ["", "a\r\nb: c", "a\nb", "a\0", "é", " a", "a\t"] {
            let token = Record { token: Some(bad.to_owned()), ..record() };
            assert_eq!(token.check(), Err(InvalidRecord::Token), "{bad:?}");
            let words = Record { credentials: Some(bad.to_owned()), ..record() };
            assert_eq!(words.check(), Err(InvalidRecord::Credentials), "{bad:?}");
        }
        for bad in ["", "Bearer ", "Be arer", "Bearer:", "a\r\nb", "é"] {
            let scheme = Record { scheme: Some(bad.to_owned()), ..record() };
            assert_eq!(scheme.check(), Err(InvalidRecord::Scheme), "{bad:?}");
        }
        let basic = Record { credentials: Some("dXNlcjpwYXNz==".to_owned()), ..record() };
        assert_eq!(basic.check(), Ok(()));
        for bad in ["", "a\nb", &"a".repeat(MAX_ID + 1)] {
            assert_eq!(Record::check_id(bad), Err(InvalidRecord::Id), "{bad:?}");
        }
        assert_eq!(Record::check_id("my config/ä"), Ok(()));
    }

    #[test]
    fn each_part_is_as_long_as_may_be_and_no_longer() {
        let of = |length: usize| Some("a".repeat(length));
        for (more, token, scheme, words) in [
            (0, Ok(()), Ok(()), Ok(())),
            (
                1,
                Err(InvalidRecord::Token),
                Err(InvalidRecord::Scheme),
                Err(InvalidRecord::Credentials),
            ),
        ] {
            let with_token = Record { token: of(MAX_TOKEN + more), ..record() };
            assert_eq!(with_token.check(), token);
            let with_scheme = Record { scheme: of(MAX_SCHEME + more), ..record() };
            assert_eq!(with_scheme.check(), scheme);
            let with_words = Record { credentials: of(MAX_CREDENTIALS + more), ..record() };
            assert_eq!(with_words.check(), words);
        }
        assert_eq!(Record::check_id(&"a".repeat(MAX_ID)), Ok(()));
    }

    #[test]
    fn p4_authorization_is_scheme_and_credentials_exactly() {
        assert_eq!(record().authorization().as_deref(), Some("Bearer canary-credentials"));
        assert_eq!(Record { credentials: None, ..record() }.authorization(), None);
    }

    #[test]
    fn a_record_prints_no_secret() {
        assert!(!format!("{:?}", record()).contains("canary"));
    }
}
