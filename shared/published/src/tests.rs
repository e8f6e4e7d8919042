use std::sync::Arc;

use bytes::Bytes;
use cloud::objects::{self, Doing, Objects, PutOptions};
use domain::{Ids, PublicationId, Scope};
use store::publications::{Delivery, Published};
use testkit::objects::{FailingObjects, Fault, MemoryObjects};

use super::*;

const KEY: &[u8] = b"test-key";
const TEXT: &str = "day,sales\n1,10\n";

fn scope(pairs: &[(&str, &str)]) -> Scope {
    Scope::new(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))).unwrap()
}

fn acme() -> Scope {
    scope(&[("account", "acme"), ("project", "one")])
}

fn namespace(scope: &Scope) -> Namespace {
    Namespace::new(scope, KEY)
}

/// A file that was published in the scope of [`acme`], and the store that holds it.
async fn publish(delivery: Delivery) -> (Arc<MemoryObjects>, Published) {
    let objects = Arc::new(MemoryObjects::new());
    let id = Ids::random().publication();
    let row = store_file(&*objects, id, delivery).await;
    (objects, row)
}

async fn store_file(objects: &dyn Objects, id: PublicationId, delivery: Delivery) -> Published {
    let namespace = namespace(&acme());
    let digest = Digest::of(TEXT.as_bytes());
    let object_key = namespace.object_key(id, digest.as_hex());
    put(objects, &object_key, Bytes::from_static(TEXT.as_bytes())).await;
    let descriptor = Descriptor {
        id: id.as_uuid(),
        object_key: object_key.clone(),
        checksum: digest.as_hex().to_owned(),
        size: TEXT.len() as u64,
        filename: "Bericht für März.csv".to_owned(),
        media_type: "text/csv".to_owned(),
        kind: delivery.into(),
    };
    let body = descriptor.to_json();
    let descriptor_digest = Digest::of(&body);
    let descriptor_key = namespace.descriptor_key(id, descriptor_digest.as_hex());
    put(objects, &descriptor_key, body.into()).await;
    Published {
        id,
        filename: descriptor.filename,
        media_type: descriptor.media_type,
        size: descriptor.size,
        sha256: descriptor.checksum,
        delivery,
        inline: (delivery == Delivery::Raw).then(|| TEXT.as_bytes().to_vec()),
        object_key,
        descriptor_key,
        descriptor_sha256: descriptor_digest.as_hex().to_owned(),
    }
}

async fn put(objects: &dyn Objects, key: &str, bytes: Bytes) {
    let sha256 = *Digest::of(&bytes).as_bytes();
    let options = PutOptions { content_type: "text/csv".to_owned(), tag: None, sha256 };
    objects.put_new(key, bytes, options).await.unwrap();
}

/// Which calls the store got after the file was put there.
fn calls(objects: &MemoryObjects) -> Vec<Doing> {
    objects.calls().into_iter().map(|call| call.0).filter(|doing| *doing != Doing::Put).collect()
}

#[track_caller]
fn broken(resolved: Result<Resolved, Error>) -> Broken {
    match resolved {
        Err(Error::Broken(broken)) => broken,
        other => panic!("{other:?}"),
    }
}

/// Writes another descriptor, and makes the row point at it.
async fn replace_descriptor(objects: &MemoryObjects, row: &mut Published, body: Vec<u8>) {
    let digest = Digest::of(&body);
    row.descriptor_sha256 = digest.as_hex().to_owned();
    row.descriptor_key = namespace(&acme()).descriptor_key(row.id, digest.as_hex());
    put(objects, &row.descriptor_key, body.into()).await;
}

#[test]
fn the_keys_have_the_known_shape() {
    let namespace = Namespace::new(&scope(&[("tenant", "acme")]), KEY);
    let id = "01234567-89ab-4cde-8123-456789abcdef".parse().unwrap();
    let scope = "34da0ade79a6525c31c2e36e54db3b1cf9f9cff63acf34e9d92d16810faeba06";
    assert_eq!(
        namespace.object_key(id, "aa"),
        format!("scopes/{scope}/published/01234567-89ab-4cde-8123-456789abcdef/aa")
    );
    assert_eq!(
        namespace.descriptor_key(id, "bb"),
        format!("scopes/{scope}/published/01234567-89ab-4cde-8123-456789abcdef/descriptor/bb")
    );
}

#[tokio::test]
async fn scenario_41_each_resolution_gives_a_fresh_address_for_900_seconds() {
    let (objects, row) = publish(Delivery::Url).await;
    let mut urls = Vec::new();
    for _ in 0..2 {
        match resolve(&*objects, &namespace(&acme()), &row).await.unwrap() {
            Resolved::Url(url) => urls.push(url.into_exposed()),
            other => panic!("{other:?}"),
        }
    }
    assert_ne!(urls[0], urls[1]);
    for url in urls {
        assert!(url.contains("X-Amz-Expires=900"), "{url}");
        assert!(url.contains("response-content-type=text%2Fcsv"), "{url}");
        assert!(url.contains("Bericht%2520f%25C3%25BCr%2520M%25C3%25A4rz.csv"), "{url}");
        assert!(url.contains("disposition=attachment"), "{url}");
    }
    let once = [Doing::Get, Doing::Head, Doing::Presign];
    assert_eq!(calls(&objects), [once, once].concat());
}

#[tokio::test]
async fn scenario_40_another_scope_computes_other_keys_and_asks_nothing() {
    let (objects, row) = publish(Delivery::Url).await;
    let others = [
        scope(&[("account", "acme")]),
        scope(&[("account", "acme"), ("project", "one"), ("user", "ada")]),
        scope(&[("account", "acme"), ("project", "two")]),
        Scope::empty(),
    ];
    for other in others {
        let resolved = resolve(&*objects, &namespace(&other), &row).await;
        assert_eq!(broken(resolved), Broken::Key);
    }
    let other_key = Namespace::new(&acme(), b"another key");
    assert_eq!(broken(resolve(&*objects, &other_key, &row).await), Broken::Key);
    assert_eq!(calls(&objects), []);
}

#[tokio::test]
async fn scenario_40_a_forged_key_is_found_out_before_anything_is_looked_for() {
    let (objects, row) = publish(Delivery::Url).await;
    let foreign = namespace(&scope(&[("account", "eve")])).object_key(row.id, &row.sha256);
    // In the row …
    let forged = Published { object_key: foreign.clone(), ..row.clone() };
    assert_eq!(broken(resolve(&*objects, &namespace(&acme()), &forged).await), Broken::Key);
    let forged = Published { descriptor_key: foreign.clone(), ..row.clone() };
    assert_eq!(broken(resolve(&*objects, &namespace(&acme()), &forged).await), Broken::Key);
    assert_eq!(calls(&objects), []);
    // … and in the descriptor, with everything else right.
    let body = objects.stored(&row.descriptor_key).unwrap().bytes;
    let mut descriptor: Descriptor = serde_json::from_slice(&body).unwrap();
    descriptor.object_key = foreign;
    let mut forged = row;
    replace_descriptor(&objects, &mut forged, descriptor.to_json()).await;
    let resolved = resolve(&*objects, &namespace(&acme()), &forged).await;
    assert_eq!(broken(resolved), Broken::DescriptorFields);
    assert_eq!(calls(&objects), [Doing::Get]);
}

#[tokio::test]
async fn scenario_40_each_field_of_the_descriptor_must_be_that_of_the_row() {
    let (objects, row) = publish(Delivery::Url).await;
    let body = objects.stored(&row.descriptor_key).unwrap().bytes;
    let changes: [fn(&mut Descriptor); 7] = [
        |d| d.id = Ids::random().uuid(),
        |d| d.object_key.push('x'),
        |d| d.checksum = "0".repeat(64),
        |d| d.size += 1,
        |d| d.filename.push('x'),
        |d| d.media_type = "text/html".to_owned(),
        |d| d.kind = Delivery::Raw.into(),
    ];
    for change in changes {
        let mut descriptor: Descriptor = serde_json::from_slice(&body).unwrap();
        change(&mut descriptor);
        let mut other = row.clone();
        replace_descriptor(&objects, &mut other, descriptor.to_json()).await;
        let resolved = resolve(&*objects, &namespace(&acme()), &other).await;
        assert_eq!(broken(resolved), Broken::DescriptorFields);
    }
    assert!(!calls(&objects).contains(&Doing::Head));
}

#[tokio::test]
async fn scenario_43_a_corrupt_descriptor_is_an_error_and_nothing_is_signed() {
    let (objects, row) = publish(Delivery::Url).await;
    let resolved = async || resolve(&*objects, &namespace(&acme()), &row).await;
    assert!(objects.tamper(&row.descriptor_key, "{}"));
    assert_eq!(broken(resolved().await), Broken::DescriptorDigest);
    objects.remove(&row.descriptor_key);
    assert_eq!(broken(resolved().await), Broken::DescriptorGone);
    let mut other = row.clone();
    replace_descriptor(&objects, &mut other, b"not JSON".to_vec()).await;
    let unreadable = resolve(&*objects, &namespace(&acme()), &other).await;
    assert_eq!(broken(unreadable), Broken::DescriptorBody);
    let asked = calls(&objects);
    assert!(!asked.contains(&Doing::Head) && !asked.contains(&Doing::Presign), "{asked:?}");
}

#[tokio::test]
async fn scenario_42_bytes_that_are_gone_are_unavailable_until_they_are_back() {
    let (objects, row) = publish(Delivery::Url).await;
    let resolved = async || resolve(&*objects, &namespace(&acme()), &row).await.unwrap();
    let gone = objects.remove(&row.object_key).unwrap();
    assert_eq!(resolved().await, Resolved::Unavailable);
    assert!(!calls(&objects).contains(&Doing::Presign));
    objects.restore(&row.object_key, gone);
    assert!(matches!(resolved().await, Resolved::Url(_)));
}

#[tokio::test]
async fn scenario_42_a_store_that_is_in_doubt_is_an_error_and_not_a_loss() {
    for doing in [Doing::Get, Doing::Head, Doing::Presign] {
        for fault in [Fault::Denied, Fault::Unavailable, Fault::Refused] {
            let (objects, row) = publish(Delivery::Url).await;
            let failing = FailingObjects::new(objects).always_failing(doing, fault);
            let resolved = resolve(&failing, &namespace(&acme()), &row).await;
            assert!(matches!(resolved, Err(Error::Objects(_))), "{doing} {fault:?}");
        }
    }
}

#[tokio::test]
async fn an_object_of_another_size_is_not_handed_out() {
    let (objects, row) = publish(Delivery::Url).await;
    assert!(objects.tamper(&row.object_key, "another"));
    assert_eq!(broken(resolve(&*objects, &namespace(&acme()), &row).await), Broken::Size);
    assert!(!calls(&objects).contains(&Doing::Presign));
}

#[tokio::test]
async fn scenario_42_inline_bytes_need_no_store() {
    let (objects, row) = publish(Delivery::Raw).await;
    objects.remove(&row.object_key);
    let resolved = resolve(&*objects, &namespace(&acme()), &row).await.unwrap();
    assert_eq!(resolved, Resolved::Inline { bytes: Bytes::from_static(TEXT.as_bytes()) });
    assert_eq!(calls(&objects), []);
}

#[tokio::test]
async fn inline_bytes_that_are_not_those_that_were_published_are_an_error() {
    let (objects, row) = publish(Delivery::Raw).await;
    let inlines = [None, Some(Vec::new()), Some(TEXT.to_uppercase().into_bytes())];
    for inline in inlines {
        let other = Published { inline, ..row.clone() };
        let resolved = resolve(&*objects, &namespace(&acme()), &other).await;
        assert_eq!(broken(resolved), Broken::Inline);
    }
}

#[tokio::test]
async fn no_error_names_a_key() {
    let (objects, row) = publish(Delivery::Url).await;
    objects.remove(&row.descriptor_key);
    let gone = resolve(&*objects, &namespace(&acme()), &row).await.unwrap_err();
    let denied = objects::Error::Denied { doing: Doing::Head, cause: cloud::Cause::new("403") };
    for error in [gone, Error::Objects(denied)] {
        let printed = format!("{error:?} {error}");
        assert!(!printed.contains("scopes/") && !printed.contains(&row.sha256), "{printed}");
    }
    let printed = format!("{row:?} {:?}", namespace(&acme()));
    assert!(!printed.contains("scopes/") && !printed.contains("Bericht"), "{printed}");
}
