//! The log has no gap and no repetition, whoever appends.

use domain::{About, ArtifactContent, ArtifactId, ArtifactUpdate, EventBody};
use store::events::{Place, after, answer_shown, shown_in_step};
use store::runs::{Output, PlacedEvent, append, look};
use testkit::on_both;

use crate::common::{scope, working};

fn chunk(step: i32, ordinal: i32, text: &str) -> PlacedEvent {
    PlacedEvent {
        place: Place { step, attempt: 1, ordinal },
        body: EventBody::Artifact(ArtifactUpdate {
            artifact: ArtifactId("response".to_owned()),
            name: Some("response".to_owned()),
            append: ordinal > 0,
            last_chunk: false,
            content: ArtifactContent::Text { text: text.to_owned() },
            about: About::default(),
        }),
    }
}

#[tokio::test]
async fn concurrent_appends_get_consecutive_sequences() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        let appends = (0..20).map(|ordinal| {
            let (pool, lease) = (pool.clone(), lease.clone());
            async move {
                let event = chunk(1, ordinal, "x \u{0} y");
                append(&pool, &lease, &[event], Output { bytes: 3, artifacts: 0 }).await.unwrap();
            }
        });
        futures_util::future::join_all(appends).await;
        let events = after(&pool, &scope("a").digest(), taken.task, 0, 100).await.unwrap();
        let sequences: Vec<i64> = events.iter().map(|event| event.sequence).collect();
        assert_eq!(sequences, (1..=22).collect::<Vec<_>>());
        assert_eq!(look(&pool, &lease).await.unwrap().output_bytes, 60);
    })
    .await;
}

#[tokio::test]
async fn the_same_place_writes_once() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        for _ in 0..2 {
            append(&pool, &lease, &[chunk(1, 0, "x")], Output::default()).await.unwrap();
        }
        let events = after(&pool, &scope("a").digest(), taken.task, 2, 100).await.unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].body, chunk(1, 0, "x").body);
    })
    .await;
}

#[tokio::test]
async fn a_reader_goes_on_where_it_was_and_a_foreign_one_sees_nothing() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        append(&pool, &lease, &[chunk(1, 0, "x"), chunk(1, 1, "y")], Output::default())
            .await
            .unwrap();
        let own = scope("a").digest();
        let page = after(&pool, &own, taken.task, 0, 3).await.unwrap();
        assert_eq!(page.len(), 3);
        let rest = after(&pool, &own, taken.task, page[2].sequence, 3).await.unwrap();
        assert_eq!(rest.len(), 1);
        let foreign = after(&pool, &scope("b").digest(), taken.task, 0, 9).await.unwrap();
        assert_eq!(foreign, []);
    })
    .await;
}

#[tokio::test]
async fn it_is_known_what_of_an_answer_clients_were_shown() {
    on_both(async |pool| {
        let (_, lease) = working(&pool, "a").await;
        assert!(!answer_shown(&pool, &lease).await.unwrap());
        append(&pool, &lease, &[chunk(2, 0, "x")], Output::default()).await.unwrap();
        assert!(answer_shown(&pool, &lease).await.unwrap());
        assert!(shown_in_step(&pool, &lease, 2).await.unwrap());
        assert!(!shown_in_step(&pool, &lease, 1).await.unwrap());
        let (_, other) = working(&pool, "b").await;
        assert!(!answer_shown(&pool, &other).await.unwrap());
        assert!(!shown_in_step(&pool, &other, 2).await.unwrap());
    })
    .await;
}
