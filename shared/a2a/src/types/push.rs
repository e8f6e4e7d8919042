//! Push notifications: where updates of a task are posted to (A2A §4.3).

use std::fmt;

use serde::Serialize;

use super::request::{Place, Problems};
use crate::codec;
use crate::codec::object::from_object;
use crate::error::A2aError;

/// A webhook of one task. What a client sends, and what it gets back; the secrets in it are never
/// given back (see [`TaskPushNotificationConfig::redacted`]).
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskPushNotificationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Chosen by the client; where it chose none, by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Absent in a configuration that comes with a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    pub url: String,
    /// Sent along with each notification, so that the receiver knows whose it is. A secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<AuthenticationInfo>,
}

/// How we show the receiver who we are: `Authorization: <scheme> <credentials>`.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationInfo {
    pub scheme: String,
    /// A secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
}

impl TaskPushNotificationConfig {
    /// Without its secrets, as answers show it.
    #[must_use]
    pub fn redacted(mut self) -> Self {
        self.token = None;
        if let Some(authentication) = &mut self.authentication {
            authentication.credentials = None;
        }
        self
    }

    /// Reads the parameters of `CreateTaskPushNotificationConfig`.
    pub(crate) fn read(text: &str, place: Place) -> Result<Self, A2aError> {
        let wire: PushConfigWire = codec::params(text)?;
        let mut problems = Problems::default();
        let mut config = wire.read(&mut problems, "");
        config.tenant = problems.placed("tenant", config.tenant, place.tenant);
        config.task_id = Some(problems.named("taskId", config.task_id, place.id));
        problems.none(config)
    }
}

impl fmt::Debug for TaskPushNotificationConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may hold a secret as well.
        f.debug_struct("TaskPushNotificationConfig")
            .field("id", &self.id)
            .field("task_id", &self.task_id)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for AuthenticationInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthenticationInfo").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

/// A configuration before it is known to have what it must have.
pub(super) struct PushConfigWire {
    tenant: Option<String>,
    id: Option<String>,
    task_id: Option<String>,
    url: Option<String>,
    token: Option<String>,
    authentication: Option<AuthenticationWire>,
}

from_object!(PushConfigWire {
    tenant: "tenant",
    id: "id",
    task_id: "taskId" | "task_id",
    url: "url",
    token: "token",
    authentication: "authentication",
});

struct AuthenticationWire {
    scheme: Option<String>,
    credentials: Option<String>,
}

from_object!(AuthenticationWire { scheme: "scheme", credentials: "credentials" });

impl PushConfigWire {
    /// The configuration, with a problem for each required field that is missing. `path` is where
    /// it stands within the parameters.
    pub(super) fn read(self, problems: &mut Problems, path: &str) -> TaskPushNotificationConfig {
        let url = problems.named(&format!("{path}url"), self.url, None);
        let authentication = self.authentication.map(|given| AuthenticationInfo {
            scheme: problems.named(&format!("{path}authentication.scheme"), given.scheme, None),
            credentials: given.credentials,
        });
        TaskPushNotificationConfig {
            tenant: self.tenant,
            id: self.id,
            task_id: self.task_id,
            url,
            token: self.token,
            authentication,
        }
    }
}

/// Parameters of `GetTaskPushNotificationConfig` and `DeleteTaskPushNotificationConfig`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushConfigRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    pub task_id: String,
    pub id: String,
}

struct PushConfigRequestWire {
    tenant: Option<String>,
    task_id: Option<String>,
    id: Option<String>,
}

from_object!(PushConfigRequestWire { tenant: "tenant", task_id: "taskId" | "task_id", id: "id" });

impl PushConfigRequest {
    pub(crate) fn read(text: &str, place: Place) -> Result<Self, A2aError> {
        let wire: PushConfigRequestWire = codec::params(text)?;
        let mut problems = Problems::default();
        let tenant = problems.placed("tenant", wire.tenant, place.tenant);
        let task_id = problems.named("taskId", wire.task_id, place.id);
        let id = problems.named("id", wire.id, place.config);
        problems.none(Self { tenant, task_id, id })
    }
}

/// Parameters of `ListTaskPushNotificationConfigs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListPushConfigsRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    pub task_id: String,
    /// Between 1 and 100; `None` leaves it to the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_token: Option<String>,
}

struct ListPushConfigsWire {
    tenant: Option<String>,
    task_id: Option<String>,
    page_size: Option<i32>,
    page_token: Option<String>,
}

from_object!(ListPushConfigsWire {
    tenant: "tenant",
    task_id: "taskId" | "task_id",
    page_size: "pageSize" | "page_size",
    page_token: "pageToken" | "page_token",
});

impl ListPushConfigsRequest {
    pub(crate) fn read(text: &str, place: Place) -> Result<Self, A2aError> {
        let wire: ListPushConfigsWire = codec::params(text)?;
        let mut problems = Problems::default();
        let tenant = problems.placed("tenant", wire.tenant, place.tenant);
        let task_id = problems.named("taskId", wire.task_id, place.id);
        let page_size = problems.page_size(wire.page_size);
        problems.none(Self { tenant, task_id, page_size, page_token: wire.page_token })
    }
}

/// The answer to `ListTaskPushNotificationConfigs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListPushConfigsResponse {
    pub configs: Vec<TaskPushNotificationConfig>,
    /// Empty on the last page.
    pub next_page_token: String,
}
