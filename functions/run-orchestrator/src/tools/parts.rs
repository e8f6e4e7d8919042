//! `read_file` of what a client sent: the Part is in the log, no sandbox is needed.

use agent::tools::{ReadFile, media, read};
use agent::{ToolCode, ToolError, ToolResult};
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use domain::{PartKind, StoredPart};
use sha2::{Digest as _, Sha256};

use crate::log::Log;

/// As lenient with padding as clients are.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) fn read(log: &Log, request: &ReadFile, id: &str) -> ToolResult {
    match log.part(id) {
        Some(part) => show(request, part),
        None => ToolResult::error(ToolCode::FileNotFound, "There is nothing at this path."),
    }
}

fn show(request: &ReadFile, part: &StoredPart) -> ToolResult {
    match part.kind {
        PartKind::Text | PartKind::Data => read::render(request, &page(request, &part.value)),
        PartKind::Raw => match BASE64.decode(&part.value) {
            Ok(bytes) => show_bytes(request, bytes),
            Err(_) => ToolError::new(ToolCode::NotText, "The bytes cannot be read.").into(),
        },
        PartKind::Url => ToolError::new(
            ToolCode::Unsupported,
            "The client sent an address, not the content, and it is not fetched.",
        )
        .into(),
    }
}

fn show_bytes(request: &ReadFile, bytes: Vec<u8>) -> ToolResult {
    let size = bytes.len() as u64;
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => read::render(request, &page(request, &text)),
        Ok(text) => media::render(&request.path, digest(text.as_bytes()), size),
        Err(bytes) => media::render(&request.path, digest(bytes.as_bytes()), size),
    }
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The lines that were asked for, as the sandbox would cut them out of a file.
fn page(request: &ReadFile, text: &str) -> read::Page {
    if text.trim().is_empty() {
        return read::Page::Empty;
    }
    if request.take() == 0 {
        return read::Page::NotRequested;
    }
    let total_lines = text.lines().count() as u64;
    let skip = request.skip();
    if skip >= total_lines {
        return read::Page::Beyond { total_lines };
    }
    let (from, take) = (usize::try_from(skip), usize::try_from(request.take()));
    let lines = text.lines().skip(from.unwrap_or(usize::MAX)).take(take.unwrap_or(usize::MAX));
    read::Page::Lines {
        content: lines.collect::<Vec<_>>().join("\n"),
        first_line: skip + 1,
        total_lines: Some(total_lines),
        more: skip.saturating_add(request.take()) < total_lines,
        cut: false,
    }
}

#[cfg(test)]
mod tests {
    use agent::tools::ReadPath;
    use agent::{Block, ToolStatus};

    use super::*;

    fn read_part(kind: PartKind, value: &str, offset: i64, limit: i64) -> ToolResult {
        let part = StoredPart {
            part_id: "a2a-input-00".into(),
            kind,
            value: value.into(),
            media_type: None,
            filename: None,
            metadata: None,
        };
        let path = ReadPath::Part(part.part_id.clone());
        show(&ReadFile { path, offset, limit }, &part)
    }

    fn text(result: &ToolResult) -> &str {
        let [Block::Text { text }] = result.content.as_slice() else { panic!("{result:?}") };
        text
    }

    #[test]
    fn a_text_part_is_read_like_a_file() {
        let whole = read_part(PartKind::Text, "a\nb\nc", 0, 100);
        assert_eq!(text(&whole), "1  a\n2  b\n3  c");
        let page = read_part(PartKind::Text, "a\nb\nc", 1, 1);
        assert!(text(&page).starts_with("2  b\n") && text(&page).contains("offset=2"));
        let beyond = read_part(PartKind::Text, "a\nb\nc", 3, 1);
        assert_eq!(beyond.code, Some(ToolCode::OffsetOutOfRange));
        assert!(text(&read_part(PartKind::Text, "a", 0, 0)).contains("not inspected"));
    }

    #[test]
    fn bytes_are_shown_as_text_where_they_are_text() {
        assert_eq!(text(&read_part(PartKind::Raw, "aGk=", 0, 100)), "1  hi");
        assert_eq!(text(&read_part(PartKind::Raw, "aGk", 0, 100)), "1  hi");
        let binary = read_part(PartKind::Raw, "AP8=", 0, 100);
        assert!(
            matches!(binary.content.as_slice(), [Block::Media(media)] if media.size_bytes == 2)
        );
        assert_eq!(read_part(PartKind::Raw, "?", 0, 1).status, ToolStatus::Error);
    }

    #[test]
    fn an_address_is_not_fetched() {
        let result = read_part(PartKind::Url, "https://example.com/a", 0, 100);
        assert_eq!(result.code, Some(ToolCode::Unsupported));
    }
}
