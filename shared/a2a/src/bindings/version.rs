//! Which version of the protocol a request speaks (A2A §3.6).

use http::Request;

use crate::error::{A2aError, Cause};

/// [`NAME`] as header maps want it.
pub(super) const NAME_LOWER: &str = "a2a-version";

/// What we speak.
pub(super) const SUPPORTED: &str = "1.0";

/// The header, and the query parameter that stands in for it.
pub(super) const NAME: &str = "A2A-Version";

/// Refuses what we do not speak. A patch number says nothing about the wire; another minor version
/// does. Silence means 0.3.
pub(super) fn check<B>(request: &Request<B>) -> Result<(), A2aError> {
    let header = request.headers().get(NAME).and_then(|value| value.to_str().ok());
    let asked = header.map(str::trim).filter(|text| !text.is_empty()).or_else(|| {
        let pairs = request.uri().query()?.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(name, _)| *name == NAME).map(|(_, value)| value).next()
    });
    let mut numbers = asked.unwrap_or_default().split('.');
    let version = (numbers.next(), numbers.next());
    let patch = numbers.next().is_none_or(|patch| patch.parse::<u32>().is_ok());
    if version == (Some("1"), Some("0")) && patch && numbers.next().is_none() {
        return Ok(());
    }
    Err(A2aError::new(Cause::VersionNotSupported).with("supportedVersions", SUPPORTED))
}
