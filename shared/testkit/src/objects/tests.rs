use super::contract::{new, options};
use super::*;

#[tokio::test]
async fn the_fake_keeps_the_contract() {
    contract::holds(&MemoryObjects::new()).await;
}

#[tokio::test]
async fn the_fake_shows_its_objects_and_its_calls() {
    let objects = MemoryObjects::new();
    let bytes = Bytes::from_static(b"1");
    let put = PutOptions { tag: Some(Tag::new("class", "file")), ..options(&bytes) };
    objects.put_new("a", bytes.clone(), put).await.unwrap();
    objects.head("b").await.unwrap();
    let stored =
        Stored { bytes, content_type: "text/csv".to_owned(), tag: Some(Tag::new("class", "file")) };
    assert_eq!(objects.stored("a"), Some(stored.clone()));
    assert_eq!(objects.keys(), ["a"]);
    assert_eq!(objects.calls(), [(Doing::Put, "a".to_owned()), (Doing::Head, "b".to_owned())]);
    assert_eq!(objects.remove("a"), Some(stored.clone()));
    objects.restore("a", stored);
    assert!(objects.tamper("a", "2") && !objects.tamper("b", "2"));
    assert_eq!(objects.get("a", 1).await, Ok(Some(Bytes::from_static(b"2"))));
}

#[tokio::test]
async fn calls_fail_as_planned_and_only_those() {
    let objects = FailingObjects::new(Arc::new(MemoryObjects::new()))
        .failing(Doing::Put, 2, Fault::Denied)
        .failing(Doing::Get, 1, Fault::Corrupted)
        .always_failing(Doing::Head, Fault::Unavailable);
    assert_eq!(new(&objects, "a", "ab").await, Ok(Put::Stored));
    assert!(matches!(new(&objects, "b", "b").await, Err(Error::Denied { doing: Doing::Put, .. })));
    assert_eq!(new(&objects, "b", "b").await, Ok(Put::Stored));
    assert_eq!(objects.get("a", 9).await, Ok(Some(Bytes::from_static(b"`b"))));
    assert_eq!(objects.get("a", 9).await, Ok(Some(Bytes::from_static(b"ab"))));
    for _ in 0..2 {
        let head = objects.head("a").await;
        assert!(matches!(head, Err(Error::Unavailable { doing: Doing::Head, .. })));
    }
    objects.heal();
    assert_eq!(objects.head("a").await, Ok(Presence::Here { size: 2 }));
}

#[tokio::test]
async fn a_lost_answer_comes_after_the_effect() {
    let inner = Arc::new(MemoryObjects::new());
    let objects =
        FailingObjects::new(Arc::clone(&inner) as _).failing(Doing::Put, 1, Fault::LostAnswer);
    let put = new(&objects, "a", "a").await;
    assert!(matches!(put, Err(Error::Unavailable { doing: Doing::Put, .. })));
    assert_eq!(inner.keys(), ["a"]);
    assert_eq!(new(&objects, "a", "a").await, Ok(Put::AlreadyThere));
}

#[tokio::test]
async fn a_write_that_is_dropped_can_die_between_effect_and_answer() {
    let mut seen = Vec::new();
    for polls in 0.. {
        let objects = MemoryObjects::new();
        let survived = crate::killed_after(polls, new(&objects, "a", "a")).await.is_some();
        seen.push((!objects.keys().is_empty(), survived));
        if survived {
            break;
        }
    }
    assert_eq!(seen, [(false, false), (false, false), (true, false), (true, true)]);
}
