//! The list of built-in tools, as the model sees it.

use serde_json::Value;

use super::args::{Field, Kind, Need, schema};
use super::say;

/// What a provider is told of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema, draft 2020-12.
    pub input_schema: Value,
}

macro_rules! built_in {
    ($($variant:ident = $name:literal,)*) => {
        /// A tool of our own.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum BuiltIn { $($variant,)* }

        impl BuiltIn {
            /// In the order in which the model is told of them, which never changes: a provider
            /// caches the beginning of a prompt.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

built_in! {
    Ls = "ls",
    ReadFile = "read_file",
    WriteFile = "write_file",
    EditFile = "edit_file",
    Delete = "delete",
    Glob = "glob",
    Grep = "grep",
    Execute = "execute",
    PublishArtifact = "publish_artifact",
    AskClient = "ask_client",
    DeclineTask = "decline_task",
    ReplyDirectly = "reply_directly",
    Conclude = "conclude",
    PutArtifact = "put_artifact",
}

impl BuiltIn {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|tool| tool.name() == name)
    }

    pub fn spec(self) -> ToolSpec {
        ToolSpec {
            name: self.name().to_owned(),
            description: self.description().to_owned(),
            input_schema: schema(self.fields()),
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Ls => {
                "Lists what is directly in one folder of the workspace. Folders end with /."
            }
            Self::ReadFile => {
                "Reads lines of a text file, numbered. Reads the first 100 lines unless offset and \
                 limit say otherwise; the answer says where to go on."
            }
            Self::WriteFile => {
                "Writes a whole text file, replacing what was there. Missing folders are made."
            }
            Self::EditFile => {
                "Replaces an exact piece of a text file. The piece must occur once, unless \
                 replace_all is true."
            }
            Self::Delete => "Removes a file, or a folder with all that is in it.",
            Self::Glob => {
                "Finds files by name. A pattern without / matches names at any depth; with / it \
                 matches the path below the folder searched. * and ? stay within a name, ** crosses \
                 folders, {a,b} and [abc] work as usual."
            }
            Self::Grep => {
                "Finds a text, taken literally and not as a regular expression, in the lines of files."
            }
            Self::Execute => {
                "Runs a shell command in the workspace and returns its output and exit code. \
                 Nothing can be typed into it."
            }
            Self::PublishArtifact => {
                "Delivers a finished file of the workspace to the user as a durable download. Only \
                 published files reach the user."
            }
            Self::AskClient => {
                "Asks the client for what is missing, and ends your work until it answers. Of several \
                 calls that end it, the first counts; other calls of the same turn are still made. \
                 Ask for an authorization only to say what must be authorised, and where: \
                 credentials never come in a message, and an answer alone authorises nothing."
            }
            Self::DeclineTask => {
                "Refuses the request and ends your work: the task is rejected. Of several calls that \
                 end it, the first counts."
            }
            Self::ReplyDirectly => {
                "Answers with one message, for what needs no task to follow, and ends your work. Say \
                 nothing beside it. Of several calls that end it, the first counts."
            }
            Self::Conclude => {
                "Completes the task with a short message about it, and ends your work. Results belong \
                 into artifacts. Of several calls that end it, the first counts; other calls of the \
                 same turn are still made."
            }
            Self::PutArtifact => {
                "Hands one content to the client as an artifact: a text, a JSON value, or a link. To \
                 hand over a long one in pieces, choose an artifact_id and say last_chunk=false until \
                 the last piece, and append=true from the second on."
            }
        }
    }

    pub(super) const fn fields(self) -> &'static [Field] {
        match self {
            Self::Ls => const { &[text("path", "The folder. \".\" is the workspace.")] },
            Self::ReadFile => {
                const {
                    &[
                        text("file_path", "The file."),
                        Field {
                            name: "offset",
                            kind: Kind::Integer(None),
                            need: Need::Default("0"),
                            about: "How many lines to skip.",
                        },
                        Field {
                            name: "limit",
                            kind: Kind::Integer(None),
                            need: Need::Default("100"),
                            about: "How many lines to read.",
                        },
                    ]
                }
            }
            Self::WriteFile => {
                const {
                    &[
                        text("file_path", "The file."),
                        text("content", "All that the file shall hold."),
                    ]
                }
            }
            Self::EditFile => {
                const {
                    &[
                        text("file_path", "The file."),
                        text("old_string", "The exact text to replace."),
                        text("new_string", "What to put in its place."),
                        Field {
                            name: "replace_all",
                            kind: Kind::Boolean,
                            need: Need::Default("false"),
                            about: "Replace every occurrence.",
                        },
                    ]
                }
            }
            Self::Delete => const { &[text("file_path", "The file or folder.")] },
            Self::Glob => {
                const { &[text("pattern", "The pattern."), optional("path", "The folder to search.")] }
            }
            Self::Grep => {
                const {
                    &[
                        text("pattern", "The literal text to find."),
                        optional("path", "The folder or file to search."),
                        optional("glob", "Only files whose name matches this pattern."),
                        Field {
                            name: "output_mode",
                            kind: Kind::Choice(&["files_with_matches", "content", "count"]),
                            need: Need::Default("\"files_with_matches\""),
                            about: "What to list: files, matching lines, or hits per file.",
                        },
                        Field {
                            name: "max_count",
                            kind: Kind::Integer(Some(1)),
                            need: Need::Optional,
                            about: "Most hits to return.",
                        },
                    ]
                }
            }
            Self::Execute => {
                const {
                    &[
                        text("command", "The command, for sh."),
                        Field {
                            name: "timeout",
                            kind: Kind::Integer(Some(0)),
                            need: Need::Optional,
                            about: "Seconds it may take: 120 unless given, 3600 at most; 0 is the maximum.",
                        },
                    ]
                }
            }
            Self::PublishArtifact => {
                const {
                    &[
                        text("path", "The file, beginning with /workspace/."),
                        Field {
                            name: "media_type",
                            kind: Kind::Text,
                            need: Need::Default("\"application/octet-stream\""),
                            about: "Its media type, such as text/csv.",
                        },
                    ]
                }
            }
            speaks => say::fields(speaks),
        }
    }
}

pub(super) const fn text(name: &'static str, about: &'static str) -> Field {
    Field { name, kind: Kind::Text, need: Need::Required, about }
}

pub(super) const fn optional(name: &'static str, about: &'static str) -> Field {
    Field { name, kind: Kind::Text, need: Need::Optional, about }
}

/// Every built-in tool, in its fixed order.
pub fn specs() -> Vec<ToolSpec> {
    BuiltIn::ALL.iter().map(|tool| tool.spec()).collect()
}
