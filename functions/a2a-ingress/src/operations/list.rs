//! `ListTasks`.

use a2a::types::{ListTasksRequest, ListTasksResponse};
use a2a::{A2aError, Cause};

use super::Desk;
use crate::caller::Caller;

impl Desk {
    pub(super) async fn list(
        &self,
        _caller: &Caller,
        _request: ListTasksRequest,
    ) -> Result<ListTasksResponse, A2aError> {
        Err(A2aError::new(Cause::UnsupportedOperation))
    }
}
