//! The contract of the object store, over the real SDK: on our own endpoint, and on a server of
//! another make.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic, also in its helpers")]

use std::sync::Arc;

use cloud::objects::{Error, Objects as _, Tag};
use cloud::s3::{S3Objects, S3Settings, StaticCredentials};
use cognition_local::s3::LocalS3;
use domain::SystemClock;
use lambda_kit::env::Secret;
use testkit::objects::contract;
use testkit::{MemoryObjects, Seaweed};
use tokio::net::TcpListener;

const BUCKET: &str = "contract";

async fn local() -> (LocalS3, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let s3 = LocalS3::start(folder.path(), listener, Arc::new(SystemClock)).unwrap();
    (s3, folder)
}

async fn tags(objects: &S3Objects, key: &str) -> Vec<Tag> {
    objects.tags(key).await.unwrap()
}

#[tokio::test]
async fn our_endpoint_keeps_the_contract() {
    let (s3, _folder) = local().await;
    let objects = S3Objects::connect(s3.bucket(BUCKET).unwrap()).await;
    contract::holds(&objects).await;
    contract::tags_are_kept(&objects, async |key| tags(&objects, key).await).await;
    contract::signed_addresses_hold(&objects).await;
    s3.stop().await;
}

/// A server of another make: what passes here and fails there is our endpoint's mistake, or ours.
#[tokio::test]
async fn another_server_keeps_the_contract() {
    let seaweed = Seaweed::start().await.unwrap();
    let settings = S3Settings {
        bucket: BUCKET.to_owned(),
        prefix: "cognition".to_owned(),
        endpoint_url: Some(seaweed.endpoint_url.clone()),
        region: Some("us-east-1".to_owned()),
        force_path_style: true,
        credentials: Some(StaticCredentials {
            access_key: seaweed.access_key.clone(),
            secret_key: Secret::new(seaweed.secret_key.as_str()),
        }),
    };
    let objects = S3Objects::connect(settings).await;
    // The port takes connections a moment before the server has found its own parts.
    testkit::eventually(std::time::Duration::from_mins(1), async || {
        objects.create_bucket().await.is_ok()
    })
    .await;
    contract::holds(&objects).await;
    contract::tags_are_kept(&objects, async |key| tags(&objects, key).await).await;
    contract::signed_addresses_hold(&objects).await;
}

#[tokio::test]
async fn the_fake_keeps_the_same_contract() {
    contract::holds(&MemoryObjects::new()).await;
}

#[tokio::test]
async fn other_credentials_are_denied() {
    let (s3, _folder) = local().await;
    let settings = s3.bucket(BUCKET).unwrap();
    let right = settings.credentials.clone().unwrap();
    let wrong_secret = StaticCredentials { secret_key: Secret::new("another"), ..right.clone() };
    let wrong_key = StaticCredentials { access_key: "another".to_owned(), ..right };
    for credentials in [wrong_secret, wrong_key] {
        let settings = S3Settings { credentials: Some(credentials), ..settings.clone() };
        let objects = S3Objects::connect(settings).await;
        for answer in [
            objects.head("a").await.map(drop),
            objects.get("a", 1).await.map(drop),
            objects.list("", None).await.map(drop),
            contract::new(&objects, "a", "a").await.map(drop),
            objects.delete("a").await,
        ] {
            assert!(matches!(answer, Err(Error::Denied { .. })), "{answer:?}");
        }
    }
}

#[tokio::test]
async fn a_bucket_that_is_not_there_is_refused_and_nothing_is_missing() {
    let (s3, _folder) = local().await;
    let settings = S3Settings { bucket: "elsewhere".to_owned(), ..s3.bucket(BUCKET).unwrap() };
    let objects = S3Objects::connect(settings).await;
    for answer in [
        objects.head("a").await.map(drop),
        objects.get("a", 1).await.map(drop),
        objects.list("", None).await.map(drop),
        contract::new(&objects, "a", "a").await.map(drop),
        objects.delete("a").await,
    ] {
        assert!(matches!(answer, Err(Error::Refused { .. })), "{answer:?}");
    }
}
