//! The model's words on their way to clients: gathered, counted, persisted before anyone sees them.

use agent::coalesce::Coalescer;
use agent::guards;
use domain::Timestamp;
use store::runs::{self, Output, PlacedEvent, Progress};
use tokio::time::Instant;

use crate::answer::Growth;
use crate::worker::{Stop, Worker};

/// The text of one attempt.
#[derive(Debug)]
pub(super) struct Voice<'a> {
    worker: &'a Worker<'a>,
    growth: Growth,
    waiting: Coalescer,
    /// The coalescer takes time as a value: it counts from here.
    began: Instant,
    bytes: u64,
    artifacts: u32,
}

impl<'a> Voice<'a> {
    pub(super) fn new(worker: &'a Worker<'a>, growth: Growth, progress: &Progress) -> Self {
        let settings = &worker.on.settings;
        Self {
            worker,
            growth,
            waiting: Coalescer::new(settings.chunk_bytes, settings.chunk_interval),
            began: Instant::now(),
            bytes: u64::try_from(progress.output_bytes).unwrap_or(0),
            artifacts: u32::try_from(progress.output_artifacts).unwrap_or(0),
        }
    }

    /// When waiting text must be persisted, if any waits.
    pub(super) fn due(&self) -> Option<Instant> {
        let micros = u64::try_from(self.waiting.due()?.as_micros()).unwrap_or(0);
        Some(self.began + std::time::Duration::from_micros(micros))
    }

    pub(super) async fn say(&mut self, text: &str) -> Result<(), Stop> {
        let ready = self.waiting.push(text, self.now());
        self.persist(ready).await
    }

    pub(super) async fn tick(&mut self) -> Result<(), Stop> {
        let ready = self.waiting.tick(self.now());
        self.persist(ready).await
    }

    /// Persists what waits, at once.
    pub(super) async fn flush(&mut self) -> Result<(), Stop> {
        let ready = self.waiting.flush();
        self.persist(ready).await
    }

    /// What is left to show, for the commit that makes this attempt history, and the count of what
    /// that commit puts out.
    pub(super) fn finish(mut self) -> Result<(Vec<PlacedEvent>, Said, Growth), Stop> {
        let rest = self.waiting.flush();
        let (mut events, output) = self.show(rest)?;
        events.extend(self.growth.retraction());
        let said = Said { bytes: self.bytes, artifacts: self.artifacts, output };
        Ok((events, said, self.growth))
    }

    async fn persist(&mut self, texts: impl IntoIterator<Item = String>) -> Result<(), Stop> {
        let (events, output) = self.show(texts)?;
        if !events.is_empty() {
            let on = self.worker.on;
            runs::append(&on.pool, &self.worker.lease, &events, output).await?;
            dispatch::flush(&on.pool, &*on.queues).await;
        }
        Ok(())
    }

    fn show(
        &mut self,
        texts: impl IntoIterator<Item = String>,
    ) -> Result<(Vec<PlacedEvent>, Output), Stop> {
        let mut events = Vec::new();
        let mut sum = Output::default();
        for text in texts {
            let (event, output) = self.growth.piece(&text);
            sum.bytes += output.bytes;
            sum.artifacts += output.artifacts;
            events.push(event);
        }
        self.bytes += u64::try_from(sum.bytes).unwrap_or(0);
        self.artifacts += u32::try_from(sum.artifacts).unwrap_or(0);
        guards::output(self.bytes, self.artifacts).map_err(Stop::Fail)?;
        Ok((events, sum))
    }

    fn now(&self) -> Timestamp {
        Timestamp(i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX))
    }
}

/// What a commit puts out, on top of what the run has put out before.
#[derive(Debug)]
pub(super) struct Said {
    bytes: u64,
    artifacts: u32,
    output: Output,
}

impl Said {
    /// Counts `bytes` more, and one artifact if it is `new`. Beyond the limits the run fails, as it
    /// does with too long a text.
    pub(super) fn count(&mut self, bytes: u64, new: bool) -> Result<(), Stop> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.artifacts = self.artifacts.saturating_add(u32::from(new));
        guards::output(self.bytes, self.artifacts).map_err(Stop::Fail)?;
        self.output.bytes += i64::try_from(bytes).unwrap_or(i64::MAX);
        self.output.artifacts += i32::from(new);
        Ok(())
    }

    pub(super) const fn output(&self) -> Output {
        self.output
    }
}
