//! Publications: asked for once, decided once, found in their own scope only.

use domain::{CallId, Ids, PublicationFailure, PublicationId};
use store::publications::{
    self, Decision, Delivery, Loaded, Outcome, Request, Verified, activate, fail, find, load,
    outcome,
};
use store::runs::Output;
use store::sandboxes::{self, Acquired, Wish};
use store::steps::{self, LoopMessage, ModelCommit, PlannedCall};
use store::{Error, Lease, Pool};
use testkit::on_both;

use crate::common::{scope, working};

const SHA: &str = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";

/// Lets the run ask for a publication, as often as wanted.
async fn asked(pool: &Pool, lease: &Lease, times: usize) -> Vec<PublicationId> {
    let ids = Ids::random();
    let wish = Wish { backend: "process", config_digest: "c", runner: None };
    let acquired = sandboxes::acquire(pool, &ids, lease.scope(), lease.run(), &wish).await;
    let Acquired::Launch(instance) = acquired.unwrap() else { panic!("a first sandbox") };
    let attempt = steps::begin(pool, lease, 1, "p", "m").await.unwrap();
    let call = CallId("call".to_owned());
    let commit = ModelCommit {
        step: 1,
        attempt,
        message: LoopMessage { id: ids.message(), body: "{}".to_owned() },
        speaks: false,
        calls: vec![PlannedCall {
            call: call.clone(),
            ordinal: 0,
            tool: "publish_artifact".to_owned(),
            args: "{}".to_owned(),
        }],
        answered: Vec::new(),
        stop_reason: "tool_use",
        usage: None,
        events: Vec::new(),
        output: Output::default(),
    };
    steps::commit(pool, lease, &commit).await.unwrap();
    let request = Request {
        call: &call,
        path: "out/a.csv",
        media_type: "text/csv",
        filename: "a.csv",
        instance: instance.id,
        generation: instance.generation,
    };
    let mut publications = Vec::new();
    for _ in 0..times {
        let asked = publications::request(pool, &ids, lease, &request).await.unwrap();
        assert!(asked.1.body.contains(&asked.0.as_uuid().to_string()));
        publications.push(asked.0);
    }
    publications
}

fn verified(inline: Option<&[u8]>) -> Verified<'_> {
    Verified {
        size: 3,
        sha256: SHA,
        object_key: "object",
        descriptor_key: "descriptor",
        descriptor_sha256: SHA,
        inline,
    }
}

#[tokio::test]
async fn a_call_asks_for_one_publication_however_often_it_asks() {
    on_both(async |pool| {
        let (_, lease) = working(&pool, "a").await;
        let publications = asked(&pool, &lease, 3).await;
        assert!(publications.iter().all(|id| *id == publications[0]));
        let call = CallId("call".to_owned());
        let known = publications::of_call(&pool, &lease, &call).await.unwrap();
        assert_eq!(known, Some((publications[0], Outcome::Requested)));
    })
    .await;
}

#[tokio::test]
async fn a_publication_is_decided_once() {
    on_both(async |pool| {
        let (_, lease) = working(&pool, "a").await;
        let (ids, digest) = (Ids::random(), scope("a").digest());
        let publication = asked(&pool, &lease, 1).await[0];
        let found = load(&pool, &digest, publication).await.unwrap();
        let Loaded::Requested(requested) = found else { panic!("{found:?}") };
        assert_eq!((requested.path.as_str(), requested.lapsed), ("out/a.csv", None));
        assert_eq!(requested.owner, scope("a"));
        let done = activate(&pool, &ids, &digest, publication, &verified(Some(b"foo"))).await;
        assert!(matches!(done, Ok(Decision::Active(Some(_)))));
        let late = fail(&pool, &ids, &digest, publication, PublicationFailure::RunEnded).await;
        assert_eq!(late.unwrap(), Decision::Already);
        let again = activate(&pool, &ids, &digest, publication, &verified(None)).await;
        assert_eq!(again.unwrap(), Decision::Already);
        assert!(matches!(load(&pool, &digest, publication).await, Ok(Loaded::Decided)));
        let found = find(&pool, &digest, &[publication]).await.unwrap();
        assert_eq!(found[&publication].delivery, Delivery::Raw);
        assert_eq!(found[&publication].inline.as_deref(), Some(&b"foo"[..]));
        let Outcome::Active(summary) = outcome(&pool, &digest, publication).await.unwrap() else {
            panic!("active")
        };
        assert_eq!((summary.size, summary.sha256.as_str()), (3, SHA));
    })
    .await;
}

#[tokio::test]
async fn a_failure_is_kept_in_its_word_and_is_no_file() {
    on_both(async |pool| {
        let (_, lease) = working(&pool, "a").await;
        let (ids, digest) = (Ids::random(), scope("a").digest());
        let publication = asked(&pool, &lease, 1).await[0];
        let code = PublicationFailure::FileTooLarge;
        let failed = fail(&pool, &ids, &digest, publication, code).await.unwrap();
        assert!(matches!(failed, Decision::Failed(_, Some(_))));
        let late = activate(&pool, &ids, &digest, publication, &verified(None)).await;
        assert_eq!(late.unwrap(), Decision::Already);
        assert_eq!(outcome(&pool, &digest, publication).await.unwrap(), Outcome::Failed(code));
        assert!(find(&pool, &digest, &[publication]).await.unwrap().is_empty());
    })
    .await;
}

/// Scenario 40, must be seen 10.
#[tokio::test]
async fn another_scope_does_not_find_see_or_decide_a_publication() {
    on_both(async |pool| {
        let (_, lease) = working(&pool, "a").await;
        let (ids, digest, other) = (Ids::random(), scope("a").digest(), scope("b").digest());
        let publication = asked(&pool, &lease, 1).await[0];
        let activated = activate(&pool, &ids, &other, publication, &verified(None)).await;
        assert!(matches!(activated, Err(Error::NotFound)));
        let failed = fail(&pool, &ids, &other, publication, PublicationFailure::RunEnded).await;
        assert!(matches!(failed, Err(Error::NotFound)));
        assert!(matches!(load(&pool, &other, publication).await, Ok(Loaded::Unknown)));
        assert!(matches!(outcome(&pool, &other, publication).await, Err(Error::NotFound)));
        activate(&pool, &ids, &digest, publication, &verified(None)).await.unwrap();
        assert!(find(&pool, &other, &[publication]).await.unwrap().is_empty());
        assert_eq!(find(&pool, &digest, &[publication]).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn many_ids_are_looked_up_and_only_what_exists_is_found() {
    on_both(async |pool| {
        let (_, lease) = working(&pool, "a").await;
        let (ids, digest) = (Ids::random(), scope("a").digest());
        let publication = asked(&pool, &lease, 1).await[0];
        activate(&pool, &ids, &digest, publication, &verified(Some(b""))).await.unwrap();
        let mut wanted: Vec<_> = (0..250).map(|_| ids.publication()).collect();
        wanted.push(publication);
        let found = find(&pool, &digest, &wanted).await.unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), [&publication]);
        assert_eq!(found[&publication].inline.as_deref(), Some(&b""[..]), "empty is not absent");
        assert!(find(&pool, &digest, &[]).await.unwrap().is_empty());
    })
    .await;
}
