use std::cell::RefCell;
use std::num::ParseIntError;

use super::*;

fn event(bodies: &[Option<&str>]) -> SqsEvent {
    let mut event = SqsEvent::default();
    for (index, body) in bodies.iter().enumerate() {
        let mut record = SqsMessage::default();
        record.message_id = Some(format!("m{index}"));
        record.body = body.map(str::to_owned);
        event.records.push(record);
    }
    event
}

fn parse(body: &str) -> Result<u32, ParseIntError> {
    body.parse()
}

fn named(response: &SqsBatchResponse) -> Vec<&str> {
    response.batch_item_failures.iter().map(|f| f.item_identifier.as_str()).collect()
}

/// Handles even numbers, is asked again for odd ones, and refuses 0.
async fn even(number: u32) -> Result<(), Failure> {
    match number {
        0 => Err(Failure::reject("zero is nobody's")),
        n if n % 2 == 1 => Err(Failure::retry("odd")),
        _ => Ok(()),
    }
}

#[tokio::test]
async fn only_the_messages_that_failed_are_named() {
    let event = event(&[Some("2"), Some("3"), Some("4"), Some("0")]);
    assert_eq!(named(&for_each(event, parse, even).await), ["m1", "m3"]);
}

#[tokio::test]
async fn an_unreadable_body_fails_alone_and_is_never_handled() {
    let seen = RefCell::new(Vec::new());
    let event = event(&[Some("2"), Some("{"), None, Some("4")]);
    let response = for_each(event, parse, async |number| {
        seen.borrow_mut().push(number);
        Ok(())
    });
    assert_eq!(named(&response.await), ["m1", "m2"]);
    assert_eq!(seen.into_inner(), [2, 4]);
}

#[tokio::test]
async fn a_failed_message_without_an_id_keeps_the_whole_batch() {
    let mut event = event(&[Some("2"), Some("3")]);
    event.records[1].message_id = None;
    // SQS takes an empty identifier as the failure of the whole batch.
    assert_eq!(named(&for_each(event, parse, even).await), [""]);
}

#[tokio::test]
async fn an_event_without_messages_is_handled() {
    assert!(for_each(SqsEvent::default(), parse, even).await.batch_item_failures.is_empty());
}

#[tokio::test]
async fn the_answer_has_the_shape_that_sqs_reads() {
    let response = for_each(event(&[Some("1")]), parse, even).await;
    let json = serde_json::to_value(&response).unwrap();
    assert_eq!(json, serde_json::json!({"batchItemFailures": [{"itemIdentifier": "m0"}]}));
}

#[tokio::test]
async fn a_handler_that_borrows_can_run_on_any_thread() {
    fn sendable<F: Future + Send>(future: F) -> F {
        future
    }
    struct Handler(std::sync::atomic::AtomicU32);
    impl Handler {
        async fn handle(&self, number: u32) -> Result<(), Failure> {
            tokio::task::yield_now().await;
            self.0.fetch_add(number, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        }
    }
    let handler = Handler(0.into());
    let handle = async |number| handler.handle(number).await;
    sendable(for_each(event(&[Some("2"), Some("3")]), parse, handle)).await;
    assert_eq!(handler.0.into_inner(), 5);
}

/// The subscriber of a test: each event's level and text.
mod lines {
    use std::sync::{Arc, Mutex};

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    #[derive(Clone, Default)]
    pub(super) struct Lines(pub(super) Arc<Mutex<Vec<String>>>);

    struct Text(String);

    impl Visit for Text {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            if field.name() == "message" {
                self.0 = format!("{value:?}");
            }
        }
    }

    impl Subscriber for Lines {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, event: &Event<'_>) {
            let mut text = Text(String::new());
            event.record(&mut text);
            let line = format!("{} {}", event.metadata().level(), text.0);
            self.0.lock().unwrap().push(line);
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }
}

#[tokio::test]
async fn a_failure_is_logged_once_with_its_causes() {
    let lines = lines::Lines::default();
    let guard = tracing::subscriber::set_default(lines.clone());
    for_each(event(&[Some("3"), Some("0"), Some("x")]), parse, even).await;
    drop(guard);
    assert_eq!(
        *lines.0.lock().unwrap(),
        [
            "WARN message m0 will be retried: odd",
            "ERROR message m1 is rejected: zero is nobody's",
            "ERROR message m2 is rejected: invalid digit found in string",
        ]
    );
}
