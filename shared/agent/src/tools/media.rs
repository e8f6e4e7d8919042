//! Which files are not text, by their names (agent-loop.md §4.2).

use crate::conversation::{Block, Media, MediaKind, ToolStatus};

use super::{ReadPath, ToolCode, ToolError, ToolResult};

/// The largest file that is not text which `read_file` takes.
pub const MAX_MEDIA_BYTES: u64 = 500 * 1024;

/// Kind and media type of a path whose ending is known to be no text.
pub fn by_name(path: &str) -> Option<(MediaKind, &'static str)> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let (_, ending) = name.rsplit_once('.')?;
    let known = match ending.to_ascii_lowercase().as_str() {
        "png" => (MediaKind::Image, "image/png"),
        "jpg" | "jpeg" => (MediaKind::Image, "image/jpeg"),
        "webp" => (MediaKind::Image, "image/webp"),
        "gif" => (MediaKind::Image, "image/gif"),
        "heic" => (MediaKind::Image, "image/heic"),
        "heif" => (MediaKind::Image, "image/heif"),
        "wav" => (MediaKind::Audio, "audio/wav"),
        "mp3" => (MediaKind::Audio, "audio/mpeg"),
        "aiff" => (MediaKind::Audio, "audio/aiff"),
        "aac" => (MediaKind::Audio, "audio/aac"),
        "ogg" => (MediaKind::Audio, "audio/ogg"),
        "flac" => (MediaKind::Audio, "audio/flac"),
        "mp4" => (MediaKind::Video, "video/mp4"),
        "mpeg" | "mpg" => (MediaKind::Video, "video/mpeg"),
        "mov" => (MediaKind::Video, "video/quicktime"),
        "avi" => (MediaKind::Video, "video/x-msvideo"),
        "flv" => (MediaKind::Video, "video/x-flv"),
        "webm" => (MediaKind::Video, "video/webm"),
        "wmv" => (MediaKind::Video, "video/x-ms-wmv"),
        "3gpp" => (MediaKind::Video, "video/3gpp"),
        "pdf" => (MediaKind::Document, "application/pdf"),
        "ppt" => (MediaKind::Document, "application/vnd.ms-powerpoint"),
        "pptx" => (
            MediaKind::Document,
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        ),
        _ => return None,
    };
    Some(known)
}

/// The result of reading a file that is not text: one block that says where it is. Whether the
/// model can look at it is decided when the model is called.
pub fn render(path: &ReadPath, sha256: String, size_bytes: u64) -> ToolResult {
    if size_bytes > MAX_MEDIA_BYTES {
        return too_large(size_bytes).into();
    }
    let path = path.to_string();
    let unknown = (MediaKind::Document, "application/octet-stream");
    let (kind, media_type) = by_name(&path).unwrap_or(unknown);
    let media_type = media_type.to_owned();
    ToolResult {
        status: ToolStatus::Success,
        code: None,
        content: vec![Block::Media(Media { kind, media_type, path, sha256, size_bytes })],
        artifact: None,
    }
}

fn too_large(size: u64) -> ToolError {
    ToolError::new(
        ToolCode::TooLarge,
        format!(
            "The file is not text and has {size} bytes; {MAX_MEDIA_BYTES} can be read at most."
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_endings_are_known_whatever_their_case() {
        assert_eq!(by_name("/workspace/a.PNG"), Some((MediaKind::Image, "image/png")));
        assert_eq!(by_name("/workspace/a.tar.pdf"), Some((MediaKind::Document, "application/pdf")));
        for text in ["/workspace/a.csv", "/workspace/png", "/workspace/x.png/a", ""] {
            assert_eq!(by_name(text), None, "{text}");
        }
    }

    #[test]
    fn a_file_that_is_not_text_becomes_one_block_unless_it_is_too_large() {
        let path = ReadPath::parse("a.bin").unwrap();
        let result = render(&path, "00".into(), MAX_MEDIA_BYTES);
        let [Block::Media(media)] = result.content.as_slice() else { panic!("{result:?}") };
        assert_eq!(media.media_type, "application/octet-stream");
        assert_eq!(media.path, "/workspace/a.bin");
        let result = render(&path, "00".into(), MAX_MEDIA_BYTES + 1);
        assert_eq!(result.code, Some(ToolCode::TooLarge));
    }
}
