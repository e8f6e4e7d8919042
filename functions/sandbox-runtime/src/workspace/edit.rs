//! Replacing one text in a file by another.

use std::borrow::Cow;

use rustix::fs::Stat;
use sandbox_protocol::ErrorCode;
use sandbox_protocol::files::{EditReply, EditRequest};
use sandbox_protocol::limits::MAX_EDITED_FILE;
use sandbox_protocol::path::RelativePath;
use sha2::{Digest as _, Sha256};

use super::{Workspace, bounded::read_whole, draft::Draft};
use crate::admission::Permit;
use crate::refusal::Refusal;

const TOO_LARGE: Refusal = Refusal(ErrorCode::TooLarge, "the edited file would be too large");

impl Workspace {
    pub(crate) fn edit(
        &self,
        path: &RelativePath,
        request: &EditRequest,
        permit: &Permit,
    ) -> Result<EditReply, Refusal> {
        if request.old.is_empty() || request.old == request.new {
            return Err(Refusal::bad_request("`old` is empty or equals `new`"));
        }
        let (file, stat) = self.open_file(path)?;
        let before = read_whole(file, &stat, MAX_EDITED_FILE)?;
        let sha256 = sha256(&before);
        if request.done_sha256.as_ref() == Some(&sha256) {
            return Ok(EditReply::AlreadyDone { sha256 });
        }
        if request.if_sha256.as_ref().is_some_and(|wanted| *wanted != sha256) {
            return Ok(EditReply::Stale { sha256 });
        }
        let Ok(before) = String::from_utf8(before) else { return Ok(EditReply::NotText) };
        match change(&before, request)? {
            Change::None { without_newline } => Ok(EditReply::NotFound { without_newline }),
            Change::Ambiguous { count } => Ok(EditReply::NotUnique { count }),
            Change::To { content, occurrences } => {
                let after = self::sha256(content.as_bytes());
                if !request.dry_run {
                    self.replace(path, &stat, &content, permit)?;
                }
                let (sha256_before, sha256_after) = (sha256, after);
                Ok(EditReply::Edited { occurrences, sha256_before, sha256_after })
            }
        }
    }

    fn replace(
        &self,
        path: &RelativePath,
        read: &Stat,
        content: &str,
        permit: &Permit,
    ) -> Result<(), Refusal> {
        let mut draft = permit.commit(|| Draft::begin(self, path))??;
        draft.append(content.as_bytes())?;
        permit.commit(|| draft.land(path, Some(read)))?.map(drop)
    }
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[derive(Debug, PartialEq, Eq)]
enum Change {
    To { content: String, occurrences: u64 },
    None { without_newline: Option<u64> },
    Ambiguous { count: u64 },
}

/// What the edit makes of a text.
///
/// Pages are read with LF, whatever the file has. So `old` is looked for as sent, then with CRLF,
/// then with LF, and `new` is written the way `old` was found; where `old` has no line break, the
/// way the file is written.
fn change(text: &str, request: &EditRequest) -> Result<Change, Refusal> {
    let (old, new) = (request.old.as_str(), request.new.as_str());
    let crlf_file = text.contains("\r\n") && !text.replace("\r\n", "").contains('\n');
    let one_line = !old.contains(['\n', '\r']);
    let as_sent = if one_line && crlf_file { crlf(new) } else { new.into() };
    let forms = [(old.into(), as_sent), (crlf(old), crlf(new)), (lf(old), lf(new))];
    for (old, new) in forms {
        let found = text.matches(&*old).count();
        if found == 0 {
            continue;
        }
        let occurrences = found as u64;
        if found > 1 && !request.replace_all {
            return Ok(Change::Ambiguous { count: occurrences });
        }
        let grown =
            (text.len() - found * old.len()).saturating_add(found.saturating_mul(new.len()));
        if grown as u64 > MAX_EDITED_FILE {
            return Err(TOO_LARGE);
        }
        return Ok(Change::To { content: text.replace(&*old, &new), occurrences });
    }
    Ok(Change::None { without_newline: without_newline(text, old) })
}

/// How often `old` stands in the text without its last newline, if it stands at the end that way.
fn without_newline(text: &str, old: &str) -> Option<u64> {
    let shorter = old.strip_suffix('\n')?;
    let shorter = shorter.strip_suffix('\r').unwrap_or(shorter);
    [shorter.into(), crlf(shorter), lf(shorter)]
        .into_iter()
        .find(|form| !form.is_empty() && text.ends_with(&**form))
        .map(|form| text.matches(&*form).count() as u64)
}

fn lf(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { text.replace("\r\n", "\n").into() } else { text.into() }
}

fn crlf(text: &str) -> Cow<'_, str> {
    if text.contains('\n') { lf(text).replace('\n', "\r\n").into() } else { text.into() }
}

#[cfg(test)]
mod tests;
