//! The bearer of the control port, and how those outside derive it.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use uuid::Uuid;

/// A value that is never printed: `Debug` shows that it is there, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one header or payload that it is meant for.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The bearer of one instance: base64url without padding of
/// HMAC-SHA256(`key`, `"rt1"` ‖ the 16 bytes of the instance's UUID).
///
/// Whoever holds the key derives it, so it is never stored and never sent but to the instance.
pub fn runtime_token(key: &[u8], instance: Uuid) -> Secret {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        unreachable!("HMAC takes a key of any length")
    };
    mac.update(b"rt1");
    mac.update(instance.as_bytes());
    Secret(URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_the_one_that_other_languages_compute() {
        // python3: hmac.new(b"key", b"rt1" + uuid.UUID(int=1).bytes, "sha256"), base64url, no "=".
        let token = runtime_token(b"key", Uuid::from_u128(1));
        assert_eq!(token.expose(), "BEBQKqCDRtfN1jlS3EAuuMXyKuYcyZNbl1JFBpuWsQI");
        assert_eq!(token.expose().len(), 43);
        assert_ne!(token, runtime_token(b"key", Uuid::from_u128(2)));
        assert_ne!(token, runtime_token(b"other", Uuid::from_u128(1)));
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{:?}", Secret::new("canary")), "Secret(…)");
    }
}
