//! Push notifications: where updates of a task are posted to (A2A §4.3).
//!
//! **What a client may choose here ends up in the headers of requests of ours**, so every text is
//! bounded and free of control characters before anybody else sees it. Whether we may post to the
//! address at all is not decided here.

use std::fmt;

use serde::Serialize;

use super::request::{Place, Problems};
use crate::codec;
use crate::codec::object::from_object;
use crate::error::A2aError;

/// The longest address.
pub const MAX_URL_BYTES: usize = 2 * 1024;

/// The longest token, and the longest credentials.
pub const MAX_SECRET_BYTES: usize = 4 * 1024;

/// The longest name of an authentication scheme.
pub const MAX_SCHEME_BYTES: usize = 64;

/// A webhook of one task. What a client sends, and what it gets back; the secrets in it are never
/// given back (see [`TaskPushNotificationConfig::redacted`]).
///
/// Reading it alone checks nothing; reading a request does.
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

from_object!(TaskPushNotificationConfig {
    tenant: "tenant",
    id: "id",
    task_id: "taskId" | "task_id",
    url: "url",
    token: "token",
    authentication: "authentication",
});

/// How we show the receiver who we are: `Authorization: <scheme> <credentials>`.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationInfo {
    pub scheme: String,
    /// A secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
}

from_object!(AuthenticationInfo { scheme: "scheme", credentials: "credentials" });

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
        let mut config: Self = codec::params(text)?;
        let mut problems = Problems::default();
        config.tenant = problems.placed("tenant", config.tenant, place.tenant);
        config.task_id = Some(problems.named("taskId", config.task_id, place.id));
        config.check(&mut problems, "", "scheme");
        problems.none(config)
    }

    /// Notes what is missing, too long, or fit for no header. `path` is where the configuration
    /// stands within the parameters, `scheme` the name of that field.
    pub(crate) fn check(&self, problems: &mut Problems, path: &str, scheme: &str) {
        let id = self.id.as_deref().unwrap_or_default();
        problems.plain(path, "id", id, crate::inbound::MAX_ID_BYTES);
        if self.url.is_empty() {
            problems.add(&format!("{path}url"), "is required");
        }
        problems.plain(path, "url", &self.url, MAX_URL_BYTES);
        let token = self.token.as_deref().unwrap_or_default();
        problems.header(path, "token", token, MAX_SECRET_BYTES);
        if let Some(authentication) = &self.authentication {
            let path = format!("{path}authentication.");
            let (field, scheme) = (format!("{path}{scheme}"), &authentication.scheme);
            if scheme.is_empty() {
                problems.add(&field, "is required");
            } else if !scheme.bytes().all(is_token) {
                problems.add(&field, "is one word, as RFC 9110 has it");
            } else if scheme.len() > MAX_SCHEME_BYTES {
                problems.add(&field, format!("has at most {MAX_SCHEME_BYTES} bytes"));
            }
            let credentials = authentication.credentials.as_deref().unwrap_or_default();
            problems.header(&path, "credentials", credentials, MAX_SECRET_BYTES);
        }
    }
}

/// The characters of a token (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
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
    page_size: i32,
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
        // Unlike that of `ListTasks` this field has no presence: 0 is as good as not sent.
        let page_size = problems.page_size(Some(wire.page_size).filter(|size| *size != 0));
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

from_object!(ListPushConfigsResponse {
    configs: "configs",
    next_page_token: "nextPageToken" | "next_page_token",
});
