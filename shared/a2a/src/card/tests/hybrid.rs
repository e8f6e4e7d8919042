use serde_json::json;

use super::*;

/// D8: what clients of 0.3 cannot do without.
#[test]
fn d8_an_unsigned_card_has_the_fields_of_0_3_beside_those_of_1_0() {
    let card = card_with(FULL, &secured());
    let both = card.hybrid();
    assert_eq!(both["url"], URL);
    assert_eq!(both["preferredTransport"], "JSONRPC");
    assert_eq!(both["protocolVersion"], "0.3.0");
    assert_eq!(
        both["additionalInterfaces"],
        json!([{"url": URL, "transport": "JSONRPC"}, {"url": URL, "transport": "HTTP+JSON"}])
    );
    assert_eq!(both["supportsAuthenticatedExtendedCard"], true);
    assert_eq!(both["security"], json!([{"login": ["run"]}, {"bearer": [], "mutual": []}]));
    assert_eq!(both["skills"][0]["security"], json!([{"login": ["run"]}]));
    assert_eq!(
        both["skills"][0]["securityRequirements"],
        json!([{"schemes": {"login": {"list": ["run"]}}}])
    );
    insta::assert_json_snapshot!(both["securitySchemes"]);
}

/// D8: nothing of the 1.0 card is lost or changed.
#[test]
fn d8_the_card_of_1_0_stands_whole_in_the_hybrid() {
    fn within(part: &Value, whole: &Value) -> bool {
        match (part, whole) {
            (Value::Object(part), Value::Object(whole)) => {
                part.iter().all(|(name, part)| whole.get(name).is_some_and(|in_| within(part, in_)))
            }
            (Value::Array(part), Value::Array(whole)) => {
                part.len() == whole.len() && part.iter().zip(whole).all(|(p, w)| within(p, w))
            }
            _ => part == whole,
        }
    }
    let card = card_with(FULL, &secured());
    assert!(within(&value(&card), &card.hybrid()));
    assert!(within(&value(&card.v03()), &card.hybrid()));
}

/// The official types read both alike.
#[test]
fn d8_the_official_types_read_the_hybrid_as_the_card_of_1_0() {
    let card = card_with(FULL, &secured());
    let read = |json: Value| serde_json::from_value::<a2a_lf::AgentCard>(json).unwrap();
    assert_eq!(read(card.hybrid()), read(value(&card)));
    assert_eq!(read(value(&card)).supported_interfaces.len(), 4);
}

/// What `agent/getAuthenticatedExtendedCard` answers with.
#[test]
fn d8_a_signed_card_is_shown_to_0_3_without_its_signatures() {
    let signed = signing::keys().sign(card(""));
    let old = value(&signed.v03());
    assert_eq!(old["signatures"], Value::Null);
    assert_eq!(old["supportedInterfaces"], Value::Null);
    assert_eq!(old["url"], URL);
}
