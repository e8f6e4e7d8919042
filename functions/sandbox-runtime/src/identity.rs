//! Whose instance this is: decided once, by the first valid `run` hook.
//!
//! ```text
//!   Waiting ──run──► Owned ──terminate──► Over
//!      └──────────────terminate────────────▲
//! ```
//!
//! Suspension adds a state between `Owned` and itself; it belongs here.

use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sandbox_protocol::ErrorCode;
use sandbox_protocol::bootstrap::{Payload, RunEnvelope, RunPayload};
use sandbox_protocol::health::HealthStatus;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::config::Settings;
use crate::execs::{Base, Limits};
use crate::fence::Fence;
use crate::refusal::Refusal;

const NOT_READY: Refusal = Refusal(ErrorCode::NotReady, "the instance belongs to nobody yet");
const OVER: Refusal = Refusal(ErrorCode::NotReady, "the instance is being ended");
const OTHER: Refusal = Refusal(ErrorCode::Conflict, "the instance belongs to somebody");
const BAD: Refusal = Refusal::bad_request("the run payload is not valid");

/// An instance that belongs to somebody.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) id: Uuid,
    /// Digests only: neither memory nor a snapshot of it holds the bearer.
    bearer: [u8; 32],
    payload: [u8; 32],
    pub(crate) fence: Fence,
    pub(crate) base: Base,
    pub(crate) limits: Limits,
    pub(crate) max_stream: usize,
    pub(crate) max_body: usize,
}

/// The states.
#[derive(Debug, Default)]
pub(crate) struct Identity(RwLock<Phase>);

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Waiting,
    Owned(Arc<Instance>),
    Over,
}

impl Identity {
    pub(crate) fn instance(&self) -> Result<Arc<Instance>, Refusal> {
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            Phase::Waiting => Err(NOT_READY),
            Phase::Owned(instance) => Ok(Arc::clone(instance)),
            Phase::Over => Err(OVER),
        }
    }

    pub(crate) fn status(&self) -> HealthStatus {
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            Phase::Waiting => HealthStatus::Starting,
            Phase::Owned(_) => HealthStatus::Ok,
            Phase::Over => HealthStatus::Terminating,
        }
    }

    /// Makes the instance somebody's. The same payload again changes nothing and is fine.
    pub(crate) fn claim(&self, instance: Instance) -> Result<(), Refusal> {
        let mut phase = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match &*phase {
            Phase::Waiting => {
                *phase = Phase::Owned(Arc::new(instance));
                Ok(())
            }
            Phase::Owned(owned) if same(&owned.payload, &instance.payload) => Ok(()),
            Phase::Owned(_) => Err(OTHER),
            Phase::Over => Err(OVER),
        }
    }

    pub(crate) fn end(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Phase::Over;
    }
}

impl Instance {
    /// Reads the body of the `run` hook.
    pub(crate) fn from_hook(body: &[u8], settings: &Settings) -> Result<Self, Refusal> {
        let envelope: RunEnvelope = serde_json::from_slice(body).map_err(|_| BAD)?;
        let value = match envelope.run_hook_payload {
            Some(Payload::Text(text)) => serde_json::from_str(&text).map_err(|_| BAD)?,
            Some(Payload::Object(object)) => Value::Object(object),
            None => return Err(BAD),
        };
        // Of the value and not of its spelling: text and object are the same payload.
        let digest = Sha256::digest(value.to_string()).into();
        let payload: RunPayload = serde_json::from_value(value).map_err(|_| BAD)?;
        Self::new(&payload, digest, settings)
    }

    fn new(payload: &RunPayload, digest: [u8; 32], settings: &Settings) -> Result<Self, Refusal> {
        let bearer = payload.auth.0.expose();
        let strong = URL_SAFE_NO_PAD.decode(bearer).is_ok_and(|bytes| bytes.len() == 32);
        if payload.v != 1 || payload.generation < 0 || !strong {
            return Err(BAD);
        }
        let given = payload.limits.clone().unwrap_or_default();
        let lower = |own: usize, given: Option<usize>| own.min(given.unwrap_or(own));
        Ok(Self {
            id: payload.instance_id,
            bearer: Sha256::digest(bearer).into(),
            payload: digest,
            fence: Fence::new(payload.generation, payload.lease_until, settings.lease_grace),
            base: Base::new(settings, &payload.env)?,
            limits: Limits {
                running: lower(settings.max_execs, given.max_execs),
                kept_bytes: settings.journal_bytes,
            },
            max_stream: lower(settings.max_stream, given.max_output_bytes),
            max_body: lower(settings.max_body, given.max_body_bytes),
        })
    }

    /// Whether it is the bearer. Takes as long for a wrong one as for a less wrong one.
    pub(crate) fn is_bearer(&self, token: &str) -> bool {
        same(&self.bearer, &Sha256::digest(token).into())
    }
}

/// Compares all of it, wherever the first difference is.
fn same(a: &[u8; 32], b: &[u8; 32]) -> bool {
    let difference = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests;
