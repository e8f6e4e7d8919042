//! Signatures of cards: detached JWS with ES256 over the canonical JSON of RFC 8785 (A2A §8.4).
//!
//! **The same card and the same keys give the same bytes in every process**: the nonce of a
//! signature is derived (RFC 6979), so a card's entity tag does not tell one server from another.
//! **No part of a private key is ever printed**, neither by `Debug` nor in an error.

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::SecretKey;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{AgentCard, AgentCardSignature};

/// The keys that cards are signed with. Each signs every card: while keys are exchanged, a verifier
/// that knows either finds its signature.
#[derive(Clone, Default)]
pub struct SigningKeys(Vec<Key>);

#[derive(Clone)]
struct Key {
    id: String,
    secret: SigningKey,
    /// Coordinates of the public key, as JWK has them.
    x: String,
    y: String,
}

/// Why a text is no set of signing keys. Keys are told by their place, from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKeys {
    #[error("neither a JWK, nor a list or set of them, nor PEM")]
    Form,
    #[error("no key in it")]
    Empty,
    #[error("key {0} is no private key of P-256 (PKCS #8 or SEC 1)")]
    Pem(usize),
    #[error("key {0} is no JWK with kty EC, crv P-256, d, and alg ES256 where it has one")]
    Jwk(usize),
    #[error("key {0} has a public part that is not its own")]
    Mismatch(usize),
    #[error("key {0} has the kid of an earlier one, or an empty one")]
    Id(usize),
}

impl SigningKeys {
    /// Reads private keys: one JWK, a JSON list of them, a JWK Set, or PEM blocks one after the
    /// other (PKCS #8 or SEC 1). A key without a `kid` is known by its thumbprint (RFC 7638).
    pub fn parse(text: &str) -> Result<Self, InvalidKeys> {
        let text = text.trim();
        let keys: Vec<Key> = if text.starts_with("-----") {
            blocks(text)
                .enumerate()
                .map(|(index, block)| pem(block).ok_or(InvalidKeys::Pem(index + 1)))
                .collect::<Result<_, _>>()?
        } else {
            let jwks: AnyJwks = serde_json::from_str(text).map_err(|_| InvalidKeys::Form)?;
            let values = match jwks {
                AnyJwks::Set { keys } | AnyJwks::List(keys) => keys,
                AnyJwks::One(key) => vec![serde_json::Value::Object(key)],
            };
            let numbered = values.into_iter().enumerate();
            numbered.map(|(index, value)| jwk(value, index + 1)).collect::<Result<_, _>>()?
        };
        if keys.is_empty() {
            return Err(InvalidKeys::Empty);
        }
        let mut seen = BTreeSet::new();
        for (index, key) in keys.iter().enumerate() {
            if key.id.is_empty() || !seen.insert(&key.id) {
                return Err(InvalidKeys::Id(index + 1));
            }
        }
        Ok(Self(keys))
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The card with one signature of each key and, so that they hold by every reading of the
    /// protocol, without what has its default value.
    #[must_use]
    pub fn sign(&self, mut card: AgentCard) -> AgentCard {
        card.drop_defaults();
        let payload = URL_SAFE_NO_PAD.encode(canonical(&card));
        card.signatures = self.0.iter().map(|key| key.sign(&payload)).collect();
        card
    }

    /// The public keys as a JWK Set, for whoever verifies.
    pub fn public(&self) -> impl Serialize + '_ {
        PublicSet { keys: self.0.iter().map(Key::public).collect() }
    }
}

impl fmt::Debug for SigningKeys {
    /// Prints the ids, which are public.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|key| &key.id)).finish()
    }
}

/// What is signed of a card: its canonical JSON without `signatures`.
pub(super) fn canonical(card: &AgentCard) -> Vec<u8> {
    let unsigned = AgentCard { signatures: Vec::new(), ..card.clone() };
    serde_json_canonicalizer::to_vec(&unsigned)
        .expect("strings, finite numbers, and maps with distinct names as their keys")
}

impl AgentCard {
    /// Leaves out what means the same when it is not there.
    fn drop_defaults(&mut self) {
        let capabilities = &mut self.capabilities;
        for flag in [
            &mut capabilities.streaming,
            &mut capabilities.push_notifications,
            &mut capabilities.extended_agent_card,
        ] {
            *flag = flag.filter(|set| *set);
        }
    }
}

#[derive(Serialize)]
struct ProtectedHeader<'a> {
    alg: &'static str,
    kid: &'a str,
    typ: &'static str,
}

impl Key {
    fn new(id: Option<String>, secret: &SecretKey) -> Self {
        let secret = SigningKey::from(secret);
        let point = secret.verifying_key().to_sec1_point(false);
        let coordinate = |bytes: Option<&[u8]>| URL_SAFE_NO_PAD.encode(bytes.unwrap_or_default());
        let x = coordinate(point.x().map(AsRef::as_ref));
        let y = coordinate(point.y().map(AsRef::as_ref));
        let id = id.unwrap_or_else(|| {
            let members = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
            URL_SAFE_NO_PAD.encode(Sha256::digest(members))
        });
        Self { id, secret, x, y }
    }

    fn sign(&self, payload: &str) -> AgentCardSignature {
        let header = ProtectedHeader { alg: "ES256", kid: &self.id, typ: "JOSE" };
        let header = serde_json::to_vec(&header).expect("three strings");
        let protected = URL_SAFE_NO_PAD.encode(header);
        let signature: Signature = self.secret.sign(format!("{protected}.{payload}").as_bytes());
        AgentCardSignature { protected, signature: URL_SAFE_NO_PAD.encode(signature.to_bytes()) }
    }

    fn public(&self) -> PublicJwk<'_> {
        let Self { id: kid, x, y, .. } = self;
        PublicJwk { kty: "EC", crv: "P-256", alg: "ES256", r#use: "sig", kid, x, y }
    }
}

#[derive(Serialize)]
struct PublicSet<'a> {
    keys: Vec<PublicJwk<'a>>,
}

#[derive(Serialize)]
struct PublicJwk<'a> {
    kty: &'static str,
    crv: &'static str,
    alg: &'static str,
    r#use: &'static str,
    kid: &'a str,
    x: &'a str,
    y: &'a str,
}

/// Keys in one of the forms that JSON has for them.
#[derive(Deserialize)]
#[serde(untagged)]
enum AnyJwks {
    Set { keys: Vec<serde_json::Value> },
    List(Vec<serde_json::Value>),
    One(serde_json::Map<String, serde_json::Value>),
}

/// What is read of a private JWK. It may have other members (RFC 7517 §4).
#[derive(Deserialize)]
struct PrivateJwk {
    kty: String,
    crv: String,
    d: String,
    x: Option<String>,
    y: Option<String>,
    kid: Option<String>,
    alg: Option<String>,
}

fn jwk(value: serde_json::Value, number: usize) -> Result<Key, InvalidKeys> {
    let wrong = InvalidKeys::Jwk(number);
    let jwk: PrivateJwk = serde_json::from_value(value).map_err(|_| wrong)?;
    let algorithm = jwk.alg.as_deref().unwrap_or("ES256");
    if (jwk.kty.as_str(), jwk.crv.as_str(), algorithm) != ("EC", "P-256", "ES256") {
        return Err(wrong);
    }
    let bytes = URL_SAFE_NO_PAD.decode(jwk.d).map_err(|_| wrong)?;
    let secret = Some(bytes).filter(|bytes| bytes.len() == 32);
    let secret = secret.and_then(|bytes| SecretKey::from_slice(&bytes).ok()).ok_or(wrong)?;
    let key = Key::new(jwk.kid, &secret);
    let own = |given: Option<String>, ours: &str| given.is_none_or(|given| given == ours);
    if own(jwk.x, &key.x) && own(jwk.y, &key.y) {
        Ok(key)
    } else {
        Err(InvalidKeys::Mismatch(number))
    }
}

const BEGIN: &str = "-----BEGIN ";

/// The blocks of a PEM text, without those that only say which curve follows.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices(BEGIN).map(|(start, _)| start);
    let ends = starts.clone().skip(1).chain([text.len()]);
    starts
        .zip(ends)
        .filter_map(|(start, end)| text.get(start..end))
        .map(str::trim)
        .filter(|block| !block.starts_with("-----BEGIN EC PARAMETERS"))
}

fn pem(block: &str) -> Option<Key> {
    Some(Key::new(None, &SecretKey::from_pem(block).ok()?))
}
