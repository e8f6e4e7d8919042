//! What 0.3 can say survives its wire: written by us and read by us it is the same message.

use proptest::prelude::*;

use super::super::super::v03::{Dialect, Old, parse};
use super::*;
use crate::types::Place;

fn object() -> impl Strategy<Value = JsonObject> {
    let value = prop_oneof![
        Just("null".to_owned()),
        Just("1.0".to_owned()),
        Just("9007199254740993".to_owned()),
        Just(r#"{ "kind" : "text", "kind":"data" }"#.to_owned()),
        Just(r#""\u00e9\u0000😀""#.to_owned()),
        any::<String>().prop_map(|text| Value::from(text).to_string()),
    ];
    let member =
        (prop_oneof![Just("data".to_owned()), Just("kind".to_owned()), "[a-z]{0,3}"], value);
    proptest::collection::vec(member, 0..4).prop_map(|members| {
        let members: Vec<_> = members.iter().map(|(k, v)| format!("{k:?} :{v}")).collect();
        JsonObject::new(format!("{{{}}}", members.join(", "))).unwrap()
    })
}

fn part() -> impl Strategy<Value = Part> {
    let file = (
        prop_oneof![
            any::<Vec<u8>>().prop_map(|bytes| Content::Raw(Base64::encode(&bytes))),
            any::<String>().prop_map(Content::Url),
        ],
        proptest::option::of(".+"),
        proptest::option::of(".+"),
    );
    let part = prop_oneof![
        any::<String>().prop_map(Part::text),
        object().prop_map(|json| Part::new(Content::Data(json.into_json()))),
        file.prop_map(|(content, filename, media_type)| Part {
            filename,
            media_type,
            ..Part::new(content)
        }),
    ];
    (part, proptest::option::of(object())).prop_map(|(part, metadata)| Part { metadata, ..part })
}

proptest! {
    #[test]
    fn a_message_that_was_written_in_0_3_reads_back_the_same(
        parts in proptest::collection::vec(part(), 1..4),
        metadata in proptest::option::of(object()),
        ids in proptest::option::of("[a-z:/]{1,9}"),
    ) {
        let message = Message {
            message_id: "m".to_owned(),
            context_id: ids.clone(),
            task_id: ids,
            role: Role::User,
            parts,
            metadata,
            extensions: vec!["urn:x".to_owned()],
            reference_task_ids: Vec::new(),
        };
        for dialect in [Dialect::JsonRpc, Dialect::Rest] {
            let json = format!(r#"{{"message":{}}}"#, written(&Old(&message, dialect)));
            let call = parse(Operation::SendMessage, &json, Place::default(), dialect);
            let Ok(Call::SendMessage(request)) = call else { panic!("{call:?}: {json}") };
            prop_assert_eq!(&request.message, &message);
        }
    }

    #[test]
    fn no_text_makes_the_reader_of_0_3_fail_badly(text in any::<String>()) {
        for dialect in [Dialect::JsonRpc, Dialect::Rest] {
            for operation in Operation::ALL {
                let _ = parse(operation, &text, Place::default(), dialect);
            }
        }
    }
}
