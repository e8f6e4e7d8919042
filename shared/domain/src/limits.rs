//! Numbers that several parts must agree on, each in one place.

use std::time::Duration;

/// How long a run or sandbox lease lasts without a heartbeat.
pub const LEASE: Duration = Duration::from_secs(60);
/// How often a lease is renewed.
pub const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often a worker looks whether its run was cancelled.
pub const CANCEL_CHECK: Duration = Duration::from_secs(5);
/// Claims without a commit after which a run is given up as `POISONED`.
pub const MAX_CRASHES: i32 = 5;
/// How long a workspace without a run keeps its sandbox.
pub const SANDBOX_IDLE: Duration = Duration::from_secs(1200);

/// Streamed text is persisted when this much has gathered …
pub const CHUNK_BYTES: usize = 4096;
/// … or this much time has passed.
pub const CHUNK_INTERVAL: Duration = Duration::from_millis(250);

/// Text, data and inline bytes that one run may put out.
pub const MAX_OUTPUT_BYTES: u64 = 16 * 1024 * 1024;
/// Distinct artifacts that one run may put out.
pub const MAX_OUTPUT_ARTIFACTS: u32 = 100;

/// The largest file that can be published, inclusive.
pub const MAX_PUBLICATION_BYTES: u64 = 10 * 1024 * 1024;
/// A published file up to this size, inclusive, travels inline.
pub const INLINE_PUBLICATION_BYTES: u64 = 256 * 1024;
/// How long a signed download URL is good for.
pub const DOWNLOAD_URL_LIFE: Duration = Duration::from_secs(900);

/// Names the tag on every published object, by which operators expire them.
pub const CONTENT_CLASS_TAG: &str = "cognition:content-class";
/// The tag's value on published bytes. Descriptors carry no tag.
pub const PUBLISHED_FILE: &str = "published-file";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_outlives_several_heartbeats() {
        assert!(HEARTBEAT * 3 < LEASE);
        assert!(CANCEL_CHECK < HEARTBEAT);
        const { assert!(INLINE_PUBLICATION_BYTES <= MAX_PUBLICATION_BYTES) };
    }
}
