//! An error as one readable line.

use std::error::Error;
use std::fmt;

/// Prints `error` and its causes, outermost first: `publish the file: put the object: timed out`.
pub fn chain<'a>(error: &'a (dyn Error + 'static)) -> Chain<'a> {
    Chain(error)
}

/// What [`chain`] makes; prints when displayed.
#[derive(Debug)]
pub struct Chain<'a>(&'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut next = self.0.source();
        while let Some(cause) = next {
            write!(f, ": {cause}")?;
            next = cause.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("save the run")]
    struct Save(#[source] Query);

    #[derive(Debug, thiserror::Error)]
    #[error("query the database")]
    struct Query(#[source] std::io::Error);

    #[test]
    fn a_chain_reads_as_one_sentence() {
        let error = Save(Query(std::io::Error::other("connection reset")));
        assert_eq!(chain(&error).to_string(), "save the run: query the database: connection reset");
    }
}
