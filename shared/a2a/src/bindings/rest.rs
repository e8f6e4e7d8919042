//! HTTP+JSON: the operation in method and path, the parameters in path, query and body.

use bytes::Bytes;
use http::{Method, Request};
use percent_encoding::percent_decode_str;

use super::{Call, content_type, version};
use crate::codec;
use crate::error::{A2aError, Cause};
use crate::operations::Operation;
use crate::profile::Profile;
use crate::types::Place;

/// Where a request leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Routed {
    To(Operation, Place),
    /// The path exists, with other HTTP methods.
    NotAllowed {
        allowed: &'static str,
    },
    Unknown,
}

/// Finds the operation, with or without a tenant in front of the path.
///
/// A path that can be read without a tenant is read so.
pub(super) fn route(path: &str, method: &Method) -> Routed {
    let segments: Option<Vec<String>> = path
        .trim_matches('/')
        .split('/')
        .map(|segment| percent_decode_str(segment).decode_utf8().ok().map(String::from))
        .collect();
    let segments = segments.unwrap_or_default();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    if let Some((resource, place)) = resource(&segments) {
        return verb(resource, method, place);
    }
    if let Some((tenant, below)) = segments.split_first()
        && let Some((resource, place)) = resource(below)
    {
        return verb(resource, method, Place { tenant: Some((*tenant).to_owned()), ..place });
    }
    Routed::Unknown
}

/// What a path names.
#[derive(Debug, Clone, Copy)]
enum Resource {
    Send,
    Stream,
    Tasks,
    Task,
    Cancel,
    Subscribe,
    PushConfigs,
    PushConfig,
    ExtendedCard,
}

/// Reads a path, and the ids in it. A colon in an id is part of it unless a verb that we know
/// follows.
fn resource(segments: &[&str]) -> Option<(Resource, Place)> {
    let task = |id: &str| Place { id: Some(id.to_owned()), ..Place::default() };
    Some(match *segments {
        ["message:send"] => (Resource::Send, Place::default()),
        ["message:stream"] => (Resource::Stream, Place::default()),
        ["extendedAgentCard"] => (Resource::ExtendedCard, Place::default()),
        ["tasks"] => (Resource::Tasks, Place::default()),
        ["tasks", id] if !id.is_empty() => match id.rsplit_once(':') {
            Some((id, "cancel")) => (Resource::Cancel, task(id)),
            Some((id, "subscribe")) => (Resource::Subscribe, task(id)),
            _ => (Resource::Task, task(id)),
        },
        ["tasks", id, "pushNotificationConfigs"] => (Resource::PushConfigs, task(id)),
        ["tasks", id, "pushNotificationConfigs", config] => {
            (Resource::PushConfig, Place { config: Some(config.to_owned()), ..task(id) })
        }
        _ => return None,
    })
}

fn verb(resource: Resource, method: &Method, place: Place) -> Routed {
    let post = *method == Method::POST;
    let get = *method == Method::GET;
    let delete = *method == Method::DELETE;
    let (operation, allowed) = match resource {
        Resource::Send => (post.then_some(Operation::SendMessage), "POST"),
        Resource::Stream => (post.then_some(Operation::SendStreamingMessage), "POST"),
        Resource::Tasks => (get.then_some(Operation::ListTasks), "GET"),
        Resource::Task => (get.then_some(Operation::GetTask), "GET"),
        Resource::Cancel => (post.then_some(Operation::CancelTask), "POST"),
        Resource::Subscribe => ((get || post).then_some(Operation::SubscribeToTask), "GET, POST"),
        Resource::PushConfigs if post => {
            (Some(Operation::CreateTaskPushNotificationConfig), "GET, POST")
        }
        Resource::PushConfigs => {
            (get.then_some(Operation::ListTaskPushNotificationConfigs), "GET, POST")
        }
        Resource::PushConfig if delete => {
            (Some(Operation::DeleteTaskPushNotificationConfig), "GET, DELETE")
        }
        Resource::PushConfig => {
            (get.then_some(Operation::GetTaskPushNotificationConfig), "GET, DELETE")
        }
        Resource::ExtendedCard => (get.then_some(Operation::GetExtendedAgentCard), "GET"),
    };
    match operation {
        Some(operation) => Routed::To(operation, place),
        None => Routed::NotAllowed { allowed },
    }
}

/// Reads the parameters of a routed request.
pub(super) fn read(
    operation: Operation,
    place: Place,
    request: &Request<Bytes>,
    profile: &Profile,
) -> Result<Call, A2aError> {
    version::check(request)?;
    if matches!(*request.method(), Method::GET | Method::DELETE) {
        let query = query_as_json(request.uri().query().unwrap_or_default())?;
        return Call::read(operation, &query, place, profile);
    }
    // An empty body is an empty message, of whatever type it claims to be.
    if request.body().iter().all(u8::is_ascii_whitespace) {
        return Call::read(operation, "{}", place, profile);
    }
    let media_type = content_type(request.headers());
    if !matches!(media_type.as_deref(), Some("application/json" | "application/a2a+json")) {
        let message = "the content type is application/a2a+json or application/json";
        return Err(A2aError::because(Cause::ContentTypeNotSupported, message));
    }
    let text = std::str::from_utf8(request.body()).map_err(|_| A2aError::new(Cause::Parse))?;
    Call::read(operation, text, place, profile)
        .map_err(|error| if codec::is_json(text) { error } else { A2aError::new(Cause::Parse) })
}

/// A query as a JSON object of strings: one reader then serves query and body, and takes numbers
/// from strings anyway.
fn query_as_json(query: &str) -> Result<String, A2aError> {
    let mut json = String::from("{");
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&json_string(name)?);
        json.push(':');
        json.push_str(&json_string(value)?);
    }
    json.push('}');
    Ok(json)
}

fn json_string(encoded: &str) -> Result<String, A2aError> {
    let spaced = encoded.replace('+', " ");
    let text = percent_decode_str(&spaced)
        .decode_utf8()
        .map_err(|_| A2aError::because(Cause::InvalidParams, "the query is not UTF-8"))?;
    Ok(serde_json::Value::from(text.as_ref()).to_string())
}
