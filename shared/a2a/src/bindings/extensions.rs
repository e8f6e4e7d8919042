//! Extensions of the protocol that a request asks for (A2A §3.3.4, §4.6).

use http::{HeaderMap, HeaderValue};

use super::version::Version;
use crate::error::{A2aError, Cause};
use crate::profile::Profile;

/// The header in which a client asks, and in which we say what it got.
const NAME: &str = "a2a-extensions";

/// What 0.3 calls it.
const OLD_NAME: &str = "x-a2a-extensions";

/// What a request asks for and the agent offers, in the agent's order. What the agent does not know
/// is as good as not asked for: another version of an extension has another URI, and never stands in.
pub fn activated<'p>(headers: &HeaderMap, profile: &'p Profile) -> Vec<&'p str> {
    let asked: Vec<&str> = [NAME, OLD_NAME]
        .into_iter()
        .flat_map(|name| headers.get_all(name))
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    let offered = profile.extensions.iter().map(|extension| extension.uri.as_str());
    offered.filter(|uri| asked.contains(uri)).collect()
}

/// Refuses a request that does not ask for what the agent requires.
pub(super) fn check(activated: &[&str], profile: &Profile) -> Result<(), A2aError> {
    let missing: Vec<&str> = profile
        .extensions
        .iter()
        .filter(|extension| extension.required && !activated.contains(&extension.uri.as_str()))
        .map(|extension| extension.uri.as_str())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let error = A2aError::new(Cause::ExtensionSupportRequired);
    Err(error.with("requiredExtensions", missing.join(", ")))
}

/// The header that says what was activated, if anything was.
pub(super) fn echo(activated: &[&str]) -> Option<HeaderValue> {
    let value = HeaderValue::from_str(&activated.join(", ")).ok()?;
    (!activated.is_empty()).then_some(value)
}

pub(super) const fn echo_name(version: Version) -> &'static str {
    match version {
        Version::V03 => OLD_NAME,
        Version::V10 => NAME,
    }
}
