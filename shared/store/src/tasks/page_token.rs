//! Page tokens: where a list goes on, in the hands of the client.
//!
//! **A token is never trusted.** Whatever it says, a page shows only what its caller may see, so it
//! needs no signature; it is bound to scope, agent and filters so that a mix-up is noticed and not
//! answered with a page of something else. A place in a list has one token: another spelling is none.

use domain::{AgentKey, ScopeDigest, TaskId, Timestamp};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::list::{Cursor, Filter, Snapshot};

/// The first byte of a token without a snapshot.
const BARE: u8 = 1;
/// The first byte of a token that ends with what the first page has seen.
const WITH_SNAPSHOT: u8 = 2;
const BOUND: usize = 16;
/// Without the snapshot.
const LENGTH: usize = 1 + BOUND + 8 + 8 + 16;
/// With a snapshot of as many running transactions as there may be.
const LONGEST: usize = LENGTH + 8 + 4 + 4 + 4 * Snapshot::MOST_RUNNING;
/// The last moment of the year 9999, beyond which no database keeps a time.
const LAST: i64 = 253_402_300_799_999_999;

/// What a token belongs to: another list has another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding([u8; BOUND]);

impl Binding {
    pub fn new(scope: &ScopeDigest, agent: &AgentKey, filter: &Filter<'_>) -> Self {
        // All of them, so that a new one cannot be forgotten here.
        let Filter { context_id, state, status_since } = *filter;
        let state = state.map(domain::TaskState::as_str);
        let since = status_since.map(|since| since.as_micros().to_string());
        let fields =
            [Some(scope.as_str()), Some(agent.as_str()), context_id, state, since.as_deref()];
        let mut digest = Sha256::new();
        for field in fields {
            // With its length, so that no two lists of fields are the same bytes; an absent one has
            // none that a text can have.
            let length = field.map_or(u64::MAX, |field| field.len() as u64);
            digest.update(length.to_be_bytes());
            digest.update(field.unwrap_or_default());
        }
        let mut bound = [0; BOUND];
        for (byte, of_digest) in bound.iter_mut().zip(digest.finalize()) {
            *byte = of_digest;
        }
        Self(bound)
    }
}

/// The token of the page that follows `cursor`: letters and digits only.
pub fn write(cursor: &Cursor, binding: Binding) -> String {
    let mut bytes = Vec::with_capacity(LENGTH);
    bytes.push(if cursor.seen.is_some() { WITH_SNAPSHOT } else { BARE });
    bytes.extend(binding.0);
    bytes.extend(cursor.as_of.as_micros().to_be_bytes());
    bytes.extend(cursor.at.as_micros().to_be_bytes());
    bytes.extend(cursor.task.as_uuid().as_bytes());
    bytes.extend(cursor.seen.iter().flat_map(Snapshot::to_bytes));
    hex::encode(bytes)
}

/// Where the list goes on, or `None` for what is no token of this list.
pub fn read(text: &str, binding: Binding) -> Option<Cursor> {
    if text.len() > 2 * LONGEST || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let bytes = hex::decode(text).ok()?;
    let (version, rest) = bytes.split_first()?;
    let (bound, rest) = rest.split_first_chunk::<BOUND>()?;
    let (as_of, rest) = rest.split_first_chunk::<8>()?;
    let (at, rest) = rest.split_first_chunk::<8>()?;
    let (task, rest) = rest.split_first_chunk::<16>()?;
    let seen = match *version {
        BARE if rest.is_empty() => None,
        WITH_SNAPSHOT => Some(Snapshot::from_bytes(rest)?),
        _ => return None,
    };
    let (as_of, at) = (i64::from_be_bytes(*as_of), i64::from_be_bytes(*at));
    let possible = (0..=LAST).contains(&as_of) && (0..=as_of).contains(&at);
    (*bound == binding.0 && possible).then_some(Cursor {
        as_of: Timestamp::from_micros(as_of),
        seen,
        at: Timestamp::from_micros(at),
        task: TaskId::from_uuid(Uuid::from_bytes(*task)),
    })
}

#[cfg(test)]
mod tests;
