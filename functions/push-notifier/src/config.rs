//! The settings.

use std::sync::Arc;
use std::time::Duration;

use cloud::s3::S3Settings;
use cloud::sqs::SqsSettings;
use lambda_kit::env::{Env, Invalid, Reader, Secret};
use messages::Queue;
use sealing::Keyring;
use webhook::{Allow, Guard};

use crate::Patience;

/// The longest that a receiver may take: an attempt must fit well into a lease.
const MAX_TIMEOUT: Duration = Duration::from_secs(30);

/// Everything that the function reads from its environment.
#[derive(Debug)]
pub struct Config {
    /// `COGNITION_DATABASE_URL`: `postgres://…`.
    pub database_url: Secret,
    /// `COGNITION_S3_*`: the publication bucket, to sign addresses of published files.
    pub objects: S3Settings,
    /// `COGNITION_S3_SCOPE_HMAC_KEY`: of it storage namespaces are derived. It must never change.
    pub scope_key: Secret,
    /// `COGNITION_QUEUE_NOTIFICATIONS_URL`: its own queue, for later attempts.
    pub queues: SqsSettings,
    /// `COGNITION_PUSH_KEYS`: `id:base64,…`, 32 bytes each, the current one first. The same as the
    /// ingress has.
    pub keys: Arc<Keyring>,
    /// `COGNITION_PUSH_ALLOW`: receivers beyond the public internet. The same as the ingress has.
    pub guard: Guard,
    /// `COGNITION_PUSH_TIMEOUT_SECONDS` (15, at most 30): for one attempt.
    pub timeout: Duration,
    /// `COGNITION_PUSH_ATTEMPTS` (6) and `COGNITION_PUSH_FIRST_WAIT_SECONDS` (5).
    pub patience: Patience,
}

impl Config {
    pub fn read(env: &Env) -> Result<Self, Invalid> {
        let mut read = env.reader();
        let database_url = read.required("COGNITION_DATABASE_URL");
        let objects = S3Settings::read(&mut read);
        let scope_key = read.required("COGNITION_S3_SCOPE_HMAC_KEY");
        let queues = SqsSettings::read(&mut read, &[Queue::Notifications]);
        let keys = keys(&mut read);
        let allow: Option<Allow> = read.tried("COGNITION_PUSH_ALLOW", str::parse);
        let timeout = read.or("COGNITION_PUSH_TIMEOUT_SECONDS", Duration::from_secs(15));
        if timeout.is_zero() || timeout > MAX_TIMEOUT {
            read.problem("COGNITION_PUSH_TIMEOUT_SECONDS", "is not between 0 and 30");
        }
        let usual = Patience::default();
        let patience = Patience {
            attempts: read.or("COGNITION_PUSH_ATTEMPTS", usual.attempts).max(1),
            first_wait: read.or("COGNITION_PUSH_FIRST_WAIT_SECONDS", usual.first_wait),
        };
        read.finish(|| {
            Some(Self {
                database_url: database_url?,
                objects: objects?,
                scope_key: scope_key?,
                queues: queues?,
                keys: keys?,
                guard: Guard::new(allow.unwrap_or_default()),
                timeout,
                patience,
            })
        })
    }
}

fn keys(read: &mut Reader<'_>) -> Option<Arc<Keyring>> {
    const NAME: &str = "COGNITION_PUSH_KEYS";
    let _: Secret = read.required(NAME)?;
    read.tried(NAME, Keyring::parse).map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(more: &[(&str, &str)]) -> Env {
        let all = [
            ("COGNITION_DATABASE_URL", "postgres://db"),
            ("COGNITION_S3_BUCKET", "bucket"),
            ("COGNITION_S3_SCOPE_HMAC_KEY", "canary-scope-key"),
            ("COGNITION_QUEUE_NOTIFICATIONS_URL", "http://queues/notifications"),
            ("COGNITION_PUSH_KEYS", "k1:AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="),
        ];
        Env::of(all.into_iter().chain(more.iter().copied()))
    }

    #[test]
    fn an_attempt_always_fits_into_a_lease() {
        assert_eq!(Config::read(&env(&[])).unwrap().timeout, Duration::from_secs(15));
        for bad in ["0", "31", "soon"] {
            let config = Config::read(&env(&[("COGNITION_PUSH_TIMEOUT_SECONDS", bad)]));
            assert!(config.is_err(), "{bad}");
        }
        assert!(MAX_TIMEOUT * 2 <= domain::limits::LEASE);
    }

    #[test]
    fn an_update_is_tried_at_least_once() {
        let config = Config::read(&env(&[("COGNITION_PUSH_ATTEMPTS", "0")])).unwrap();
        assert_eq!(config.patience.attempts, 1);
    }

    #[test]
    fn all_that_is_missing_is_named_at_once_and_no_key_is_printed() {
        let invalid = Config::read(&Env::of::<&str, &str>([])).unwrap_err().to_string();
        for name in ["DATABASE_URL", "S3_BUCKET", "SCOPE_HMAC_KEY", "NOTIFICATIONS", "PUSH_KEYS"] {
            assert!(invalid.contains(name), "{invalid}");
        }
        let printed = format!("{:?}", Config::read(&env(&[])).unwrap());
        assert!(!printed.contains("AQEB") && !printed.contains("canary"), "{printed}");
        let wrong = Config::read(&env(&[("COGNITION_PUSH_KEYS", "canary")])).unwrap_err();
        assert!(!wrong.to_string().contains("canary"), "{wrong}");
        assert!(wrong.to_string().contains("key 1 is not of the form"), "{wrong}");
        let wrong = Config::read(&env(&[("COGNITION_PUSH_ALLOW", "host,can ary")])).unwrap_err();
        assert!(
            wrong.to_string().contains("COGNITION_PUSH_ALLOW is refused: entry 2 is"),
            "{wrong}"
        );
    }
}
