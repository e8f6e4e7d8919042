//! A request to start a command, checked and made whole.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sandbox_protocol::ErrorCode;
use sandbox_protocol::exec::StartExec;
use sandbox_protocol::limits::{MAX_CAPTURED_OUTPUT, MAX_INLINE_OUTPUT};
use sandbox_protocol::path::RelativePath;
use sha2::{Digest as _, Sha256};

use crate::config::Settings;
use crate::refusal::Refusal;
use crate::workspace;

/// What every command of this instance gets.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) default_limit: Duration,
    pub(crate) max_limit: Duration,
}

/// A command that can be started.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Of the request: the same request, the same digest.
    pub(crate) digest: [u8; 32],
    pub(crate) argv: Vec<String>,
    pub(crate) cwd: RelativePath,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) stdin_b64: Option<String>,
    pub(crate) limit: Duration,
    pub(crate) output: Output,
}

/// What is done with what it prints.
#[derive(Debug)]
pub(crate) enum Output {
    Streams,
    Captured { path: Option<RelativePath>, inline: usize, max: u64 },
}

impl Base {
    /// The environment: five names, and what the bootstrap gave. Nothing of the server's own but
    /// its `PATH`.
    pub(crate) fn new(
        settings: &Settings,
        given: &BTreeMap<String, String>,
    ) -> Result<Self, Refusal> {
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        let mut env = BTreeMap::from([
            ("PATH".to_owned(), settings.path.clone()),
            ("HOME".to_owned(), text(&settings.home)),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("TMPDIR".to_owned(), text(&settings.tmpdir)),
            ("COGNITION_WORKSPACE_ROOT".to_owned(), text(&settings.root)),
        ]);
        check_env(given)?;
        env.extend(given.clone());
        Ok(Self { env, default_limit: settings.exec_default, max_limit: settings.exec_max })
    }
}

impl Plan {
    pub(crate) fn new(request: StartExec, base: &Base) -> Result<Self, Refusal> {
        // The parsed request and not its spelling: key order and white space are no difference.
        let digest = serde_json::to_vec(&request).map_err(|_| BAD)?;
        let argv = match (request.shell, request.argv) {
            (Some(line), None) => vec!["/bin/sh".to_owned(), "-c".to_owned(), line],
            (None, Some(argv)) if argv.first().is_some_and(|program| !program.is_empty()) => argv,
            _ => return Err(BAD),
        };
        if argv.iter().any(|argument| argument.contains('\0')) {
            return Err(Refusal::bad_request("an argument holds NUL"));
        }
        check_env(&request.env)?;
        if request.stdin_b64.as_ref().is_some_and(|text| STANDARD.decode(text).is_err()) {
            return Err(Refusal::bad_request("`stdin_b64` is not base64"));
        }
        let mut env = base.env.clone();
        env.extend(request.env);
        let limit = match request.timeout_s {
            None => base.default_limit.min(base.max_limit),
            Some(0) => base.max_limit,
            Some(seconds) => Duration::from_secs(seconds.into()),
        };
        if limit > base.max_limit {
            return Err(Refusal::bad_request("the time limit is over the maximum"));
        }
        let output = match request.capture {
            None => Output::Streams,
            Some(capture) => {
                let inline = capture.inline.unwrap_or(MAX_INLINE_OUTPUT);
                let max = capture.max_bytes.unwrap_or(MAX_CAPTURED_OUTPUT);
                if inline > MAX_INLINE_OUTPUT || max > MAX_CAPTURED_OUTPUT {
                    return Err(Refusal::bad_request("the captured output is over the maximum"));
                }
                let path = capture.path.as_deref().map(workspace::target).transpose()?;
                Output::Captured { path, inline: inline as usize, max }
            }
        };
        let cwd = RelativePath::parse_or_root(request.cwd.as_deref().unwrap_or("."))?;
        let (stdin_b64, digest) = (request.stdin_b64, Sha256::digest(digest).into());
        Ok(Self { digest, argv, cwd, env, stdin_b64, limit, output })
    }
}

const BAD: Refusal = Refusal::bad_request("exactly one of `shell` and `argv` is needed");

/// Names are upper case; those that would load code into programs, and ours, are reserved.
fn check_env(env: &BTreeMap<String, String>) -> Result<(), Refusal> {
    let fine = |(name, value): (&String, &String)| {
        let first = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
        let rest = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        let reserved = name.starts_with("LD_") || name.starts_with("COG_");
        first && name.bytes().all(rest) && !reserved && !value.contains('\0')
    };
    if env.iter().all(fine) {
        Ok(())
    } else {
        Err(Refusal(ErrorCode::BadRequest, "a variable's name or value is not allowed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Base {
        let settings = Settings::from_pairs([]).unwrap();
        Base::new(&settings, &BTreeMap::new()).unwrap()
    }

    fn plan(json: &str) -> Result<Plan, Refusal> {
        Plan::new(serde_json::from_str(json).unwrap(), &base())
    }

    #[test]
    fn exactly_one_command_is_needed() {
        for bad in [
            "{}",
            r#"{"shell":"a","argv":["a"]}"#,
            r#"{"argv":[]}"#,
            r#"{"argv":[""]}"#,
            r#"{"shell":"a\u0000b"}"#,
            r#"{"shell":"a","stdin_b64":"*"}"#,
            r#"{"shell":"a","timeout_s":3601}"#,
            r#"{"shell":"a","capture":{"inline":80001}}"#,
            r#"{"shell":"a","capture":{"max_bytes":10485761}}"#,
        ] {
            assert_eq!(plan(bad).unwrap_err().0, ErrorCode::BadRequest, "{bad}");
        }
    }

    #[test]
    fn scenario_31_reserved_and_odd_names_are_refused() {
        for name in ["LD_PRELOAD", "COG_X", "a", "1A", "", "A-B", "A=B"] {
            let request = serde_json::json!({ "shell": "true", "env": { name: "x" } });
            assert_eq!(plan(&request.to_string()).unwrap_err().0, ErrorCode::BadRequest, "{name}");
        }
        assert_eq!(plan(r#"{"shell":"true","env":{"_A1":"x"}}"#).unwrap().env["_A1"], "x");
    }

    #[test]
    fn scenario_33_a_folder_outside_is_refused() {
        let refused = plan(r#"{"shell":"true","cwd":"../.."}"#).unwrap_err();
        assert_eq!(refused.0, ErrorCode::InvalidPath);
    }

    #[test]
    fn output_is_not_captured_into_protected_files() {
        let refused = plan(r#"{"shell":"true","capture":{"path":".cognition/owner.json"}}"#);
        assert_eq!(refused.unwrap_err().0, ErrorCode::PermissionDenied);
    }

    #[test]
    fn the_same_request_has_the_same_digest_however_it_is_spelled() {
        let one = plan(r#"{"shell":"a","env":{"A":"1","B":"2"}}"#).unwrap().digest;
        assert_eq!(one, plan(r#"{ "env":{"B":"2","A":"1"}, "shell":"a"}"#).unwrap().digest);
        assert_ne!(one, plan(r#"{"shell":"a","env":{"A":"1","B":"3"}}"#).unwrap().digest);
    }

    #[test]
    fn a_time_limit_is_the_default_the_given_one_or_the_maximum() {
        let limit = |json| plan(json).unwrap().limit.as_secs();
        assert_eq!(limit(r#"{"shell":"a"}"#), 300);
        assert_eq!(limit(r#"{"shell":"a","timeout_s":7}"#), 7);
        assert_eq!(limit(r#"{"shell":"a","timeout_s":0}"#), 3_600);
    }
}
