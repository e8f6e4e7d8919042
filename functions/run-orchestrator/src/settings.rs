//! How the orchestrator works: the numbers that its own code goes by, each in one place.

use std::time::Duration;

use domain::limits;

/// The defaults are those of production; tests shorten them.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Model and tool steps after which a run goes back to the queue; 0 is without limit.
    pub max_steps_per_invocation: u32,
    /// Whether models may publish files.
    pub publication: bool,
    /// Streamed text is persisted when this much has gathered …
    pub chunk_bytes: usize,
    /// … or this much time has passed.
    pub chunk_interval: Duration,
    pub time: Times,
}

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// How often the lease is renewed.
    pub heartbeat: Duration,
    /// How often the worker looks whether its run is still its own.
    pub look: Duration,
    /// A worker that could not renew its lease for this long gives the run up.
    pub lease: Duration,
    /// What must be left of an invocation for what comes after a step.
    pub reserve: Duration,
    /// A model step begins only if it may take this long.
    pub model_least: Duration,
    /// A model call takes no longer.
    pub model_most: Duration,
    /// A model that says nothing for this long has failed.
    pub model_silence: Duration,
    /// A tools step begins only if this much is left.
    pub tools_least: Duration,
    /// Work that is under way is stopped when no more than this is left.
    pub guard: Duration,
    /// A longer wait before another attempt at the model is not paid for: the run rests.
    pub paid_wait: Duration,
    /// How long to wait for a sandbox or a publication before the run rests.
    pub patience: Duration,
    /// A run that waits for a signal is looked at again after this long.
    pub signal: Duration,
    /// One poll of a running command.
    pub poll: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_steps_per_invocation: 0,
            publication: false,
            chunk_bytes: limits::CHUNK_BYTES,
            chunk_interval: limits::CHUNK_INTERVAL,
            time: Times::default(),
        }
    }
}

impl Default for Times {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            heartbeat: limits::HEARTBEAT,
            look: limits::CANCEL_CHECK,
            lease: limits::LEASE,
            reserve: seconds(30),
            model_least: seconds(90),
            model_most: seconds(300),
            model_silence: seconds(60),
            tools_least: seconds(45),
            guard: seconds(20),
            paid_wait: seconds(20),
            patience: seconds(2),
            signal: seconds(60),
            poll: Duration::from_millis(sandbox_protocol::limits::MAX_WAIT_MS),
        }
    }
}
