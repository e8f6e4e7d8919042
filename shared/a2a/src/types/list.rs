//! Listing tasks (A2A §3.1.4).

use domain::{TaskState, Timestamp};
use serde::Serialize;

use super::request::{Place, Problems};
use super::task::Task;
use crate::codec;
use crate::codec::object::from_object;
use crate::codec::scalar::{StateFilter, write_state_filter, write_timestamp};
use crate::error::A2aError;

/// Parameters of `ListTasks`. Every filter narrows what the others leave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "write_state_filter")]
    pub status: Option<TaskState>,
    /// Between 1 and 100; `None` leaves it to the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history_length: Option<u32>,
    /// Only tasks whose status is of this time or later.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "write_timestamp")]
    pub status_timestamp_after: Option<Timestamp>,
    pub include_artifacts: bool,
}

struct ListTasksWire {
    tenant: Option<String>,
    context_id: Option<String>,
    status: StateFilter,
    page_size: Option<i32>,
    page_token: Option<String>,
    history_length: Option<i32>,
    status_timestamp_after: Option<Timestamp>,
    include_artifacts: bool,
}

from_object!(ListTasksWire {
    tenant: "tenant",
    context_id: "contextId" | "context_id",
    status: "status",
    page_size: "pageSize" | "page_size",
    page_token: "pageToken" | "page_token",
    history_length: "historyLength" | "history_length",
    status_timestamp_after: "statusTimestampAfter" | "status_timestamp_after",
    include_artifacts: "includeArtifacts" | "include_artifacts",
});

impl ListTasksRequest {
    pub(crate) fn read(text: &str, place: Place) -> Result<Self, A2aError> {
        let wire: ListTasksWire = codec::params(text)?;
        let mut problems = Problems::default();
        let tenant = problems.placed("tenant", wire.tenant, place.tenant);
        let page_size = problems.page_size(wire.page_size);
        let history_length = problems.length("historyLength", wire.history_length);
        problems.none(Self {
            tenant,
            context_id: wire.context_id,
            status: wire.status.0,
            page_size,
            page_token: wire.page_token,
            history_length,
            status_timestamp_after: wire.status_timestamp_after,
            include_artifacts: wire.include_artifacts,
        })
    }
}

/// The answer to `ListTasks`. Every field is always written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksResponse {
    /// The newest status first.
    pub tasks: Vec<Task>,
    /// Empty on the last page.
    pub next_page_token: String,
    /// The size of page that was asked for, or the server's own.
    pub page_size: u32,
    /// All tasks that the filters leave, on whatever page.
    pub total_size: u64,
}

from_object!(ListTasksResponse {
    tasks: "tasks",
    next_page_token: "nextPageToken" | "next_page_token",
    page_size: "pageSize" | "page_size",
    total_size: "totalSize" | "total_size",
});
