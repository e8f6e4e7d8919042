//! `ListTasks`.

use a2a::A2aError;
use a2a::types::{ListTasksRequest, ListTasksResponse};
use domain::Timestamp;
use store::tasks::list::{self, Filter, PageWant};
use store::tasks::page_token::{self, Binding};

use super::Desk;
use crate::caller::Caller;

/// How many tasks a page has when the client does not say (A2A §3.1.4).
const PAGE: u32 = 50;

impl Desk {
    /// A page of the caller's tasks.
    ///
    /// Histories come only when they are asked for: a list is for finding a task, and `GetTask` tells
    /// what was said in it (A2A §3.2.4 leaves that to us).
    pub(super) async fn list(
        &self,
        caller: &Caller,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, A2aError> {
        let agent = caller.key(request.tenant.as_deref())?;
        let filter = filter(&request)?;
        let binding = Binding::new(&caller.digest, &agent, &filter);
        let after = match request.page_token.as_deref() {
            None | Some("") => None,
            Some(token) => Some(page_token::read(token, binding).ok_or_else(|| {
                A2aError::invalid("pageToken", "is not the token of a page of this list")
            })?),
        };
        let size = request.page_size.unwrap_or(PAGE);
        let want = PageWant {
            size,
            history: request.history_length,
            artifacts: request.include_artifacts,
        };
        let page = list::list(&self.viewer.pool, &caller.digest, &agent, filter, after, want)
            .await
            .map_err(|error| caller.failed(&error))?;
        for error in &page.unreadable {
            caller.missed("leave out a task that cannot be read", error);
        }
        let shown = self
            .viewer
            .page(caller.reader(), &caller.agent.definition.name, page.tasks)
            .await
            .map_err(|error| caller.failed(&error))?;
        let tasks = shown.into_iter().map(|shown| {
            for error in &shown.missing {
                caller.missed("show a task without what cannot be read", error);
            }
            shown.task
        });
        Ok(ListTasksResponse {
            tasks: tasks.collect(),
            next_page_token: page
                .next
                .map(|cursor| page_token::write(&cursor, binding))
                .unwrap_or_default(),
            page_size: size,
            total_size: page.total,
        })
    }
}

fn filter(request: &ListTasksRequest) -> Result<Filter<'_>, A2aError> {
    let context_id = request.context_id.as_deref().filter(|id| !id.is_empty());
    if context_id.is_some_and(|id| id.contains('\0')) {
        return Err(A2aError::invalid("contextId", "holds U+0000, which no context has"));
    }
    // No status is older, and no database knows every year that a client may write.
    let since = request.status_timestamp_after.filter(|since| *since > Timestamp::from_micros(0));
    Ok(Filter { context_id, state: request.status, status_since: since })
}
