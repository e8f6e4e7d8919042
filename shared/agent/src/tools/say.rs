//! The arguments of tools with which the model speaks to its client.

use domain::agent_definition::ClientTool;
use domain::{About, ArtifactContent, ArtifactId};
use serde_json::Value;

use super::args::{Args, Field, Kind, Need as Needed};
use super::{BuiltIn, catalogue};
use crate::speech::{LastWord, Need};

/// The longest id of an artifact that a model chooses, in bytes.
pub const MAX_ARTIFACT_ID: usize = 128;
/// The longest address that a model passes on, in bytes.
const MAX_URL: usize = 8192;

/// Something that the model says to its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Say {
    /// The run ends with it.
    LastWord(LastWord),
    Put(PutArtifact),
}

/// One update of one artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutArtifact {
    /// Without one, the call makes an artifact of its own.
    pub artifact: Option<ArtifactId>,
    pub name: Option<String>,
    /// Text, data or a link.
    pub content: ArtifactContent,
    pub about: About,
    pub append: bool,
    pub last_chunk: bool,
}

impl BuiltIn {
    /// The tool behind an agent's setting.
    pub const fn of_client_tool(tool: ClientTool) -> Self {
        match tool {
            ClientTool::AskClient => Self::AskClient,
            ClientTool::DeclineTask => Self::DeclineTask,
            ClientTool::ReplyDirectly => Self::ReplyDirectly,
            ClientTool::Conclude => Self::Conclude,
            ClientTool::PutArtifact => Self::PutArtifact,
        }
    }

    /// Whether only an agent that names it has the tool.
    pub const fn is_client_tool(self) -> bool {
        matches!(
            self,
            Self::AskClient
                | Self::DeclineTask
                | Self::ReplyDirectly
                | Self::Conclude
                | Self::PutArtifact
        )
    }
}

/// The arguments of a client tool; other tools have none here.
pub(super) const fn fields(tool: BuiltIn) -> &'static [Field] {
    match tool {
        BuiltIn::AskClient => {
            const {
                &[
                    catalogue::text("question", "What the client is told."),
                    Field {
                        name: "need",
                        kind: Kind::Choice(&["input", "authorization"]),
                        need: Needed::Default("\"input\""),
                        about: "What is missing.",
                    },
                ]
            }
        }
        BuiltIn::DeclineTask => const { &[catalogue::text("reason", "What the client is told.")] },
        BuiltIn::ReplyDirectly => const { &[catalogue::text("text", "The message.")] },
        BuiltIn::Conclude => const { &[catalogue::text("message", "What the client is told.")] },
        BuiltIn::PutArtifact => {
            const {
                &[
                    catalogue::optional("text", "The content, if it is text."),
                    Field {
                        name: "data",
                        kind: Kind::Any,
                        need: Needed::Optional,
                        about: "The content, if it is a JSON value.",
                    },
                    catalogue::optional(
                        "url",
                        "The content, if it is elsewhere. Nobody fetches it.",
                    ),
                    catalogue::optional("artifact_id", "Which artifact; without it, a new one."),
                    catalogue::optional("name", "The artifact's name."),
                    catalogue::optional("description", "What the artifact is."),
                    catalogue::optional("media_type", "The content's media type."),
                    catalogue::optional("filename", "The content's file name."),
                    Field {
                        name: "extensions",
                        kind: Kind::Texts,
                        need: Needed::Optional,
                        about: "URIs of the protocol extensions that the artifact follows.",
                    },
                    Field {
                        name: "append",
                        kind: Kind::Boolean,
                        need: Needed::Default("false"),
                        about: "Add to what the artifact holds instead of replacing it.",
                    },
                    Field {
                        name: "last_chunk",
                        kind: Kind::Boolean,
                        need: Needed::Default("true"),
                        about: "Nothing more will be added.",
                    },
                ]
            }
        }
        _ => &[],
    }
}

pub(super) fn asked(args: &Args<'_>) -> LastWord {
    let need = match args.text("need") {
        Some("authorization") => Need::Authorization,
        _ => Need::Input,
    };
    LastWord::Asked { question: text(args, "question"), need }
}

pub(super) fn text(args: &Args<'_>, name: &str) -> String {
    args.text(name).unwrap_or_default().to_owned()
}

/// What a schema cannot say of words that go into a status.
pub(super) fn check_word(args: &mut Args<'_>, name: &str) {
    match args.text(name) {
        Some(text) if text.trim().is_empty() => args.refuse(name, "must not be empty"),
        Some(text) if text.contains('\0') => args.refuse(name, "must not hold a NUL character"),
        _ => {}
    }
}

pub(super) fn put(args: &Args<'_>) -> PutArtifact {
    let optional = |name| args.text(name).map(str::to_owned);
    let content = match (args.text("text"), args.text("url")) {
        (Some(text), _) => ArtifactContent::Text { text: text.to_owned() },
        (None, Some(url)) => ArtifactContent::Link { url: url.to_owned() },
        (None, None) => {
            let json = args.value("data").unwrap_or(&Value::Null).to_string();
            ArtifactContent::Data { json }
        }
    };
    PutArtifact {
        artifact: optional("artifact_id").map(ArtifactId),
        name: optional("name"),
        content,
        about: About {
            description: optional("description"),
            extensions: args.texts("extensions"),
            media_type: optional("media_type"),
            filename: optional("filename"),
        },
        append: args.boolean("append").unwrap_or(false),
        last_chunk: args.boolean("last_chunk").unwrap_or(true),
    }
}

/// What a schema cannot say of an artifact. Null beside another content is an absent field, and
/// alone it is the JSON value null, as in a Part.
pub(super) fn check_put(args: &mut Args<'_>) {
    let there = |name| args.value(name).is_some_and(|value| !value.is_null());
    let contents = ["text", "data", "url"].into_iter().filter(|name| there(name)).count();
    let null = args.value("data").is_some_and(Value::is_null);
    if contents > 1 || (contents == 0 && !null) {
        args.refuse("", "must have exactly one of text, data and url");
    }
    if args.text("artifact_id").is_some_and(|id| {
        id.trim().is_empty() || id.len() > MAX_ARTIFACT_ID || id.chars().any(char::is_control)
    }) {
        args.refuse("artifact_id", format!("must be one line of at most {MAX_ARTIFACT_ID} bytes"));
    }
    if args.text("url").is_some_and(|url| !is_url(url)) {
        args.refuse("url", "must be an absolute URL");
    }
    for name in ["media_type", "filename", "name"] {
        if args.text(name).is_some_and(|text| {
            text.trim().is_empty() || text.len() > 255 || text.chars().any(char::is_control)
        }) {
            args.refuse(name, "must be a text on one line, of at most 255 bytes");
        }
    }
}

/// A scheme and something behind it, without white space. It is passed on, not followed.
fn is_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once(':') else { return false };
    let scheme_is_fit = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let rest_is_fit =
        !rest.is_empty() && !rest.chars().any(|c| c.is_control() || c.is_whitespace());
    scheme_is_fit && rest_is_fit && url.len() <= MAX_URL
}
