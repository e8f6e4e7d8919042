//! Header names of the control port. Lower case, as HTTP/1.1 and HTTP/2 both accept them.
//!
//! `x-aws-proxy-*` belongs to the MicroVM proxy, which strips it: nothing of ours may start so.

/// The workspace generation that the caller believes current. Required where something changes.
pub const GENERATION: &str = "x-cog-generation";
/// The caller's run fence. The server refuses one below the highest it saw in this generation.
pub const RUN_FENCE: &str = "x-cog-run-fence";
/// Echoed in the reply; made by the server where absent.
pub const REQUEST_ID: &str = "x-request-id";
/// SHA-256 of the body in lower-case hex.
pub const CONTENT_SHA256: &str = "x-content-sha256";
/// The file's modification time in nanoseconds since 1970.
pub const MTIME_NS: &str = "x-mtime-ns";
/// The file's inode number.
pub const INODE: &str = "x-inode";
