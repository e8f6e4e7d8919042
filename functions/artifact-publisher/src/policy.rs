//! What may be published: checked before the sandbox is asked for anything.

use domain::PublicationFailure;
use sandbox_protocol::RelativePath;
use store::publications::{Delivery, Requested};

/// Where the model sees its workspace.
const WORKSPACE: &str = "/workspace";
/// Longer ones are no media types but something else.
const MAX_MEDIA_TYPE: usize = 255;

/// The deployment's rules for publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    pub enabled: bool,
    /// The largest file, inclusive.
    pub max_bytes: u64,
    /// The largest file that travels inside answers, inclusive.
    pub inline_max_bytes: u64,
}

impl Policy {
    /// How a file of this size travels, or why it may not.
    pub(crate) fn delivery(&self, size: u64) -> Result<Delivery, PublicationFailure> {
        if !self.enabled {
            Err(PublicationFailure::Disabled)
        } else if size > self.max_bytes {
            Err(PublicationFailure::FileTooLarge)
        } else if size <= self.inline_max_bytes {
            Ok(Delivery::Raw)
        } else {
            Ok(Delivery::Url)
        }
    }
}

/// The path to read, when what the model asked for is well formed and can still count.
pub(crate) fn validate(requested: &Requested) -> Result<RelativePath, PublicationFailure> {
    let path = path(&requested.path).ok_or(PublicationFailure::InvalidPath)?;
    if !is_media_type(&requested.media_type) {
        return Err(PublicationFailure::InvalidMediaType);
    }
    requested.lapsed.map_or(Ok(path), Err)
}

/// A path strictly inside the workspace: relative to it, or absolute as the model sees it.
fn path(text: &str) -> Option<RelativePath> {
    let path = if text.starts_with('/') {
        RelativePath::below(WORKSPACE, text)
    } else {
        RelativePath::parse(text)
    };
    path.ok()
}

/// `type/subtype` with parameters, in printable ASCII: what can stand in a header and nothing that
/// could end it.
fn is_media_type(text: &str) -> bool {
    let essence = text.split(';').next().unwrap_or_default().trim();
    let named =
        essence.split_once('/').is_some_and(|(kind, name)| is_token(kind) && is_token(name));
    named && text.len() <= MAX_MEDIA_TYPE && text.bytes().all(|b| (b' '..=b'~').contains(&b))
}

fn is_token(text: &str) -> bool {
    let punctuation = |b: u8| b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || punctuation(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1024 * 1024;

    fn policy(inline_max_bytes: u64) -> Policy {
        Policy { enabled: true, max_bytes: 10 * MIB, inline_max_bytes }
    }

    #[test]
    fn scenario_35_both_limits_are_inclusive() {
        let policy = policy(256 * 1024);
        assert_eq!(policy.delivery(0), Ok(Delivery::Raw));
        assert_eq!(policy.delivery(256 * 1024), Ok(Delivery::Raw));
        assert_eq!(policy.delivery(256 * 1024 + 1), Ok(Delivery::Url));
        assert_eq!(policy.delivery(10 * MIB), Ok(Delivery::Url));
        assert_eq!(policy.delivery(10 * MIB + 1), Err(PublicationFailure::FileTooLarge));
    }

    #[test]
    fn scenario_35_at_a_threshold_of_zero_only_the_empty_file_is_inline() {
        assert_eq!(policy(0).delivery(0), Ok(Delivery::Raw));
        assert_eq!(policy(0).delivery(1), Ok(Delivery::Url));
    }

    #[test]
    fn nothing_is_published_where_publication_is_off() {
        let off = Policy { enabled: false, ..policy(1) };
        assert_eq!(off.delivery(0), Err(PublicationFailure::Disabled));
    }

    #[test]
    fn scenario_36_a_path_must_lie_strictly_inside_the_workspace() {
        for bad in [
            "",
            ".",
            "..",
            "/workspace",
            "/workspace/",
            "/workspace/../secret",
            "/workspacefoo/a",
            "/etc/passwd",
            "../secret",
            "a/../b",
            "a//b",
            "a/",
            "a\0b",
            "a\\b",
        ] {
            assert!(path(bad).is_none(), "{bad:?}");
        }
        assert_eq!(path("/workspace/out/a.csv").unwrap().as_str(), "out/a.csv");
        assert_eq!(path("out/a.csv").unwrap().as_str(), "out/a.csv");
    }

    #[test]
    fn scenario_37_a_media_type_cannot_end_the_header_that_it_stands_in() {
        for bad in [
            "",
            "text",
            "text/",
            "/csv",
            "text/csv\r\nx-amz-acl: public-read",
            "text/csv\n",
            "text/csv; name=\"é\"",
            "te xt/csv",
            &format!("text/{}", "x".repeat(300)),
        ] {
            assert!(!is_media_type(bad), "{bad:?}");
        }
        for good in ["text/csv", "text/csv; charset=utf-8", "application/vnd.a+json"] {
            assert!(is_media_type(good), "{good:?}");
        }
    }
}
