//! A clock that stands still until the test moves it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use domain::{Clock, Timestamp};

/// Begins at 2026-09-21T14:13:20Z.
#[derive(Debug)]
pub struct TestClock(AtomicI64);

impl TestClock {
    pub fn new() -> Self {
        Self::at(Timestamp::from_micros(1_790_000_000_000_000))
    }

    pub fn at(time: Timestamp) -> Self {
        Self(AtomicI64::new(time.as_micros()))
    }

    pub fn set(&self, time: Timestamp) {
        self.0.store(time.as_micros(), Ordering::SeqCst);
    }

    pub fn advance(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).expect("a test stays within this age");
        self.0.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_only_when_it_is_told_to() {
        let clock = TestClock::new();
        let start = clock.now();
        assert_eq!(clock.now(), start);
        clock.advance(Duration::from_micros(3));
        assert_eq!(clock.now().as_micros(), start.as_micros() + 3);
        clock.set(Timestamp::from_micros(7));
        assert_eq!(clock.now(), Timestamp::from_micros(7));
    }
}
