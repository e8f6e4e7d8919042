//! A client's Parts. What is let in is below every limit and stays what was sent: the JSON text of
//! `data`, the bytes of `raw`, the order. What is stored of it does not depend on its spelling.

use a2a::inbound::admit;
use a2a::types::{Content, Message, Part, Role};
use domain::agent_definition::A2aSettings;

use crate::world::{LIMITS, below_the_limits};

/// The input is a JSON list of Parts.
pub(crate) fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(parts) = serde_json::from_str::<Vec<Part>>(text) else { return };
    for part in &parts {
        if let Content::Data(json) = &part.content {
            assert!(text.contains(json.as_str()), "data is the text that was sent");
        }
        if let Some(metadata) = &part.metadata {
            assert!(text.contains(metadata.as_str()) && metadata.as_str().starts_with('{'));
        }
        assert_ne!(part.filename.as_deref(), Some(""));
        assert_ne!(part.media_type.as_deref(), Some(""));
    }
    let written = serde_json::to_string(&parts).unwrap();
    let again: Vec<Part> = serde_json::from_str(&written).expect("what we write we read");
    assert_eq!(again, parts);
    assert_eq!(serde_json::to_string(&again).unwrap(), written);

    let message = |parts| Message {
        message_id: "m".to_owned(),
        context_id: None,
        task_id: None,
        role: Role::User,
        parts,
        metadata: None,
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    };
    let (sent, again) = (message(parts), message(again));
    let settings = A2aSettings::default();
    match (admit(&sent, &LIMITS, &settings), admit(&again, &LIMITS, &settings)) {
        (Ok(first), Ok(second)) => {
            assert_eq!(first.fingerprint(), second.fingerprint());
            if !sent.parts.is_empty() {
                below_the_limits(&sent);
            }
            stored(&sent, &first.parts());
        }
        (Err(first), Err(second)) => assert_eq!(first, second),
        _ => panic!("admission depends on the spelling"),
    }
}

/// Each stored Part holds its content as text.
fn stored(message: &Message, stored: &[domain::NewPart]) {
    assert_eq!(stored.len(), message.parts.len());
    for (part, stored) in message.parts.iter().zip(stored) {
        let value = match &part.content {
            Content::Text(text) | Content::Url(text) => text.as_str(),
            Content::Raw(raw) => raw.as_str(),
            Content::Data(json) => json.as_str(),
        };
        assert_eq!(stored.value, value);
        assert!(!stored.value.contains('\0'), "U+0000 reaches no text column");
    }
}
