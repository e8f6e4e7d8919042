//! Secrets at rest: sealed with AES-256-GCM before they are stored, opened where they are used.
//!
//! **What is sealed opens only with its key and only where it belongs**: the place is authenticated
//! with it, so that a row's secret copied into another row is no secret of that row. Every seal has a
//! random nonce of its own, which stands before the ciphertext. Nothing here prints a key or a secret.
//!
//! Keys rotate: the first of the ring seals, all of them open. A key leaves the ring when nothing is
//! sealed with it any more.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The bytes of a key.
const KEY_LEN: usize = 32;

/// The keys of a deployment, the current one first.
pub struct Keyring {
    current: (String, RandomizedNonceKey),
    old: Vec<(String, RandomizedNonceKey)>,
}

/// A secret that was sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Which key opens it.
    pub key_id: String,
    /// Nonce, ciphertext and tag.
    pub bytes: Vec<u8>,
}

/// A list of keys that cannot be used. Keys are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKeys {
    #[error("there is no key")]
    None,
    #[error("key {0} is not of the form id:base64")]
    Form(usize),
    #[error("key {0} is not 32 bytes in base64")]
    Key(usize),
    #[error("key {0} has the id of an earlier one")]
    Duplicate(usize),
}

/// Why a secret could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the key that opens it is not among ours")]
    UnknownKey,
    #[error("it is not what was sealed here")]
    Altered,
}

impl Keyring {
    /// Reads `id:base64,id:base64`: ids of letters, digits, `-` and `_`, keys of 32 bytes in the
    /// standard alphabet. The first one is current.
    pub fn parse(text: &str) -> Result<Self, InvalidKeys> {
        let mut keys: Vec<(String, RandomizedNonceKey)> = Vec::new();
        let entries = text.split(',').map(str::trim).enumerate();
        for (index, entry) in entries.filter(|(_, entry)| !entry.is_empty()) {
            let number = index + 1;
            let (id, key) = entry.split_once(':').ok_or(InvalidKeys::Form(number))?;
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
            if id.is_empty() || !id.bytes().all(plain) {
                return Err(InvalidKeys::Form(number));
            }
            if keys.iter().any(|(known, _)| known == id) {
                return Err(InvalidKeys::Duplicate(number));
            }
            let bytes = STANDARD.decode(key).map_err(|_| InvalidKeys::Key(number))?;
            if bytes.len() != KEY_LEN {
                return Err(InvalidKeys::Key(number));
            }
            let key = RandomizedNonceKey::new(&AES_256_GCM, &bytes)
                .map_err(|_| InvalidKeys::Key(number))?;
            keys.push((id.to_owned(), key));
        }
        let mut keys = keys.into_iter();
        let current = keys.next().ok_or(InvalidKeys::None)?;
        Ok(Self { current, old: keys.collect() })
    }

    /// Seals a secret for the place that `place` names, with the current key.
    ///
    /// # Panics
    ///
    /// When the operating system gives no randomness: nothing that is secret could be done then.
    pub fn seal(&self, secret: &[u8], place: &[u8]) -> Sealed {
        let (id, key) = &self.current;
        let mut text = secret.to_vec();
        let nonce = key
            .seal_in_place_append_tag(Aad::from(place), &mut text)
            .expect("no secret is as long as GCM's limit of 64 GiB");
        let bytes = [nonce.as_ref().as_slice(), &text].concat();
        Sealed { key_id: id.clone(), bytes }
    }

    /// Opens what was sealed for `place`.
    pub fn open(&self, sealed: &Sealed, place: &[u8]) -> Result<Vec<u8>, Error> {
        let (_, key) = self.keys().find(|(id, _)| *id == sealed.key_id).ok_or(Error::UnknownKey)?;
        let (nonce, text) = sealed.bytes.split_at_checked(NONCE_LEN).ok_or(Error::Altered)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Error::Altered)?;
        let mut text = text.to_vec();
        let secret =
            key.open_in_place(nonce, Aad::from(place), &mut text).map_err(|_| Error::Altered)?;
        Ok(secret.to_vec())
    }

    fn keys(&self) -> impl Iterator<Item = &(String, RandomizedNonceKey)> {
        std::iter::once(&self.current).chain(&self.old)
    }
}

impl fmt::Debug for Keyring {
    /// Prints the ids.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys().map(|(id, _)| id)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> String {
        STANDARD.encode([byte; KEY_LEN])
    }

    fn ring(ids: &[(&str, u8)]) -> Keyring {
        let list: Vec<_> = ids.iter().map(|(id, byte)| format!("{id}:{}", key(*byte))).collect();
        Keyring::parse(&list.join(", ")).unwrap()
    }

    #[test]
    fn what_is_sealed_opens_at_its_place_and_at_no_other() {
        let ring = ring(&[("a", 1)]);
        let sealed = ring.seal(b"canary", b"here");
        assert_eq!(ring.open(&sealed, b"here").unwrap(), b"canary");
        assert_eq!(ring.open(&sealed, b"there"), Err(Error::Altered));
    }

    #[test]
    fn no_bit_may_be_changed_and_no_byte_be_missing() {
        let ring = ring(&[("a", 1)]);
        let sealed = ring.seal(b"canary", b"here");
        for index in 0..sealed.bytes.len() {
            let mut altered = sealed.clone();
            altered.bytes[index] ^= 1;
            assert_eq!(ring.open(&altered, b"here"), Err(Error::Altered), "byte {index}");
            let short = Sealed { bytes: sealed.bytes[..index].to_vec(), ..sealed.clone() };
            assert_eq!(ring.open(&short, b"here"), Err(Error::Altered), "{index} bytes");
        }
    }

    #[test]
    fn the_first_key_seals_and_all_open_until_they_leave_the_ring() {
        let old = ring(&[("a", 1)]).seal(b"canary", b"");
        let both = ring(&[("b", 2), ("a", 1)]);
        assert_eq!(both.open(&old, b"").unwrap(), b"canary");
        assert_eq!(both.seal(b"canary", b"").key_id, "b");
        assert_eq!(ring(&[("b", 2)]).open(&old, b""), Err(Error::UnknownKey));
        // The same name for another key.
        assert_eq!(ring(&[("a", 2)]).open(&old, b""), Err(Error::Altered));
    }

    #[test]
    fn the_same_secret_never_looks_the_same_and_never_shows() {
        let ring = ring(&[("a", 1)]);
        let (one, two) = (ring.seal(b"canary", b""), ring.seal(b"canary", b""));
        assert_ne!(one.bytes, two.bytes);
        assert!(!one.bytes.windows(6).any(|bytes| bytes == b"canary"));
        assert_eq!(format!("{ring:?}"), r#"["a"]"#);
    }

    #[test]
    fn keys_that_cannot_be_used_are_refused() {
        for (text, why) in [
            (String::new(), InvalidKeys::None),
            (" , ".to_owned(), InvalidKeys::None),
            (key(1), InvalidKeys::Form(1)),
            (format!(":{}", key(1)), InvalidKeys::Form(1)),
            (format!("a b:{}", key(1)), InvalidKeys::Form(1)),
            ("a:".to_owned(), InvalidKeys::Key(1)),
            ("a:AAAA".to_owned(), InvalidKeys::Key(1)),
            (format!("a:{}A", key(1)), InvalidKeys::Key(1)),
            (format!("a:{},a:{}", key(1), key(2)), InvalidKeys::Duplicate(2)),
        ] {
            assert_eq!(Keyring::parse(&text).err(), Some(why), "{text}");
        }
    }
}
