//! The texts of the tools that change or deliver a file.

use domain::PublicationId;

use crate::conversation::ToolArtifact;

use super::{EditFile, ToolCode, ToolError, ToolResult, WorkspacePath};

pub fn written(path: &WorkspacePath) -> ToolResult {
    ToolResult::success(format!("Wrote {path}.")).with(file(path))
}

pub fn edited(path: &WorkspacePath, replacements: u64) -> ToolResult {
    let text = match replacements {
        1 => format!("Replaced once in {path}."),
        n => format!("Replaced {n} times in {path}."),
    };
    ToolResult::success(text).with(file(path))
}

pub fn deleted(path: &WorkspacePath) -> ToolResult {
    ToolResult::success(format!("Removed {path}.")).with(file(path))
}

fn file(path: &WorkspacePath) -> ToolArtifact {
    ToolArtifact::File { path: path.as_str().to_owned() }
}

/// Why a text could not be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoEdit {
    NotFound,
    /// The file ends with the text but for the newline at the text's end.
    NewlineAtEnd {
        /// How often the text without its newline occurs.
        occurrences: u64,
    },
    NotUnique {
        occurrences: u64,
    },
}

pub fn not_edited(request: &EditFile, why: NoEdit) -> ToolError {
    let path = &request.path;
    match why {
        NoEdit::NotFound => ToolError::new(
            ToolCode::StringNotFound,
            format!("old_string does not occur in {path}. Read the file and copy it exactly."),
        ),
        NoEdit::NewlineAtEnd { occurrences } => {
            let more = match occurrences {
                0 | 1 => String::new(),
                n => format!(" Without it the text occurs {n} times: add what stands before it."),
            };
            let text = format!(
                "old_string ends with a newline, and {path} does not. Leave that newline out.{more}"
            );
            ToolError::new(ToolCode::StringNotFound, text)
        }
        NoEdit::NotUnique { occurrences } => ToolError::new(
            ToolCode::NotUnique,
            format!(
                "old_string occurs {occurrences} times in {path}. Add what stands around the one \
                 that is meant, or set replace_all."
            ),
        ),
    }
}

/// The one line that the model sees of a publication: never the bytes, never a URL.
pub fn published(
    publication: PublicationId,
    path: &WorkspacePath,
    media_type: &str,
    size_bytes: u64,
    sha256: &str,
) -> ToolResult {
    let filename = path.file_name().to_owned();
    let artifact = publication.as_uuid();
    let text = format!("Published {filename} ({size_bytes} bytes) as artifact {artifact}.");
    ToolResult::success(text).with(ToolArtifact::Published {
        publication,
        filename,
        media_type: media_type.to_owned(),
        size_bytes,
        sha256: sha256.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use domain::Ids;

    use super::*;
    use crate::conversation::Block;

    fn path() -> WorkspacePath {
        WorkspacePath::parse("out/a.csv").unwrap()
    }

    fn edit() -> EditFile {
        EditFile { path: path(), old: "a\n".into(), new: "b".into(), replace_all: false }
    }

    fn text(result: &ToolResult) -> &str {
        let [Block::Text { text }] = result.content.as_slice() else { panic!("{result:?}") };
        text
    }

    #[test]
    fn a_change_names_the_path_as_commands_know_it() {
        assert_eq!(text(&written(&path())), "Wrote /workspace/out/a.csv.");
        assert_eq!(text(&edited(&path(), 1)), "Replaced once in /workspace/out/a.csv.");
        assert_eq!(text(&edited(&path(), 3)), "Replaced 3 times in /workspace/out/a.csv.");
        let removed = deleted(&path());
        let expected = ToolArtifact::File { path: "/workspace/out/a.csv".into() };
        assert_eq!(removed.artifact, Some(expected));
    }

    #[test]
    fn t04_an_ambiguous_edit_names_the_number() {
        let error = not_edited(&edit(), NoEdit::NotUnique { occurrences: 3 });
        assert_eq!(error.code, ToolCode::NotUnique);
        assert!(error.text.contains("3 times"));
    }

    #[test]
    fn t05_a_newline_too_many_gets_its_own_hint() {
        let once = not_edited(&edit(), NoEdit::NewlineAtEnd { occurrences: 1 });
        assert_eq!(once.code, ToolCode::StringNotFound);
        assert!(once.text.contains("newline") && !once.text.contains("times"));
        let twice = not_edited(&edit(), NoEdit::NewlineAtEnd { occurrences: 2 });
        assert!(twice.text.contains("2 times"));
        let plain = not_edited(&edit(), NoEdit::NotFound);
        assert!(!plain.text.contains("newline"));
    }

    #[test]
    fn a_publication_is_one_line_of_name_size_and_artifact() {
        let id = Ids::seeded(1).publication();
        let result = published(id, &path(), "text/csv", 12, "00ff");
        assert_eq!(
            text(&result),
            format!("Published a.csv (12 bytes) as artifact {}.", id.as_uuid())
        );
        assert!(matches!(result.artifact, Some(ToolArtifact::Published { size_bytes: 12, .. })));
    }
}
