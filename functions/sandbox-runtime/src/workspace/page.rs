//! Reading one page of a text, or a small binary file whole.

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sandbox_protocol::ErrorCode;
use sandbox_protocol::files::{Encoding, ReadReply, ReadRequest};
use sandbox_protocol::limits::{DEFAULT_PAGE_LINES, MAX_COUNTED_FILE, MAX_PAGE};
use sandbox_protocol::path::RelativePath;

use super::bounded::read_whole;
use super::lines::Lines;
use super::{Workspace, size};
use crate::refusal::Refusal;
use crate::text::{text, without_cut_end};

/// How much is looked at to tell text from bytes.
pub(super) const SNIFF: usize = 8_192;

const TOO_LONG: Refusal = Refusal(ErrorCode::Timeout, "the page lies too deep in the file");

impl Workspace {
    pub(crate) fn read_page(
        &self,
        path: &RelativePath,
        request: &ReadRequest,
        until: Instant,
    ) -> Result<ReadReply, Refusal> {
        let (mut file, stat) = self.open_file_following(path)?;
        let size = size(&stat);
        let limit = request.limit.unwrap_or(DEFAULT_PAGE_LINES);
        if limit == 0 && !request.binary {
            return Ok(ReadReply { no_lines_requested: true, ..empty(size) });
        }
        if request.binary || !sniff(&mut file)? {
            let content = STANDARD.encode(read_whole(file, &stat, MAX_PAGE as u64)?);
            return Ok(ReadReply { content, encoding: Encoding::Base64, ..empty(size) });
        }
        let mut page = Page { lines: Lines::new(BufReader::new(file)), until, looked: 0 };
        page.read(request.offset, limit, size)
    }
}

fn empty(size: u64) -> ReadReply {
    ReadReply {
        content: String::new(),
        encoding: Encoding::Utf8,
        start_line: None,
        end_line: None,
        total_lines: None,
        next_offset: None,
        no_lines_requested: false,
        line_truncated: false,
        size,
    }
}

/// Whether a file begins like a text. Leaves it at its beginning.
pub(super) fn sniff(file: &mut File) -> Result<bool, Refusal> {
    let mut start = Vec::with_capacity(SNIFF);
    file.take(SNIFF as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(is_text(&start))
}

/// Valid UTF-8 without NUL. A character that the end cuts in two is none the worse for it.
pub(super) fn is_text(start: &[u8]) -> bool {
    if start.contains(&0) {
        return false;
    }
    match std::str::from_utf8(start) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && start.len() == SNIFF,
    }
}

struct Page {
    lines: Lines<BufReader<File>>,
    until: Instant,
    looked: u64,
}

impl Page {
    fn read(&mut self, offset: u64, limit: u64, size: u64) -> Result<ReadReply, Refusal> {
        let mut line = Vec::new();
        for passed in 0..offset {
            if self.next(&mut line, 0)?.is_none() {
                return Ok(ReadReply { total_lines: Some(passed), ..empty(size) });
            }
        }
        let mut reply = empty(size);
        let mut shown = 0;
        while shown < limit {
            let room = MAX_PAGE.saturating_sub(reply.content.len());
            // One byte more than there is room for tells a line that fits from one that does not.
            let Some(length) = self.next(&mut line, room + 1)? else { break };
            let fits = length <= room as u64;
            let kept = line.get(..room.min(line.len())).unwrap_or_default();
            let text = text(if fits { kept } else { without_cut_end(kept) });
            if !fits && shown > 0 {
                // It begins the next page. That there is one is known, what comes after it is not.
                return self.end(reply, offset, shown, true, size);
            }
            if shown > 0 {
                reply.content.push('\n');
            }
            reply.content.push_str(&text);
            shown += 1;
            if !fits {
                reply.line_truncated = true;
                break;
            }
        }
        self.end(reply, offset, shown, false, size)
    }

    /// Says which lines were shown and what comes after them.
    fn end(
        &mut self,
        mut reply: ReadReply,
        offset: u64,
        shown: u64,
        one_more: bool,
        size: u64,
    ) -> Result<ReadReply, Refusal> {
        let end = offset + shown;
        let more = one_more || !self.lines.at_end()?;
        if !more {
            reply.total_lines = Some(end);
        } else if size <= MAX_COUNTED_FILE {
            let mut total = end + u64::from(one_more);
            while self.next(&mut Vec::new(), 0)?.is_some() {
                total += 1;
            }
            reply.total_lines = Some(total);
        }
        if shown > 0 {
            reply.start_line = Some(offset + 1);
            reply.end_line = Some(end);
        }
        reply.next_offset = more.then_some(end);
        Ok(reply)
    }

    fn next(&mut self, line: &mut Vec<u8>, keep: usize) -> Result<Option<u64>, Refusal> {
        self.looked += 1;
        if self.looked.is_multiple_of(1_024) && Instant::now() > self.until {
            return Err(TOO_LONG);
        }
        Ok(self.lines.next(line, keep)?)
    }
}

#[cfg(test)]
mod tests;
