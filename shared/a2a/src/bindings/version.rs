//! Which version of the protocol a request speaks (A2A §3.6).

use domain::ProtocolVersion;
use http::Request;

use crate::error::{A2aError, Cause};

/// The header, and the query parameter that stands in for it.
pub(super) const NAME: &str = "A2A-Version";

/// [`NAME`] as header maps want it.
pub(super) const NAME_LOWER: &str = "a2a-version";

pub(super) use domain::ProtocolVersion as Version;

/// What a request speaks; `None` where we do not. **Every call that is carried out is one of this
/// version**: both bindings refuse methods and paths of another one.
pub fn spoken<B>(request: &Request<B>) -> Option<ProtocolVersion> {
    asked(request).ok()
}

/// The version that a request asks for. A patch number says nothing about the wire; another minor
/// version does. Silence means 0.3.
pub(super) fn asked<B>(request: &Request<B>) -> Result<Version, A2aError> {
    let mut headers = request.headers().get_all(NAME).iter().map(|value| value.to_str());
    let header = match (headers.next(), headers.next()) {
        (None, _) => "",
        (Some(Ok(only)), None) => only.trim(),
        // Not text, or given twice: whoever takes one of two could take another one than we do.
        _ => return Err(unsupported()),
    };
    let asked = if header.is_empty() { in_query(request).unwrap_or_default() } else { header };
    if asked.is_empty() {
        return Ok(Version::V03);
    }
    let mut numbers = asked.split('.');
    let version = (numbers.next(), numbers.next());
    let patch = numbers.next().is_none_or(|patch| patch.parse::<u32>().is_ok());
    match version {
        _ if !patch || numbers.next().is_some() => Err(unsupported()),
        (Some("1"), Some("0")) => Ok(Version::V10),
        (Some("0"), Some("3")) => Ok(Version::V03),
        _ => Err(unsupported()),
    }
}

fn in_query<B>(request: &Request<B>) -> Option<&str> {
    let mut pairs = request.uri().query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == NAME).map(|(_, value)| value)
}

/// A version is asked for that we do not speak, or more than one.
fn unsupported() -> A2aError {
    refused("protocol version not supported: send A2A-Version: 1.0 (or 0.3), once")
}

/// A method or path of 1.0 in a request that speaks 0.3, most often because it says nothing.
pub(super) fn of_1_0() -> A2aError {
    refused(
        "this is of A2A 1.0: send A2A-Version: 1.0; a request without that header or query parameter \
         is served as 0.3",
    )
}

fn refused(message: &'static str) -> A2aError {
    A2aError::because(Cause::VersionNotSupported, message).with("supportedVersions", "0.3, 1.0")
}

/// A method or path of 0.3 in a request of 1.0, in which there is no such thing.
pub(super) fn of_0_3() -> A2aError {
    A2aError::because(
        Cause::MethodNotFound,
        "this is of A2A 0.3, and the request asks for 1.0 (A2A-Version)",
    )
}
