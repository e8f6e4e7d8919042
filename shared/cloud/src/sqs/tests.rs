use lambda_kit::chain;
use lambda_kit::env::Env;

use super::*;

fn read(env: &Env, needed: &[Queue]) -> Result<SqsSettings, lambda_kit::env::Invalid> {
    let mut read = env.reader();
    let settings = SqsSettings::read(&mut read, needed);
    read.finish(|| settings)
}

#[test]
fn only_the_queues_that_a_function_sends_to_are_required() {
    let env = Env::of([("COGNITION_QUEUE_RUNS_URL", "https://sqs.example.com/1/runs")]);
    let settings = read(&env, &[Queue::Runs]).unwrap();
    assert_eq!(format!("{settings:?}"), "[Runs]");
    assert_eq!(
        read(&env, &Queue::ALL).unwrap_err().to_string(),
        "settings: COGNITION_QUEUE_SANDBOXES_URL is not set; \
         COGNITION_QUEUE_PUBLICATIONS_URL is not set; \
         COGNITION_QUEUE_NOTIFICATIONS_URL is not set"
    );
}

#[test]
fn a_delay_is_never_shorter_than_asked_and_never_longer_than_sqs_keeps() {
    for (delay, sent) in [(0, 0), (1, 1), (1_000, 1), (1_001, 2), (900_000, 900), (900_001, 900)] {
        assert_eq!(seconds(Duration::from_millis(delay)), sent, "{delay} ms");
    }
    assert_eq!(seconds(Duration::MAX), 900);
}

#[tokio::test]
async fn a_queue_without_an_address_refuses() {
    let settings = SqsSettings::default();
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(aws_config::BehaviorVersion::v2026_01_12())
        .region(aws_config::Region::from_static("eu-central-1"))
        .build();
    let queues = SqsQueues { client: Client::from_conf(config), settings };
    let error = queues.send(Queue::Runs, "{}".to_owned(), Duration::ZERO).await.unwrap_err();
    assert_eq!(
        chain(&error).to_string(),
        "send to the runs queue: refused: its address is not among the settings"
    );
}
