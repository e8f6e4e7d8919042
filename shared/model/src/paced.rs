use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use tokio::time::Instant;

use crate::{ModelError, ModelEvent, ModelStream};

/// One event, and how long after the call's start it is said.
pub(crate) type Timed = (Duration, Result<ModelEvent, ModelError>);

/// Says prepared events at their times. Each time is counted from the start, so that the pauses do
/// not add up their rounding; an event that is due at once does not touch the timer.
pub(crate) fn paced(events: Vec<Timed>) -> ModelStream {
    let start = Instant::now();
    stream::iter(events)
        .then(move |(after, event)| async move {
            if !after.is_zero() {
                tokio::time::sleep_until(start + after).await;
            }
            event
        })
        .boxed()
}

/// A text in pieces of `size` characters; none for an empty text.
pub(crate) fn pieces(text: &str, size: usize) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(size.max(1)).map(|piece| piece.iter().collect()).collect()
}
