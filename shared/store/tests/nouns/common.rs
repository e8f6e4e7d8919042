//! What the tests of several nouns need.

use std::time::Duration;

use domain::{AgentKey, AgentName, Ids, NewPart, PartKind, RunId, Scope, TaskId, Tenant};
use store::admission::{Admission, Admitted, Taken, admit};
use store::conversation::Envelope;
use store::runs::{Claim, Claimed, claim};
use store::{Lease, Pool};
use testkit::eventually;

pub(crate) fn scope(user: &str) -> Scope {
    Scope::new([("user".to_owned(), user.to_owned())]).unwrap()
}

pub(crate) fn agent() -> AgentKey {
    AgentName::try_from("analyst".to_owned()).unwrap().into()
}

/// A key as it is written: a name, or a name and a tenant.
pub(crate) fn key(text: &str) -> AgentKey {
    let (name, tenant) = text.split_once('@').map_or((text, None), |(n, t)| (n, Some(t)));
    let tenant = tenant.map(|tenant| Tenant::try_from(tenant.to_owned()).unwrap());
    AgentKey::new(&AgentName::try_from(name.to_owned()).unwrap(), tenant.as_ref())
}

pub(crate) fn text(text: &str) -> NewPart {
    NewPart {
        kind: PartKind::Text,
        value: text.to_owned(),
        media_type: None,
        filename: None,
        metadata: None,
    }
}

/// A request, with what the tests vary.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) scope: Scope,
    pub(crate) agent: AgentKey,
    pub(crate) message_id: String,
    pub(crate) context_id: Option<String>,
    pub(crate) task: Option<TaskId>,
    pub(crate) parts: Vec<NewPart>,
    pub(crate) fingerprint: String,
    pub(crate) idempotent: bool,
    pub(crate) timeout: Duration,
}

impl Request {
    pub(crate) fn new(user: &str, message_id: &str) -> Self {
        Self {
            scope: scope(user),
            agent: agent(),
            message_id: message_id.to_owned(),
            context_id: None,
            task: None,
            parts: vec![text("hello")],
            fingerprint: "f".to_owned(),
            idempotent: true,
            timeout: Duration::from_secs(3600),
        }
    }

    pub(crate) fn context(mut self, id: &str) -> Self {
        self.context_id = Some(id.to_owned());
        self
    }

    pub(crate) fn of(mut self, agent: &str) -> Self {
        self.agent = key(agent);
        self
    }

    pub(crate) fn task(mut self, task: TaskId) -> Self {
        self.task = Some(task);
        self
    }

    pub(crate) async fn admit(&self, pool: &Pool) -> Admitted {
        let request = Admission {
            scope: &self.scope,
            agent: &self.agent,
            message_id: &self.message_id,
            context_id: self.context_id.as_deref(),
            task: self.task,
            envelope: Envelope { v: Envelope::VERSION, ..Envelope::default() },
            parts: &self.parts,
            fingerprint: &self.fingerprint,
            idempotent: self.idempotent,
            manifest: "{}",
            manifest_digest: "d",
            timeout: self.timeout,
            webhook: None,
        };
        admit(pool, &Ids::random(), &request).await.unwrap()
    }

    pub(crate) async fn taken(&self, pool: &Pool) -> Taken {
        match self.admit(pool).await {
            Admitted::New(taken) => taken,
            other => panic!("{other:?}"),
        }
    }
}

/// PostgreSQL: waits until as many statements of this database wait for a lock.
pub(crate) async fn waiting_for_locks(pool: &Pool, want: i64) {
    eventually(Duration::from_secs(60), async || {
        let sql = "select count(*) as n from pg_stat_activity
                    where datname = current_database() and wait_event_type = 'Lock'";
        let row = pool.query_opt(sql, &[]).await.unwrap().unwrap();
        row.get::<i64>("n").unwrap() == want
    })
    .await;
}

/// Claims a run that nobody holds.
pub(crate) async fn claimed(pool: &Pool, user: &str, run: RunId) -> Claimed {
    match claim(pool, &scope(user).digest(), run, "w").await.unwrap() {
        Claim::Yes(claimed) => *claimed,
        other => panic!("{other:?}"),
    }
}

/// A task that a worker is at.
pub(crate) async fn working(pool: &Pool, user: &str) -> (Taken, Lease) {
    let taken = Request::new(user, "m").taken(pool).await;
    let lease = claimed(pool, user, taken.run).await.lease;
    (taken, lease)
}

/// Makes a run's lease one that ended a minute ago.
pub(crate) async fn age_lease(pool: &Pool, run: RunId) {
    let changed = pool
        .execute(
            "update runs set lease_until = seconds_from_now(-60)
              where run_id = $1 and lease_until is not null",
            &[run.into()],
        )
        .await
        .unwrap();
    assert_eq!(changed, 1, "the run had a lease");
}
