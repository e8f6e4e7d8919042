use testkit::Database;

use super::{Applied, MIGRATIONS, Migration, Refused, apply, migrate};
use crate::Pool;
use crate::driver::Engine;
use crate::error::Error;

const FIRST: Migration = Migration {
    name: "1_first",
    sql: "-- Things; and more.\ncreate table things (name text not null);\n\
          insert into things values ('a;b');\n",
};
const SECOND: Migration =
    Migration { name: "2_second", sql: "alter table things add column size_bytes bigint;" };
const BROKEN: Migration = Migration {
    name: "3_broken",
    sql: "insert into things (name) values ('half'); insert into nowhere values (1);",
};
const OUTSIDE: Migration = Migration {
    name: "4_outside",
    sql: "-- outside-transaction\ndrop index concurrently if exists things_name;\n\
          create index concurrently things_name on things (name);",
};

async fn on_empty(test: impl AsyncFn(&Database)) {
    for database in [Database::empty_sqlite(), Database::empty_postgres().await] {
        eprintln!("on {:?}", database.engine());
        test(&database).await;
    }
}

async fn pool(database: &Database, size: usize) -> Pool {
    Pool::connect(database.url(), size).await.unwrap()
}

async fn names(pool: &Pool) -> Vec<String> {
    let rows = pool.query("select name from things order by name", &[]).await.unwrap();
    rows.iter().map(|row| row.get("name").unwrap()).collect()
}

fn refusal(error: &Error) -> Refused {
    match error {
        Error::Migration { source, .. } => *source.downcast_ref().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_empty_database_gets_every_migration_and_a_second_time_none() {
    on_empty(async |database| {
        let pool = pool(database, 1).await;
        let all: Vec<_> = MIGRATIONS.iter().map(|migration| migration.name).collect();
        assert!(!all.is_empty());
        assert_eq!(migrate(&pool).await.unwrap(), Applied(all));
        assert_eq!(migrate(&pool).await.unwrap(), Applied::default());
    })
    .await;
}

/// A database that was migrated when there were fewer functions, or other ones.
#[tokio::test]
async fn a_database_of_before_gets_the_functions_of_today() {
    on_empty(async |database| {
        let pool = pool(database, 1).await;
        migrate(&pool).await.unwrap();
        if pool.engine() == Engine::Postgres {
            for sql in [
                "drop function this_transaction, seen_in",
                "create or replace function this_snapshot()
                 returns text language sql as 'select null::text'",
            ] {
                pool.execute(sql, &[]).await.unwrap();
            }
        }
        assert_eq!(migrate(&pool).await.unwrap(), Applied::default());
        let sql = "select seen_in(this_snapshot(), this_transaction()) as seen,
                          this_snapshot() as snapshot";
        let row = pool.query_opt(sql, &[]).await.unwrap().unwrap();
        let snapshot: Option<String> = row.get("snapshot").unwrap();
        assert_eq!(snapshot.is_some(), pool.engine() == Engine::Postgres);
        row.get::<bool>("seen").unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_database_with_rows_gets_only_what_is_missing() {
    on_empty(async |database| {
        let pool = pool(database, 1).await;
        assert_eq!(apply(&pool, &[FIRST]).await.unwrap(), Applied(vec!["1_first"]));
        assert_eq!(apply(&pool, &[FIRST, SECOND]).await.unwrap(), Applied(vec!["2_second"]));
        assert_eq!(names(&pool).await, ["a;b"]);
        // An older program does not mind a newer schema.
        assert_eq!(apply(&pool, &[FIRST]).await.unwrap(), Applied::default());
    })
    .await;
}

#[tokio::test]
async fn a_changed_text_is_refused() {
    on_empty(async |database| {
        let pool = pool(database, 1).await;
        apply(&pool, &[FIRST]).await.unwrap();
        let changed = Migration { sql: "create table things (name text)", ..FIRST };
        let error = apply(&pool, &[changed, SECOND]).await.unwrap_err();
        assert_eq!(refusal(&error), Refused::Changed);
        assert_eq!(error.to_string(), "apply migration 1_first");
        assert!(!error.is_retryable());
        assert_eq!(apply(&pool, &[FIRST, SECOND]).await.unwrap(), Applied(vec!["2_second"]));
    })
    .await;
}

#[tokio::test]
async fn one_that_comes_before_what_was_applied_is_refused() {
    on_empty(async |database| {
        let pool = pool(database, 1).await;
        apply(&pool, &[SECOND_ALONE]).await.unwrap();
        let error = apply(&pool, &[FIRST, SECOND_ALONE]).await.unwrap_err();
        assert_eq!(refusal(&error), Refused::OutOfOrder);
    })
    .await;
}

const SECOND_ALONE: Migration = Migration { name: "2_second", sql: "create table others (a text)" };

#[tokio::test]
async fn one_that_breaks_half_way_leaves_nothing_and_is_tried_again() {
    on_empty(async |database| {
        let pool = pool(database, 1).await;
        let error = apply(&pool, &[FIRST, BROKEN]).await.unwrap_err();
        assert_eq!(error.to_string(), "apply migration 3_broken");
        assert_eq!(names(&pool).await, ["a;b"]);
        let mended = Migration { sql: "insert into things (name) values ('whole')", ..BROKEN };
        assert_eq!(apply(&pool, &[FIRST, mended]).await.unwrap(), Applied(vec!["3_broken"]));
        assert_eq!(names(&pool).await, ["a;b", "whole"]);
    })
    .await;
}

#[tokio::test]
async fn an_index_is_built_outside_a_transaction() {
    on_empty(async |database| {
        let pool = pool(database, 1).await;
        apply(&pool, &[FIRST, OUTSIDE]).await.unwrap();
        assert_eq!(apply(&pool, &[FIRST, OUTSIDE]).await.unwrap(), Applied::default());
        pool.execute("drop index things_name", &[]).await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_that_migrate_at_once_apply_each_migration_once() {
    on_empty(async |database| {
        let all = [FIRST, SECOND, OUTSIDE];
        let url = database.url();
        let one = async || {
            let pool = Pool::connect(url, 1).await.unwrap();
            apply(&pool, &all).await.unwrap().0
        };
        let (a, b, c, d) = tokio::join!(one(), one(), one(), one());
        let mut applied = [a, b, c, d].concat();
        applied.sort_unstable();
        assert_eq!(applied, ["1_first", "2_second", "4_outside"]);
        assert_eq!(names(&pool(database, 1).await).await, ["a;b"]);
    })
    .await;
}

/// Webhooks that are there already were registered in 1.0, as far as anybody knows, and those of ended
/// tasks are kept from the end on.
#[tokio::test]
async fn webhooks_that_are_there_get_a_version_and_the_end_of_their_task() {
    const VERSIONS: &str = "20261201042000_webhook_versions";
    on_empty(async |database| {
        let pool = pool(database, 1).await;
        let before = MIGRATIONS.iter().take_while(|migration| migration.name < VERSIONS);
        let before: Vec<Migration> = before.copied().collect();
        apply(&pool, &before).await.unwrap();
        let ids = domain::Ids::seeded(1);
        let session = ids.session();
        let sql = "insert into sessions (session_id, scope_digest, scope, agent_name, context_id,
                       last_sequence, last_position, created_at)
                   values ($1, 's', '{}', 'analyst', 'c', 0, 0, statement_timestamp())";
        pool.execute(sql, &[session.into()]).await.unwrap();
        for state in ["completed", "input_required"] {
            let task = ids.task();
            let sql = "insert into tasks (task_id, scope_digest, session_id, agent_name, state,
                           status_at, current_run_id, created_at)
                       values ($1, 's', $2, 'analyst', $3, seconds_from_now(-60), $4,
                           statement_timestamp())";
            let params = [task.into(), session.into(), state.into(), ids.run().into()];
            pool.execute(sql, &params).await.unwrap();
            let sql = "insert into webhooks (webhook_id, scope_digest, agent_name, session_id,
                           task_id, config_id, sealed, key_id, sent_sequence, wanted_sequence,
                           fence, attempts, given_up, created_at)
                       values ($1, 's', 'analyst', $2, $3, $4, $5, 'k', 0, 0, 0, 0, 0,
                           statement_timestamp())";
            let sealed = vec![1_u8];
            let params =
                [ids.webhook().into(), session.into(), task.into(), state.into(), sealed.into()];
            pool.execute(sql, &params).await.unwrap();
        }
        migrate(&pool).await.unwrap();
        let sql = "select w.config_id, w.protocol,
                          case when w.ended_at = t.status_at then 1 else 0 end as ended
                     from webhooks w join tasks t on t.task_id = w.task_id order by w.config_id";
        let rows = pool.query(sql, &[]).await.unwrap();
        let found: Vec<(String, String, i32)> = rows
            .iter()
            .map(|row| {
                let get = |column| row.get(column).unwrap();
                (get("config_id"), get("protocol"), row.get("ended").unwrap())
            })
            .collect();
        let of = |state: &str, ended| (state.to_owned(), "1.0".to_owned(), ended);
        assert_eq!(found, [of("completed", 1), of("input_required", 0)]);
    })
    .await;
}

/// Of the messages that are there already, clients see their own and the model's words.
#[tokio::test]
async fn messages_that_are_there_are_shown_where_they_say_something() {
    const SHOWN: &str = "20261201042500_messages_shown";
    const WORDS: &str = r#"{"v":1,"body":{"content":[{"type":"text","text":"Done."}]}}"#;
    const CALLS: &str = r#"{"v":1,"body":{"content":[],"tool_calls":[{"name":"ls"}]}}"#;
    on_empty(async |database| {
        let pool = pool(database, 1).await;
        let before = MIGRATIONS.iter().take_while(|migration| migration.name < SHOWN);
        let before: Vec<Migration> = before.copied().collect();
        apply(&pool, &before).await.unwrap();
        let ids = domain::Ids::seeded(1);
        let session = ids.session();
        let sql = "insert into sessions (session_id, scope_digest, scope, agent_name, context_id,
                       last_sequence, last_position, created_at)
                   values ($1, 's', '{}', 'analyst', 'c', 0, 0, statement_timestamp())";
        pool.execute(sql, &[session.into()]).await.unwrap();
        let messages =
            [("user", "{}"), ("assistant", CALLS), ("tool", WORDS), ("assistant", WORDS)];
        for (position, (role, body)) in (1_i64..).zip(messages) {
            let sql = "insert into messages (message_id, scope_digest, session_id, task_id, run_id,
                           position, role, body, agent_name, created_at)
                       values ($1, 's', $2, $3, $4, $5, $6, $7, '', statement_timestamp())";
            let (message, task, run) = (ids.message(), ids.task(), ids.run());
            let params = [
                message.into(),
                session.into(),
                task.into(),
                run.into(),
                position.into(),
                role.into(),
                body.into(),
            ];
            pool.execute(sql, &params).await.unwrap();
        }
        migrate(&pool).await.unwrap();
        let sql = "select shown from messages order by position";
        let rows = pool.query(sql, &[]).await.unwrap();
        let shown: Vec<bool> = rows.iter().map(|row| row.get("shown").unwrap()).collect();
        assert_eq!(shown, [true, false, false, true]);
    })
    .await;
}
