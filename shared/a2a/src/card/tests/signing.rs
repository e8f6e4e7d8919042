use a2a_protocol_types::agent_card::AgentCard as TheirCard;
use a2a_protocol_types::signing::{self as theirs, Jwks};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::SecretKey;
use p256::pkcs8::{EncodePrivateKey as _, LineEnding};
use serde_json::json;

use super::*;
use crate::card::signing::canonical;

/// The example key of RFC 7515 A.3.
const D: &str = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI";
const X: &str = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU";
const Y: &str = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";

fn jwk() -> Value {
    json!({"kty": "EC", "crv": "P-256", "kid": "one", "x": X, "y": Y, "d": D, "use": "sig"})
}

pub(super) fn keys() -> SigningKeys {
    SigningKeys::parse(&jwk().to_string()).unwrap()
}

fn second() -> SecretKey {
    SecretKey::from_slice(&[7; 32]).unwrap()
}

/// What a verifier has: the card as served, and the keys as served.
fn served(keys: &SigningKeys, card: AgentCard) -> (Value, Jwks) {
    let get = |document: Document| {
        let answer = document.response(&http::Method::GET, &http::HeaderMap::new());
        answer.into_body()
    };
    let card = get(Document::card(card, keys, SINCE));
    let jwks = get(Document::keys(keys, SINCE));
    (serde_json::from_slice(&card).unwrap(), serde_json::from_slice(&jwks).unwrap())
}

fn full() -> AgentCard {
    card_with(FULL, &secured())
}

/// CARD-SIGN-001: our canonical bytes are those of an independent implementation, by the card as it
/// is served and by the card as their types hold it.
#[test]
fn card_sign_001_the_card_is_canonicalised_by_rfc_8785() {
    for card in [card(""), full()] {
        let signed = keys().sign(card);
        let ours = canonical(&signed);
        assert_eq!(theirs::canonicalize_card_json(&value(&signed)).unwrap(), ours);
        let typed: TheirCard = serde_json::from_value(value(&signed)).unwrap();
        assert_eq!(theirs::canonicalize_card(&typed).unwrap(), ours);
    }
    let text = String::from_utf8(canonical(&full())).unwrap();
    assert!(text.starts_with(r#"{"capabilities":{"extendedAgentCard":true,"extensions":[{"params":{"big":1e+21,"rate":1.5},"required":true,"#), "{text}");
}

/// CARD-SIGN-002.
#[test]
fn card_sign_002_signatures_are_no_part_of_what_is_signed() {
    let once = keys().sign(full());
    let twice = keys().sign(once.clone());
    assert_eq!(twice, once);
    assert!(!String::from_utf8(canonical(&once)).unwrap().contains("signatures"));
}

/// CARD-SIGN-003.
#[test]
fn card_sign_003_the_protected_header_names_algorithm_and_key() {
    let signed = keys().sign(card(""));
    let header = URL_SAFE_NO_PAD.decode(&signed.signatures[0].protected).unwrap();
    assert_eq!(
        serde_json::from_slice::<Value>(&header).unwrap(),
        json!({"alg": "ES256", "kid": "one", "typ": "JOSE"})
    );
}

/// D6.
#[test]
fn d6_an_independent_verifier_takes_what_is_served_and_no_other_card() {
    for card in [card(""), full()] {
        let (mut served, jwks) = served(&keys(), card);
        theirs::verify_card_json_with_jwks(&served, &jwks).unwrap();
        let typed: TheirCard = serde_json::from_value(served.clone()).unwrap();
        theirs::verify_card_with_jwks(&typed, &jwks).unwrap();
        served["supportedInterfaces"][0]["url"] = json!("https://evil.example");
        theirs::verify_card_json_with_jwks(&served, &jwks).unwrap_err();
    }
}

/// D6, D8: both readings of §8.4 sign the same bytes when there is no default to drop or to keep.
#[test]
fn d6_a_signed_card_is_pure_1_0_and_holds_no_default() {
    fn no_default(at: &str, value: &Value) {
        let defaults = [json!(""), json!(false), json!(0), json!(null), json!([])];
        assert!(!defaults.contains(value), "{at}");
        if let Value::Object(members) = value {
            for (name, member) in members {
                no_default(&format!("{at}.{name}"), member);
            }
        }
        for item in value.as_array().into_iter().flatten() {
            no_default(at, item);
        }
    }
    for card in [card(""), full()] {
        let (served, _) = served(&keys(), card);
        no_default("", &served);
        for old in ["url", "preferredTransport", "protocolVersion", "security"] {
            assert_eq!(served.get(old), None, "{old}");
        }
    }
}

/// D6: a verifier that knows the old key or the new one is content.
#[test]
fn d6_while_keys_are_exchanged_each_signs() {
    let new = second().to_pkcs8_pem(LineEnding::LF).unwrap();
    let new = SigningKeys::parse(&new).unwrap();
    let set = json!({"keys": [jwk(), {"kty": "EC", "crv": "P-256", "kid": "two",
                                       "d": URL_SAFE_NO_PAD.encode([7; 32])}]});
    let both = SigningKeys::parse(&set.to_string()).unwrap();
    let (card, jwks) = served(&both, full());
    assert_eq!(card["signatures"].as_array().unwrap().len(), 2);
    for kept in 0..2 {
        let mut card = card.clone();
        card["signatures"].as_array_mut().unwrap().swap(0, kept);
        card["signatures"].as_array_mut().unwrap().truncate(1);
        theirs::verify_card_json_with_jwks(&card, &jwks).unwrap();
    }
    let (_, other) = served(&new, full());
    theirs::verify_card_json_with_jwks(&card, &other).unwrap_err();
}

/// Two processes with the same settings serve the same bytes.
#[test]
fn signing_again_gives_the_same_bytes() {
    assert_eq!(text(&keys().sign(full())), text(&keys().sign(full())));
}

#[test]
fn keys_are_read_from_jwk_list_set_and_pem() {
    let list = format!("[{}]", jwk());
    let set = json!({"keys": [jwk()]}).to_string();
    let public = text(&keys().public());
    assert_eq!(
        public,
        format!(
            r#"{{"keys":[{{"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","kid":"one","x":"{X}","y":"{Y}"}}]}}"#
        )
    );
    for form in [list, set] {
        assert_eq!(text(&SigningKeys::parse(&form).unwrap().public()), public);
    }
    let own = SecretKey::from_slice(&URL_SAFE_NO_PAD.decode(D).unwrap()).unwrap();
    let sec1 = own.to_sec1_pem(LineEnding::LF).unwrap();
    let pkcs8 = own.to_pkcs8_pem(LineEnding::CRLF).unwrap();
    // As `openssl ecparam -genkey` prints it.
    let curve = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    for pem in [sec1.to_string(), pkcs8.to_string(), format!("{curve}{}", *sec1)] {
        let keys = value(&SigningKeys::parse(&pem).unwrap().public());
        assert_eq!((&keys["keys"][0]["x"], &keys["keys"][0]["y"]), (&json!(X), &json!(Y)));
        // The thumbprint of RFC 7638.
        assert_eq!(keys["keys"][0]["kid"], "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U");
    }
    let two = format!("{}\n{}", *sec1, *second().to_pkcs8_pem(LineEnding::LF).unwrap());
    let two = value(&SigningKeys::parse(&two).unwrap().public());
    assert_eq!(two["keys"].as_array().unwrap().len(), 2);
}

#[test]
fn keys_that_are_none_are_refused_and_nothing_of_them_is_printed() {
    let with = |name: &str, value: Value| {
        let mut key = jwk();
        key[name] = value;
        key.to_string()
    };
    for (text, expected) in [
        ("canary".to_owned(), InvalidKeys::Form),
        ("[]".to_owned(), InvalidKeys::Empty),
        ("-----".to_owned(), InvalidKeys::Empty),
        ("-----BEGIN CERTIFICATE-----\ncanary".to_owned(), InvalidKeys::Pem(1)),
        (with("kty", json!("RSA")), InvalidKeys::Jwk(1)),
        (with("crv", json!("P-384")), InvalidKeys::Jwk(1)),
        (with("alg", json!("ES384")), InvalidKeys::Jwk(1)),
        (with("d", json!("canary")), InvalidKeys::Jwk(1)),
        (with("d", json!(URL_SAFE_NO_PAD.encode([0; 32]))), InvalidKeys::Jwk(1)),
        (with("d", json!(URL_SAFE_NO_PAD.encode([255; 32]))), InvalidKeys::Jwk(1)),
        // A scalar has one length.
        (with("d", json!(URL_SAFE_NO_PAD.encode([7; 31]))), InvalidKeys::Jwk(1)),
        (with("d", json!(URL_SAFE_NO_PAD.encode([7; 33]))), InvalidKeys::Jwk(1)),
        (with("x", json!(Y)), InvalidKeys::Mismatch(1)),
        (with("y", json!(X)), InvalidKeys::Mismatch(1)),
        (with("kid", json!("")), InvalidKeys::Id(1)),
        (format!("[{},{}]", jwk(), jwk()), InvalidKeys::Id(2)),
    ] {
        let error = SigningKeys::parse(&text).unwrap_err();
        assert_eq!(error, expected, "{text}");
        assert!(!error.to_string().contains("canary"));
    }
    assert_eq!(format!("{:?}", keys()), r#"["one"]"#);
}
