//! Which transactions a first page has seen.
//!
//! **Every value is one that PostgreSQL can read**, wherever it comes from: what a client made up is
//! refused here, and no statement fails because of it.

use std::fmt;

/// PostgreSQL's `pg_snapshot`: what had ended, and what had not, when a page was read. SQLite has
/// none, as whoever writes there does so alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// All transactions before this one had ended.
    oldest: i64,
    /// This one and those after it had not begun to write.
    next: i64,
    /// Those in between that had not ended, in their order.
    running: Vec<i64>,
}

impl Snapshot {
    /// The last transaction that we can note.
    pub const LAST: i64 = i64::MAX;
    /// A snapshot with more running transactions is not carried along: its list goes by times alone.
    pub const MOST_RUNNING: usize = 256;

    /// `None` for what no PostgreSQL would tell: numbers begin at 1, `running` ascends from `oldest`
    /// on and ends before `next`, and no transaction outlives four billion others.
    pub fn new(oldest: i64, next: i64, running: Vec<i64>) -> Option<Self> {
        let possible = oldest >= 1
            && next >= oldest
            && u32::try_from(next - oldest).is_ok()
            && running.len() <= Self::MOST_RUNNING
            && running.iter().all(|one| (oldest..next).contains(one))
            && running.is_sorted_by(|one, other| one < other);
        possible.then_some(Self { oldest, next, running })
    }

    /// Reads what `this_snapshot()` tells: `oldest:next:running,running,…`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (oldest, rest) = text.split_once(':')?;
        let (next, running) = rest.split_once(':')?;
        let running = running.split(',').filter(|one| !one.is_empty());
        let running = running.map(|one| one.parse().ok()).collect::<Option<_>>()?;
        Self::new(oldest.parse().ok()?, next.parse().ok()?, running)
    }

    pub(crate) fn oldest(&self) -> i64 {
        self.oldest
    }

    /// The oldest in eight bytes; in four bytes each: the distance of the next one, how many are
    /// running, and their distances.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let distance = |number: i64| u32::try_from(number - self.oldest);
        let count = u32::try_from(self.running.len());
        let numbers = [distance(self.next), count].into_iter();
        let mut bytes = self.oldest.to_be_bytes().to_vec();
        for number in numbers.chain(self.running.iter().map(|one| distance(*one))) {
            bytes.extend(number.expect("`new` has looked at it").to_be_bytes());
        }
        bytes
    }

    /// Only what [`Snapshot::to_bytes`] makes, whole.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (oldest, rest) = bytes.split_first_chunk::<8>()?;
        let oldest = i64::from_be_bytes(*oldest);
        let (numbers, []) = rest.as_chunks::<4>() else { return None };
        let [next, count, running @ ..] = numbers else { return None };
        let number = |bytes: &[u8; 4]| oldest.checked_add(u32::from_be_bytes(*bytes).into());
        let whole = usize::try_from(u32::from_be_bytes(*count)) == Ok(running.len());
        let running = running.iter().map(number).collect::<Option<_>>()?;
        Self::new(oldest, number(next)?, running).filter(|_| whole)
    }
}

impl fmt::Display for Snapshot {
    /// As it is read again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:", self.oldest, self.next)?;
        for (index, one) in self.running.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{one}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_database_tells_is_read_and_comes_back() {
        for text in ["1:1:", "734:740:734,736,739", "9000000000:9000000003:9000000001"] {
            let snapshot = Snapshot::parse(text).unwrap();
            assert_eq!(snapshot.to_string(), text);
            assert_eq!(Snapshot::from_bytes(&snapshot.to_bytes()), Some(snapshot));
        }
    }

    #[test]
    fn what_no_database_would_tell_is_none() {
        for text in [
            "",
            "1",
            "1:2",
            "0:2:",
            "-1:2:",
            "3:2:",
            "1:5000000000:",
            "5:9:4",
            "5:9:9",
            "5:9:7,6",
            "5:9:6,6",
            "5:9:6,x",
            "x:9:6",
            "5:x:6",
            "5:9223372036854775808:",
        ] {
            assert_eq!(Snapshot::parse(text), None, "{text}");
        }
        let many = |count| Snapshot::new(1, 1000, (1..=count).collect());
        assert!(many(256).is_some() && many(257).is_none());
        let bytes = many(2).unwrap().to_bytes();
        for length in 0..bytes.len() {
            assert_eq!(Snapshot::from_bytes(&bytes[..length]), None, "{length}");
        }
        assert_eq!(Snapshot::from_bytes(&[&bytes, [0, 0, 0, 3].as_slice()].concat()), None);
        let last = [Snapshot::LAST.to_be_bytes().as_slice(), &[0, 0, 0, 1, 0, 0, 0, 0]].concat();
        assert_eq!(Snapshot::from_bytes(&last), None, "beyond the last number");
    }
}
