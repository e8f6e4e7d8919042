//! One stream of a command: its beginning and its end, and how much there was.

use std::collections::VecDeque;

use sandbox_protocol::exec::Chunk;
use sandbox_protocol::limits::MAX_CHUNK;

use crate::text::{text, without_cut_end, without_cut_start};

/// Keeps `cap` bytes, half of them from the beginning.
#[derive(Debug, Default)]
pub(super) struct Window {
    cap: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    over: bool,
}

impl Window {
    pub(super) fn new(cap: usize) -> Self {
        Self { cap, ..Self::default() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.cap / 2).saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at_checked(room).unwrap_or_default();
        self.head.extend_from_slice(first);
        let keep = self.cap - self.cap / 2;
        let rest = rest.get(rest.len().saturating_sub(keep)..).unwrap_or_default();
        let surplus = (self.tail.len() + rest.len()).saturating_sub(keep);
        self.tail.drain(..surplus.min(self.tail.len()));
        self.tail.extend(rest);
    }

    /// Nothing comes any more.
    pub(super) fn close(&mut self) {
        self.over = true;
    }

    pub(super) fn kept(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Bytes between beginning and end were dropped.
    pub(super) fn truncated(&self) -> bool {
        self.total > self.kept() as u64
    }

    /// All that is kept.
    pub(super) fn whole(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.truncated() {
            text(without_cut_end(&self.head)) + &text(without_cut_start(&tail))
        } else {
            text(&[self.head.as_slice(), &tail].concat())
        }
    }

    /// A piece from an offset on. What is not yet a whole character waits for the next piece.
    pub(super) fn chunk(&self, from: u64) -> Chunk {
        let head = self.head.len() as u64;
        let tail = self.total - self.tail.len() as u64;
        let gap = self.truncated();
        // In the gap, go on where the end begins.
        let (from, resumed) =
            if gap && (head..tail).contains(&from) { (tail, true) } else { (from, false) };
        let from = from.min(self.total);
        let kept = self.head.iter().chain(&self.tail).copied();
        let skipped = if from >= tail { head + (from - tail) } else { from };
        let until_gap = if gap && from < head { head - from } else { u64::MAX };
        let most = usize::try_from(until_gap).unwrap_or(usize::MAX).min(MAX_CHUNK);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let bytes: Vec<u8> = kept.skip(skipped).take(most).collect();
        let at_end = self.over && from + bytes.len() as u64 == self.total;
        let at_gap = from + bytes.len() as u64 == head && gap;
        let whole = if at_end { bytes.as_slice() } else { without_cut_end(&bytes) };
        let next = if at_gap { head } else { from + whole.len() as u64 };
        let shown = if resumed { without_cut_start(whole) } else { whole };
        let shown_from = from + (whole.len() - shown.len()) as u64;
        Chunk { from: shown_from, next, total: self.total, truncated: gap, text: text(shown) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(cap: usize, pieces: &[&[u8]]) -> Window {
        let mut window = Window::new(cap);
        for piece in pieces {
            window.push(piece);
        }
        window
    }

    #[test]
    fn a_long_stream_keeps_its_two_ends() {
        let window = filled(4, &[b"abc", b"def", b"g"]);
        assert_eq!(window.whole(), "abfg");
        assert!(window.truncated());
        assert_eq!(window.total(), 7);
        let first = window.chunk(0);
        assert_eq!((first.text.as_str(), first.from, first.next), ("ab", 0, 2));
        let second = window.chunk(first.next);
        assert_eq!((second.text.as_str(), second.from, second.next), ("fg", 5, 7));
    }

    #[test]
    fn scenario_26_a_stream_that_says_it_is_truncated_is_not() {
        let mut window = filled(64, &[b"[truncated]"]);
        window.close();
        assert!(!window.chunk(0).truncated);
    }

    #[test]
    fn scenario_27_a_character_on_the_edge_is_left_out_and_not_broken() {
        let window = filled(6, &["aé€é€a".as_bytes()]);
        assert!(window.truncated());
        assert!(!window.whole().contains('\u{fffd}'), "{}", window.whole());
        assert!(!window.chunk(0).text.contains('\u{fffd}'));
        assert!(!window.chunk(window.chunk(0).next).text.contains('\u{fffd}'));
    }

    #[test]
    fn a_character_that_is_not_whole_yet_waits() {
        let mut window = filled(64, &[b"a\xe2\x82"]);
        assert_eq!((window.chunk(0).text.as_str(), window.chunk(0).next), ("a", 1));
        window.push(b"\xac");
        assert_eq!(window.chunk(1).text, "€");
        window.push(b"\xe2");
        window.close();
        assert_eq!(window.chunk(4).text, "\u{fffd}");
    }

    proptest! {
        #[test]
        fn reading_on_gives_all_that_is_kept_and_comes_to_an_end(
            pieces in prop::collection::vec("[aé🦀]{0,6}", 0..6), cap in 0_usize..40,
        ) {
            let pieces: Vec<_> = pieces.iter().map(String::as_bytes).collect();
            let mut window = filled(cap, &pieces);
            window.close();
            let (mut from, mut read) = (0, String::new());
            while from < window.total() {
                let chunk = window.chunk(from);
                prop_assert!(chunk.next > from, "stuck at {}", from);
                read.push_str(&chunk.text);
                from = chunk.next;
            }
            prop_assert_eq!(&read, &window.whole());
            prop_assert!(window.kept() <= cap);
            if !window.truncated() {
                prop_assert_eq!(read.as_bytes(), pieces.concat());
            }
        }
    }
}
