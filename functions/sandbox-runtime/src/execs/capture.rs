//! Combined output: whole where it is short; otherwise its two ends, and a file with all of it.

use std::collections::VecDeque;

use bytes::Bytes;
use sandbox_protocol::exec::{CapturedContent, CapturedOutput};
use sandbox_protocol::limits::{PREVIEW_BYTES, PREVIEW_LINES};
use sandbox_protocol::path::RelativePath;

use crate::text::{text, without_cut_end, without_cut_start};
use crate::workers::Workers;
use crate::workspace::Workspace;
use crate::workspace::draft::Draft;

/// Where output goes as it comes.
#[derive(Debug)]
pub(super) struct Capture {
    workspace: Workspace,
    workers: Workers,
    path: Option<RelativePath>,
    inline: usize,
    max: u64,
    total: u64,
    /// Everything, as long as it is short.
    short: Vec<u8>,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    file: Sink,
}

#[derive(Debug)]
enum Sink {
    /// Nothing was written yet.
    Unopened,
    Open(Box<Draft>, u64),
    /// There is no path, or it cannot be written.
    None,
}

impl Capture {
    pub(super) fn new(
        workspace: Workspace,
        workers: Workers,
        path: Option<RelativePath>,
        inline: usize,
        max: u64,
    ) -> Self {
        Self {
            workspace,
            workers,
            path,
            inline,
            max,
            total: 0,
            short: Vec::new(),
            head: Vec::new(),
            tail: VecDeque::new(),
            file: Sink::Unopened,
        }
    }

    pub(super) async fn push(&mut self, bytes: Bytes) {
        self.total += bytes.len() as u64;
        let room = PREVIEW_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(bytes.get(..room).unwrap_or_default());
        let last = bytes.get(bytes.len().saturating_sub(PREVIEW_BYTES)..).unwrap_or_default();
        let surplus = (self.tail.len() + last.len()).saturating_sub(PREVIEW_BYTES);
        self.tail.drain(..surplus.min(self.tail.len()));
        self.tail.extend(last);
        match self.file {
            Sink::Unopened if self.total <= self.inline as u64 => {
                self.short.extend_from_slice(&bytes);
            }
            Sink::Unopened => {
                let mut all = std::mem::take(&mut self.short);
                all.extend_from_slice(&bytes);
                self.open().await;
                self.write(all.into()).await;
            }
            Sink::Open(..) => self.write(bytes).await,
            Sink::None => {}
        }
    }

    async fn open(&mut self) {
        let Some(path) = self.path.clone() else {
            self.file = Sink::None;
            return;
        };
        let workspace = self.workspace.clone();
        let draft = self.workers.run(move || Draft::begin(&workspace, &path)).await;
        self.file = draft.map_or(Sink::None, |draft| Sink::Open(Box::new(draft), 0));
    }

    /// Writes as much as the file may still take; the rest is dropped.
    async fn write(&mut self, bytes: Bytes) {
        let Sink::Open(mut draft, written) = std::mem::replace(&mut self.file, Sink::None) else {
            return;
        };
        let room = usize::try_from(self.max - written).unwrap_or(usize::MAX).min(bytes.len());
        let bytes = bytes.slice(..room);
        let appended = self.workers.run(move || draft.append(&bytes).map(|()| draft)).await;
        if let Ok(draft) = appended {
            self.file = Sink::Open(draft, written + room as u64);
        }
    }

    pub(super) async fn finish(self) -> CapturedOutput {
        let total_bytes = self.total;
        if matches!(self.file, Sink::Unopened) {
            let content = CapturedContent::Inline { text: text(&self.short) };
            return CapturedOutput { total_bytes, content };
        }
        let mut path = None;
        let mut incomplete = true;
        if let (Sink::Open(draft, written), Some(target)) = (self.file, self.path) {
            let landed = self.workers.run(move || draft.land(&target, None)).await;
            incomplete = written < total_bytes;
            path = landed.ok().map(|landed| landed.path);
        }
        let head = head(&self.head);
        // What the beginning already shows is not shown again.
        let unseen = usize::try_from(total_bytes - head.len() as u64).unwrap_or(usize::MAX);
        let tail: Vec<u8> = self.tail.into();
        let tail = tail.get(tail.len().saturating_sub(unseen)..).unwrap_or_default();
        let content = CapturedContent::Preview {
            head: text(head),
            tail: text(self::tail(tail)),
            incomplete: incomplete || path.is_none(),
            path,
        };
        CapturedOutput { total_bytes, content }
    }
}

/// The first lines, with their ends.
fn head(bytes: &[u8]) -> &[u8] {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    match ends.map(|(at, _)| at + 1).nth(PREVIEW_LINES - 1) {
        Some(end) => bytes.get(..end).unwrap_or_default(),
        None => without_cut_end(bytes),
    }
}

/// The last lines.
fn tail(bytes: &[u8]) -> &[u8] {
    let last = bytes.len().saturating_sub(1);
    let ends = bytes.iter().enumerate().rev().filter(|(at, byte)| **byte == b'\n' && *at != last);
    match ends.map(|(at, _)| at + 1).nth(PREVIEW_LINES - 1) {
        Some(start) => bytes.get(start..).unwrap_or_default(),
        None => without_cut_start(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_five_lines_each() {
        let lines = b"1\n2\n3\n4\n5\n6\n7\n";
        assert_eq!(head(lines), b"1\n2\n3\n4\n5\n");
        assert_eq!(tail(lines), b"3\n4\n5\n6\n7\n");
        assert_eq!(tail(b"1\n2\n3\n4\n5\n6"), b"2\n3\n4\n5\n6");
        assert_eq!(head(b"1\n2"), b"1\n2");
        assert_eq!(tail(b""), b"");
    }

    async fn captured(path: Option<&str>, max: u64, pieces: &[&str]) -> (CapturedOutput, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(folder.path().to_owned());
        let target = path.map(|path| RelativePath::parse(path).unwrap());
        let workers = Workers::start(None).unwrap();
        let mut capture = Capture::new(workspace, workers, target, 10, max);
        for piece in pieces {
            capture.push(Bytes::copy_from_slice(piece.as_bytes())).await;
        }
        let output = capture.finish().await;
        let file = path.map(|path| std::fs::read(folder.path().join(path)).unwrap_or_default());
        (output, file.unwrap_or_default())
    }

    #[tokio::test]
    async fn short_output_comes_whole_and_leaves_no_file() {
        let (output, file) = captured(Some("out/1"), 100, &["12345", "67890"]).await;
        let text = "1234567890".to_owned();
        assert_eq!(output.content, CapturedContent::Inline { text });
        assert_eq!(file, b"");
    }

    #[tokio::test]
    async fn t18_longer_output_is_in_the_file_and_its_ends_are_shown() {
        let (output, file) = captured(Some("out/1"), 100, &["12345", "67890", "\nend"]).await;
        assert_eq!(file, b"1234567890\nend");
        assert_eq!(output.total_bytes, 14);
        let CapturedContent::Preview { path, incomplete, .. } = output.content else {
            panic!("a preview")
        };
        assert_eq!((path.as_deref(), incomplete), (Some("out/1"), false));
    }

    #[tokio::test]
    async fn t18_what_the_file_may_not_take_is_dropped_and_said() {
        let (output, file) = captured(Some("out/1"), 12, &["12345678", "90abcdef", "gh"]).await;
        assert_eq!(file, b"1234567890ab");
        assert_eq!(output.total_bytes, 18);
        assert!(matches!(output.content, CapturedContent::Preview { incomplete: true, .. }));
    }

    #[tokio::test]
    async fn without_a_file_the_ends_are_all_there_is() {
        let (output, _) = captured(None, 100, &["12345678", "90abcdef"]).await;
        let CapturedContent::Preview { head, tail, path, incomplete } = output.content else {
            panic!("a preview")
        };
        assert_eq!((head.as_str(), tail.as_str()), ("1234567890abcdef", ""));
        assert_eq!((path, incomplete), (None, true));
    }
}
