//! Answers that take their time (see the parent module for why).

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use http::{Response, StatusCode};
use tokio::time::timeout;

use super::framing::Framing;
use super::{Answer, Body, KEEP_ALIVE};
use crate::error::A2aError;
use crate::operations::EventStream;
use crate::sse;

/// Waits for an answer; from [`KEEP_ALIVE`] on with the connection open and a newline each time.
pub(super) async fn answer(
    answer: impl Future<Output = Result<Answer, A2aError>> + Send + 'static,
    framing: Framing,
) -> Response<Body> {
    let mut answer: BoxFuture<'static, _> = Box::pin(answer);
    match timeout(KEEP_ALIVE, &mut answer).await {
        Ok(Ok(answer)) => framing.success(&answer),
        Ok(Err(error)) => framing.failure(&error),
        Err(_) => {
            let body = Body::Stream(late(answer, framing.clone()));
            framing.json(StatusCode::OK, body)
        }
    }
}

/// White space now and each time that [`KEEP_ALIVE`] has passed, then the answer.
fn late(
    answer: BoxFuture<'static, Result<Answer, A2aError>>,
    framing: Framing,
) -> BoxStream<'static, Bytes> {
    let rest = stream::unfold(Some((answer, framing)), async |state| {
        let (mut answer, framing) = state?;
        Some(match timeout(KEEP_ALIVE, &mut answer).await {
            Ok(Ok(answer)) => (framing.success_json(&answer).into(), None),
            Ok(Err(error)) => (framing.failure_json(&error).into(), None),
            Err(_) => (WHITE_SPACE, Some((answer, framing))),
        })
    });
    stream::once(std::future::ready(WHITE_SPACE)).chain(rest).boxed()
}

const WHITE_SPACE: Bytes = Bytes::from_static(b"\n");

/// How long a stream's first event is waited for before the client hears that the stream is open.
/// A stream that is resumed may be silent for long.
const FIRST_EVENT: Duration = Duration::from_secs(1);

/// Waits for a stream's first event, so that a refusal is an ordinary error; then streams.
pub(super) async fn events(mut events: EventStream, framing: Framing) -> Response<Body> {
    let (first, goes_on) = match timeout(FIRST_EVENT, events.next()).await {
        Ok(Some(Err(error))) => return framing.failure(&error),
        Ok(Some(Ok(event))) => (Some(framing.event(&event)), !framing.is_last(&event.response)),
        Ok(None) => (None, false),
        Err(_) => (Some(sse::PING), true),
    };
    let state = goes_on.then(|| (events, framing.clone()));
    let rest = stream::unfold(state, async |state| {
        let (mut events, framing) = state?;
        match timeout(KEEP_ALIVE, events.next()).await {
            Ok(Some(Ok(event))) => {
                let bytes = framing.event(&event);
                Some((bytes, (!framing.is_last(&event.response)).then_some((events, framing))))
            }
            Ok(Some(Err(error))) => Some((framing.error_event(&error), None)),
            Ok(None) => None,
            Err(_) => Some((sse::PING, Some((events, framing)))),
        }
    });
    framing.event_stream(Body::Stream(stream::iter(first).chain(rest).boxed()))
}
