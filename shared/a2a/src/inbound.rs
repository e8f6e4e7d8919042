//! What of a client's message is let in, and as what it is stored.
//!
//! **Nothing is stored, and no task made, of a message that was not admitted**: [`Admitted`] is the
//! proof, and only it yields stored Parts.

use std::borrow::Cow;

use domain::agent_definition::{A2aSettings, InputModesPolicy};
use domain::{NewPart, PartKind};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::codec::json::JsonObject;
use crate::error::{A2aError, Cause, FieldViolation};
use crate::types::{Content, Message, Part};

/// The longest id that a client may choose: ids are index keys.
pub const MAX_ID_BYTES: usize = 256;

/// How much one message may bring. All limits are inclusive.
///
/// The defaults are below those of the original, because an invocation of a function carries 6 MB
/// at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// `COGNITION_A2A_MAX_PARTS`
    pub max_parts: usize,
    /// `COGNITION_A2A_MAX_MESSAGE_BYTES`: the contents of all Parts, and what is said about them
    /// and about the message.
    pub max_message_bytes: usize,
    /// `COGNITION_A2A_MAX_TEXT_PART_BYTES`
    pub max_text_part_bytes: usize,
    /// `COGNITION_A2A_MAX_DATA_PART_BYTES`: of the JSON text as it was sent.
    pub max_data_part_bytes: usize,
    /// `COGNITION_A2A_MAX_RAW_PART_BYTES`: decoded.
    pub max_raw_part_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Self {
            max_parts: 64,
            max_message_bytes: 4 * MIB,
            max_text_part_bytes: 2 * MIB,
            max_data_part_bytes: 2 * MIB,
            max_raw_part_bytes: 3 * MIB,
        }
    }
}

/// A message that may be stored.
#[derive(Debug, Clone, Copy)]
pub struct Admitted<'a> {
    message: &'a Message,
}

/// Checks a message against the limits and against what the agent takes.
///
/// A message that is too large or cannot be stored is -32602 with all that is wrong; a media type
/// that the agent refuses is -32005, with each Part that has one and what the agent takes instead.
pub fn admit<'a>(
    message: &'a Message,
    limits: &Limits,
    settings: &A2aSettings,
) -> Result<Admitted<'a>, A2aError> {
    let violations = violations(message, limits);
    if !violations.is_empty() {
        return Err(A2aError::invalid_fields(violations));
    }
    if settings.input_modes_policy == InputModesPolicy::Enforce {
        let parts = message.parts.iter().enumerate();
        let refused: Vec<usize> =
            parts.filter(|(_, part)| !takes(settings, part)).map(|(index, _)| index).collect();
        if let Some(index) = refused.first() {
            let takes = modes(settings).collect::<Vec<_>>().join(", ");
            let message = format!("the agent does not take the media type of Part {index}");
            let violations = refused.iter().map(|index| FieldViolation {
                field: format!("message.parts[{index}].mediaType"),
                description: format!("is one of {takes}").into(),
            });
            return Err(
                A2aError::because(Cause::ContentTypeNotSupported, message).at(violations.collect())
            );
        }
    }
    Ok(Admitted { message })
}

impl<'a> Admitted<'a> {
    pub const fn message(&self) -> &'a Message {
        self.message
    }

    /// The message's Parts, in their order, as they are stored once their task is known.
    pub fn parts(&self) -> Vec<NewPart> {
        self.message.parts.iter().map(stored).collect()
    }

    /// What tells two messages with the same id apart: SHA-256, in hex, of the message as we write
    /// it, free JSON in the spelling of the client.
    ///
    /// Field names in the other case, an enum by number or another base64 alphabet make no
    /// difference; another order of keys or other white space within `data` or `metadata` does.
    /// `configuration` is no part of it: a client may repeat a message and ask for another answer.
    pub fn fingerprint(&self) -> String {
        let json = serde_json::to_vec(self.message).unwrap_or_default();
        hex::encode(Sha256::digest(json))
    }
}

fn stored(part: &Part) -> NewPart {
    let (kind, value) = match &part.content {
        Content::Text(text) => (PartKind::Text, text.as_str()),
        Content::Raw(bytes) => (PartKind::Raw, bytes.as_str()),
        Content::Url(url) => (PartKind::Url, url.as_str()),
        Content::Data(json) => (PartKind::Data, json.as_str()),
    };
    NewPart {
        kind,
        value: value.to_owned(),
        media_type: part.media_type.clone(),
        filename: part.filename.clone(),
        metadata: part.metadata.as_ref().map(|metadata| metadata.as_str().to_owned()),
    }
}

/// Whether the agent, or one of its skills, takes this Part's media type (A2A §3.1.1). One without a
/// media type is taken.
fn takes(settings: &A2aSettings, part: &Part) -> bool {
    let Some(media_type) = &part.media_type else { return true };
    modes(settings).any(|mode| matches(mode, media_type))
}

/// What the agent or one of its skills takes, each once.
fn modes(settings: &A2aSettings) -> impl Iterator<Item = &str> {
    let of_skills = settings.skills.iter().flat_map(|skill| &skill.input_modes);
    let mut all: Vec<&str> = Vec::new();
    for mode in settings.default_input_modes.iter().chain(of_skills) {
        if !all.contains(&mode.as_str()) {
            all.push(mode);
        }
    }
    all.into_iter()
}

/// Compares type and subtype, whatever their case and parameters; `*` in a mode stands for any.
fn matches(mode: &str, media_type: &str) -> bool {
    let essence = |text: &str| text.split(';').next().unwrap_or_default().trim().to_owned();
    let (mode, media_type) = (essence(mode), essence(media_type));
    match (mode.split_once('/'), media_type.split_once('/')) {
        (Some((kind, sub)), Some((given_kind, given_sub))) => {
            (kind == "*" || kind.eq_ignore_ascii_case(given_kind))
                && (sub == "*" || sub.eq_ignore_ascii_case(given_sub))
        }
        _ => false,
    }
}

/// All that keeps a message from being stored.
fn violations(message: &Message, limits: &Limits) -> Vec<FieldViolation> {
    let mut found = Found(Vec::new());
    if message.parts.len() > limits.max_parts {
        found.add("message.parts", format!("has at most {} Parts", limits.max_parts));
        return found.0;
    }
    found.id("message.messageId", &message.message_id);
    found.id("message.contextId", message.context_id.as_deref().unwrap_or_default());
    found.id("message.taskId", message.task_id.as_deref().unwrap_or_default());
    for id in &message.reference_task_ids {
        found.id("message.referenceTaskIds", id);
    }
    for uri in &message.extensions {
        found.text("message.extensions", uri);
    }
    found.json("message.metadata", message.metadata.as_ref());
    for (index, part) in message.parts.iter().enumerate() {
        found.part(&format!("message.parts[{index}]"), part, limits);
    }
    if size(message) > limits.max_message_bytes {
        found.add("message", format!("has at most {} bytes", limits.max_message_bytes));
    }
    found.0
}

struct Found(Vec<FieldViolation>);

impl Found {
    fn add(&mut self, field: impl Into<String>, description: impl Into<Cow<'static, str>>) {
        self.0.push(FieldViolation { field: field.into(), description: description.into() });
    }

    fn part(&mut self, path: &str, part: &Part, limits: &Limits) {
        let (field, size, limit) = match &part.content {
            Content::Text(text) => ("text", text.len(), limits.max_text_part_bytes),
            Content::Raw(bytes) => ("raw", bytes.decoded_len(), limits.max_raw_part_bytes),
            Content::Data(json) => ("data", json.as_str().len(), limits.max_data_part_bytes),
            // Counts to the whole only.
            Content::Url(_) => ("url", 0, 0),
        };
        if size > limit {
            self.add(format!("{path}.{field}"), format!("has at most {limit} bytes"));
            return;
        }
        match &part.content {
            Content::Text(text) | Content::Url(text) => self.text(&format!("{path}.{field}"), text),
            Content::Data(json) if !json.is_readable() => {
                self.add(format!("{path}.{field}"), UNREADABLE);
            }
            Content::Data(_) | Content::Raw(_) => {}
        }
        self.text(&format!("{path}.filename"), part.filename.as_deref().unwrap_or_default());
        self.text(&format!("{path}.mediaType"), part.media_type.as_deref().unwrap_or_default());
        self.json(&format!("{path}.metadata"), part.metadata.as_ref());
    }

    fn id(&mut self, field: &str, id: &str) {
        if id.len() > MAX_ID_BYTES {
            self.add(field, format!("has at most {MAX_ID_BYTES} bytes"));
        }
        self.text(field, id);
    }

    /// U+0000 is the one character that a text column cannot hold.
    fn text(&mut self, field: &str, text: &str) {
        if text.contains('\0') {
            self.add(field, "holds U+0000, which cannot be stored");
        }
    }

    /// Free JSON is kept as text, so nobody else looks at it until much later.
    fn json(&mut self, field: &str, json: Option<&JsonObject>) {
        if json.is_some_and(|json| !json.is_readable()) {
            self.add(field, UNREADABLE);
        }
    }
}

const UNREADABLE: &str =
    "holds a number beyond a double, half a surrogate pair, or more than 127 levels of nesting";

/// What counts to the whole message: contents, and what is said about them and about the message.
fn size(message: &Message) -> usize {
    #[derive(Serialize)]
    struct About<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        filename: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        media_type: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<&'a JsonObject>,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        extensions: &'a [String],
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        reference_task_ids: &'a [String],
    }
    let bytes = |about: About<'_>| serde_json::to_vec(&about).map_or(0, |json| json.len());
    let parts = message.parts.iter().map(|part| {
        let content = match &part.content {
            Content::Text(text) | Content::Url(text) => text.len(),
            Content::Raw(raw) => raw.decoded_len(),
            Content::Data(json) => json.as_str().len(),
        };
        content
            + bytes(About {
                filename: part.filename.as_deref(),
                media_type: part.media_type.as_deref(),
                metadata: part.metadata.as_ref(),
                extensions: &[],
                reference_task_ids: &[],
            })
    });
    let context = bytes(About {
        filename: None,
        media_type: None,
        metadata: message.metadata.as_ref(),
        extensions: &message.extensions,
        reference_task_ids: &message.reference_task_ids,
    });
    parts.sum::<usize>() + context
}

#[cfg(test)]
mod tests;
