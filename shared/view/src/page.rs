//! Pages of tasks.
//!
//! **What cannot be read of one task hides neither the rest of it nor another one.** The answer says
//! so where it is: `cognition.artifactsUnavailable` or `cognition.historyUnavailable` in the task's
//! metadata.

use std::collections::HashMap;

use a2a::project::{self, Resolved, Said, TaskView, Unprojectable};
use a2a::types::{JsonObject, Task};
use domain::{AgentName, ArtifactContent, ArtifactUpdate, EventBody, PublicationId};
use futures_util::StreamExt as _;
use futures_util::stream;
use published::Namespace;
use store::publications;
use store::tasks::list::Listed;

use super::{Error, Reader, Viewer, bare, said};

/// Files that are looked for at once.
const AT_ONCE: usize = 8;

/// A task of a page.
#[derive(Debug)]
pub struct Shown {
    pub task: Task,
    /// Why something of it is missing.
    pub missing: Vec<Error>,
}

/// Published files, or why one cannot be handed out.
type Files = HashMap<PublicationId, Result<project::Published, Error>>;

impl Viewer {
    /// The tasks of a page as their client sees them, in their order. Files are looked up together,
    /// and only those of artifacts that were read. An error is the database's, for all of them.
    pub async fn page(
        &self,
        reader: Reader<'_>,
        agent: &AgentName,
        listed: Vec<Listed>,
    ) -> Result<Vec<Shown>, Error> {
        let drafts: Vec<Draft> =
            listed.into_iter().map(|listed| Draft::new(agent, listed)).collect();
        let updates = drafts.iter().flat_map(|draft| &draft.updates);
        let wanted: Vec<PublicationId> = updates.filter_map(publication).collect();
        let mut files = self.files(reader, &wanted).await?;
        drafts.into_iter().map(|draft| draft.shown(&mut files)).collect()
    }

    /// Those of `wanted` that are published; of each, why it cannot be handed out.
    async fn files(&self, reader: Reader<'_>, wanted: &[PublicationId]) -> Result<Files, Error> {
        if wanted.is_empty() {
            return Ok(HashMap::new());
        }
        let mut files = HashMap::with_capacity(wanted.len());
        let mut rows = Vec::with_capacity(wanted.len());
        match publications::find(&self.pool, reader.digest, wanted).await {
            Ok(found) => rows.extend(found),
            Err(error) if error.is_retryable() => return Err(error.into()),
            Err(_) => {
                // One row is unreadable: one by one it is known which.
                for id in wanted {
                    match publications::find(&self.pool, reader.digest, &[*id]).await {
                        Ok(found) => rows.extend(found),
                        Err(error) => {
                            files.insert(*id, Err(error.into()));
                        }
                    }
                }
            }
        }
        let namespace = &Namespace::new(reader.scope, &self.scope_key);
        let resolved = stream::iter(rows)
            .map(async |(id, row)| (id, self.published(namespace, row).await))
            .buffer_unordered(AT_ONCE);
        files.extend(resolved.collect::<Vec<_>>().await);
        Ok(files)
    }
}

/// The published file that an update brings.
fn publication(update: &ArtifactUpdate) -> Option<PublicationId> {
    match update.content {
        ArtifactContent::Published { publication } => Some(publication),
        _ => None,
    }
}

/// A task before its files are known.
struct Draft {
    /// Without history and artifacts.
    bare: TaskView,
    history: Result<Vec<Said>, Error>,
    updates: Vec<ArtifactUpdate>,
    /// Why artifacts are missing.
    missing: Vec<Error>,
}

impl Draft {
    fn new(agent: &AgentName, listed: Listed) -> Self {
        let (events, missing) = match listed.artifacts {
            Ok(events) => (events, Vec::new()),
            Err(error) => (Vec::new(), vec![error.into()]),
        };
        let updates = events.into_iter().filter_map(|event| match event.body {
            EventBody::Artifact(update) => Some(update),
            _ => None,
        });
        let history = listed.history.map_err(Error::from).and_then(|messages| {
            messages.into_iter().filter_map(|message| said(message).transpose()).collect()
        });
        let bare = bare(agent, listed.task);
        Self { bare, history, updates: updates.collect(), missing }
    }

    /// The task with what of it can be shown. An error is one of the task itself.
    fn shown(self, files: &mut Files) -> Result<Shown, Error> {
        let Self { bare, history, mut updates, mut missing } = self;
        let mut resolved = Resolved::new();
        updates.retain(|update| match publication(update) {
            Some(id) if !resolved.contains_key(&id) => {
                let unresolved = || Err(Unprojectable::Unresolved(id).into());
                match files.remove(&id).unwrap_or_else(unresolved) {
                    Ok(file) => resolved.insert(id, file).is_none(),
                    Err(error) => {
                        missing.push(error);
                        false
                    }
                }
            }
            _ => true,
        });
        let mut task = project::task(bare.clone(), &resolved)?;
        let artifacts = updates.into_iter().collect();
        match project::task(TaskView { artifacts, ..bare.clone() }, &resolved) {
            Ok(with) => task.artifacts = with.artifacts,
            Err(error) => missing.push(error.into()),
        }
        if !missing.is_empty() {
            mark(&mut task, "artifactsUnavailable");
        }
        let said = history.and_then(|history| {
            Ok(project::task(TaskView { history, ..bare }, &resolved)?.history)
        });
        match said {
            Ok(history) => task.history = history,
            Err(error) => {
                mark(&mut task, "historyUnavailable");
                missing.push(error);
            }
        }
        Ok(Shown { task, missing })
    }
}

/// Says in the task's metadata that something is missing.
fn mark(task: &mut Task, what: &str) {
    let metadata = task.metadata.as_ref().map_or("{}", JsonObject::as_str);
    let Ok(serde_json::Value::Object(mut metadata)) = serde_json::from_str(metadata) else {
        return;
    };
    let ours = metadata.entry("cognition").or_insert_with(|| serde_json::json!({}));
    if let Some(ours) = ours.as_object_mut() {
        ours.insert(what.to_owned(), true.into());
    }
    let text = serde_json::Value::Object(metadata).to_string();
    if let Ok(marked) = JsonObject::new(text) {
        task.metadata = Some(marked);
    }
}
