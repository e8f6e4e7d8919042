//! Numbers that both sides of the wall must agree on.

/// The largest file that `POST /v1/read-bounded` gives out, inclusive.
pub const MAX_BOUNDED_READ: u64 = 10 * 1024 * 1024;
/// The largest request body, unless the server is set otherwise.
pub const MAX_BODY: usize = 50 * 1024 * 1024;
/// What is kept of each of a command's streams when it is not captured.
pub const MAX_STREAM: usize = 2 * 1024 * 1024;
/// Most bytes of one stream in one reply; the rest is asked for with `stdout_from`.
pub const MAX_CHUNK: usize = 256 * 1024;
/// Captured output up to this size, inclusive, comes back whole and leaves no file.
pub const MAX_INLINE_OUTPUT: u32 = 80_000;
/// The largest file of captured output. What a command prints beyond it is drained and dropped.
pub const MAX_CAPTURED_OUTPUT: u64 = 10 * 1024 * 1024;
/// Each end of a preview of captured output: this many lines …
pub const PREVIEW_LINES: usize = 5;
/// … and at most this many bytes.
pub const PREVIEW_BYTES: usize = 2_000;
/// The longest that one poll waits, in milliseconds.
pub const MAX_WAIT_MS: u64 = 25_000;
/// A command's time limit when none is given, in seconds.
pub const DEFAULT_TIMEOUT_S: u32 = 300;
/// The longest time limit of a command, in seconds. 0 asks for this one.
pub const MAX_TIMEOUT_S: u32 = 3_600;
/// The longest time limit of `POST /execute`, in seconds.
pub const MAX_SYNC_TIMEOUT_S: u32 = 120;
/// Commands that run at the same time.
pub const MAX_RUNNING_EXECS: usize = 8;
/// Most bytes of text in one page of a file.
pub const MAX_PAGE: usize = 500 * 1024;
/// Lines of one page when no limit is given.
pub const DEFAULT_PAGE_LINES: u64 = 2_000;
/// Files up to this size have their lines counted.
pub const MAX_COUNTED_FILE: u64 = 1024 * 1024;
/// Files up to this size can be edited, and hashed by `stat`.
pub const MAX_EDITED_FILE: u64 = 16 * 1024 * 1024;
/// Entries of one listing.
pub const MAX_ENTRIES: usize = 10_000;
/// Paths that one glob finds.
pub const MAX_GLOB_MATCHES: usize = 10_000;
/// Lines that one grep finds, unless the request says otherwise.
pub const DEFAULT_GREP_MATCHES: u64 = 1_000;
/// The highest `max_count` of a grep.
pub const MAX_GREP_MATCHES: u64 = 10_000;
/// Larger files are passed over by grep.
pub const MAX_SEARCHED_FILE: u64 = 10 * 1024 * 1024;
/// A found line is cut here, in characters.
pub const MAX_MATCHED_LINE: usize = 5_000;
/// Most bytes of the `/run` payload, where AWS carries it.
pub const MAX_RUN_PAYLOAD: usize = 4_096;
