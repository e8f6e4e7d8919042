//! Lines of a file of any size, in a bounded amount of memory.

use std::io::{self, BufRead};

/// Reads lines that end with LF, CRLF or CR. What follows the last line end is a line if there is
/// something there.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    inner: R,
    /// The last line ended with CR: an LF that comes next belongs to it.
    after_cr: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, after_cr: false }
    }

    /// Reads one line into `line`, of which no more than `keep` bytes are kept, and says how long
    /// it is. `None`: there is no more.
    pub(crate) fn next(&mut self, line: &mut Vec<u8>, keep: usize) -> io::Result<Option<u64>> {
        line.clear();
        if self.at_end()? {
            return Ok(None);
        }
        let mut length = 0;
        loop {
            let seen = self.inner.fill_buf()?;
            let end = seen.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let taken = end.unwrap_or(seen.len());
            let room = keep.saturating_sub(line.len()).min(taken);
            line.extend_from_slice(seen.get(..room).unwrap_or_default());
            length += taken as u64;
            let ended = end.and_then(|end| seen.get(end)).copied();
            let empty = seen.is_empty();
            self.inner.consume(taken + usize::from(ended.is_some()));
            self.after_cr = ended == Some(b'\r');
            if ended.is_some() || empty {
                return Ok(Some(length));
            }
        }
    }

    /// Whether no line is left.
    pub(crate) fn at_end(&mut self) -> io::Result<bool> {
        if self.after_cr {
            self.after_cr = false;
            if self.inner.fill_buf()?.first() == Some(&b'\n') {
                self.inner.consume(1);
            }
        }
        Ok(self.inner.fill_buf()?.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str, buffer: usize) -> Vec<String> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, text.as_bytes()));
        let (mut all, mut line) = (Vec::new(), Vec::new());
        while let Some(length) = lines.next(&mut line, usize::MAX).unwrap() {
            assert_eq!(length, line.len() as u64);
            all.push(String::from_utf8(line.clone()).unwrap());
        }
        all
    }

    #[test]
    fn a_line_is_counted_in_full_and_kept_in_part() {
        let mut lines = Lines::new(BufReader::with_capacity(3, &b"abcdefgh\ni"[..]));
        let mut line = Vec::new();
        assert_eq!(lines.next(&mut line, 4).unwrap(), Some(8));
        assert_eq!(line, b"abcd");
        assert_eq!(lines.next(&mut line, 4).unwrap(), Some(1));
        assert_eq!(lines.next(&mut line, 4).unwrap(), None);
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_text_with_its_line_ends_made_equal(
            text in "[a\r\n]{0,20}", buffer in 1_usize..8,
        ) {
            let equal = text.replace("\r\n", "\n").replace('\r', "\n");
            let expected: Vec<_> = equal.lines().map(str::to_owned).collect();
            prop_assert_eq!(lines(&text, buffer), expected);
        }
    }
}
