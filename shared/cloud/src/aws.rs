//! What both services need: the shared configuration, and reading what went wrong.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, ConfigLoader};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use crate::Cause;

/// The settings of every client: three attempts in all, and no call that hangs. An attempt must
/// carry 10 MiB over a slow line.
pub(crate) fn loader() -> ConfigLoader {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(3))
        .operation_attempt_timeout(Duration::from_secs(20))
        .operation_timeout(Duration::from_secs(45))
        .build();
    aws_config::defaults(BehaviorVersion::v2026_01_12())
        .retry_config(RetryConfig::standard().with_max_attempts(3))
        .timeout_config(timeouts)
}

/// A failed call, as far as callers tell failures apart.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// The status of the answer, when there was one.
    #[cfg(feature = "s3")]
    pub(crate) status: Option<u16>,
    pub(crate) cause: Cause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Denied,
    Unavailable,
    Refused,
}

impl Fault {
    pub(crate) fn read<E>(error: &SdkError<E, HttpResponse>) -> Self
    where
        E: ProvideErrorMetadata,
    {
        match error {
            SdkError::ConstructionFailure(_) => Self::unanswered(Kind::Refused, "cannot be built"),
            SdkError::TimeoutError(_) => Self::unanswered(Kind::Unavailable, "timed out"),
            SdkError::DispatchFailure(failure) => {
                let why =
                    failure.as_connector_error().map_or("no connection", |error| reason(error));
                Self::unanswered(Kind::Unavailable, why)
            }
            SdkError::ResponseError(_) => {
                Self::unanswered(Kind::Unavailable, "the answer was cut short")
            }
            SdkError::ServiceError(answer) => {
                let status = answer.raw().status().as_u16();
                let code = answer.err().code().map(plain).unwrap_or_default();
                let headers = answer.raw().headers();
                let id =
                    headers.get("x-amz-request-id").or_else(|| headers.get("x-amzn-requestid"));
                let text = [format!("status {status}"), code.clone()]
                    .into_iter()
                    .chain(id.map(|id| format!("request {}", plain(id))))
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join(", ");
                let kind = classify(status, &code);
                Self {
                    kind,
                    #[cfg(feature = "s3")]
                    status: Some(status),
                    cause: Cause::answered(text),
                }
            }
            _ => Self::unanswered(Kind::Unavailable, "no answer"),
        }
    }

    fn unanswered(kind: Kind, text: &'static str) -> Self {
        Self {
            kind,
            #[cfg(feature = "s3")]
            status: None,
            cause: Cause::new(text),
        }
    }
}

/// Why there was no connection, from the error of the operating system when there is one.
fn reason(error: &(dyn StdError + 'static)) -> &'static str {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            match io.kind() {
                io::ErrorKind::ConnectionRefused => return "connection refused",
                io::ErrorKind::ConnectionReset => return "connection reset",
                io::ErrorKind::TimedOut => return "connection timed out",
                _ => {}
            }
        }
        next = error.source();
    }
    "no connection"
}

/// The JSON services answer everything with 400, so the code is asked first.
fn classify(status: u16, code: &str) -> Kind {
    const DENIED: [&str; 9] = [
        "AccessDenied",
        "AccessDeniedException",
        "AllAccessDisabled",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSecurity",
        "MissingAuthenticationToken",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    ];
    // A conflict is two writers at the same moment. An expired token is renewed by the next call.
    const NOT_NOW: [&str; 7] = [
        "ConditionalRequestConflict",
        "ExpiredToken",
        "ExpiredTokenException",
        "OperationAborted",
        "RequestTimeout",
        "ServiceUnavailable",
        "SlowDown",
    ];
    if DENIED.contains(&code) || code.contains("KmsAccessDenied") {
        Kind::Denied
    } else if NOT_NOW.contains(&code) || code.contains("Throttl") {
        Kind::Unavailable
    } else {
        match status {
            401 | 403 => Kind::Denied,
            408 | 429 | 500 | 502..=599 => Kind::Unavailable,
            _ => Kind::Refused,
        }
    }
}

/// The start of a code or a request id, without anything that could be a sentence or a path.
fn plain(text: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '=');
    // Error codes of the JSON services come as `namespace#Code`.
    let text = text.rsplit('#').next().unwrap_or_default();
    text.chars().take_while(|c| word(*c)).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart_by_code_and_then_by_status() {
        let cases = [
            (403, "AccessDenied", Kind::Denied),
            (403, "", Kind::Denied),
            (400, "AccessDeniedException", Kind::Denied),
            (400, "ExpiredToken", Kind::Unavailable),
            (400, "ThrottlingException", Kind::Unavailable),
            (400, "RequestThrottled", Kind::Unavailable),
            (503, "SlowDown", Kind::Unavailable),
            (500, "", Kind::Unavailable),
            (429, "", Kind::Unavailable),
            (409, "ConditionalRequestConflict", Kind::Unavailable),
            (404, "NoSuchBucket", Kind::Refused),
            (400, "QueueDoesNotExist", Kind::Refused),
            (501, "NotImplemented", Kind::Refused),
            (301, "PermanentRedirect", Kind::Refused),
        ];
        for (status, code, kind) in cases {
            assert_eq!(classify(status, code), kind, "{status} {code}");
        }
    }

    #[test]
    fn only_words_of_an_answer_are_kept() {
        assert_eq!(plain("com.amazonaws.sqs#QueueDoesNotExist"), "QueueDoesNotExist");
        assert_eq!(plain("AccessDenied"), "AccessDenied");
        assert_eq!(plain("Denied on arn:aws:s3:::bucket/key"), "Denied");
        assert_eq!(plain(&"x".repeat(100)).len(), 64);
    }
}
