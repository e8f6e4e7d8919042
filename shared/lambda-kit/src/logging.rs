//! The log: lines of JSON on Lambda, where `CloudWatch` searches their fields, and readable lines
//! elsewhere.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{LevelFilter, ParseError};
use tracing_subscriber::util::TryInitError;

use crate::env::Env;

/// Ours from `info` on; of the libraries only what a person should see.
const DEFAULT: &str = "info,aws_config=warn,aws_runtime=warn,aws_sdk_s3=warn,aws_sdk_sqs=warn,\
                       aws_smithy_runtime=warn,hyper=warn,hyper_util=warn,rustls=warn,s3s=warn,\
                       tokio_postgres=warn";

/// Why the log could not be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("read the log filter from COGNITION_LOG or RUST_LOG")]
    Filter(#[source] ParseError),
    #[error("start the log, which is running already")]
    Running(#[source] TryInitError),
}

/// Starts the log of the process. `COGNITION_LOG` says what is logged, else `RUST_LOG`, in the
/// usual form (`debug`, `info,store=debug`).
pub fn init(env: &Env) -> Result<(), Error> {
    use tracing_subscriber::util::SubscriberInitExt as _;

    let lines = tracing_subscriber::fmt().with_env_filter(filter(env)?);
    let started = if env.value("AWS_LAMBDA_FUNCTION_NAME").is_some() {
        lines.json().flatten_event(true).with_span_list(false).finish().try_init()
    } else {
        // Escapes for colours would be part of the text of a file.
        let colours = std::io::stderr().is_terminal();
        lines.with_ansi(colours).with_writer(std::io::stderr).finish().try_init()
    };
    started.map_err(Error::Running)
}

/// What these log below `info` holds whole requests (signed addresses, the headers that sign), or the
/// hosts that they go to: those of webhooks are nobody's business.
const TALKATIVE: [&str; 12] = [
    "aws_config",
    "aws_runtime",
    "aws_sdk_s3",
    "aws_sdk_sqs",
    "aws_smithy_runtime",
    "aws_smithy_runtime_api",
    "aws_smithy_http_client",
    "aws_sigv4",
    "h2",
    "hyper",
    "hyper_util",
    "s3s",
];

fn filter(env: &Env) -> Result<EnvFilter, Error> {
    let text = env.value("COGNITION_LOG").or_else(|| env.value("RUST_LOG")).unwrap_or(DEFAULT);
    let mut filter = EnvFilter::builder().parse(text).map_err(Error::Filter)?;
    let asks_for_more = filter.max_level_hint().is_none_or(|level| level > LevelFilter::INFO);
    if asks_for_more {
        for library in TALKATIVE {
            let cap = format!("{library}=info").parse().map_err(Error::Filter)?;
            filter = filter.add_directive(cap);
        }
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter_of<const N: usize>(values: [(&str, &str); N]) -> Option<String> {
        filter(&Env::of(values)).ok().map(|f| f.to_string())
    }

    #[test]
    fn our_own_setting_wins_over_the_common_one() {
        assert_eq!(filter_of([("RUST_LOG", "warn")]).as_deref(), Some("warn"));
        let both = [("RUST_LOG", "warn"), ("COGNITION_LOG", "error")];
        assert_eq!(filter_of(both).as_deref(), Some("error"));
    }

    #[test]
    fn nothing_makes_the_libraries_log_what_signs_a_request_or_where_it_goes() {
        for wish in ["trace", "s3s=debug,info", "debug,aws_sdk_s3=trace,hyper_util=trace"] {
            let filter = filter_of([("COGNITION_LOG", wish)]).unwrap();
            assert!(filter.contains("s3s=info"), "{filter}");
            assert!(filter.contains("aws_sdk_s3=info"), "{filter}");
            assert!(filter.contains("hyper_util=info") && filter.contains("h2=info"), "{filter}");
            assert!(!filter.contains("s3s=debug") && !filter.contains("aws_sdk_s3=trace"));
        }
    }

    #[test]
    fn without_a_setting_the_default_is_readable() {
        assert!(filter_of([]).unwrap().contains("info"));
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_an_error() {
        assert_eq!(filter_of([("COGNITION_LOG", "store=loudly")]), None);
    }
}
