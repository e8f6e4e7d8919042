//! How long a part goes on: batch by batch, as long as batches are full and something moves.

use lambda_kit::chain;
use store::Error;

use crate::{Pace, Swept};

/// The state of one part's work.
#[derive(Debug)]
pub(crate) struct Rounds {
    batch: usize,
    left: u32,
    full: bool,
    moved: bool,
    lasting: Option<Error>,
}

impl Rounds {
    pub(crate) fn new(pace: &Pace) -> Self {
        let batch = usize::try_from(pace.batch).unwrap_or(usize::MAX);
        Self { batch, left: pace.rounds, full: true, moved: true, lasting: None }
    }

    /// Whether another search is worth it. Rows that stay would only be found again.
    pub(crate) fn goes_on(&mut self) -> bool {
        let goes_on = self.left > 0 && self.full && self.moved;
        self.left = self.left.saturating_sub(1);
        self.moved = false;
        goes_on
    }

    /// A search found this many rows.
    pub(crate) fn found(&mut self, rows: usize) {
        self.full = rows >= self.batch;
    }

    /// A statement found rows and took them all further; returns how many.
    pub(crate) fn took_all(&mut self, rows: u64) -> usize {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        self.found(rows);
        self.moved |= rows > 0;
        rows
    }

    /// Something was taken further.
    pub(crate) fn moved(&mut self) {
        self.moved = true;
    }

    /// Notes what became of a row: taken further, left where it was, or in trouble, which stops no
    /// other row unless the database is gone.
    pub(crate) fn took(
        &mut self,
        swept: &mut Swept,
        taken: Result<bool, Error>,
    ) -> Result<(), Error> {
        match taken {
            Ok(taken) => self.moved |= taken,
            Err(error @ Error::Unavailable(_)) => return Err(error),
            Err(error) => {
                swept.rows_failed += 1;
                tracing::warn!("a row was passed over: {}", chain(&error));
                if !error.is_retryable() {
                    self.lasting = Some(error);
                }
            }
        }
        Ok(())
    }

    /// The part has failed when a row has, in a way that does not pass by itself.
    pub(crate) fn end(self) -> Result<(), Error> {
        self.lasting.map_or(Ok(()), Err)
    }
}
