//! The guest's clock: the one place that reads it.

/// Milliseconds since 1970. It jumps when the machine is suspended; nothing but leases, and the
/// times that people read, may depend on it.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
pub fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
