//! Inputs made of a corpus: deterministic, so that a failure comes again.

/// Longer inputs only cost time: no limit that the targets check is above this.
const MAX_BYTES: usize = 4096;

/// What the inputs speak, also for libFuzzer (`-dict`).
const TOKENS: &str = include_str!("../../tokens.dict");

pub(crate) struct Mutator {
    corpus: Vec<Vec<u8>>,
    tokens: Vec<Vec<u8>>,
    state: u64,
}

impl Mutator {
    pub(crate) fn new(corpus: Vec<Vec<u8>>) -> Self {
        let tokens = TOKENS.lines().filter_map(token).collect();
        Self { corpus, tokens, state: 0 }
    }

    /// One of the corpus with a few changes.
    pub(crate) fn input(&mut self) -> Vec<u8> {
        let at = self.below(self.corpus.len());
        let mut input = self.corpus[at].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut input);
        }
        input.truncate(MAX_BYTES);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let (from, to) = self.range(input.len());
        match self.below(7) {
            0 => {
                if let Some(byte) = input.get_mut(from) {
                    *byte ^= 1 << (self.state.to_le_bytes()[1] % 8);
                }
            }
            1 => drop(input.drain(from..to)),
            2 => {
                let copy = input[from..to].to_vec();
                input.splice(to..to, copy);
            }
            3 => {
                let other = self.below(self.corpus.len());
                let (a, b) = self.range(self.corpus[other].len());
                let piece = self.corpus[other][a..b].to_vec();
                input.splice(from..to, piece);
            }
            4 => {
                let byte = self.state.to_le_bytes()[2];
                input.insert(from, byte);
            }
            // A token in place of something, or in between.
            5 => {
                let token = self.token();
                input.splice(from..to, token);
            }
            _ => {
                let token = self.token();
                input.splice(from..from, token);
            }
        }
    }

    fn token(&mut self) -> Vec<u8> {
        let at = self.below(self.tokens.len());
        self.tokens[at].clone()
    }

    /// A range within `length`, mostly short.
    fn range(&mut self, length: usize) -> (usize, usize) {
        let from = self.below(length + 1);
        let to = from + self.below((length - from).min(24) + 1);
        (from, to)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    /// `SplitMix64`.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// A line of a dictionary: a quoted token with `\\`, `\"` and `\xNN`.
fn token(line: &str) -> Option<Vec<u8>> {
    let mut rest = line.strip_prefix('"')?.strip_suffix('"')?.bytes();
    let mut token = Vec::new();
    while let Some(byte) = rest.next() {
        token.push(match byte {
            b'\\' => match rest.next()? {
                b'x' => {
                    let digits = [rest.next()?, rest.next()?];
                    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
                }
                other => other,
            },
            byte => byte,
        });
    }
    Some(token)
}
