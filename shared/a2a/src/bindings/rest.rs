//! HTTP+JSON: the operation in method and path, the parameters in path, query and body.

use bytes::Bytes;
use http::{Method, Request};
use percent_encoding::percent_decode_str;

use super::framing::Framing;
use super::v03::{self, Dialect};
use super::version::{self, Version};
use super::{Ask, Call, Refusal, content_type};
use crate::codec;
use crate::error::{A2aError, Cause};
use crate::operations::Operation;
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
    let segments = segments(path);
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

/// The same for 0.3, whose paths begin with `v1`; `None` for any other path.
pub(super) fn route_v03(path: &str, method: &Method) -> Option<Routed> {
    let segments = segments(path);
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (&V03_PREFIX, below) = segments.split_first()? else { return None };
    Some(match below {
        ["card"] => verb(Resource::ExtendedCard, method, Place::default()),
        ["tasks" | "extendedAgentCard"] => Routed::Unknown,
        below => match resource(below) {
            Some((resource, place)) => verb(resource, method, place),
            None => Routed::Unknown,
        },
    })
}

/// Where the paths of 0.3 are. In 1.0 a tenant may be called so.
const V03_PREFIX: &str = "v1";

fn segments(path: &str) -> Vec<String> {
    let segments: Option<Vec<String>> = path
        .trim_matches('/')
        .split('/')
        .map(|segment| percent_decode_str(segment).decode_utf8().ok().map(String::from))
        .collect();
    segments.unwrap_or_default()
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
            Some(("", "cancel" | "subscribe")) => return None,
            Some((id, "cancel")) => (Resource::Cancel, task(id)),
            Some((id, "subscribe")) => (Resource::Subscribe, task(id)),
            _ => (Resource::Task, task(id)),
        },
        ["tasks", id, "pushNotificationConfigs"] if !id.is_empty() => {
            (Resource::PushConfigs, task(id))
        }
        ["tasks", id, "pushNotificationConfigs", config] if !id.is_empty() => {
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

/// Reads a request, and how to answer it.
pub(super) fn read(path: &str, ask: &Ask<'_>) -> (Framing, Result<Call, Refusal>) {
    let method = ask.request.method();
    let old = match ask.version {
        Ok(Version::V10) => None,
        // Whoever asks for what we do not speak is told so on the paths of either version.
        _ => route_v03(path, method),
    };
    let (version, routed) = match old {
        Some(routed) => (Version::V03, routed),
        None => (Version::V10, route(path, method)),
    };
    let framing = Framing::rest(version);
    match routed {
        Routed::To(operation, place) => {
            let call = call(version, operation, &place, ask);
            (framing.streaming(operation.streams()), call.map_err(Refusal::from))
        }
        Routed::NotAllowed { allowed } => (framing, Err(Refusal::NotAllowed { allowed })),
        Routed::Unknown => (framing, Err(A2aError::new(Cause::MethodNotFound).into())),
    }
}

fn call(
    version: Version,
    operation: Operation,
    place: &Place,
    ask: &Ask<'_>,
) -> Result<Call, A2aError> {
    if ask.version.clone()? != version {
        return Err(version::of_1_0());
    }
    // A path of 0.3 in a request of 1.0, and no tenant of that name.
    if place.tenant.as_deref() == Some(V03_PREFIX)
        && !ask.profile.tenants.iter().any(|tenant| tenant == V03_PREFIX)
    {
        return Err(version::of_0_3());
    }
    Call::read(operation, ask, || {
        parameters(ask.request, |text| match version {
            Version::V10 => Call::parse(operation, text, place.clone()),
            Version::V03 => v03::parse(operation, text, place.clone(), Dialect::Rest),
        })
    })
}

/// The parameters that are not in the path: in the query, or in the body.
fn parameters(
    request: &Request<Bytes>,
    parse: impl Fn(&str) -> Result<Call, A2aError>,
) -> Result<Call, A2aError> {
    let parse = |text: &str| codec::all_wrong(text, &parse);
    if matches!(*request.method(), Method::GET | Method::DELETE) {
        return parse(&query_as_json(request.uri().query().unwrap_or_default())?);
    }
    // An empty body is an empty message, of whatever type it claims to be.
    if request.body().iter().all(u8::is_ascii_whitespace) {
        return parse("{}");
    }
    let media_type = content_type(request.headers());
    if !matches!(media_type.as_deref(), Some("application/json" | "application/a2a+json")) {
        let message = "the content type is application/a2a+json or application/json";
        return Err(A2aError::because(Cause::ContentTypeNotSupported, message));
    }
    let text = std::str::from_utf8(request.body()).map_err(|_| A2aError::new(Cause::Parse))?;
    parse(text)
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
