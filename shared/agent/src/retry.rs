//! What is done when a model call fails (agent-loop.md §17).
//!
//! **The attempt's number, the class of the error and a given jitter decide**, so that attempts are
//! counted across crashes.

use std::fmt;
use std::time::Duration;

use domain::FailureCode;

/// What went wrong with a model call, whatever its provider calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    RateLimited,
    Overloaded,
    ServerError,
    Timeout,
    Connection,
    ContextOverflow,
    Refused,
    InvalidRequest,
    Auth,
    Permission,
    NotFound,
    QuotaExhausted,
    /// The answer could not be read.
    Malformed,
    /// A scripted conversation has no further turn.
    ScriptExhausted,
    /// The provider is not set up for this request.
    Config,
}

impl ErrorClass {
    pub const ALL: [Self; 15] = [
        Self::RateLimited,
        Self::Overloaded,
        Self::ServerError,
        Self::Timeout,
        Self::Connection,
        Self::ContextOverflow,
        Self::Refused,
        Self::InvalidRequest,
        Self::Auth,
        Self::Permission,
        Self::NotFound,
        Self::QuotaExhausted,
        Self::Malformed,
        Self::ScriptExhausted,
        Self::Config,
    ];

    /// How the run fails when nothing more is tried.
    pub const fn failure(self) -> FailureCode {
        match self {
            Self::RateLimited => FailureCode::ModelRateLimited,
            Self::Overloaded | Self::ServerError | Self::Connection => {
                FailureCode::ModelUnavailable
            }
            Self::Timeout => FailureCode::ModelTimeout,
            Self::ContextOverflow => FailureCode::ContextOverflow,
            Self::Refused => FailureCode::ModelRefused,
            Self::InvalidRequest | Self::NotFound => FailureCode::ModelInvalidRequest,
            Self::Auth | Self::Permission | Self::QuotaExhausted => FailureCode::ModelAuth,
            Self::Malformed => FailureCode::ModelMalformed,
            Self::ScriptExhausted => FailureCode::ScriptExhausted,
            Self::Config => FailureCode::ProviderConfigError,
        }
    }

    /// How often a call may be made in all.
    pub const fn attempts(self) -> u32 {
        match self {
            Self::RateLimited
            | Self::Overloaded
            | Self::ServerError
            | Self::Timeout
            | Self::Connection => 3,
            Self::Malformed => 2,
            Self::ContextOverflow
            | Self::Refused
            | Self::InvalidRequest
            | Self::Auth
            | Self::Permission
            | Self::NotFound
            | Self::QuotaExhausted
            | Self::ScriptExhausted
            | Self::Config => 1,
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RateLimited => "rate limited",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server error",
            Self::Timeout => "timed out",
            Self::Connection => "connection broke",
            Self::ContextOverflow => "the conversation is too long",
            Self::Refused => "refused",
            Self::InvalidRequest => "invalid request",
            Self::Auth => "not authenticated",
            Self::Permission => "not permitted",
            Self::NotFound => "no such model",
            Self::QuotaExhausted => "quota exhausted",
            Self::Malformed => "unreadable answer",
            Self::ScriptExhausted => "the script has no further turn",
            Self::Config => "not configured",
        })
    }
}

/// What to do about a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Try again after this long. Longer than [`PATIENCE`]: commit a wake-up time and yield, since
    /// waiting costs money.
    Wait(Duration),
    GiveUp(FailureCode),
}

/// How long a worker waits in place at most.
pub const PATIENCE: Duration = Duration::from_secs(20);

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Judges attempt number `attempt` (from 1), which failed with `class`. `jitter` spreads the waits
/// of many workers: 0 takes a quarter off, 1 adds a quarter. What the provider asked for wins over
/// all of it.
pub fn after_error(
    class: ErrorClass,
    attempt: u32,
    retry_after: Option<Duration>,
    jitter: f64,
) -> Verdict {
    if attempt >= class.attempts() {
        return Verdict::GiveUp(class.failure());
    }
    let doubled = FIRST_WAIT.saturating_mul(2u32.saturating_pow(attempt.saturating_sub(1)));
    let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 0.5 };
    let spread = doubled.min(LONGEST_WAIT).mul_f64(0.75 + jitter / 2.0);
    Verdict::Wait(retry_after.unwrap_or_else(|| spread.min(LONGEST_WAIT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIDDLE: f64 = 0.5;

    fn wait(seconds: u64) -> Verdict {
        Verdict::Wait(Duration::from_secs(seconds))
    }

    #[test]
    fn t52_a_throttled_model_gets_three_attempts() {
        let verdict = |attempt| after_error(ErrorClass::RateLimited, attempt, None, MIDDLE);
        assert_eq!(verdict(1), wait(1));
        assert_eq!(verdict(2), wait(2));
        assert_eq!(verdict(3), Verdict::GiveUp(FailureCode::ModelRateLimited));
    }

    #[test]
    fn t52_what_the_provider_asks_for_wins_and_is_too_long_to_wait_in_place() {
        let asked = Duration::from_mins(2);
        let verdict = after_error(ErrorClass::RateLimited, 1, Some(asked), MIDDLE);
        assert_eq!(verdict, Verdict::Wait(asked));
        assert!(asked > PATIENCE);
    }

    #[test]
    fn jitter_moves_a_wait_by_a_quarter_at_most() {
        let millis = |jitter| match after_error(ErrorClass::Overloaded, 1, None, jitter) {
            Verdict::Wait(wait) => wait.as_millis(),
            Verdict::GiveUp(_) => unreachable!(),
        };
        assert_eq!([millis(0.0), millis(1.0), millis(-9.0), millis(9.0)], [750, 1250, 750, 1250]);
        assert_eq!(millis(f64::NAN), 1000);
    }

    #[test]
    fn a_malformed_answer_is_tried_once_more_and_a_refusal_never() {
        assert!(matches!(after_error(ErrorClass::Malformed, 1, None, MIDDLE), Verdict::Wait(_)));
        let twice = after_error(ErrorClass::Malformed, 2, None, MIDDLE);
        assert_eq!(twice, Verdict::GiveUp(FailureCode::ModelMalformed));
        for class in [ErrorClass::Refused, ErrorClass::InvalidRequest, ErrorClass::Auth] {
            assert_eq!(after_error(class, 1, None, MIDDLE), Verdict::GiveUp(class.failure()));
        }
    }

    #[test]
    fn no_attempt_number_waits_longer_than_a_minute_by_itself() {
        for class in ErrorClass::ALL {
            for attempt in [0, 1, 2, 3, 40, u32::MAX] {
                if let Verdict::Wait(wait) = after_error(class, attempt, None, 1.0) {
                    assert!(wait <= LONGEST_WAIT);
                }
            }
        }
    }
}
