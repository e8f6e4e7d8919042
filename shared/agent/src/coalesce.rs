//! Small pieces of text gathered into chunks worth storing (a2a-and-publication.md §5.2).
//!
//! **The chunks, joined, are the pieces, joined**, and no character is split. Time comes in as a
//! value; whoever holds a [`Coalescer`] sets a timer for [`Coalescer::due`].

use std::time::Duration;

use domain::Timestamp;
use domain::limits::{CHUNK_BYTES, CHUNK_INTERVAL};

/// Text that waits to be stored.
#[derive(Debug)]
pub struct Coalescer {
    max_bytes: usize,
    max_wait: Duration,
    buffer: String,
    /// When the oldest waiting piece came. Set exactly while the buffer holds something.
    since: Option<Timestamp>,
}

impl Default for Coalescer {
    fn default() -> Self {
        Self::new(CHUNK_BYTES, CHUNK_INTERVAL)
    }
}

impl Coalescer {
    /// `max_bytes` is raised to 4, the size of the largest character.
    pub fn new(max_bytes: usize, max_wait: Duration) -> Self {
        Self { max_bytes: max_bytes.max(4), max_wait, buffer: String::new(), since: None }
    }

    /// Takes a piece and returns the chunks that are ready, none of them longer than the limit.
    pub fn push(&mut self, piece: &str, now: Timestamp) -> Vec<String> {
        if !piece.is_empty() {
            self.buffer.push_str(piece);
            self.since.get_or_insert(now);
        }
        let mut ready = Vec::new();
        while self.buffer.len() >= self.max_bytes {
            let end = self.buffer.floor_char_boundary(self.max_bytes);
            let rest = self.buffer.split_off(end);
            ready.push(std::mem::replace(&mut self.buffer, rest));
            self.since = Some(now);
        }
        if self.buffer.is_empty() {
            self.since = None;
        }
        ready.extend(self.tick(now));
        ready
    }

    /// Returns the waiting text if it has waited long enough.
    pub fn tick(&mut self, now: Timestamp) -> Option<String> {
        if self.due().is_some_and(|due| due <= now) { self.flush() } else { None }
    }

    /// When the waiting text must be stored, if any waits.
    pub fn due(&self) -> Option<Timestamp> {
        let wait = i64::try_from(self.max_wait.as_micros()).unwrap_or(i64::MAX);
        self.since.map(|since| Timestamp(since.as_micros().saturating_add(wait)))
    }

    /// Returns the waiting text at once: before an interrupt, an error and the end.
    pub fn flush(&mut self) -> Option<String> {
        self.since = None;
        (!self.buffer.is_empty()).then(|| std::mem::take(&mut self.buffer))
    }

    /// Forgets the waiting text: the run was cancelled, or its attempt is made again.
    pub fn discard(&mut self) {
        self.since = None;
        self.buffer.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp(millis * 1000)
    }

    #[test]
    fn a_chunk_is_ready_at_4096_bytes_and_not_before() {
        let mut text = Coalescer::default();
        assert_eq!(text.push(&"a".repeat(4095), at(0)), Vec::<String>::new());
        assert_eq!(text.push("b", at(0)), [format!("{}b", "a".repeat(4095))]);
        assert_eq!(text.due(), None);
        assert_eq!(text.flush(), None);
    }

    #[test]
    fn waiting_text_is_ready_after_250_milliseconds_even_if_nothing_follows() {
        let mut text = Coalescer::default();
        assert!(text.push("a", at(1000)).is_empty());
        assert!(text.push("b", at(1100)).is_empty());
        assert_eq!(text.due(), Some(at(1250)));
        assert_eq!(text.tick(at(1249)), None);
        assert_eq!(text.tick(at(1250)), Some("ab".into()));
        assert_eq!(text.tick(at(9999)), None);
        assert!(text.push("c", at(2000)).is_empty());
        assert_eq!(text.push("d", at(2250)), ["cd"]);
    }

    #[test]
    fn what_is_left_of_a_piece_waits_from_its_own_arrival() {
        let mut text = Coalescer::default();
        text.push(&"a".repeat(4095), at(0));
        assert_eq!(text.push("bcd", at(200)), [format!("{}b", "a".repeat(4095))]);
        assert_eq!(text.due(), Some(at(450)));
        assert_eq!(text.flush(), Some("cd".into()));
    }

    #[test]
    fn an_empty_piece_starts_no_timer() {
        let mut text = Coalescer::default();
        assert!(text.push("", at(0)).is_empty());
        assert_eq!(text.due(), None);
    }

    #[test]
    fn discarded_text_is_gone() {
        let mut text = Coalescer::default();
        text.push("a", at(0));
        text.discard();
        assert_eq!((text.due(), text.flush()), (None, None));
    }

    proptest! {
        #[test]
        fn no_text_is_lost_or_changed_and_no_character_split(
            steps in proptest::collection::vec((".{0,9}", 0i64..300, any::<bool>()), 0..40),
            max in 0usize..12,
        ) {
            let mut text = Coalescer::new(max, Duration::from_millis(250));
            let (mut now, mut sent, mut chunks) = (0, String::new(), Vec::new());
            for (piece, wait, force) in steps {
                now += wait;
                sent.push_str(&piece);
                chunks.extend(text.tick(at(now)));
                chunks.extend(text.push(&piece, at(now)));
                if let Some(due) = text.due() {
                    prop_assert!(due > at(now), "nothing that is due is kept");
                }
                if force {
                    chunks.extend(text.flush());
                    prop_assert_eq!(text.due(), None);
                }
            }
            chunks.extend(text.flush());
            prop_assert!(chunks.iter().all(|c| !c.is_empty() && c.len() <= max.max(4)));
            prop_assert_eq!(chunks.concat(), sent);
        }
    }
}
