//! The tools that look at files and change them.
//!
//! - Looking changes nothing: it is done again.
//! - `write_file` makes the same file again.
//! - `edit_file` notes the digests before and after; the sandbox changes the file only from the one
//!   to the other, and recognises what is done already.
//! - `delete` notes that something was there; if it is gone afterwards, it is done.

use agent::tools::files::{NoEdit, deleted, edited, not_edited, written};
use agent::tools::grep::{Hit, Hits};
use agent::tools::{
    Delete, EditFile, Glob, Grep, Ls, ReadFile, ReadPath, WORKSPACE, WorkspacePath, WriteFile,
    grep, listing, media, read,
};
use agent::{ToolCode, ToolError};
use sandbox_protocol::ErrorCode;
use sandbox_protocol::client::Error;
use sandbox_protocol::files::{
    DeleteRequest, EditReply, EditRequest, Encoding, LsRequest, ReadReply, ReadRequest,
    StatRequest, WriteRequest,
};
use sandbox_protocol::search::{GlobRequest, GrepRequest};

use super::reach::{Reply, refusal};
use super::{End, Job};
use crate::note::{Edit, Note};
use crate::sandbox::Sandbox;
use crate::worker::Stop;

/// Unwraps a yes; a no becomes the call's result, and so does silence.
macro_rules! yes {
    ($job:ident, $reply:expr, $no:expr) => {
        match $reply? {
            Reply::Yes(reply) => reply,
            Reply::No(error) => return Ok($no(&error).into()),
            Reply::Silence => return $job.unanswered().await,
        }
    };
}

impl Job<'_> {
    pub(super) async fn ls(&self, sandbox: &Sandbox, ls: &Ls) -> Result<End, Stop> {
        let request = &LsRequest { path: ls.path.relative().to_owned() };
        let reply = self.reach(sandbox, |client| async move { client.ls(request).await }).await;
        let reply = yes!(self, reply, |error| refusal(error, ToolCode::PathNotFound));
        let entries = reply.entries.into_iter();
        let entries = entries
            .map(|entry| listing::Entry { path: absolute(&entry.path), is_dir: entry.is_dir });
        Ok(listing::folder(&entries.collect::<Vec<_>>()).into())
    }

    pub(super) async fn read_file(&self, sandbox: &Sandbox, file: &ReadFile) -> Result<End, Stop> {
        let ReadPath::Workspace(path) = &file.path else { return Ok(super::failed().into()) };
        if media::by_name(path.as_str()).is_some() {
            return self.read_media(sandbox, file, path).await;
        }
        let request = &ReadRequest {
            path: path.relative().to_owned(),
            offset: file.skip(),
            limit: Some(file.take()),
            binary: false,
        };
        let reply = self.reach(sandbox, |client| async move { client.read(request).await }).await;
        let reply = yes!(self, reply, |error| refusal(error, ToolCode::FileNotFound));
        if reply.encoding == Encoding::Base64 {
            return self.read_media(sandbox, file, path).await;
        }
        Ok(read::render(file, &page(reply)).into())
    }

    async fn read_media(
        &self,
        sandbox: &Sandbox,
        file: &ReadFile,
        path: &WorkspacePath,
    ) -> Result<End, Stop> {
        let request = &StatRequest { path: path.relative().to_owned(), sha256: true, follow: true };
        let reply = self.reach(sandbox, |client| async move { client.stat(request).await }).await;
        let reply = yes!(self, reply, |error| refusal(error, ToolCode::FileNotFound));
        if reply.kind == sandbox_protocol::files::FileKind::Directory {
            return Ok(ToolError::new(ToolCode::IsDirectory, "The path names a folder.").into());
        }
        Ok(media::render(&file.path, reply.sha256.unwrap_or_default(), reply.size).into())
    }

    pub(super) async fn write_file(
        &self,
        sandbox: &Sandbox,
        write: &WriteFile,
    ) -> Result<End, Stop> {
        self.begin(None).await?;
        let request = &WriteRequest {
            path: write.path.relative().to_owned(),
            content: write.content.clone(),
        };
        let reply = self.reach(sandbox, |client| async move { client.write(request).await }).await;
        yes!(self, reply, |error| refusal(error, ToolCode::FileNotFound));
        Ok(written(&write.path).into())
    }

    pub(super) async fn edit_file(&self, sandbox: &Sandbox, edit: &EditFile) -> Result<End, Stop> {
        let mut wish = EditRequest {
            path: edit.path.relative().to_owned(),
            old: edit.old.clone(),
            new: edit.new.clone(),
            replace_all: edit.replace_all,
            dry_run: true,
            if_sha256: None,
            done_sha256: None,
        };
        let of_edit = |note| match note {
            Note::Edit(edit) => Some(edit),
            Note::Command(_) | Note::Delete => None,
        };
        let noted = if let Some(noted) = self.noted(of_edit)? {
            noted
        } else {
            let request = &wish;
            let reply =
                self.reach(sandbox, |client| async move { client.edit(request).await }).await;
            let reply = yes!(self, reply, |error| refusal(error, ToolCode::FileNotFound));
            match reply {
                EditReply::Edited { occurrences, sha256_before, sha256_after } => {
                    Edit { before: sha256_before, after: sha256_after, occurrences }
                }
                other => return Ok(no_edit(edit, &other).into()),
            }
        };
        self.begin(Some(&Note::Edit(noted.clone()))).await?;
        wish.dry_run = false;
        wish.if_sha256 = Some(noted.before.clone());
        wish.done_sha256 = Some(noted.after.clone());
        let request = &wish;
        let reply = self.reach(sandbox, |client| async move { client.edit(request).await }).await;
        let reply = yes!(self, reply, |error| refusal(error, ToolCode::FileNotFound));
        Ok(match reply {
            EditReply::Edited { occurrences, .. } => edited(&edit.path, occurrences).into(),
            EditReply::AlreadyDone { .. } => edited(&edit.path, noted.occurrences).into(),
            other => no_edit(edit, &other).into(),
        })
    }

    pub(super) async fn delete(&self, sandbox: &Sandbox, delete: &Delete) -> Result<End, Stop> {
        let path = delete.path.relative().to_owned();
        if self.noted(|note| (note == Note::Delete).then_some(()))?.is_none() {
            let request = &StatRequest { path: path.clone(), sha256: false, follow: false };
            let reply =
                self.reach(sandbox, |client| async move { client.stat(request).await }).await;
            yes!(self, reply, |error| refusal(error, ToolCode::FileNotFound));
        }
        self.begin(Some(&Note::Delete)).await?;
        let request = &DeleteRequest { path };
        match self.reach(sandbox, |client| async move { client.delete(request).await }).await? {
            // Gone: by us, whether we saw the answer or not.
            Reply::Yes(_) | Reply::No(Error::NotFound) => Ok(deleted(&delete.path).into()),
            Reply::No(error) => Ok(refusal(&error, ToolCode::FileNotFound).into()),
            Reply::Silence => self.unanswered().await,
        }
    }

    pub(super) async fn glob(&self, sandbox: &Sandbox, glob: &Glob) -> Result<End, Stop> {
        let request = &GlobRequest { pattern: glob.pattern.clone(), path: below(&glob.path) };
        let reply = self.reach(sandbox, |client| async move { client.glob(request).await }).await;
        let reply = yes!(self, reply, unsearched);
        let paths = reply.paths.iter().map(|path| absolute(path)).collect();
        Ok(listing::matches(paths, reply.truncated).into())
    }

    pub(super) async fn grep(&self, sandbox: &Sandbox, grep: &Grep) -> Result<End, Stop> {
        let request = &GrepRequest {
            pattern: grep.pattern.clone(),
            path: below(&grep.path),
            glob: grep.glob.clone(),
            max_count: Some(u64::from(grep.max_count)),
        };
        let reply = self.reach(sandbox, |client| async move { client.grep(request).await }).await;
        let reply = yes!(self, reply, unsearched);
        let hit = |hit: sandbox_protocol::search::GrepMatch| Hit {
            path: absolute(&hit.path),
            line: hit.line,
            text: hit.text,
        };
        let hits = reply.matches.into_iter().map(hit).collect();
        let found = Hits { hits, truncated: reply.truncated, withheld: false };
        Ok(grep::render(grep, &found).into())
    }
}

fn absolute(relative: &str) -> String {
    format!("{WORKSPACE}/{relative}")
}

/// Where a search begins; the workspace itself needs no name.
fn below(path: &WorkspacePath) -> Option<String> {
    (!path.is_root()).then(|| path.relative().to_owned())
}

fn unsearched(error: &Error) -> ToolError {
    if error.code() == Some(ErrorCode::BadRequest) {
        ToolError::new(ToolCode::InvalidPattern, "The pattern is not valid.")
    } else {
        refusal(error, ToolCode::PathNotFound)
    }
}

fn no_edit(edit: &EditFile, reply: &EditReply) -> ToolError {
    let why = match reply {
        EditReply::NotFound { without_newline: None | Some(0) } => NoEdit::NotFound,
        EditReply::NotFound { without_newline: Some(n) } => {
            NoEdit::NewlineAtEnd { occurrences: *n }
        }
        EditReply::NotUnique { count } => NoEdit::NotUnique { occurrences: *count },
        EditReply::NotText => {
            return ToolError::new(ToolCode::NotText, "The file is not text.");
        }
        EditReply::Stale { .. } | EditReply::Edited { .. } | EditReply::AlreadyDone { .. } => {
            return ToolError::new(
                ToolCode::StaleTarget,
                "The file changed while this ran, and was left as it is. Read it again.",
            );
        }
    };
    not_edited(edit, why)
}

fn page(reply: ReadReply) -> read::Page {
    if reply.size == 0 {
        return read::Page::Empty;
    }
    if reply.no_lines_requested {
        return read::Page::NotRequested;
    }
    match (reply.start_line, reply.total_lines) {
        (Some(first_line), total_lines) => read::Page::Lines {
            content: reply.content,
            first_line,
            total_lines,
            more: reply.next_offset.is_some(),
            cut: reply.line_truncated,
        },
        (None, Some(total_lines)) if total_lines > 0 => read::Page::Beyond { total_lines },
        (None, _) => read::Page::Empty,
    }
}
