//! Who waits for a commit of this process.
//!
//! **A hint, and nothing more**: no commit of this process goes unnoticed, some wake in vain, and
//! what another process commits wakes nobody. Whoever waits looks from time to time all the same.

use tokio::sync::watch;
use uuid::Uuid;

/// More than there are busy topics at once in a local run; those that share one wake each other.
const BUCKETS: usize = 256;

/// All that may be waited for.
#[derive(Debug)]
pub(super) struct Signals(Vec<watch::Sender<()>>);

impl Signals {
    pub(super) fn new() -> Self {
        Self((0..BUCKETS).map(|_| watch::Sender::new(())).collect())
    }

    fn of(&self, topic: Uuid) -> Option<&watch::Sender<()>> {
        // Ids end in random bits.
        let [.., last] = topic.into_bytes();
        self.0.get(usize::from(last) % BUCKETS)
    }

    pub(super) fn wake(&self, topics: &[Uuid]) {
        for sender in topics.iter().filter_map(|topic| self.of(*topic)) {
            sender.send_replace(());
        }
    }

    pub(super) fn watch(&self, topic: Uuid) -> Option<Wake> {
        self.of(topic).map(|sender| Wake(sender.subscribe()))
    }
}

/// Tells that something of its topic may have been committed since it was made, or last asked.
#[derive(Debug)]
pub struct Wake(watch::Receiver<()>);

impl Wake {
    /// Waits for that. Dropping the wait loses nothing.
    pub async fn woken(&mut self) {
        if self.0.changed().await.is_err() {
            // The database is closed: nothing will be committed any more.
            std::future::pending::<()>().await;
        }
    }
}
