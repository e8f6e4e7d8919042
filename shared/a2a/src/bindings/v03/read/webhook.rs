//! Webhooks of 0.3: a configuration within another, with a list of schemes.

use crate::codec;
use crate::codec::object::from_object;
use crate::error::A2aError;
use crate::types::{AuthenticationInfo, Place, Problems, TaskPushNotificationConfig};

/// Reads the parameters that set one.
pub(super) fn set(text: &str, place: Place) -> Result<TaskPushNotificationConfig, A2aError> {
    let wire: SetWire = codec::params(text)?;
    let mut problems = Problems::default();
    let task = problems.named("taskId", wire.task_id, place.id);
    // The SDKs disagree on whether the body is the request or the configuration in it.
    let (config, path) = match wire.config {
        Some(nested) => (nested.push_notification_config, "config.pushNotificationConfig"),
        None => (wire.push_notification_config, "pushNotificationConfig"),
    };
    let Some(config) = config else { return Err(problems.missing(path)) };
    let mut config = config.read(&mut problems, path);
    config.id = config.id.or(wire.config_id).or_else(|| Some(task.clone()));
    config.task_id = Some(task);
    problems.none(config)
}

struct SetWire {
    task_id: Option<String>,
    config_id: Option<String>,
    push_notification_config: Option<ConfigWire>,
    config: Option<NestedWire>,
}

from_object!(SetWire {
    task_id: "taskId" | "task_id",
    config_id: "configId" | "config_id",
    push_notification_config: "pushNotificationConfig" | "push_notification_config",
    config: "config",
});

struct NestedWire {
    push_notification_config: Option<ConfigWire>,
}

from_object!(NestedWire {
    push_notification_config: "pushNotificationConfig" | "push_notification_config",
});

/// A configuration before it is known to have what it must have.
pub(super) struct ConfigWire {
    id: Option<String>,
    url: String,
    token: Option<String>,
    authentication: Option<AuthenticationWire>,
}

from_object!(ConfigWire { id: "id", url: "url", token: "token", authentication: "authentication" });

struct AuthenticationWire {
    schemes: Vec<String>,
    credentials: Option<String>,
}

from_object!(AuthenticationWire { schemes: "schemes", credentials: "credentials" });

impl ConfigWire {
    /// The configuration, with all that is wrong with it. Of several schemes the first one is used.
    pub(super) fn read(self, problems: &mut Problems, path: &str) -> TaskPushNotificationConfig {
        let authentication = self.authentication.map(|given| AuthenticationInfo {
            scheme: given.schemes.into_iter().next().unwrap_or_default(),
            credentials: given.credentials,
        });
        let config = TaskPushNotificationConfig {
            tenant: None,
            id: self.id,
            task_id: None,
            url: self.url,
            token: self.token,
            authentication,
        };
        config.check(problems, &format!("{path}."), "schemes[0]");
        config
    }
}
