//! The settings.

use std::time::Duration;

use cloud::sqs::SqsSettings;
use lambda_kit::env::{Env, Invalid, Secret};
use messages::Queue;

use crate::Pace;

/// Everything that the function reads from its environment.
#[derive(Debug)]
pub struct Config {
    /// `COGNITION_DATABASE_URL`: `postgres://…`.
    pub database_url: Secret,
    /// `COGNITION_QUEUE_*_URL`: all queues, since the outbox holds messages for each.
    pub queues: SqsSettings,
    /// `COGNITION_SWEEPER_BATCH`: rows that one search returns (50).
    /// `COGNITION_PUSH_RETENTION_DAYS`: how long webhooks of ended tasks, and updates that were given
    /// up, are kept (30).
    pub pace: Pace,
}

impl Config {
    pub fn read(env: &Env) -> Result<Self, Invalid> {
        let mut read = env.reader();
        let database_url = read.required("COGNITION_DATABASE_URL");
        let queues = SqsSettings::read(&mut read, &Queue::ALL);
        let batch =
            read.parsed("COGNITION_SWEEPER_BATCH", "a whole number from 1 to 1000", |text| {
                text.parse().ok().filter(|batch| (1..=1000).contains(batch))
            });
        let days =
            read.parsed("COGNITION_PUSH_RETENTION_DAYS", "a whole number from 1 to 3650", |text| {
                text.parse().ok().filter(|days| (1..=3650).contains(days))
            });
        let usual = Pace::default();
        let pace = Pace {
            batch: batch.unwrap_or(usual.batch),
            webhook_retention: days
                .map_or(usual.webhook_retention, |days: u64| Duration::from_hours(days * 24)),
            ..usual
        };
        read.finish(|| Some(Self { database_url: database_url?, queues: queues?, pace }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(more: &[(&str, &str)]) -> Env {
        let all = [
            ("COGNITION_DATABASE_URL", "postgres://db"),
            ("COGNITION_QUEUE_RUNS_URL", "http://queues/runs"),
            ("COGNITION_QUEUE_SANDBOXES_URL", "http://queues/sandboxes"),
            ("COGNITION_QUEUE_PUBLICATIONS_URL", "http://queues/publications"),
            ("COGNITION_QUEUE_NOTIFICATIONS_URL", "http://queues/notifications"),
        ];
        Env::of(all.into_iter().chain(more.iter().copied()))
    }

    #[test]
    fn the_batch_is_bounded() {
        assert_eq!(Config::read(&env(&[])).unwrap().pace, Pace::default());
        let small = Config::read(&env(&[("COGNITION_SWEEPER_BATCH", "1")])).unwrap();
        assert_eq!(small.pace.batch, 1);
        for bad in ["0", "1001", "-5", "all"] {
            assert!(Config::read(&env(&[("COGNITION_SWEEPER_BATCH", bad)])).is_err(), "{bad}");
        }
    }

    #[test]
    fn retention_is_a_day_at_least() {
        let with = |days| Config::read(&env(&[("COGNITION_PUSH_RETENTION_DAYS", days)]));
        assert_eq!(with("7").unwrap().pace.webhook_retention, Duration::from_hours(168));
        for bad in ["0", "-1", "3651", "1.5", "never"] {
            assert!(with(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_queue_must_be_known() {
        let invalid = Config::read(&Env::of::<&str, &str>([])).unwrap_err().to_string();
        for name in ["DATABASE_URL", "QUEUE_RUNS", "QUEUE_SANDBOXES", "QUEUE_PUBLICATIONS"] {
            assert!(invalid.contains(name), "{invalid}");
        }
        assert!(invalid.contains("QUEUE_NOTIFICATIONS"), "{invalid}");
    }
}
