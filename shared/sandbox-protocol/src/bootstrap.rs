//! What the hook port is told when an instance starts, and how a local server says where it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Secret;

/// Where the hooks live; the hook's name follows.
pub const HOOK_PREFIX: &str = "/aws/lambda-microvms/runtime/v1/";

/// The body of the `run` hook as AWS sends it. The payload is a string there; an object is also
/// understood, unknown keys are passed over, and `microvmId` may be absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnvelope {
    #[serde(rename = "microvmId", default, skip_serializing_if = "Option::is_none")]
    pub microvm_id: Option<String>,
    #[serde(rename = "runHookPayload", default, skip_serializing_if = "Option::is_none")]
    pub run_hook_payload: Option<Payload>,
}

/// A payload in one of its two spellings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Payload {
    Text(String),
    Object(serde_json::Map<String, serde_json::Value>),
}

/// What makes an instance ours. The first valid one wins, for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPayload {
    /// 1.
    pub v: u32,
    pub instance_id: Uuid,
    /// The workspace generation at launch.
    pub generation: i64,
    /// The bearer; see [`crate::runtime_token`].
    pub auth: Auth,
    /// How long a lease lasts, for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ttl_s: Option<u32>,
    /// Milliseconds since 1970 up to which the owner is known to live. Absent: no self-fencing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<i64>,
    #[serde(default)]
    pub workspace: Workspace,
    /// Caps below the server's own. Higher ones are without effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// Environment of every command.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// The bearer inside a payload: written out on the wire, hidden from `Debug`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auth(pub Secret);

impl Serialize for Auth {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.expose())
    }
}

impl<'de> Deserialize<'de> for Auth {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Secret::new(text)))
    }
}

/// Where the workspace lives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Workspace {
    /// On the guest's own disk.
    #[default]
    Ephemeral,
}

/// Caps that a payload can lower.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_execs: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_bytes: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_body_bytes: Option<usize>,
}

impl RunPayload {
    /// A payload with nothing but what it must have.
    pub fn new(instance_id: Uuid, generation: i64, auth: Secret) -> Self {
        Self {
            v: 1,
            instance_id,
            generation,
            auth: Auth(auth),
            lease_ttl_s: None,
            lease_until: None,
            workspace: Workspace::default(),
            limits: None,
            env: BTreeMap::new(),
        }
    }

    /// The string that `RunMicrovm` takes as `runHookPayload`.
    pub fn to_text(&self) -> String {
        // Strings, numbers and maps with string keys: JSON holds them all.
        serde_json::to_string(self).unwrap_or_else(|_| unreachable!("a payload serialises"))
    }
}

/// What a server writes to the file that `COG_READY_FILE` names, once it listens: a local backend
/// starts it with port 0 and reads the chosen ports here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    pub port: u16,
    pub hook_port: u16,
    pub pid: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_with_every_field_that_we_send_fits_in_what_aws_carries() {
        let mut payload =
            RunPayload::new(Uuid::max(), i64::MAX, crate::runtime_token(b"k", Uuid::nil()));
        payload.lease_ttl_s = Some(u32::MAX);
        payload.lease_until = Some(i64::MAX);
        payload.limits = Some(Limits {
            max_execs: Some(usize::MAX),
            max_output_bytes: Some(usize::MAX),
            max_body_bytes: Some(usize::MAX),
        });
        assert!(payload.to_text().len() < crate::limits::MAX_RUN_PAYLOAD / 4);
    }

    #[test]
    fn the_bearer_is_in_the_payload_and_not_in_its_debug_form() {
        let payload = RunPayload::new(Uuid::nil(), 1, Secret::new("canary"));
        assert!(payload.to_text().contains("canary"));
        assert!(!format!("{payload:?}").contains("canary"));
        assert_eq!(serde_json::from_str::<RunPayload>(&payload.to_text()).unwrap(), payload);
    }
}
