//! Version 0.3 of the protocol: another wire in front of the same operations.
//!
//! **It reads the requests of 0.3 into those of 1.0 and writes the answers of 1.0 as those of 0.3;
//! it does nothing.** Free JSON goes through as it is. The two bindings of 0.3 differ more than
//! those of 1.0: JSON-RPC has objects that say their `kind`, HTTP the JSON of a protobuf
//! ([`Dialect`]).
//!
//! What 0.3 leaves open is as its Python SDK, 0.3.26, has it:
//! - without `blocking` a message waits over JSON-RPC and does not over HTTP, where absence is false
//! - a history of length 0 is one without limit
//! - a webhook without an id of its own has that of its task, and one that is asked for without an
//!   id is any of the task's
//! - a stream ends where the task needs the client
//! - a method that streams answers with a stream also where it fails
//!
//! Where that SDK and the protocol's own definition differ the definition wins: `fileWithBytes` is
//! base64 once.
//!
//! A webhook that was made in 0.3 is told the whole task, as 0.3 writes it (`notification`).

mod read;
mod write;

pub(super) use read::parse;
pub(super) use write::{Old, is_final};

use crate::operations::Operation;

/// How the two bindings of 0.3 spell the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    JsonRpc,
    Rest,
}

/// The operation behind a JSON-RPC method of 0.3, which cannot list tasks.
pub(super) fn method(name: &str) -> Option<Operation> {
    use Operation as O;
    Some(match name {
        "message/send" => O::SendMessage,
        "message/stream" => O::SendStreamingMessage,
        "tasks/get" => O::GetTask,
        "tasks/cancel" => O::CancelTask,
        "tasks/resubscribe" => O::SubscribeToTask,
        "tasks/pushNotificationConfig/set" => O::CreateTaskPushNotificationConfig,
        "tasks/pushNotificationConfig/get" => O::GetTaskPushNotificationConfig,
        "tasks/pushNotificationConfig/list" => O::ListTaskPushNotificationConfigs,
        "tasks/pushNotificationConfig/delete" => O::DeleteTaskPushNotificationConfig,
        "agent/getAuthenticatedExtendedCard" => O::GetExtendedAgentCard,
        _ => return None,
    })
}
