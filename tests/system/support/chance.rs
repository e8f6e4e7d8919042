//! Random numbers that come again: a story prints its seed, and fails the same way with it.

use std::time::Duration;

/// `SplitMix64`.
#[derive(Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    /// Says the seed where the test's output goes.
    pub(crate) fn seeded(seed: u64) -> Self {
        println!("seed {seed:#x}");
        Self(seed)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `end`, `end` not included.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    pub(crate) fn moment(&mut self, longest: Duration) -> Duration {
        let longest = u64::try_from(longest.as_micros()).unwrap();
        Duration::from_micros(self.below(longest + 1))
    }
}
