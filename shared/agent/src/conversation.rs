//! The neutral message: what the log of a conversation holds, whichever provider answers
//! (agent-loop.md §2.1).
//!
//! **A message is made once, with an id that a repetition makes again, and never changes.** It is
//! stored as JSON text of version 1; a later version adds fields, never changes their meaning.

use domain::{ArtifactId, CallId, MessageId, PublicationId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::render::{MessageContext, PartContent, RenderedPart};
use crate::speech::LastWord;
use crate::turn::StopReason;
use crate::usage::Usage;

/// One entry of a conversation's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    v: Version,
    pub id: MessageId,
    pub body: Body,
    #[serde(default)]
    pub meta: Meta,
}

/// Who speaks, with what only that speaker can say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Body {
    User {
        content: Vec<Block>,
    },
    Assistant {
        content: Vec<Block>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        invalid_tool_calls: Vec<InvalidToolCall>,
    },
    Tool {
        call: CallId,
        name: String,
        status: ToolStatus,
        /// A [`crate::ToolCode`]'s word, or one that another kind of tool uses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        content: Vec<Block>,
        /// Never shown to the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<ToolArtifact>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    User,
    Assistant,
    Tool,
}

impl Role {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// One piece of content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    /// What accompanied a client's message; see [`crate::render`].
    Context(MessageContext),
    /// A client's Part that is more than bare text; see [`crate::render`].
    Part(RenderedPart),
    /// A file that is not text. The bytes stay where they are.
    Media(Media),
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    pub kind: MediaKind,
    pub media_type: String,
    pub path: String,
    pub sha256: String,
    pub size_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    Image,
    Audio,
    Video,
    Document,
}

/// A call whose arguments are a JSON object. Whether they fit the tool is not said yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: CallId,
    pub name: String,
    pub args: Map<String, Value>,
    /// The position among all calls of the message, valid and invalid, from 0.
    pub ordinal: u32,
}

/// A call whose arguments were not a JSON object. It is answered with an error, never run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvalidToolCall {
    pub id: CallId,
    /// Empty where the model named no tool.
    pub name: String,
    pub raw_args: String,
    pub error: String,
    pub ordinal: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    Success,
    Error,
}

/// What a machine may want to know of a result, and the model does not see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolArtifact {
    /// A command ended.
    Command {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
    },
    /// A file was written, changed or removed.
    File { path: String },
    /// A file became a durable deliverable.
    Published {
        publication: PublicationId,
        filename: String,
        media_type: String,
        size_bytes: u64,
        sha256: String,
    },
    /// Something was handed to the client as an artifact.
    Put {
        artifact: ArtifactId,
        /// Nothing can be added to it any more.
        closed: bool,
    },
    /// The run ends with this, once the other calls of its turn have their results.
    LastWord { word: LastWord },
}

/// Where a message came from and how it was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    pub source: Source,
    /// The `messageId` that the client chose. No model is shown it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_message_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// Which attempt of its step made it, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The provider's own name for the call, for its support desk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_request: Option<String>,
}

/// Who put a message into the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The client; for assistant and tool messages, the run that answers the client.
    #[default]
    User,
    /// The loop itself, to mend or to steer.
    Harness,
}

/// A stored text that is not a message this version can read.
#[derive(Debug, thiserror::Error)]
#[error("read a stored message")]
pub struct Unreadable(#[source] serde_json::Error);

impl Message {
    pub fn new(id: MessageId, body: Body, meta: Meta) -> Self {
        Self { v: Version, id, body, meta }
    }

    /// A client's message. `content` comes from [`crate::render::content`].
    pub fn user(id: MessageId, content: Vec<Block>) -> Self {
        Self::new(id, Body::User { content }, Meta::default())
    }

    /// The same, with the `messageId` that the client chose.
    #[must_use]
    pub fn with_client_id(mut self, id: Option<String>) -> Self {
        self.meta.client_message_id = id;
        self
    }

    /// The form in which it is stored. Plain ASCII control characters are escaped, so that U+0000
    /// never reaches a text column.
    pub fn to_json(&self) -> String {
        // Map keys are strings and numbers come from JSON: nothing here can be unserialisable.
        serde_json::to_string(self).unwrap_or_else(|_| unreachable!("messages serialise"))
    }

    /// Reads what [`Message::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Self, Unreadable> {
        serde_json::from_str(text).map_err(Unreadable)
    }

    pub const fn role(&self) -> Role {
        match self.body {
            Body::User { .. } => Role::User,
            Body::Assistant { .. } => Role::Assistant,
            Body::Tool { .. } => Role::Tool,
        }
    }

    pub fn content(&self) -> &[Block] {
        match &self.body {
            Body::User { content }
            | Body::Assistant { content, .. }
            | Body::Tool { content, .. } => content,
        }
    }

    /// The bare text blocks, joined.
    pub fn text(&self) -> String {
        let texts = self.content().iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The text of the first Part that is text, whatever else is said of it.
    pub fn first_text(&self) -> Option<&str> {
        self.content().iter().find_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::Part(RenderedPart { content: PartContent::Text { text }, .. }) => Some(text),
            _ => None,
        })
    }

    pub fn tool_calls(&self) -> &[ToolCall] {
        match &self.body {
            Body::Assistant { tool_calls, .. } => tool_calls,
            _ => &[],
        }
    }

    pub fn invalid_tool_calls(&self) -> &[InvalidToolCall] {
        match &self.body {
            Body::Assistant { invalid_tool_calls, .. } => invalid_tool_calls,
            _ => &[],
        }
    }

    /// Every call, valid or not, in the order in which the model made them.
    pub fn calls(&self) -> Vec<(&CallId, &str)> {
        let valid = self.tool_calls().iter().map(|c| (c.ordinal, &c.id, c.name.as_str()));
        let invalid = self.invalid_tool_calls().iter().map(|c| (c.ordinal, &c.id, c.name.as_str()));
        let mut all: Vec<_> = valid.chain(invalid).collect();
        all.sort_by_key(|(ordinal, ..)| *ordinal);
        all.into_iter().map(|(_, id, name)| (id, name)).collect()
    }

    /// The call that this message answers, if it is a tool's.
    pub const fn answers(&self) -> Option<&CallId> {
        match &self.body {
            Body::Tool { call, .. } => Some(call),
            _ => None,
        }
    }
}

/// The `v` of the stored form: 1 and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version;

impl Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(1)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            1 => Ok(Self),
            other => Err(serde::de::Error::custom(format_args!("message version {other}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::Ids;

    use super::*;
    use crate::speech::Need;

    fn every_kind() -> Vec<Message> {
        let ids = Ids::seeded(1);
        let call = CallId("call_1".into());
        let args = Map::from_iter([("path".to_owned(), Value::from("/workspace"))]);
        let tool = |artifact| Body::Tool {
            call: call.clone(),
            name: "ls".into(),
            status: ToolStatus::Success,
            code: None,
            content: vec![Block::text("/workspace/a")],
            artifact,
        };
        let bodies = [
            Body::User { content: vec![Block::text("a\u{0}b")] },
            Body::Assistant {
                content: vec![],
                tool_calls: vec![ToolCall {
                    id: call.clone(),
                    name: "ls".into(),
                    args,
                    ordinal: 1,
                }],
                invalid_tool_calls: vec![InvalidToolCall {
                    id: CallId("call_0".into()),
                    name: String::new(),
                    raw_args: "{".into(),
                    error: "cut".into(),
                    ordinal: 0,
                }],
            },
            tool(Some(ToolArtifact::Command { exit_code: Some(3) })),
            tool(Some(ToolArtifact::File { path: "/workspace/a".into() })),
            tool(Some(ToolArtifact::Published {
                publication: ids.publication(),
                filename: "a.csv".into(),
                media_type: "text/csv".into(),
                size_bytes: 3,
                sha256: "00".into(),
            })),
            tool(Some(ToolArtifact::Put { artifact: ArtifactId("a".into()), closed: true })),
            tool(Some(ToolArtifact::LastWord {
                word: LastWord::Asked { question: "which?".into(), need: Need::Authorization },
            })),
        ];
        let message = |body| Message::new(ids.message(), body, Meta::default());
        bodies.into_iter().map(message).collect()
    }

    #[test]
    fn every_message_reads_back_as_it_was_written() {
        for message in every_kind() {
            let json = message.to_json();
            assert!(json.starts_with(r#"{"v":1,"#), "{json}");
            assert!(!json.contains('\u{0}'));
            assert_eq!(Message::from_json(&json).unwrap(), message);
        }
    }

    #[test]
    fn another_version_is_refused() {
        let json = every_kind()[0].to_json().replacen(r#""v":1"#, r#""v":2"#, 1);
        assert!(Message::from_json(&json).is_err());
        let json = every_kind()[0].to_json().replacen(r#""v":1,"#, "", 1);
        assert!(Message::from_json(&json).is_err());
    }

    #[test]
    fn calls_come_in_the_models_order_whether_valid_or_not() {
        let message = &every_kind()[1];
        let ids: Vec<_> = message.calls().into_iter().map(|(id, _)| id.0.as_str()).collect();
        assert_eq!(ids, ["call_0", "call_1"]);
    }
}
