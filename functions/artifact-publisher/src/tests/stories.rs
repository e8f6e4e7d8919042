//! What a publication leaves behind when all goes well, and what is refused.

use aws_lambda_events::event::sqs::SqsEvent;
use bytes::Bytes;
use cloud::objects::{Doing, Tag};
use domain::{About, ArtifactContent, ArtifactId, ArtifactUpdate, PublicationFailure as Code};
use messages::publications::PublicationRequested;
use messages::{Message as _, Queue};
use published::{DESCRIPTOR_CONTENT_TYPE, Descriptor, Digest, Namespace};
use sandbox_protocol::ErrorCode;
use store::publications::{Delivery, Outcome};
use testkit::on_both;

use super::sandbox::Answer;
use super::scene::{SCOPE_KEY, Scene, acknowledged, event, scope};
use crate::attempt;
use crate::policy::Policy;

#[tokio::test]
async fn scenario_34_a_small_file_is_stored_verified_described_and_announced() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let publication = scene.publish("out/a.csv", "ab").await;
        assert!(scene.deliver(publication, 1).await);

        let digest = Digest::of(b"ab");
        let namespace = Namespace::new(&scene.scope, SCOPE_KEY.as_bytes());
        let object_key = namespace.object_key(publication, digest.as_hex());
        let row = scene.row(publication).await.unwrap();
        assert_eq!(row.object_key, object_key);
        assert_eq!((row.size, row.sha256.as_str()), (2, digest.as_hex()));
        assert_eq!((row.delivery, row.inline.as_deref()), (Delivery::Raw, Some(&b"ab"[..])));

        // Bytes first, with the tag in the same request; each is read back before the next step.
        let order = [
            (Doing::Put, object_key.clone()),
            (Doing::Get, object_key.clone()),
            (Doing::Put, row.descriptor_key.clone()),
            (Doing::Get, row.descriptor_key.clone()),
        ];
        assert_eq!(scene.objects.calls(), order);
        let object = scene.objects.stored(&object_key).unwrap();
        assert_eq!(object.tag, Some(Tag::new("cognition:content-class", "published-file")));
        assert_eq!((&object.bytes[..], object.content_type.as_str()), (&b"ab"[..], "text/csv"));
        let descriptor = scene.objects.stored(&row.descriptor_key).unwrap();
        assert_eq!(descriptor.tag, None);
        assert_eq!(descriptor.content_type, DESCRIPTOR_CONTENT_TYPE);
        assert_eq!(row.descriptor_sha256, Digest::of(&descriptor.bytes).as_hex());
        let body: serde_json::Value = serde_json::from_slice(&descriptor.bytes).unwrap();
        let expected = serde_json::json!({
            "id": publication.as_uuid(), "object_key": object_key, "checksum": digest.as_hex(),
            "size": 2, "filename": "a.csv", "media_type": "text/csv", "kind": "raw",
        });
        assert_eq!(body, expected);

        let update = ArtifactUpdate {
            artifact: ArtifactId::from(publication),
            name: Some("a.csv".to_owned()),
            append: false,
            last_chunk: true,
            content: ArtifactContent::Published { publication },
            about: About::default(),
        };
        assert_eq!(scene.announced().await, [update]);
        let Outcome::Active(summary) = scene.outcome(publication).await else { panic!("active") };
        assert_eq!((summary.filename.as_str(), summary.size), ("a.csv", 2));
    })
    .await;
}

#[tokio::test]
async fn a_decision_wakes_its_run_and_leaves_nothing_in_the_outbox() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let before = store::runs::look(&pool, &scene.lease).await.unwrap();
        let waiting = store::outbox::backlog(&pool).await.unwrap().0;
        let publication = scene.publish("a", "1").await;
        assert!(scene.deliver(publication, 1).await);
        let after = store::runs::look(&pool, &scene.lease).await.unwrap();
        assert_eq!(after.signal, before.signal + 1);
        assert_eq!((after.output_artifacts, after.output_bytes), (1, 1));
        let sent = scene.queues.take();
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0].queue, Queue::Runs);
        assert!(sent[0].body.contains("publication_done"), "{}", sent[0].body);
        assert_eq!(store::outbox::backlog(&pool).await.unwrap().0, waiting);
    })
    .await;
}

#[tokio::test]
async fn scenario_35_the_limits_are_inclusive_and_what_is_larger_leaves_nothing() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        for (size, delivery) in [
            (0, Delivery::Raw),
            (262_144, Delivery::Raw),
            (262_145, Delivery::Url),
            (10_485_760, Delivery::Url),
        ] {
            let publication = scene.publish("file", vec![7; size]).await;
            assert!(scene.deliver(publication, 1).await);
            let row = scene.row(publication).await.unwrap();
            assert_eq!((row.size, row.delivery), (size as u64, delivery));
            assert_eq!(row.inline.is_some(), delivery == Delivery::Raw, "{size}");
        }
        let stored = scene.objects.keys().len();
        let publication = scene.publish("file", vec![7; 10_485_761]).await;
        assert!(scene.deliver(publication, 1).await);
        assert_eq!(scene.outcome(publication).await, Outcome::Failed(Code::FileTooLarge));
        assert_eq!(scene.objects.keys().len(), stored);
        assert_eq!(scene.announced().await.len(), 4);
    })
    .await;
}

#[tokio::test]
async fn scenario_35_at_a_threshold_of_zero_only_the_empty_file_travels_inline() {
    on_both(async |pool| {
        let mut scene = Scene::new(&pool).await;
        scene.publisher.policy = Policy { inline_max_bytes: 0, ..scene.publisher.policy };
        for (size, delivery) in [(0, Delivery::Raw), (1, Delivery::Url)] {
            let publication = scene.publish("file", vec![7; size]).await;
            assert!(scene.deliver(publication, 1).await);
            assert_eq!(scene.row(publication).await.unwrap().delivery, delivery);
        }
    })
    .await;
}

#[tokio::test]
async fn scenario_36_a_path_outside_the_workspace_never_reaches_the_sandbox() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        for path in ["/workspace/../secret", "/etc/passwd", "/workspace", "a/../b", "../x", "", "."]
        {
            let publication = scene.request(path, "text/csv").await;
            assert!(scene.deliver(publication, 1).await);
            assert_eq!(scene.outcome(publication).await, Outcome::Failed(Code::InvalidPath));
        }
        assert!(scene.sandbox.asked().is_empty());
        assert!(scene.objects.calls().is_empty());
    })
    .await;
}

#[tokio::test]
async fn scenario_36_what_the_sandbox_refuses_is_told_to_the_model_and_stored_nowhere() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let refusals = [
            (ErrorCode::InvalidPath, Code::InvalidPath),
            (ErrorCode::NotFound, Code::FileNotFound),
            (ErrorCode::IsDirectory, Code::NotAFile),
            (ErrorCode::NotAFile, Code::NotAFile),
            (ErrorCode::PermissionDenied, Code::FileUnreadable),
            (ErrorCode::TooLarge, Code::FileTooLarge),
            (ErrorCode::ChangedDuringRead, Code::FileChanged),
        ];
        for (answer, code) in refusals {
            scene.sandbox.put("link", Answer::Refusal(answer));
            let publication = scene.request("link", "text/csv").await;
            assert!(scene.deliver(publication, 1).await);
            assert_eq!(scene.outcome(publication).await, Outcome::Failed(code));
        }
        assert!(scene.objects.calls().is_empty());
        assert!(scene.announced().await.is_empty());
        assert_eq!(scene.queues.take().len(), refusals.len());
    })
    .await;
}

#[tokio::test]
async fn scenario_37_a_media_type_with_a_line_break_never_reaches_the_sandbox() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        scene.sandbox.put("a", Answer::File(Bytes::from_static(b"a")));
        let publication = scene.request("a", "text/csv\r\nx-evil: 1").await;
        assert!(scene.deliver(publication, 1).await);
        assert_eq!(scene.outcome(publication).await, Outcome::Failed(Code::InvalidMediaType));
        assert!(scene.sandbox.asked().is_empty());
    })
    .await;
}

#[tokio::test]
async fn scenario_37_a_message_with_another_scope_finds_no_publication() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let publication = scene.publish("a", "a").await;
        let body = PublicationRequested::new(publication, scope("eve").digest()).body();
        assert!(!acknowledged(&scene.publisher.handle(event(&body, 1)).await));
        assert_eq!(scene.outcome(publication).await, Outcome::Requested);
        assert!(scene.sandbox.asked().is_empty());
    })
    .await;
}

#[tokio::test]
async fn scenario_39_a_file_that_was_edited_is_another_publication() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let first = scene.publish("a", "old").await;
        assert!(scene.deliver(first, 1).await);
        let second = scene.publish("a", "new").await;
        assert!(scene.deliver(second, 1).await);
        assert_ne!(first, second);
        assert_eq!(scene.row(first).await.unwrap().inline.unwrap(), b"old");
        assert_eq!(scene.row(second).await.unwrap().inline.unwrap(), b"new");
        assert_eq!(scene.objects.keys().len(), 4);
    })
    .await;
}

#[tokio::test]
async fn scenario_44_where_publication_is_off_the_sandbox_is_not_asked() {
    on_both(async |pool| {
        let mut scene = Scene::new(&pool).await;
        scene.publisher.policy.enabled = false;
        let publication = scene.publish("a", "a").await;
        assert!(scene.deliver(publication, 1).await);
        assert_eq!(scene.outcome(publication).await, Outcome::Failed(Code::Disabled));
        assert!(scene.sandbox.asked().is_empty());
    })
    .await;
}

#[tokio::test]
async fn the_first_bytes_that_are_activated_win() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let publication = scene.publish("a", "first").await;
        assert!(scene.deliver(publication, 1).await);
        scene.sandbox.put("a", Answer::File(Bytes::from_static(b"second")));
        assert!(scene.deliver(publication, 2).await);
        assert_eq!(scene.row(publication).await.unwrap().inline.unwrap(), b"first");
        assert_eq!(scene.announced().await.len(), 1);
        assert_eq!(scene.sandbox.asked().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_unreadable_message_is_left_for_the_dead_letter_queue_and_stops_no_other() {
    on_both(async |pool| {
        let scene = Scene::new(&pool).await;
        let publication = scene.publish("a", "a").await;
        let mut batch = event("{}", 1);
        batch.records.extend(scene.event(publication, 1).records);
        let response = scene.publisher.handle(batch).await;
        assert_eq!(response.batch_item_failures.len(), 1);
        assert!(matches!(scene.outcome(publication).await, Outcome::Active(_)));
    })
    .await;
}

#[test]
fn the_descriptor_prints_neither_key_nor_name() {
    let descriptor = Descriptor {
        id: uuid::Uuid::nil(),
        object_key: "canary".to_owned(),
        checksum: String::new(),
        size: 1,
        filename: "canary".to_owned(),
        media_type: String::new(),
        kind: Delivery::Raw.into(),
    };
    assert!(!format!("{descriptor:?}").contains("canary"));
}

#[test]
fn the_samples_are_messages_of_the_queue() {
    for (sample, deliveries) in [
        (include_str!("../../../../events/artifact-publisher/requested.json"), 1),
        (include_str!("../../../../events/artifact-publisher/last-attempt.json"), 4),
    ] {
        let event: SqsEvent = serde_json::from_str(sample).unwrap();
        let record = &event.records[0];
        assert_eq!(attempt(record), deliveries);
        PublicationRequested::parse(record.body.as_deref().unwrap()).unwrap();
    }
}
