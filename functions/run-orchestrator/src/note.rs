//! What a tool notes before it takes effect, for the worker that may have to find out how it ended.
//! Stored as `tool_calls.handle`.

use domain::InstanceId;
use serde::{Deserialize, Serialize};

/// A note with its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    pub v: u32,
    #[serde(flatten)]
    pub note: Note,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Note {
    /// `execute`: whose journal knows the command.
    Command(Command),
    /// `edit_file`: the file before and after, by which a repetition tells which of them it meets.
    Edit(Edit),
    /// `delete`: there was something to delete.
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub instance: InstanceId,
    pub generation: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// SHA-256, in lower-case hex.
    pub before: String,
    pub after: String,
    pub occurrences: u64,
}

/// Why a stored note is of no use.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error("it is not a note")]
    Json(#[source] serde_json::Error),
    #[error("version {0} is unknown here")]
    Version(u32),
    #[error("it is another tool's")]
    Kind,
}

impl Note {
    pub const VERSION: u32 = 1;

    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&Noted { v: Self::VERSION, note: self.clone() })
    }

    pub fn from_json(text: &str) -> Result<Self, Unusable> {
        let noted: Noted = serde_json::from_str(text).map_err(Unusable::Json)?;
        if noted.v == Self::VERSION { Ok(noted.note) } else { Err(Unusable::Version(noted.v)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_reads_back_and_one_of_another_version_is_refused() {
        let note = Note::Edit(Edit { before: "a".into(), after: "b".into(), occurrences: 1 });
        let text = note.to_json().unwrap();
        assert_eq!(Note::from_json(&text).unwrap(), note);
        let newer = text.replace(r#""v":1"#, r#""v":2"#);
        assert!(matches!(Note::from_json(&newer), Err(Unusable::Version(2))));
        assert!(matches!(Note::from_json("{}"), Err(Unusable::Json(_))));
    }
}
