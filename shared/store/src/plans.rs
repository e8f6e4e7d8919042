//! How the databases find what the hot statements ask for, held against large tables.
//!
//! **What a client repeats costs what it returns, not what there is**: appending to a log and reading
//! its end, a page of tasks and their number are served by an index on both engines. On PostgreSQL
//! sequential scans are made as dear as they can be, so that one is planned only where no index
//! serves; SQLite plans one only there anyway.

use std::cell::RefCell;
use std::time::Duration;

use domain::{
    AgentKey, AgentName, ArtifactContent, ArtifactId, ArtifactUpdate, EventBody, Ids, Scope,
    ScopeDigest, TaskState, Timestamp,
};
use testkit::{Database, on_both_databases};

use crate::admission::{Admission, Admitted, Taken, admit};
use crate::conversation::Envelope;
use crate::driver::Engine;
use crate::events::{self, Place};
use crate::runs::{self, Claim, Output, PlacedEvent};
use crate::tasks::list::{self, Cursor, Filter, PageWant, Snapshot};
use crate::tasks::{self, Want};
use crate::{Lease, Pool, Value, sweeps};

/// A statement with its parameters.
type Asked = (String, Vec<Value>);

tokio::task_local! {
    static ASKED: RefCell<Vec<Asked>>;
}

/// Called by the driver for each statement.
pub(crate) fn note(sql: &str, params: &[Value]) {
    let _ = ASKED.try_with(|asked| asked.borrow_mut().push((sql.to_owned(), params.to_vec())));
}

/// The statements that `work` asks for.
async fn asked(work: impl Future<Output = ()>) -> Vec<Asked> {
    ASKED
        .scope(RefCell::default(), async {
            work.await;
            ASKED.with(RefCell::take)
        })
        .await
}

async fn plan(pool: &Pool, (sql, params): &Asked) -> Vec<String> {
    let mut tx = pool.begin().await.unwrap();
    let (explain, column) = match pool.engine() {
        Engine::Postgres => {
            tx.execute("set local enable_seqscan = off", &[]).await.unwrap();
            ("explain", "QUERY PLAN")
        }
        Engine::Sqlite => ("explain query plan", "detail"),
    };
    let rows = tx.query(&format!("{explain} {sql}"), params).await.unwrap();
    rows.iter().map(|row| row.get(column).unwrap()).collect()
}

/// Whether a line of a plan reads a table, or an alias of one, from its beginning to its end.
fn scans(line: &str) -> bool {
    const TABLES: [&str; 15] = [
        "tasks",
        "t",
        "sessions",
        "s",
        "c",
        "events",
        "e",
        "messages",
        "m",
        "x",
        "parts",
        "runs",
        "outbox",
        "webhooks",
        "webhook_dead_letters",
    ];
    let line = line.trim_start_matches([' ', '-', '>']);
    let table = line.strip_prefix("SCAN ").or_else(|| line.strip_prefix("Seq Scan on "));
    let name = table.and_then(|rest| rest.split_whitespace().next());
    name.is_some_and(|name| TABLES.contains(&name))
}

/// Every statement of `work` is served by indexes; returns their plans as one text.
async fn served(pool: &Pool, work: impl Future<Output = ()>) -> String {
    let mut all = String::new();
    let asked = asked(work).await;
    assert!(!asked.is_empty());
    for asked in asked {
        let plan = plan(pool, &asked).await;
        assert!(!plan.iter().any(|line| scans(line)), "{}\n{plan:#?}", asked.0);
        all.push_str(&plan.join("\n"));
        all.push('\n');
    }
    all
}

/// How much the engine does for a statement: rows that PostgreSQL's plan nodes pass on or throw away,
/// steps of SQLite's machine.
async fn effort(database: &Database, pool: &Pool, (sql, params): &Asked) -> u64 {
    match pool.engine() {
        Engine::Postgres => {
            let explain = format!("explain (analyze, timing off, summary off) {sql}");
            let rows = pool.query(&explain, params).await.unwrap();
            let number = |line: &str, name: &str| {
                let rest = line.split_once(name).map_or("0", |(_, rest)| rest);
                let digits = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next();
                digits.unwrap().parse::<f64>().unwrap()
            };
            let each = rows.iter().map(|row| {
                let line: String = row.get("QUERY PLAN").unwrap();
                let actual = line.split_once("(actual ").map_or("", |(_, actual)| actual);
                number(actual, "rows=") * number(actual, "loops=")
                    + number(&line, "Removed by Filter: ")
            });
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            let all = each.sum::<f64>() as u64;
            all
        }
        #[cfg(feature = "sqlite")]
        Engine::Sqlite => {
            let path = database.url().strip_prefix("sqlite:").unwrap();
            let sqlite = rusqlite::Connection::open(path).unwrap();
            let mut statement = sqlite.prepare(&crate::driver::dialect::for_sqlite(sql)).unwrap();
            let params = rusqlite::params_from_iter(params);
            let mut rows = statement.query(params).unwrap();
            while rows.next().unwrap().is_some() {}
            drop(rows);
            let steps = statement.get_status(rusqlite::StatementStatus::VmStep);
            u64::try_from(steps).unwrap()
        }
        #[cfg(not(feature = "sqlite"))]
        Engine::Sqlite => unreachable!("{}", database.url()),
    }
}

/// A database, a caller with one task that a worker is at, and many rows beside it.
struct World {
    pool: Pool,
    scope: Scope,
    digest: ScopeDigest,
    agent: AgentKey,
    taken: Taken,
    lease: Lease,
}

impl World {
    async fn new(database: &Database) -> Self {
        let pool = Pool::connect(database.url(), 1).await.unwrap();
        let scope = Scope::new([("user".to_owned(), "ada".to_owned())]).unwrap();
        let agent: AgentKey = AgentName::try_from("analyst".to_owned()).unwrap().into();
        let request = Admission {
            scope: &scope,
            agent: &agent,
            message_id: "m",
            context_id: Some("c"),
            task: None,
            envelope: Envelope { v: 1, ..Envelope::default() },
            parts: &[],
            fingerprint: "f",
            idempotent: true,
            manifest: "{}",
            manifest_digest: "d",
            timeout: Duration::from_secs(3600),
            webhook: None,
        };
        let Admitted::New(taken) = admit(&pool, &Ids::random(), &request).await.unwrap() else {
            panic!("nobody else is here")
        };
        let digest = scope.digest();
        let Claim::Yes(claimed) = runs::claim(&pool, &digest, taken.run, "w").await.unwrap() else {
            panic!("nobody else is here")
        };
        Self { pool, scope, digest, agent, taken, lease: claimed.lease }
    }

    /// Makes many rows out of the one that there is: `select` speaks of `n.i`, from 3 on.
    async fn fill(&self, insert: &str, select: &str, params: &[Value], last: i64) {
        let uuid = match self.pool.engine() {
            Engine::Postgres => "gen_random_uuid()",
            Engine::Sqlite => {
                "(lower(hex(randomblob(4))) || '-' || lower(hex(randomblob(2))) || '-4000-8000-'
                  || lower(hex(randomblob(6))))"
            }
        };
        let sql = format!(
            "insert into {insert}
             with recursive n(i) as (select 3 union all select i + 1 from n where i < {last})
             {}",
            select.replace("{uuid}", uuid)
        );
        self.pool.execute(&sql, params).await.unwrap();
    }

    async fn with_events(self, last: i64) -> Self {
        self.fill(
            "events (session_id, sequence, scope_digest, task_id, run_id, step, attempt, ordinal,
                     kind, payload, created_at)",
            "select e.session_id, n.i, e.scope_digest, e.task_id, e.run_id, 7, 1, n.i, 'artifact',
                    e.payload, e.created_at
               from n join events e on e.sequence = 2",
            &[],
            last,
        )
        .await;
        self.pool.execute("update sessions set last_sequence = $1", &[last.into()]).await.unwrap();
        self.pool.execute("analyze", &[]).await.unwrap();
        self
    }

    /// Many contexts with one task each, whose client has said one thing; a quarter are the caller's.
    async fn with_tasks(self, last: i64) -> Self {
        self.fill(
            "sessions (session_id, scope_digest, scope, agent_name, context_id, last_sequence,
                       last_position, created_at)",
            "select {uuid}, case when n.i % 4 = 0 then s.scope_digest else 'other' || n.i end,
                    s.scope, s.agent_name, 'c' || n.i, 0, 0, s.created_at
               from n join sessions s on s.context_id = 'c'",
            &[],
            last,
        )
        .await;
        self.fill(
            "tasks (task_id, scope_digest, session_id, agent_name, state, status_at, status_tx,
                    current_run_id, created_at)",
            "select {uuid}, s.scope_digest, s.session_id, s.agent_name,
                    case when n.i % 8 = 0 then 'completed' else 'failed' end,
                    seconds_from_now(-n.i), this_transaction(), {uuid}, seconds_from_now(-n.i)
               from n join sessions s on s.context_id = 'c' || n.i",
            &[],
            last,
        )
        .await;
        self.fill(
            "messages (message_id, scope_digest, session_id, task_id, run_id, position, role, body,
                       agent_name, created_at)",
            "select {uuid}, t.scope_digest, t.session_id, t.task_id, t.current_run_id, n.i, 'user',
                    '{\"v\":1}', t.agent_name, t.created_at
               from n join sessions s on s.context_id = 'c' || n.i
                      join tasks t on t.session_id = s.session_id",
            &[],
            last,
        )
        .await;
        self.fill(
            "parts (message_id, ordinal, scope_digest, part_id, kind, value)",
            "select m.message_id, 0, m.scope_digest, 'p', 'data', '1'
               from n join messages m on m.position = n.i",
            &[],
            last,
        )
        .await;
        self.pool.execute("analyze", &[]).await.unwrap();
        self
    }

    /// Many webhooks, of which one in a hundred belongs to a task that has ended, and as many updates
    /// that were given up.
    async fn with_webhooks(self, last: i64) -> Self {
        self.fill(
            "webhooks (webhook_id, scope_digest, agent_name, session_id, task_id, config_id, sealed,
                       key_id, sent_sequence, wanted_sequence, fence, attempts, given_up, created_at,
                       ended_at)",
            "select {uuid}, t.scope_digest, t.agent_name, t.session_id, {uuid}, 'c' || n.i, $1, 'k',
                    1, 1, 0, 0, 0, t.created_at,
                    case when n.i % 100 = 0 then seconds_from_now(-n.i) end
               from n join tasks t on t.agent_name = 'analyst'",
            &[vec![1_u8].into()],
            last,
        )
        .await;
        self.fill(
            "webhook_dead_letters (webhook_id, sequence, scope_digest, task_id, why, attempts,
                                   given_up_at)",
            "select {uuid}, n.i, t.scope_digest, t.task_id, 'refused', 1, seconds_from_now(-n.i)
               from n join tasks t on t.agent_name = 'analyst'",
            &[],
            last,
        )
        .await;
        self.pool.execute("analyze", &[]).await.unwrap();
        self
    }

    /// Many messages of the task after the client's own.
    async fn with_messages(self, last: i64, shown: bool) -> Self {
        self.fill(
            "messages (message_id, scope_digest, session_id, task_id, run_id, position, role, body,
                       shown, agent_name, created_at)",
            "select {uuid}, m.scope_digest, m.session_id, m.task_id, m.run_id, n.i, 'assistant', 'x',
                    $1, '', m.created_at
               from n join messages m on m.position = 1",
            &[shown.into()],
            last,
        )
        .await;
        self.pool.execute("analyze", &[]).await.unwrap();
        self
    }

    async fn list(&self, filter: Filter<'_>, after: Option<Cursor>, want: PageWant) {
        list::list(&self.pool, &self.digest, &self.agent, filter, after, want).await.unwrap();
    }
}

fn chunk(lease: &Lease) -> PlacedEvent {
    let update = ArtifactUpdate {
        artifact: ArtifactId::response(lease.task()),
        name: None,
        append: true,
        last_chunk: false,
        content: ArtifactContent::Text { text: "x".to_owned() },
        about: domain::About::default(),
    };
    let place = Place { step: 1, attempt: 1, ordinal: 0 };
    PlacedEvent { place, body: EventBody::Artifact(update) }
}

#[tokio::test]
async fn appending_to_a_long_log_and_reading_its_end_are_served_by_indexes() {
    on_both_databases(async |database| {
        let world = World::new(database).await.with_events(10_000).await;
        let World { pool, lease, digest, taken, agent, .. } = &world;
        served(pool, async {
            runs::append(pool, lease, &[chunk(lease)], Output::default()).await.unwrap();
        })
        .await;
        let tail = served(pool, async {
            let events = events::after(pool, digest, taken.task, 10_000, 100).await.unwrap();
            assert_eq!(events.len(), 1);
        })
        .await;
        assert!(tail.contains("events_task"), "{tail}");
        assert!(!tail.contains("Sort") && !tail.contains("TEMP B-TREE"), "{tail}");
        // The status of the end, and the way into the log.
        served(pool, async {
            let canceled = tasks::cancel(pool, digest, agent, taken.task).await.unwrap();
            assert_eq!(canceled, tasks::Canceled::Yes);
        })
        .await;
    })
    .await;
}

/// What was kept long enough is found without a look at all the rest.
#[tokio::test]
async fn forgetting_webhooks_and_dead_letters_is_served_by_indexes() {
    on_both_databases(async |database| {
        let world = World::new(database).await.with_webhooks(5000).await;
        let World { pool, .. } = &world;
        let kept = Duration::from_secs(3000);
        let plan = served(pool, async {
            assert_eq!(sweeps::forget_webhooks(pool, kept, 5).await.unwrap(), 5);
        })
        .await;
        assert!(plan.contains("webhooks_ended"), "{plan}");
        let plan = served(pool, async {
            assert_eq!(sweeps::forget_dead_letters(pool, kept, 5).await.unwrap(), 5);
        })
        .await;
        assert!(plan.contains("webhook_dead_letters_given_up"), "{plan}");
    })
    .await;
}

#[tokio::test]
async fn o8_pages_of_many_tasks_and_their_number_are_served_by_indexes() {
    on_both_databases(async |database| {
        let world = World::new(database).await.with_tasks(3000).await;
        let World { pool, taken, .. } = &world;
        let full = PageWant { size: 50, history: Some(2), artifacts: true };
        let now = Timestamp::from_micros(i64::MAX / 4);
        let after = Cursor { as_of: now, seen: None, at: now, task: taken.task };
        let earlier = Timestamp::from_micros(1_000_000);
        let old = Cursor { as_of: earlier, at: earlier, ..after.clone() };
        let [seen, old_seen] = [&after, &old]
            .map(|cursor| Cursor { seen: Snapshot::new(1, 2, vec![1]), ..cursor.clone() });
        let all = Filter::default();
        let context = Filter { context_id: Some("c"), ..all };
        let state = Filter { state: Some(TaskState::Completed), ..all };
        let since = Filter { status_since: Some(earlier), ..all };
        for (filter, index) in [
            (all, "tasks_listed"),
            (context, "tasks_listed_by_session"),
            (state, "tasks_listed_by_state"),
            (since, "tasks_listed"),
            (Filter { state: Some(TaskState::Failed), ..context }, "tasks_listed"),
        ] {
            for cursor in [None, Some(&after), Some(&old), Some(&seen), Some(&old_seen)] {
                let plan = served(pool, world.list(filter, cursor.cloned(), full)).await;
                assert!(plan.contains(index), "{filter:?} {cursor:?}\n{plan}");
            }
            // A first page comes in the order of the index: nothing is sorted.
            let bare = PageWant { size: 50, history: None, artifacts: false };
            let plan = served(pool, world.list(filter, None, bare)).await;
            assert!(!plan.contains("Sort") && !plan.contains("TEMP B-TREE"), "{filter:?}\n{plan}");
        }
        let _ = &world.scope;
    })
    .await;
}

/// However many tasks changed within the last hour, and were seen by the first page, a later one does
/// not look at them for those that were not.
#[tokio::test]
async fn o8_a_later_page_costs_what_it_shows() {
    const DAY: i64 = 86_400_000_000;
    on_both_databases(async |database| {
        let world = World::new(database).await.with_tasks(3000).await;
        let World { pool, digest, agent, .. } = &world;
        let want = PageWant { size: 10, history: None, artifacts: false };
        let context = Filter { context_id: Some("c"), ..Filter::default() };
        let state = |state| Filter { state: Some(state), ..Filter::default() };
        let since = Some(Timestamp::from_micros(1));
        for filter in [
            Filter::default(),
            context,
            state(TaskState::Failed),
            state(TaskState::Completed),
            Filter { status_since: since, ..state(TaskState::Failed) },
        ] {
            let first = list::list(pool, digest, agent, Filter::default(), None, want).await;
            let next = first.unwrap().next.unwrap();
            assert_eq!(next.seen.is_some(), pool.engine() == Engine::Postgres);
            let later = async |cursor: &Cursor| {
                let asked = asked(world.list(filter, Some(cursor.clone()), want)).await;
                asked.into_iter().find(|(sql, _)| sql.contains("list_later")).unwrap()
            };
            let effort = effort(database, pool, &later(&next).await).await;
            assert!(effort < 1000, "{effort}: {filter:?}");
            if pool.engine() == Engine::Postgres {
                let day = |time: Timestamp| Timestamp::from_micros(time.as_micros() + DAY);
                let next = Cursor { as_of: day(next.as_of), at: day(next.at), ..next };
                let (sql, params) = later(&next).await;
                // The last hour is news to the planner, who looked at the table before it.
                let mut tx = pool.begin().await.unwrap();
                let age = "update tasks set status_at = status_at + interval '1 day'";
                tx.execute(age, &[]).await.unwrap();
                let rows = tx.query(&format!("explain {sql}"), &params).await.unwrap();
                let line = |row: &crate::Row| row.get::<String>("QUERY PLAN").unwrap();
                let plan = rows.iter().map(line).collect::<Vec<_>>().join("\n");
                assert!(plan.contains("tasks_status_tx"), "{filter:?}\n{plan}");
                tx.rollback().await.unwrap();
            }
        }
    })
    .await;
}

#[tokio::test]
async fn o7_the_newest_messages_of_a_long_history_cost_what_they_are() {
    for shown in [true, false] {
        on_both_databases(async |database| {
            let world = World::new(database).await.with_tasks(3000).await;
            let world = world.with_messages(10_000, shown).await;
            let World { pool, digest, taken, agent, .. } = &world;
            let read = async |history| {
                let want = Want { history, artifacts: true };
                let view = tasks::view(pool, digest, agent, taken.task, want).await.unwrap();
                view.unwrap().history
            };
            let viewed = async {
                let history = read(Some(1)).await;
                let position = if shown { 10_000 } else { 1 };
                assert_eq!(history.iter().map(|m| m.position).collect::<Vec<_>>(), [position]);
            };
            let listed = async {
                let want = PageWant { size: 50, history: Some(2), artifacts: false };
                world.list(Filter::default(), None, want).await;
            };
            for asked in [asked(viewed).await, asked(listed).await].concat() {
                let plan = plan(pool, &asked).await;
                assert!(!plan.iter().any(|line| scans(line)), "{}\n{plan:#?}", asked.0);
                if !asked.0.contains("messages") {
                    continue;
                }
                let plan = plan.join("\n");
                assert!(plan.contains("messages_shown"), "{}\n{plan}", asked.0);
                let effort = effort(database, pool, &asked).await;
                assert!(effort < 8000, "{effort}: {}\n{plan}", asked.0);
            }
            // What this would see, if everything were read.
            if shown {
                let all = asked(async { drop(read(None).await) }).await;
                assert!(effort(database, pool, &all[0]).await > 10_000);
            }
        })
        .await;
    }
}

#[tokio::test]
async fn taking_a_message_among_many_tasks_is_served_by_indexes() {
    on_both_databases(async |database| {
        let world = World::new(database).await.with_tasks(3000).await;
        let World { pool, scope, agent, lease, .. } = &world;
        let ask = runs::Ending::InputRequired { message: "which?".to_owned() };
        runs::finish(pool, lease.clone(), &[], &ask).await.unwrap();
        let request = |message_id, context_id, task| Admission {
            scope,
            agent,
            message_id,
            context_id,
            task,
            envelope: Envelope { v: 1, ..Envelope::default() },
            parts: &[],
            fingerprint: "f",
            idempotent: true,
            manifest: "{}",
            manifest_digest: "d",
            timeout: Duration::from_secs(3600),
            webhook: None,
        };
        for (request, statements) in [
            (request("a", None, None), 6),
            (request("b", Some("new"), None), 6),
            (request("c", Some("c"), Some(world.taken.task)), 7),
            // One look, for a twin that is not there.
            (request("d", Some("new"), None), 7),
        ] {
            let admitted =
                asked(async { drop(admit(pool, &Ids::random(), &request).await.unwrap()) });
            let admitted = admitted.await;
            assert_eq!(admitted.len(), statements, "{}", request.message_id);
            for asked in admitted {
                let plan = plan(pool, &asked).await;
                // SQLite names the tables in which it would look for rows that a new session mends,
                // if there were any that break a foreign key.
                if asked.0.contains("open_session") {
                    continue;
                }
                assert!(!plan.iter().any(|line| scans(line)), "{}\n{plan:#?}", asked.0);
            }
        }
    })
    .await;
}
