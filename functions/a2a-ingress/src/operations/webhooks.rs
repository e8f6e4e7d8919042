//! The four operations on webhooks (push notification configurations), and the one that comes with a
//! message.
//!
//! **Secrets go in and never come out**: token and credentials are sealed before they are stored, and
//! no answer holds them (A2A leaves that open; a client has them already). A webhook that is not there
//! cannot be told from a task that is not there or not the caller's.

use std::sync::Arc;

use a2a::types::{
    AuthenticationInfo, ListPushConfigsRequest, ListPushConfigsResponse, PushConfigRequest,
    TaskPushNotificationConfig,
};
use a2a::{A2aError, Cause};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{AgentKey, AgentName, ScopeDigest, TaskId};
use lambda_kit::env::Reader;
use sealing::Keyring;
use store::webhooks::{self, Created, NewWebhook, Of, Seal, Sealed, Stored};
use webhook::{Allow, Guard, InvalidRecord, Place, Record};

use super::{Desk, task_id};
use crate::agents::Agents;
use crate::caller::Caller;

/// Where inline configurations stand among the parameters of a message.
pub(super) const INLINE: &str = "configuration.taskPushNotificationConfig.";
/// How many webhooks a page has when the client does not say.
const PAGE: u32 = 50;

/// What webhooks are registered with.
#[derive(Debug, Clone)]
pub struct Webhooks {
    /// Seal what is secret. Without keys there are no webhooks.
    pub keys: Option<Arc<Keyring>>,
    /// Which addresses may be called.
    pub guard: Guard,
    /// How many a task may have.
    pub most: u32,
}

/// An agent offers what this deployment cannot keep.
#[derive(Debug, thiserror::Error)]
#[error(
    "COGNITION_PUSH_KEYS is not set, and the agent {0} offers push notifications: set it, or the \
     agent's `a2a.capabilities.push_notifications` to false"
)]
pub struct NoKeys(AgentName);

impl Webhooks {
    pub const MOST: u32 = 10;

    /// Reads `COGNITION_PUSH_KEYS`, `COGNITION_PUSH_ALLOW` and `COGNITION_PUSH_MAX_PER_TASK` (10).
    pub fn read(read: &mut Reader<'_>) -> Self {
        let keys = read.tried("COGNITION_PUSH_KEYS", Keyring::parse).map(Arc::new);
        let allow: Option<Allow> = read.tried("COGNITION_PUSH_ALLOW", str::parse);
        let most = read.or("COGNITION_PUSH_MAX_PER_TASK", Self::MOST);
        Self { keys, guard: Guard::new(allow.unwrap_or_default()), most }
    }

    /// The agents, if what they offer can be kept: to be asked at the start.
    pub fn fit(&self, agents: Agents) -> Result<Agents, NoKeys> {
        if self.keys.is_some() {
            return Ok(agents);
        }
        let exposed = agents.names().filter_map(|name| agents.exposed(name));
        let offering =
            { exposed }.find(|agent| agent.definition.a2a.capabilities.push_notifications);
        match offering {
            Some(agent) => Err(NoKeys(agent.definition.name.clone())),
            None => Ok(agents),
        }
    }

    fn keys(&self) -> Result<&Keyring, A2aError> {
        let keys = self.keys.as_deref();
        keys.ok_or_else(|| A2aError::new(Cause::PushNotificationNotSupported))
    }

    /// What is kept of a configuration, if it may be called and can be sent as it is. `path` is where
    /// it stands among the parameters.
    fn record(&self, config: &TaskPushNotificationConfig, path: &str) -> Result<Record, A2aError> {
        let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        if let Err(forbidden) = self.guard.target(&config.url) {
            return Err(A2aError::invalid(format!("{path}url"), forbidden.to_string()));
        }
        if let Some(id) = some(&config.id) {
            Record::check_id(&id).map_err(|invalid| refused(invalid, path))?;
        }
        let authentication = config.authentication.as_ref();
        let record = Record {
            v: Record::VERSION,
            url: config.url.clone(),
            token: some(&config.token),
            scheme: authentication.map(|a| a.scheme.clone()),
            credentials: authentication.and_then(|a| some(&a.credentials)),
        };
        record.check().map_err(|invalid| refused(invalid, path))?;
        Ok(record)
    }
}

fn refused(invalid: InvalidRecord, path: &str) -> A2aError {
    let field = match invalid {
        InvalidRecord::Id => "id",
        InvalidRecord::Token => "token",
        InvalidRecord::Scheme => "authentication.scheme",
        InvalidRecord::Credentials => "authentication.credentials",
    };
    A2aError::invalid(format!("{path}{field}"), invalid.to_string())
}

/// As answers show it: without its secrets.
fn shown(
    record: Record,
    id: String,
    task: TaskId,
    tenant: Option<String>,
) -> TaskPushNotificationConfig {
    TaskPushNotificationConfig {
        tenant,
        id: Some(id),
        task_id: Some(task.as_uuid().to_string()),
        url: record.url,
        token: None,
        authentication: record
            .scheme
            .map(|scheme| AuthenticationInfo { scheme, credentials: None }),
    }
}

/// A webhook that is to be stored.
#[derive(Debug)]
pub(super) struct Registered<'a> {
    id: Option<&'a str>,
    record: Record,
    keys: &'a Keyring,
}

impl Registered<'_> {
    /// The client's choice; without one, it is the task's own id, so that a client which sends its
    /// webhook along with each message has one and not many.
    pub(super) fn id(&self) -> Option<&str> {
        self.id
    }
}

impl Seal for Registered<'_> {
    fn seal(&self, scope: &ScopeDigest, task: TaskId, config_id: &str) -> Sealed {
        let place = Place { scope, task, config_id };
        let sealing::Sealed { key_id, bytes } = self.record.seal(self.keys, place);
        Sealed { key_id, bytes }
    }
}

/// That there is no room for another one.
pub(super) fn too_many(path: &str, most: u32) -> A2aError {
    let field = path.trim_end_matches('.');
    let field = if field.is_empty() { "taskId" } else { field };
    A2aError::invalid(field.to_owned(), format!("the task has {most} webhooks already"))
}

impl Desk {
    /// What comes with a message, ready to be stored with it.
    pub(super) fn inline_webhook<'a>(
        &'a self,
        config: Option<&'a TaskPushNotificationConfig>,
    ) -> Result<Option<Registered<'a>>, A2aError> {
        let Some(config) = config else { return Ok(None) };
        let keys = self.webhooks.keys()?;
        let record = self.webhooks.record(config, INLINE)?;
        let id = config.id.as_deref().filter(|id| !id.is_empty());
        Ok(Some(Registered { id, record, keys }))
    }

    pub(super) async fn create_webhook(
        &self,
        caller: &Caller,
        config: TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, A2aError> {
        let keys = self.webhooks.keys()?;
        let agent = caller.key(config.tenant.as_deref())?;
        let task = task_id(config.task_id.as_deref().unwrap_or_default())?;
        let record = self.webhooks.record(&config, "")?;
        let chosen = config.id.filter(|id| !id.is_empty());
        let id = chosen.unwrap_or_else(|| self.ids.uuid().to_string());
        let registered = Registered { id: Some(&id), record, keys };
        let webhook = NewWebhook {
            config_id: registered.id(),
            protocol: caller.protocol,
            seal: &registered,
            most: self.webhooks.most,
        };
        let pool = &self.viewer.pool;
        let created = webhooks::create(pool, &self.ids, of(caller, &agent, task), &webhook).await;
        match created.map_err(|error| caller.failed(&error))? {
            Created::Yes => {
                // A webhook that replaces another one may have something to be told.
                dispatch::flush(pool, &*self.queues).await;
                Ok(shown(registered.record, id.clone(), task, config.tenant))
            }
            Created::TooMany => Err(too_many("", self.webhooks.most)),
            Created::UnknownTask => Err(A2aError::task_not_found()),
        }
    }

    pub(super) async fn webhook(
        &self,
        caller: &Caller,
        request: PushConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2aError> {
        let keys = self.webhooks.keys()?;
        let agent = caller.key(request.tenant.as_deref())?;
        let task = task_id(&request.task_id)?;
        let found = webhooks::find(&self.viewer.pool, of(caller, &agent, task), &request.id).await;
        let stored = found.map_err(|error| caller.failed(&error))?;
        let stored = stored.ok_or_else(A2aError::task_not_found)?;
        open(caller, keys, task, stored, request.tenant)
    }

    pub(super) async fn webhooks(
        &self,
        caller: &Caller,
        request: ListPushConfigsRequest,
    ) -> Result<ListPushConfigsResponse, A2aError> {
        let keys = self.webhooks.keys()?;
        let agent = caller.key(request.tenant.as_deref())?;
        let task = task_id(&request.task_id)?;
        let after = match request.page_token.as_deref() {
            None | Some("") => None,
            Some(token) => Some(place(token)?),
        };
        let size = request.page_size.unwrap_or(PAGE);
        // One more than the page holds, to know whether it is the last one.
        let of = of(caller, &agent, task);
        let found =
            webhooks::list(&self.viewer.pool, of, after.as_deref(), size.saturating_add(1)).await;
        let found = found.map_err(|error| caller.failed(&error))?;
        let mut stored = found.ok_or_else(A2aError::task_not_found)?;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let more = stored.len() > size;
        stored.truncate(size);
        let last = stored.last().map(|webhook| URL_SAFE_NO_PAD.encode(&webhook.config_id));
        let configs = stored
            .into_iter()
            .map(|stored| open(caller, keys, task, stored, request.tenant.clone()))
            .collect::<Result<_, _>>()?;
        let next_page_token = last.filter(|_| more).unwrap_or_default();
        Ok(ListPushConfigsResponse { configs, next_page_token })
    }

    pub(super) async fn delete_webhook(
        &self,
        caller: &Caller,
        request: PushConfigRequest,
    ) -> Result<(), A2aError> {
        self.webhooks.keys()?;
        let agent = caller.key(request.tenant.as_deref())?;
        let task = task_id(&request.task_id)?;
        let of = of(caller, &agent, task);
        let known = webhooks::delete(&self.viewer.pool, of, &request.id).await;
        let known = known.map_err(|error| caller.failed(&error))?;
        if known { Ok(()) } else { Err(A2aError::task_not_found()) }
    }
}

fn of<'a>(caller: &'a Caller, agent: &'a AgentKey, task: TaskId) -> Of<'a> {
    Of { scope: &caller.digest, agent, task }
}

fn open(
    caller: &Caller,
    keys: &Keyring,
    task: TaskId,
    stored: Stored,
    tenant: Option<String>,
) -> Result<TaskPushNotificationConfig, A2aError> {
    let Stored { config_id, sealed: Sealed { key_id, bytes } } = stored;
    let place = Place { scope: &caller.digest, task, config_id: &config_id };
    let record = Record::open(keys, place, &sealing::Sealed { key_id, bytes });
    let record = record.map_err(|error| caller.failed(&error))?;
    Ok(shown(record, config_id, task, tenant))
}

/// The id after which a page begins.
fn place(token: &str) -> Result<String, A2aError> {
    let id = URL_SAFE_NO_PAD.decode(token).ok().and_then(|id| String::from_utf8(id).ok());
    id.filter(|id| Record::check_id(id).is_ok())
        .ok_or_else(|| A2aError::invalid("pageToken", "is not the token of a page of this list"))
}
