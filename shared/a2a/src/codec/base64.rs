//! Bytes in JSON: either alphabet with or without padding on the way in, the standard one with
//! padding on the way out (A2A §5.6).

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde::Serialize;

const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Bytes as canonical base64: the standard alphabet, padded.
///
/// Held as text, because text is how it comes, how it is stored and how it leaves.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Base64(String);

/// A text that is not base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not base64")]
pub struct InvalidBase64;

impl Base64 {
    /// Encodes bytes.
    pub fn encode(bytes: &[u8]) -> Self {
        Self(ENGINE.encode(bytes))
    }

    /// Reads any spelling of base64.
    pub fn parse(text: &str) -> Result<Self, InvalidBase64> {
        let standard = if text.contains(['-', '_']) {
            Cow::Owned(text.replace('-', "+").replace('_', "/"))
        } else {
            Cow::Borrowed(text)
        };
        let bytes = ENGINE.decode(standard.as_bytes()).map_err(|_| InvalidBase64)?;
        Ok(Self::encode(&bytes))
    }

    /// The canonical text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }

    /// How many bytes it stands for.
    pub fn decoded_len(&self) -> usize {
        let padding = self.0.bytes().rev().take_while(|b| *b == b'=').count();
        self.0.len() / 4 * 3 - padding
    }

    /// The bytes.
    pub fn decode(&self) -> Vec<u8> {
        ENGINE.decode(&self.0).unwrap_or_else(|_| unreachable!("only encoders make this type"))
    }
}

impl fmt::Debug for Base64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Base64({} bytes)", self.decoded_len())
    }
}
