use std::fs;
use std::path::PathBuf;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use cloud::objects::{Objects as _, Presence, PutOptions, Tag};
use cloud::s3::S3Objects;
use s3s::{S3 as _, S3Request, dto};
use tempfile::TempDir;
use testkit::TestClock;
use testkit::objects::contract::{new, options};

use super::folder::Written;
use super::record::{About, Record, Rule};
use super::*;

const DAY: Duration = Duration::from_hours(24);

struct Fixture {
    folder: TempDir,
    clock: Arc<TestClock>,
}

impl Fixture {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), clock: Arc::default() }
    }

    async fn start(&self) -> Result<LocalS3> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        LocalS3::start(self.folder.path(), listener, Arc::clone(&self.clock) as _)
    }

    /// Starts as soon as one that was dropped has let go of the folder.
    async fn running(&self) -> (LocalS3, S3Objects) {
        let mut started = None;
        testkit::eventually(Duration::from_secs(60), async || {
            started = self.start().await.ok();
            started.is_some()
        })
        .await;
        let s3 = started.unwrap();
        let objects = S3Objects::connect(s3.bucket("files").unwrap()).await;
        (s3, objects)
    }

    /// The files of the bucket below this folder.
    fn files(&self, folder: &str) -> Vec<PathBuf> {
        let place = self.folder.path().join("buckets/files").join(folder);
        fs::read_dir(place).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

fn tagged(bytes: &Bytes, class: &str) -> PutOptions {
    PutOptions { tag: Some(Tag::new("class", class)), ..options(bytes) }
}

#[tokio::test]
async fn objects_tags_and_credentials_outlive_the_process() {
    let fixture = Fixture::new();
    let (s3, objects) = fixture.running().await;
    let bytes = Bytes::from_static(b"kept");
    objects.put_new("a", bytes.clone(), tagged(&bytes, "file")).await.unwrap();
    let before = s3.credentials().clone();
    // Not stopped: dropped, as a kill would.
    drop(s3);

    let (s3, objects) = fixture.running().await;
    assert_eq!(s3.credentials(), &before);
    assert_eq!(objects.get("a", 10).await, Ok(Some(bytes)));
    assert_eq!(objects.tags("a").await, Ok(vec![Tag::new("class", "file")]));
}

#[tokio::test]
async fn one_process_serves_a_folder() {
    let fixture = Fixture::new();
    let (first, _) = fixture.running().await;
    let error = fixture.start().await.unwrap_err();
    assert_eq!(format!("{error:#}"), "open the object folder: another process serves this folder");
    first.stop().await;
    fixture.start().await.unwrap();
}

#[tokio::test]
async fn a_stopped_endpoint_answers_nobody_and_waits_for_no_idle_connection() {
    let fixture = Fixture::new();
    let (s3, objects) = fixture.running().await;
    // The client keeps this connection for later.
    assert_eq!(objects.head("a").await, Ok(Presence::Missing));
    s3.stop().await;
    assert!(objects.head("a").await.unwrap_err().is_retryable());
}

#[tokio::test]
async fn what_a_crash_has_left_is_removed_and_was_never_visible() {
    let fixture = Fixture::new();
    let (s3, objects) = fixture.running().await;
    new(&objects, "a", "whole").await.unwrap();
    drop(s3);
    let bucket = fixture.folder.path().join("buckets/files");
    fs::write(bucket.join("bodies/half"), "ha").unwrap();
    fs::write(bucket.join("objects/.tmp1"), "{\"key\"").unwrap();

    let (_s3, objects) = fixture.running().await;
    assert_eq!(objects.list("", None).await, Ok(vec!["a".to_owned()]));
    assert_eq!(objects.get("a", 10).await, Ok(Some(Bytes::from_static(b"whole"))));
    assert_eq!((fixture.files("bodies").len(), fixture.files("objects").len()), (1, 1));
}

#[tokio::test]
async fn a_refused_upload_and_a_deleted_object_leave_no_file() {
    let fixture = Fixture::new();
    let (_s3, objects) = fixture.running().await;
    let other = options(&Bytes::from_static(b"other"));
    objects.put_new("a", Bytes::from_static(b"bytes"), other).await.unwrap_err();
    assert_eq!((fixture.files("bodies").len(), fixture.files("objects").len()), (0, 0));
    new(&objects, "a", "a").await.unwrap();
    new(&objects, "a", "b").await.unwrap();
    assert_eq!((fixture.files("bodies").len(), fixture.files("objects").len()), (1, 1));
    objects.delete("a").await.unwrap();
    assert_eq!((fixture.files("bodies").len(), fixture.files("objects").len()), (0, 0));
}

fn record(key: &str, body: String, stored_at: Timestamp) -> Record {
    let (md5, sha256) = (String::new(), String::new());
    Record { key: key.to_owned(), body, size: 1, md5, sha256, stored_at, about: About::default() }
}

#[test]
fn of_sixteen_threads_that_write_first_one_does() {
    let fixture = Fixture::new();
    let folder = Folder::open(fixture.folder.path(), Arc::clone(&fixture.clock) as _).unwrap();
    folder.make_bucket("files").unwrap();
    for round in 0..50 {
        let key = format!("race/{round}");
        let start = Barrier::new(16);
        let write = || {
            let body = folder.body("files", b"1").unwrap();
            start.wait();
            folder.write("files", body, true, |body, at| record(&key, body, at)).unwrap()
        };
        let written: Vec<Written> = thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(write)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(written.iter().filter(|w| **w == Written::Done).count(), 1, "round {round}");
    }
    assert_eq!((fixture.files("bodies").len(), fixture.files("objects").len()), (50, 50));
}

#[test]
fn a_reader_sees_whole_objects_while_they_are_replaced_and_deleted() {
    let fixture = Fixture::new();
    let folder = Folder::open(fixture.folder.path(), Arc::clone(&fixture.clock) as _).unwrap();
    folder.make_bucket("files").unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..200 {
                let body = folder.body("files", b"whole").unwrap();
                folder.write("files", body, false, |body, at| record("a", body, at)).unwrap();
                if round % 5 == 4 {
                    folder.remove("files", "a", |_| true).unwrap();
                }
            }
            done.store(true, Ordering::SeqCst);
        });
        while !done.load(Ordering::SeqCst) {
            if let Some((_, bytes)) = folder.read("files", "a").unwrap() {
                assert_eq!(bytes, b"whole");
            }
        }
    });
    assert_eq!((fixture.files("bodies").len(), fixture.files("objects").len()), (0, 0));
}

/// A request as it comes from the protocol layer, signed and parsed.
fn request<T>(input: T) -> S3Request<T> {
    S3Request {
        input,
        method: http::Method::PUT,
        uri: http::Uri::from_static("/"),
        headers: http::HeaderMap::new(),
        extensions: http::Extensions::new(),
        credentials: None,
        region: None,
        service: None,
        trailing_headers: None,
    }
}

fn rule(
    tag: Option<(&str, &str)>,
    prefix: Option<&str>,
    days: i32,
    on: bool,
) -> dto::LifecycleRule {
    convert::rule_out(Rule {
        id: Some(format!("after-{days}")),
        enabled: on,
        prefix: prefix.map(str::to_owned),
        tags: tag.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
        days,
    })
}

/// Sets the rules of the bucket over the protocol's types, and reads them back the same way.
async fn set_rules(s3: &LocalS3, rules: Vec<dto::LifecycleRule>) -> s3s::S3Result<()> {
    let service = Service::new(Arc::clone(&s3.folder));
    let input = dto::PutBucketLifecycleConfigurationInput {
        bucket: "files".to_owned(),
        lifecycle_configuration: Some(dto::BucketLifecycleConfiguration { rules: rules.clone() }),
        checksum_algorithm: None,
        expected_bucket_owner: None,
        transition_default_minimum_object_size: None,
    };
    service.put_bucket_lifecycle_configuration(request(input)).await?;
    let input = dto::GetBucketLifecycleConfigurationInput {
        bucket: "files".to_owned(),
        expected_bucket_owner: None,
    };
    let read = service.get_bucket_lifecycle_configuration(request(input)).await?;
    assert_eq!(read.output.rules, Some(rules));
    Ok(())
}

#[tokio::test]
async fn a_lifecycle_rule_ends_the_objects_with_its_tag_when_they_are_old_enough() {
    let fixture = Fixture::new();
    let (s3, objects) = fixture.running().await;
    let bytes = Bytes::from_static(b"1");
    objects.put_new("a/file", bytes.clone(), tagged(&bytes, "file")).await.unwrap();
    objects.put_new("a/other", bytes.clone(), tagged(&bytes, "other")).await.unwrap();
    objects.put_new("a/none", bytes.clone(), options(&bytes)).await.unwrap();
    set_rules(&s3, vec![rule(Some(("class", "file")), None, 7, true)]).await.unwrap();

    fixture.clock.advance(3 * DAY);
    objects.put_new("b/file", bytes.clone(), tagged(&bytes, "file")).await.unwrap();
    fixture.clock.advance(4 * DAY);
    let now = fixture.clock.now();
    let before = Timestamp(now.as_micros() - 1);
    assert_eq!(s3.expire(before).unwrap(), 0);
    assert_eq!(s3.expire(now).unwrap(), 1);
    assert_eq!(s3.expire(now).unwrap(), 0);
    assert_eq!(objects.head("a/file").await, Ok(Presence::Missing));
    assert_eq!(
        objects.list("", None).await.unwrap(),
        ["a/none", "a/other", "b/file"].map(str::to_owned)
    );
}

#[tokio::test]
async fn rules_by_prefix_apply_there_only_and_disabled_ones_nowhere() {
    let fixture = Fixture::new();
    let (s3, objects) = fixture.running().await;
    for key in ["a", "b"] {
        new(&objects, &format!("{key}/1"), "1").await.unwrap();
    }
    let rules = vec![
        rule(None, Some("cognition/a/"), 1, true),
        rule(None, Some("cognition/b/"), 1, false),
        rule(Some(("class", "file")), Some("cognition/b/"), 1, true),
    ];
    set_rules(&s3, rules).await.unwrap();
    fixture.clock.advance(DAY);
    assert_eq!(s3.expire(fixture.clock.now()).unwrap(), 1);
    assert_eq!(objects.list("", None).await, Ok(vec!["b/1".to_owned()]));
}

#[tokio::test]
async fn a_rule_that_would_not_be_carried_out_is_refused() {
    let fixture = Fixture::new();
    let (s3, _) = fixture.running().await;
    let mut dated = rule(None, None, 1, true);
    dated.expiration = None;
    let error = set_rules(&s3, vec![dated]).await.unwrap_err();
    assert_eq!(error.code(), &s3s::S3ErrorCode::NotImplemented);
}

#[tokio::test]
async fn tags_can_be_changed_and_taken_away() {
    let fixture = Fixture::new();
    let (s3, objects) = fixture.running().await;
    new(&objects, "a", "a").await.unwrap();
    let service = Service::new(Arc::clone(&s3.folder));
    let tag = |key: &str, value: &str| dto::Tag {
        key: Some(key.to_owned()),
        value: Some(value.to_owned()),
    };
    let put = |key: &str, tags| dto::PutObjectTaggingInput {
        bucket: "files".to_owned(),
        key: key.to_owned(),
        tagging: dto::Tagging { tag_set: tags },
        checksum_algorithm: None,
        content_md5: None,
        expected_bucket_owner: None,
        request_payer: None,
        version_id: None,
    };
    let input = put("cognition/a", vec![tag("b", "2"), tag("a", "1")]);
    service.put_object_tagging(request(input)).await.unwrap();
    assert_eq!(objects.tags("a").await, Ok(vec![Tag::new("a", "1"), Tag::new("b", "2")]));

    let twice = put("cognition/a", vec![tag("a", "1"), tag("a", "2")]);
    let error = service.put_object_tagging(request(twice)).await.unwrap_err();
    assert_eq!(error.code(), &s3s::S3ErrorCode::InvalidTag);
    let error = service.put_object_tagging(request(put("none", vec![]))).await.unwrap_err();
    assert_eq!(error.code(), &s3s::S3ErrorCode::NoSuchKey);

    let input = dto::DeleteObjectTaggingInput {
        bucket: "files".to_owned(),
        key: "cognition/a".to_owned(),
        expected_bucket_owner: None,
        version_id: None,
    };
    service.delete_object_tagging(request(input)).await.unwrap();
    assert_eq!(objects.tags("a").await, Ok(vec![]));
}

#[tokio::test]
async fn an_object_can_be_read_in_parts() {
    let fixture = Fixture::new();
    let (s3, objects) = fixture.running().await;
    new(&objects, "a", "0123456789").await.unwrap();
    let service = Service::new(Arc::clone(&s3.folder));
    for (range, part, header) in [
        ("bytes=2-4", "234", "bytes 2-4/10"),
        ("bytes=8-", "89", "bytes 8-9/10"),
        ("bytes=-3", "789", "bytes 7-9/10"),
        ("bytes=0-99", "0123456789", "bytes 0-9/10"),
    ] {
        let input = dto::GetObjectInput {
            bucket: "files".to_owned(),
            key: "cognition/a".to_owned(),
            range: Some(dto::Range::parse(range).unwrap()),
            ..Default::default()
        };
        let output = service.get_object(request(input)).await.unwrap().output;
        let body = upload::gather(output.body).await.unwrap();
        assert_eq!((&body[..], output.content_range.as_deref()), (part.as_bytes(), Some(header)));
    }
    let input = dto::GetObjectInput {
        bucket: "files".to_owned(),
        key: "cognition/a".to_owned(),
        range: Some(dto::Range::parse("bytes=10-").unwrap()),
        ..Default::default()
    };
    let error = service.get_object(request(input)).await.unwrap_err();
    assert_eq!(error.code(), &s3s::S3ErrorCode::InvalidRange);
}
