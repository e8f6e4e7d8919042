//! The settings.

use std::time::Duration;

use cloud::s3::S3Settings;
use cloud::sqs::SqsSettings;
use domain::limits;
use lambda_kit::env::{Env, Invalid, Reader, Secret};
use messages::Queue;

use crate::Patience;
use crate::policy::Policy;

/// Everything that the function reads from its environment.
#[derive(Debug)]
pub struct Config {
    /// `COGNITION_DATABASE_URL`: `postgres://…`.
    pub database_url: Secret,
    /// `COGNITION_S3_*`: the publication bucket.
    pub objects: S3Settings,
    /// `COGNITION_QUEUE_RUNS_URL` and `COGNITION_QUEUE_NOTIFICATIONS_URL`: where waiting runs are
    /// woken, and webhooks are told of the file.
    pub queues: SqsSettings,
    /// `COGNITION_SANDBOX_RUNTIME_KEY`: of it the bearers of sandboxes are derived.
    pub runtime_key: Secret,
    /// `COGNITION_S3_SCOPE_HMAC_KEY`: of it storage namespaces are derived. It must never change.
    pub scope_key: Secret,
    pub policy: Policy,
    pub patience: Patience,
}

impl Config {
    pub fn read(env: &Env) -> Result<Self, Invalid> {
        let mut read = env.reader();
        let database_url = read.required("COGNITION_DATABASE_URL");
        let objects = S3Settings::read(&mut read);
        let queues = SqsSettings::read(&mut read, &[Queue::Runs, Queue::Notifications]);
        let runtime_key = read.required("COGNITION_SANDBOX_RUNTIME_KEY");
        let scope_key = read.required("COGNITION_S3_SCOPE_HMAC_KEY");
        let policy = Policy::read(&mut read);
        let patience = Patience::read(&mut read);
        read.finish(|| {
            Some(Self {
                database_url: database_url?,
                objects: objects?,
                queues: queues?,
                runtime_key: runtime_key?,
                scope_key: scope_key?,
                policy: policy?,
                patience,
            })
        })
    }
}

impl Policy {
    /// Reads `COGNITION_ARTIFACT_PUBLICATION_ENABLED` (false),
    /// `COGNITION_ARTIFACT_PUBLICATION_MAX_BYTES` (1 to 10485760, the default) and
    /// `COGNITION_ARTIFACT_PUBLICATION_INLINE_MAX_BYTES` (0 to the maximum, 262144).
    pub fn read(read: &mut Reader<'_>) -> Option<Self> {
        const INLINE: &str = "COGNITION_ARTIFACT_PUBLICATION_INLINE_MAX_BYTES";
        let enabled = read.or("COGNITION_ARTIFACT_PUBLICATION_ENABLED", false);
        let max_bytes = read
            .parsed(
                "COGNITION_ARTIFACT_PUBLICATION_MAX_BYTES",
                "a whole number from 1 to 10485760",
                |text| {
                    let bytes = text.parse().ok()?;
                    (1..=limits::MAX_PUBLICATION_BYTES).contains(&bytes).then_some(bytes)
                },
            )
            .unwrap_or(limits::MAX_PUBLICATION_BYTES);
        // The default bows to a lower maximum; a setting must not contradict it.
        let chosen: Option<u64> = read.optional(INLINE);
        if chosen.is_some_and(|bytes| bytes > max_bytes) {
            read.problem(INLINE, "is larger than COGNITION_ARTIFACT_PUBLICATION_MAX_BYTES");
            return None;
        }
        let inline_max_bytes = chosen.unwrap_or(limits::INLINE_PUBLICATION_BYTES).min(max_bytes);
        Some(Self { enabled, max_bytes, inline_max_bytes })
    }
}

impl Patience {
    /// Reads `COGNITION_ARTIFACT_PUBLICATION_MAX_ATTEMPTS` (4) and
    /// `COGNITION_ARTIFACT_PUBLICATION_MAX_AGE_SECONDS` (600).
    pub fn read(read: &mut Reader<'_>) -> Self {
        Self {
            max_attempts: read.or("COGNITION_ARTIFACT_PUBLICATION_MAX_ATTEMPTS", 4),
            max_age: read
                .or("COGNITION_ARTIFACT_PUBLICATION_MAX_AGE_SECONDS", Duration::from_mins(10)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy<const N: usize>(values: [(&str, &str); N]) -> Result<Policy, String> {
        let env = Env::of(values);
        let mut read = env.reader();
        let policy = Policy::read(&mut read);
        read.finish(|| policy).map_err(|invalid| invalid.to_string())
    }

    #[test]
    fn publication_is_off_unless_it_is_switched_on_and_has_the_known_limits() {
        let defaults = Policy { enabled: false, max_bytes: 10_485_760, inline_max_bytes: 262_144 };
        assert_eq!(policy([]), Ok(defaults));
        let on = policy([("COGNITION_ARTIFACT_PUBLICATION_ENABLED", "true")]);
        assert_eq!(on, Ok(Policy { enabled: true, ..defaults }));
    }

    #[test]
    fn limits_can_be_lowered_and_not_raised() {
        let lowered = policy([("COGNITION_ARTIFACT_PUBLICATION_MAX_BYTES", "1000")]).unwrap();
        assert_eq!((lowered.max_bytes, lowered.inline_max_bytes), (1000, 1000));
        let none = policy([("COGNITION_ARTIFACT_PUBLICATION_INLINE_MAX_BYTES", "0")]).unwrap();
        assert_eq!(none.inline_max_bytes, 0);
        for bad in ["0", "10485761", "-1", "many"] {
            assert!(policy([("COGNITION_ARTIFACT_PUBLICATION_MAX_BYTES", bad)]).is_err(), "{bad}");
        }
        let above = policy([("COGNITION_ARTIFACT_PUBLICATION_INLINE_MAX_BYTES", "10485761")]);
        assert!(above.unwrap_err().contains("is larger than"));
    }

    #[test]
    fn all_that_is_missing_is_named_at_once() {
        let invalid = Config::read(&Env::of::<&str, &str>([])).unwrap_err().to_string();
        for name in [
            "COGNITION_DATABASE_URL",
            "COGNITION_S3_BUCKET",
            "COGNITION_QUEUE_RUNS_URL",
            "COGNITION_QUEUE_NOTIFICATIONS_URL",
            "COGNITION_SANDBOX_RUNTIME_KEY",
            "COGNITION_S3_SCOPE_HMAC_KEY",
        ] {
            assert!(invalid.contains(name), "{invalid}");
        }
    }
}
