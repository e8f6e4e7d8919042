//! The four operations on push notification configurations.

use a2a::types::{
    ListPushConfigsRequest, ListPushConfigsResponse, PushConfigRequest, TaskPushNotificationConfig,
};
use a2a::{A2aError, Cause};

use super::Desk;
use crate::caller::Caller;

impl Desk {
    pub(super) async fn create_webhook(
        &self,
        _caller: &Caller,
        _config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, A2aError> {
        Err(A2aError::new(Cause::PushNotificationNotSupported))
    }

    pub(super) async fn webhook(
        &self,
        _caller: &Caller,
        _request: PushConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2aError> {
        Err(A2aError::new(Cause::PushNotificationNotSupported))
    }

    pub(super) async fn webhooks(
        &self,
        _caller: &Caller,
        _request: ListPushConfigsRequest,
    ) -> Result<ListPushConfigsResponse, A2aError> {
        Err(A2aError::new(Cause::PushNotificationNotSupported))
    }

    pub(super) async fn delete_webhook(
        &self,
        _caller: &Caller,
        _request: PushConfigRequest,
    ) -> Result<(), A2aError> {
        Err(A2aError::new(Cause::PushNotificationNotSupported))
    }
}
