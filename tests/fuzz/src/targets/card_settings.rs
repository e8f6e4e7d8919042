//! What a builder writes of an agent, and the card that comes of it: a definition that is taken is
//! written and read equal, its card too, and no prompt or model reaches the card.

use a2a::card::{self, AgentCard};
use domain::AgentDefinition;
use http::HeaderMap;

const PROMPT: &str = "the prompt that nobody sees";
const MODEL: &str = "the model that nobody sees";

/// The input is an agent's definition as JSON.
pub(crate) fn check(input: &[u8]) {
    let Ok(mut definition) = serde_json::from_slice::<AgentDefinition>(input) else { return };
    let written = serde_json::to_string(&definition).unwrap();
    let again: AgentDefinition = serde_json::from_str(&written).expect("what we write we read");
    assert_eq!(again, definition);

    definition.system_prompt = PROMPT.to_owned();
    definition.model.model = MODEL.to_owned();
    let card = card::build(&definition, "https://example.com/a2a/a", "1");
    let json = serde_json::to_string(&card).unwrap();
    assert!(!json.contains(PROMPT) && !json.contains(MODEL));
    let read: AgentCard = serde_json::from_str(&json).expect("a card can be read");
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
    assert!(!card.skills.is_empty() && !card.supported_interfaces.is_empty());

    let response = card::response(&card, &HeaderMap::new());
    let etag = response.headers()["etag"].clone();
    let mut known = HeaderMap::new();
    known.insert("if-none-match", etag);
    assert_eq!(card::response(&card, &known).status(), 304);
}
