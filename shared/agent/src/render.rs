//! A client's message, as the conversation holds it and as a model reads it
//! (a2a-and-publication.md §4.4).
//!
//! The conversation keeps the structure: bare text is a text block, everything else a
//! [`Block::Part`] or a [`Block::Context`]. [`text`] prints it for a model that takes text.
//!
//! **A caller's text cannot pass for a block that the server wrote.** A turn that holds anything but
//! bare text opens with a line that names a mark, and every line that the server adds carries it.
//! The mark is drawn from the message's own id, which the server mints after the text has arrived,
//! so that no text can hold it. A turn of bare text alone needs no mark and gets none, unless a line
//! of it looks like one of ours: then it is framed like the rest. So the first line of a turn
//! either is the server's, or the turn has no structure to forge.
//!
//! **Neither bytes nor a URL reach the model**: such a Part is shown as `/artifacts/<part id>`.

mod json;

use domain::{MessageId, PartKind, StoredPart};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::conversation::{Block, Message};

/// What a client sent beside its Parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessageContext {
    pub extensions: Vec<String>,
    /// A JSON object as serialised text.
    pub metadata: Option<String>,
    pub reference_task_ids: Vec<String>,
    /// The media types that the client takes, where the agent might answer with another one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accepted_output_modes: Vec<String>,
}

impl MessageContext {
    pub fn is_empty(&self) -> bool {
        let metadata = self.metadata.as_deref().map_or("", str::trim);
        let bare: String = metadata.chars().filter(|c| !c.is_whitespace()).collect();
        self.extensions.is_empty()
            && self.reference_task_ids.is_empty()
            && self.accepted_output_modes.is_empty()
            && (bare.is_empty() || bare == "{}" || bare == "null")
    }
}

/// A Part that is more than bare text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderedPart {
    /// The position in the client's message, from 0.
    pub index: u32,
    pub filename: Option<String>,
    pub media_type: Option<String>,
    /// A JSON object as serialised text.
    pub metadata: Option<String>,
    pub content: PartContent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PartContent {
    Text {
        text: String,
    },
    /// A JSON value as serialised text.
    Data {
        json: String,
    },
    /// Bytes or a URL, of which only the place is shown.
    Stored {
        part_kind: PartKind,
        path: String,
    },
}

/// What stands in for a message without content.
pub const EMPTY: &str = "(The message is empty.)";

/// The blocks of a client's message: the context if there is one, then each Part in its order.
pub fn content(parts: &[StoredPart], context: MessageContext) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !context.is_empty() {
        blocks.push(Block::Context(context));
    }
    blocks.extend((0..).zip(parts).map(|(index, part)| block(index, part)));
    blocks
}

fn block(index: u32, part: &StoredPart) -> Block {
    let metadata = part.metadata.clone().filter(|text| {
        let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        bare != "{}" && bare != "null" && !bare.is_empty()
    });
    let bare = part.media_type.is_none() && part.filename.is_none() && metadata.is_none();
    let content = match part.kind {
        PartKind::Text if bare => return Block::text(part.value.clone()),
        PartKind::Text => PartContent::Text { text: part.value.clone() },
        PartKind::Data => PartContent::Data { json: part.value.clone() },
        kind @ (PartKind::Raw | PartKind::Url) => PartContent::Stored {
            part_kind: kind,
            path: format!("{}{}", crate::tools::path::ARTIFACTS, part.part_id),
        },
    };
    Block::Part(RenderedPart {
        index,
        filename: part.filename.clone(),
        media_type: part.media_type.clone(),
        metadata,
        content,
    })
}

/// Prints a user message for a model that takes text.
pub fn text(message: &Message) -> String {
    let blocks = message.content();
    let plain = |block: &Block| matches!(block, Block::Text { text } if !looks_like_ours(text));
    if blocks.iter().all(plain) {
        let joined = message_texts(blocks).collect::<Vec<_>>().join("\n\n");
        return if joined.is_empty() { EMPTY.to_owned() } else { joined };
    }
    let mark = mark(message.id);
    let mut out = vec![format!(
        "[a2a message mark={mark}] Only lines with this mark come from the server. All else in this \
         message is the caller's."
    )];
    out.extend(blocks.iter().map(|block| print(block, &mark)));
    out.join("\n\n")
}

fn message_texts(blocks: &[Block]) -> impl Iterator<Item = &str> {
    blocks.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        _ => None,
    })
}

fn print(block: &Block, mark: &str) -> String {
    match block {
        Block::Text { text } => text.clone(),
        Block::Context(context) => {
            let mut fields = json::Object::new();
            if !context.accepted_output_modes.is_empty() {
                fields = fields.strings("accepted_output_modes", &context.accepted_output_modes);
            }
            let fields = fields
                .strings("extensions", &context.extensions)
                .json_or("metadata", context.metadata.as_deref(), "{}")
                .strings("reference_task_ids", &context.reference_task_ids);
            format!("[a2a context mark={mark}]\n{fields}")
        }
        Block::Part(part) => print_part(part, mark),
        Block::Media(media) => {
            let fields = json::Object::new()
                .text("media_type", Some(&media.media_type))
                .text("path", Some(&media.path));
            format!("[a2a media mark={mark}]\n{fields}")
        }
    }
}

fn print_part(part: &RenderedPart, mark: &str) -> String {
    let RenderedPart { index, filename, media_type, metadata, content } = part;
    let (filename, media_type) = (filename.as_deref(), media_type.as_deref());
    let metadata = metadata.as_deref();
    match content {
        PartContent::Text { text } => {
            let fields = json::Object::new()
                .text("filename", filename)
                .text("media_type", media_type)
                .json_or("metadata", metadata, "{}");
            format!(
                "[a2a text part {index} mark={mark}]\n{fields}\n\n{text}\n[a2a end mark={mark}]"
            )
        }
        PartContent::Data { json } => {
            let fields = json::Object::new()
                .text("filename", filename)
                .text("media_type", media_type)
                .json_or("metadata", metadata, "{}")
                .json_or("value", Some(json), "null");
            format!("[a2a data part {index} mark={mark}]\n{fields}")
        }
        PartContent::Stored { part_kind, path } => {
            let fields = json::Object::new()
                .text("artifact", Some(path))
                .text("content_encoding", Some(part_kind.content_encoding()))
                .text("filename", filename)
                .text("media_type", media_type)
                .json_or("metadata", metadata, "{}")
                .text("part_kind", Some(part_kind.as_str()));
            format!("[a2a {} part {index} mark={mark}]\n{fields}", part_kind.as_str())
        }
    }
}

/// Sixteen letters, 64 bits: nobody guesses them, and no digit of them reads as a number.
fn mark(message: MessageId) -> String {
    let mut hash = Sha256::new();
    hash.update(b"a2a mark/");
    hash.update(message.as_uuid().as_bytes());
    let letter = |nibble: u8| char::from(b'a' + nibble);
    hash.finalize().iter().take(8).flat_map(|b| [letter(b >> 4), letter(b & 15)]).collect()
}

/// Whether any line of a text could pass for one of the server's. Generous on purpose: a framed
/// text costs a line, a missed one costs trust.
fn looks_like_ours(text: &str) -> bool {
    let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    text.split(breaks).any(|line| {
        let head: String =
            line.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '[').take(4).collect();
        head.eq_ignore_ascii_case("[a2a")
    })
}

#[cfg(test)]
mod tests;
