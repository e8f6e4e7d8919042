//! The settings of the function, read once at its start.

use std::net::IpAddr;
use std::path::PathBuf;

use a2a::inbound::Limits;
use cloud::s3::S3Settings;
use cloud::sqs::SqsSettings;
use http::Uri;
use lambda_kit::env::{Env, Invalid};
use messages::Queue;

use crate::Webhooks;
use crate::cards::{Address, Trust};
use crate::scope::{ScopeSettings, ScopeSource};

const PUBLIC_URL: &str = "COGNITION_PUBLIC_URL";

/// Every setting of the ingress.
#[derive(Debug)]
pub struct Config {
    /// `COGNITION_DATABASE_URL`: `postgres://…`.
    pub database_url: String,
    /// `COGNITION_AGENTS_DIR` (`agents`): the folder of agent definitions.
    pub agents: PathBuf,
    /// `COGNITION_PUBLIC_URL`: where clients reach this deployment; cards show it, without a slash
    /// at the end. `https://`, but for a machine that talks with itself (A2A §7.1, AUTH-TLS-001).
    pub address: Address,
    /// `COGNITION_A2A_SECURITY_SCHEMES` and its kin; see [`Trust`].
    pub trust: Trust,
    /// `COGNITION_SCOPE_SOURCE` (`authorizer`, or `headers`), `COGNITION_SCOPE_KEYS` (`user`) and
    /// `COGNITION_SCOPING_ENABLED` (true).
    pub scope: ScopeSettings,
    /// `COGNITION_A2A_MAX_PARTS` and its kin; see [`Limits`].
    pub limits: Limits,
    /// `COGNITION_A2A_IDEMPOTENCY` (`on`; `off` for conformance runs, whose cases reuse ids).
    pub idempotent: bool,
    /// `COGNITION_PUSH_*`; see [`Webhooks::read`].
    pub webhooks: Webhooks,
    /// `COGNITION_S3_SCOPE_HMAC_KEY`: the key of storage namespaces. Changing it moves every file.
    pub scope_key: String,
    /// `COGNITION_S3_*`.
    pub s3: S3Settings,
    /// `COGNITION_QUEUE_RUNS_URL` and `COGNITION_QUEUE_NOTIFICATIONS_URL`.
    pub sqs: SqsSettings,
}

impl Config {
    pub fn read(env: &Env) -> Result<Self, Invalid> {
        let mut read = env.reader();
        let database_url = read.required("COGNITION_DATABASE_URL");
        let agents = read.or("COGNITION_AGENTS_DIR", "agents".to_owned());
        let public_url: Option<String> = read.required(PUBLIC_URL);
        if public_url.as_deref().is_some_and(|url| !is_confidential(url)) {
            read.problem(
                PUBLIC_URL,
                "is no https:// URL, nor one of http:// for this machine itself",
            );
        }
        let trust = Trust::read(&mut read);
        let source =
            read.parsed("COGNITION_SCOPE_SOURCE", "`authorizer` or `headers`", |word| match word {
                "authorizer" => Some(ScopeSource::Authorizer),
                "headers" => Some(ScopeSource::Headers),
                _ => None,
            });
        let keys = read.parsed(
            "COGNITION_SCOPE_KEYS",
            "a list of different names that match [a-z][a-z0-9_]{0,31}",
            ScopeSettings::parse_keys,
        );
        let scope = ScopeSettings {
            source: source.unwrap_or(ScopeSource::Authorizer),
            keys: keys.unwrap_or_else(|| vec!["user".to_owned()]),
            required: read.or("COGNITION_SCOPING_ENABLED", true),
        };
        let usual = Limits::default();
        let limits = Limits {
            max_parts: read.or("COGNITION_A2A_MAX_PARTS", usual.max_parts),
            max_message_bytes: read.or("COGNITION_A2A_MAX_MESSAGE_BYTES", usual.max_message_bytes),
            max_text_part_bytes: read
                .or("COGNITION_A2A_MAX_TEXT_PART_BYTES", usual.max_text_part_bytes),
            max_data_part_bytes: read
                .or("COGNITION_A2A_MAX_DATA_PART_BYTES", usual.max_data_part_bytes),
            max_raw_part_bytes: read
                .or("COGNITION_A2A_MAX_RAW_PART_BYTES", usual.max_raw_part_bytes),
        };
        let idempotent =
            read.parsed("COGNITION_A2A_IDEMPOTENCY", "`on` or `off`", |word| match word {
                "on" => Some(true),
                "off" => Some(false),
                _ => None,
            });
        let webhooks = Webhooks::read(&mut read);
        let scope_key = read.required("COGNITION_S3_SCOPE_HMAC_KEY");
        let s3 = S3Settings::read(&mut read);
        let sqs = SqsSettings::read(&mut read, &[Queue::Runs, Queue::Notifications]);
        read.finish(|| {
            Some(Self {
                database_url: database_url?,
                agents: PathBuf::from(agents),
                address: Address::Public(public_url?.trim_end_matches('/').to_owned()),
                trust,
                scope,
                limits,
                idempotent: idempotent.unwrap_or(true),
                webhooks,
                scope_key: scope_key?,
                s3: s3?,
                sqs: sqs?,
            })
        })
    }
}

/// Whether nobody between a client and this address can read along.
fn is_confidential(url: &str) -> bool {
    let Ok(url) = url.parse::<Uri>() else { return false };
    let Some(authority) = url.authority() else { return false };
    let plain = !authority.as_str().contains('@') && url.query().is_none();
    plain
        && match url.scheme_str() {
            Some("https") => true,
            Some("http") => is_loopback(authority.host()),
            _ => false,
        }
}

fn is_loopback(host: &str) -> bool {
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || literal.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auth_tls_001_a_public_address_is_of_https_or_of_this_machine() {
        for fine in [
            "https://agents.example.com",
            "https://agents.example.com:8443/stage/",
            "HTTPS://agents.example.com",
            "http://127.0.0.1:9010/lambda-url/a2a-ingress",
            "http://[::1]:8700",
            "http://localhost:8700",
        ] {
            assert!(is_confidential(fine), "{fine}");
        }
        for open in [
            "http://agents.example.com",
            "http://10.0.0.7",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "http://127.0.0.1@agents.example.com",
            "ws://agents.example.com",
            "agents.example.com",
            "/a2a",
            "",
        ] {
            assert!(!is_confidential(open), "{open}");
        }
    }

    #[test]
    fn auth_tls_001_the_start_ends_with_the_name_of_the_setting_and_without_its_value() {
        let start = |url| Config::read(&Env::of([(PUBLIC_URL, url)])).unwrap_err().to_string();
        let said = start("http://canary.example.com");
        assert!(said.contains("COGNITION_PUBLIC_URL is no https:// URL"), "{said}");
        assert!(!said.contains("canary"), "{said}");
        assert!(!start("https://agents.example.com").contains(PUBLIC_URL));
    }
}
