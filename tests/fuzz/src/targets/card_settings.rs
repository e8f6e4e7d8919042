//! What a builder writes of an agent, and the card that comes of it: a definition that is taken is
//! written and read equal, and no prompt or model reaches the card.

use a2a::card::{self, Document, Security, SigningKeys, Subject};
use domain::{AgentDefinition, Timestamp};
use http::{HeaderMap, Method};
use serde_json::Value;

const PROMPT: &str = "the prompt that nobody sees";
const MODEL: &str = "the model that nobody sees";

/// The input is an agent's definition as JSON.
pub(crate) fn check(input: &[u8]) {
    let Ok(mut definition) = serde_json::from_slice::<AgentDefinition>(input) else { return };
    let written = serde_json::to_string(&definition).unwrap();
    let again: AgentDefinition = serde_json::from_str(&written).expect("what we write we read");
    assert_eq!(again, definition);

    if card::check(&definition).is_err() {
        return;
    }
    PROMPT.clone_into(&mut definition.system_prompt);
    MODEL.clone_into(&mut definition.model.model);
    let security = Security::default();
    let url = "https://example.com/a2a/a";
    let subject = Subject { definition: &definition, url, version: "1", security: &security };
    let card = card::public(&subject);
    assert!(!card.skills.is_empty() && !card.supported_interfaces.is_empty());
    assert_eq!(card.capabilities.streaming, Some(definition.a2a.capabilities.streaming));

    let document = Document::card(card, &SigningKeys::default(), Timestamp::from_micros(0));
    let response = document.response(&Method::GET, &HeaderMap::new());
    let json = std::str::from_utf8(response.body()).unwrap();
    assert!(!json.contains(PROMPT) && !json.contains(MODEL));
    let read: Value = serde_json::from_str(json).expect("a card is JSON");
    assert_eq!(read["protocolVersion"], "0.3.0");
    let mut known = HeaderMap::new();
    known.insert("if-none-match", response.headers()["etag"].clone());
    assert_eq!(document.response(&Method::GET, &known).status(), 304);
}
