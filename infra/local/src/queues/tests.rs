use std::collections::VecDeque;

use aws_lambda_events::event::sqs::SqsMessage;
use domain::SystemClock;
use testkit::TestClock;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::advance;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const SETTINGS: Settings = Settings {
    visibility: Duration::from_secs(30),
    retry_after: Duration::from_secs(2),
    max_receives: 5,
    batch: 1,
};

fn queues(settings: Settings) -> LocalQueues {
    LocalQueues::new(settings, Arc::new(SystemClock))
}

async fn send(queues: &LocalQueues, body: &str, delay: Duration) {
    queues.send(Queue::Runs, body.to_owned(), delay).await.unwrap();
}

fn ok() -> SqsBatchResponse {
    SqsBatchResponse::default()
}

/// The answer that names these messages.
fn failing<'a>(records: impl IntoIterator<Item = &'a SqsMessage>) -> SqsBatchResponse {
    let mut response = SqsBatchResponse::default();
    response.set_failures(records.into_iter().filter_map(|record| record.message_id.clone()));
    response
}

/// Consumes the `runs` queue with a handler that shows each event and gives the next of `answers`;
/// after the last one, all is well.
fn watch(
    queues: &LocalQueues,
    answers: Vec<fn(&SqsEvent) -> SqsBatchResponse>,
) -> mpsc::UnboundedReceiver<SqsEvent> {
    let (seen, events) = mpsc::unbounded_channel();
    let answers = Arc::new(Mutex::new(VecDeque::from(answers)));
    queues.consume(Queue::Runs, 1, move |event: SqsEvent| {
        let answer = answers.lock().unwrap().pop_front();
        let response = answer.map_or_else(ok, |answer| answer(&event));
        seen.send(event).unwrap();
        async { response }
    });
    events
}

fn bodies(event: &SqsEvent) -> Vec<&str> {
    event.records.iter().map(|record| record.body.as_deref().unwrap()).collect()
}

fn all(event: &SqsEvent) -> SqsBatchResponse {
    failing(&event.records)
}

#[tokio::test(start_paused = true)]
async fn a_message_is_handled_once_when_all_is_well() {
    let queues = queues(SETTINGS);
    let mut events = watch(&queues, vec![]);
    send(&queues, "a", Duration::ZERO).await;
    assert_eq!(bodies(&events.recv().await.unwrap()), ["a"]);
    queues.drained().await;
    advance(SETTINGS.visibility * 2).await;
    queues.stop().await;
    assert!(events.recv().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_delayed_message_comes_not_before_its_time_and_within_fifteen_minutes() {
    let queues = queues(SETTINGS);
    let mut events = watch(&queues, vec![]);
    let start = Instant::now();
    send(&queues, "later", 90 * SECOND).await;
    send(&queues, "much later", Duration::MAX).await;
    send(&queues, "now", Duration::ZERO).await;
    assert_eq!(queues.depth(Queue::Runs), Depth { visible: 1, delayed: 2, hidden: 0 });
    for (body, at) in [("now", 0), ("later", 90), ("much later", 900)] {
        assert_eq!(bodies(&events.recv().await.unwrap()), [body]);
        // The runtime's timer counts in milliseconds.
        let (after, earliest) = (start.elapsed(), at * SECOND);
        let latest = earliest + Duration::from_millis(2);
        assert!(after >= earliest && after <= latest, "{body} after {after:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_message_comes_again_and_counts_its_receives() {
    let queues = queues(SETTINGS);
    let mut events = watch(&queues, vec![all, all]);
    send(&queues, "a", Duration::ZERO).await;
    let start = Instant::now();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let event = events.recv().await.unwrap();
        let record = &event.records[0];
        let receives = record.attributes["ApproximateReceiveCount"].clone();
        seen.push((record.message_id.clone(), receives, start.elapsed().as_secs()));
    }
    let id = seen[0].0.clone();
    assert_eq!(seen, [("1", 0), ("2", 2), ("3", 4)].map(|(n, at)| (id.clone(), n.to_owned(), at)));
    queues.drained().await;
}

#[tokio::test(start_paused = true)]
async fn only_the_messages_that_the_answer_names_come_again() {
    let queues = queues(Settings { batch: 10, ..SETTINGS });
    for body in ["a", "b", "c"] {
        send(&queues, body, Duration::ZERO).await;
    }
    let mut events = watch(&queues, vec![|event| failing(&event.records[1..2])]);
    assert_eq!(bodies(&events.recv().await.unwrap()), ["a", "b", "c"]);
    assert_eq!(bodies(&events.recv().await.unwrap()), ["b"]);
    queues.drained().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_or_an_unknown_identifier_fails_the_whole_batch() {
    fn panics(_: &SqsEvent) -> SqsBatchResponse {
        panic!("planned")
    }
    fn unknown(event: &SqsEvent) -> SqsBatchResponse {
        let mut response = failing(&event.records[..1]);
        response.add_failure("another");
        response
    }
    fn empty(_: &SqsEvent) -> SqsBatchResponse {
        let mut response = ok();
        response.add_failure("");
        response
    }
    let queues = queues(Settings { batch: 10, ..SETTINGS });
    send(&queues, "a", Duration::ZERO).await;
    send(&queues, "b", Duration::ZERO).await;
    let mut events = watch(&queues, vec![panics, unknown, empty]);
    // The handler that panics shows nothing.
    for _ in 0..3 {
        assert_eq!(bodies(&events.recv().await.unwrap()), ["a", "b"]);
    }
    queues.drained().await;
    assert_eq!(queues.dead_letters(Queue::Runs), []);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_always_fails_becomes_a_dead_letter_after_five_receives() {
    let queues = queues(SETTINGS);
    let mut events = watch(&queues, vec![all; 9]);
    send(&queues, "a", Duration::ZERO).await;
    queues.drained().await;
    let mut id = None;
    for _ in 0..5 {
        id = events.try_recv().unwrap().records.remove(0).message_id;
    }
    assert!(events.try_recv().is_err());
    let dead = DeadLetter { message_id: id.unwrap(), body: "a".to_owned(), receives: 5 };
    assert_eq!(queues.dead_letters(Queue::Runs), [dead]);
    assert_eq!(queues.dead_letters(Queue::Sandboxes), []);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_takes_too_long_is_overtaken_and_cannot_end_the_second_receive() {
    let queues = queues(SETTINGS);
    let (seen, mut events) = mpsc::unbounded_channel();
    let gates = [Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0))];
    let waiting = Mutex::new(VecDeque::from(gates.clone()));
    queues.consume(Queue::Runs, 2, move |event: SqsEvent| {
        seen.send(event).unwrap();
        let gate = waiting.lock().unwrap().pop_front().unwrap();
        async move {
            gate.acquire().await.unwrap().forget();
            ok()
        }
    });
    send(&queues, "a", Duration::ZERO).await;
    let first = events.recv().await.unwrap();
    let second = events.recv().await.unwrap();
    assert_eq!(first.records[0].message_id, second.records[0].message_id);
    assert_ne!(first.records[0].receipt_handle, second.records[0].receipt_handle);

    gates[0].add_permits(1);
    tokio::task::yield_now().await;
    assert_eq!(queues.depth(Queue::Runs), Depth { visible: 0, delayed: 0, hidden: 1 });
    gates[1].add_permits(1);
    queues.drained().await;
}

#[tokio::test(start_paused = true)]
async fn no_more_handlers_work_at_once_than_permitted() {
    let queues = queues(SETTINGS);
    let working = Arc::new(Mutex::new((0, 0)));
    let counted = Arc::clone(&working);
    queues.consume(Queue::Runs, 3, move |_| {
        let working = Arc::clone(&counted);
        async move {
            {
                let mut working = working.lock().unwrap();
                working.0 += 1;
                working.1 = working.1.max(working.0);
            }
            tokio::time::sleep(SECOND).await;
            working.lock().unwrap().0 -= 1;
            ok()
        }
    });
    let start = Instant::now();
    for _ in 0..9 {
        send(&queues, "a", Duration::ZERO).await;
    }
    queues.drained().await;
    assert_eq!(*working.lock().unwrap(), (0, 3));
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn stopping_waits_for_handlers_that_work_and_starts_no_other() {
    let queues = queues(SETTINGS);
    let (seen, mut events) = mpsc::unbounded_channel();
    let ended = Arc::new(Mutex::new(0));
    let count = Arc::clone(&ended);
    queues.consume(Queue::Runs, 1, move |_| {
        seen.send(()).unwrap();
        let ended = Arc::clone(&count);
        async move {
            tokio::time::sleep(10 * SECOND).await;
            *ended.lock().unwrap() += 1;
            ok()
        }
    });
    send(&queues, "a", Duration::ZERO).await;
    send(&queues, "b", Duration::ZERO).await;
    events.recv().await.unwrap();
    queues.stop().await;
    assert_eq!(*ended.lock().unwrap(), 1);
    assert_eq!(queues.depth(Queue::Runs), Depth { visible: 1, delayed: 0, hidden: 0 });
}

#[tokio::test(start_paused = true)]
async fn each_queue_has_its_own_messages() {
    let queues = queues(SETTINGS);
    let mut events = watch(&queues, vec![]);
    queues.send(Queue::Sandboxes, "s".to_owned(), Duration::ZERO).await.unwrap();
    send(&queues, "r", Duration::ZERO).await;
    assert_eq!(bodies(&events.recv().await.unwrap()), ["r"]);
    let waiting = Depth { visible: 1, delayed: 0, hidden: 0 };
    assert_eq!(queues.depth(Queue::Sandboxes), waiting);
}

#[tokio::test(start_paused = true)]
async fn an_event_is_what_lambda_would_parse() {
    let queues = LocalQueues::new(SETTINGS, Arc::new(TestClock::new()));
    let mut events = watch(&queues, vec![]);
    send(&queues, r#"{"version":1}"#, Duration::ZERO).await;
    let event = events.recv().await.unwrap();
    let json = serde_json::to_value(&event).unwrap();
    let id = event.records[0].message_id.clone().unwrap();
    let sent = serde_json::json!({
        "messageId": id,
        "receiptHandle": format!("{id}.1"),
        "body": r#"{"version":1}"#,
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": "1790000000000",
            "ApproximateFirstReceiveTimestamp": "1790000000000",
        },
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:local:000000000000:runs",
        "awsRegion": "local",
    });
    for (name, value) in sent.as_object().unwrap() {
        assert_eq!(&json["Records"][0][name], value, "{name}");
    }
    assert_eq!(serde_json::from_value::<SqsEvent>(json).unwrap(), event);
}
