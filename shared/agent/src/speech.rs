//! What a model says to its client by tools: a question, a refusal, a message, an artifact
//! (A2A §3.1.1, §4.2.2, §7.6).
//!
//! **Such a call is answered with the turn that makes it, and has its effect in the same commit**: it
//! reaches nothing but the log, so there is nothing to begin, to wait for or to find out after a
//! crash. The last word of a run stands in the call's result, where [`crate::route`] reads it.

use std::collections::BTreeMap;

use domain::{About, ArtifactContent, ArtifactId, ArtifactUpdate, CallId, RunId, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::conversation::{Body, Message, ToolArtifact};
use crate::ids;
use crate::tools::{PutArtifact, Say, ToolCode, ToolResult};

/// How the model ends a run otherwise than by its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum LastWord {
    /// The task waits for its client.
    Asked { question: String, need: Need },
    /// The task is rejected.
    Declined { reason: String },
    /// A message in place of a task.
    Replied { text: String },
    /// The task is completed, with a word about it.
    Concluded { message: String },
}

/// What the client is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    #[default]
    Input,
    /// An authorization, which is given elsewhere. A message that says that it was given is no proof
    /// of it, and nothing in a message is ever used as a credential.
    Authorization,
}

impl LastWord {
    pub fn text(&self) -> &str {
        match self {
            Self::Asked { question: text, .. }
            | Self::Declined { reason: text }
            | Self::Replied { text }
            | Self::Concluded { message: text } => text,
        }
    }

    const fn told(&self) -> &'static str {
        match self {
            Self::Asked { need: Need::Input, .. } => "The question was put to the client.",
            Self::Asked { need: Need::Authorization, .. } => {
                "The client was asked for the authorization. Its next message alone authorises nothing."
            }
            Self::Declined { .. } => "The request was declined.",
            Self::Replied { .. } => "The message was sent.",
            Self::Concluded { .. } => "The task was completed.",
        }
    }
}

/// The calls of one turn, in their order, on what the task's log says of its artifacts.
#[derive(Debug)]
pub struct Speech {
    task: TaskId,
    run: RunId,
    artifacts: BTreeMap<ArtifactId, Known>,
    ends: bool,
}

/// An artifact of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Open,
    /// Its last chunk came.
    Closed,
    /// It was not made by [`PutArtifact`].
    Foreign,
}

/// What a call comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Spoken {
    pub result: ToolResult,
    pub update: Option<ArtifactUpdate>,
    /// How much it adds to what the run has put out.
    pub bytes: u64,
    /// It made an artifact that the task did not have.
    pub new: bool,
}

impl From<ToolResult> for Spoken {
    fn from(result: ToolResult) -> Self {
        Self { result, update: None, bytes: 0, new: false }
    }
}

impl Speech {
    /// `log` is what the task's log holds so far.
    pub fn new<'a>(task: TaskId, run: RunId, log: impl IntoIterator<Item = &'a Message>) -> Self {
        let mut artifacts = BTreeMap::from([(ArtifactId::response(task), Known::Foreign)]);
        for message in log {
            let Body::Tool { artifact: Some(made), .. } = &message.body else { continue };
            match made {
                ToolArtifact::Put { artifact, closed } => {
                    let state = if *closed { Known::Closed } else { Known::Open };
                    artifacts.insert(artifact.clone(), state);
                }
                ToolArtifact::Published { publication, .. } => {
                    artifacts.insert(ArtifactId::from(*publication), Known::Foreign);
                }
                _ => {}
            }
        }
        Self { task, run, artifacts, ends: false }
    }

    /// Answers the next call of the turn. `written` are its arguments as the model wrote them, where
    /// they are known: data keeps the spelling of its numbers.
    pub fn say(&mut self, call: &CallId, say: &Say, written: Option<&str>) -> Spoken {
        match say {
            Say::Put(put) => self.put(call, put, written),
            Say::LastWord(_) if self.ends => ToolResult::error(
                ToolCode::AlreadyEnding,
                "Another call of this turn ends the run; the first one counts. Nothing came of this.",
            )
            .into(),
            Say::LastWord(word) => {
                self.ends = true;
                let result = ToolResult::success(word.told());
                Spoken {
                    result: result.with(ToolArtifact::LastWord { word: word.clone() }),
                    update: None,
                    bytes: word.text().len() as u64,
                    new: false,
                }
            }
        }
    }

    fn put(&mut self, call: &CallId, put: &PutArtifact, written: Option<&str>) -> Spoken {
        let artifact =
            put.artifact.clone().unwrap_or_else(|| ids::artifact(self.run, self.task, call));
        let known = self.artifacts.get(&artifact).copied();
        match known {
            Some(Known::Foreign) => {
                return refused("The artifact with this id was not made by put_artifact.");
            }
            Some(Known::Closed) if put.append => {
                return refused("The artifact has got its last chunk.");
            }
            _ => {}
        }
        let closed = put.last_chunk;
        let state = if closed { Known::Closed } else { Known::Open };
        self.artifacts.insert(artifact.clone(), state);
        let content = match (&put.content, written) {
            (ArtifactContent::Data { json }, Some(written)) => {
                ArtifactContent::Data { json: data(written).unwrap_or_else(|| json.clone()) }
            }
            (content, _) => content.clone(),
        };
        let about = put.about.clone();
        let bytes = size(&content, put.name.as_deref(), &about);
        let text = format!("The client has it, as artifact {artifact}.");
        let made = ToolArtifact::Put { artifact: artifact.clone(), closed };
        Spoken {
            result: ToolResult::success(text).with(made),
            update: Some(ArtifactUpdate {
                artifact,
                name: put.name.clone(),
                append: put.append,
                last_chunk: closed,
                content,
                about,
            }),
            bytes,
            new: known.is_none(),
        }
    }
}

fn refused(why: &str) -> Spoken {
    let text = format!("{why} Nothing was added; use another artifact_id.");
    ToolResult::error(ToolCode::ArtifactClosed, text).into()
}

/// The `data` of a call's arguments, to the letter.
fn data(written: &str) -> Option<String> {
    let args: BTreeMap<String, &RawValue> = serde_json::from_str(written).ok()?;
    args.get("data").map(|json| json.get().to_owned())
}

fn size(content: &ArtifactContent, name: Option<&str>, about: &About) -> u64 {
    let content = match content {
        ArtifactContent::Text { text } => text.len(),
        ArtifactContent::Data { json } => json.len(),
        ArtifactContent::Link { url } => url.len(),
        ArtifactContent::Published { .. } => 0,
    };
    let said = [name, about.description.as_deref(), about.filename.as_deref()];
    let said: usize = said.into_iter().flatten().map(str::len).sum();
    let extensions: usize = about.extensions.iter().map(String::len).sum();
    (content + said + extensions) as u64
}

#[cfg(test)]
mod tests;
