//! Values in and out, counts, and errors.

use domain::{Ids, RunId, Timestamp};
use uuid::Uuid;

use super::{COUNTERS, count, on_all, put};
use crate::driver::{Engine, Json, Kind, Value};
use crate::error::{Error, Mismatch};
use crate::params;

#[tokio::test]
async fn every_kind_of_value_comes_back_as_it_went_in() {
    let table = "create table things (id uuid primary key, flag boolean, small integer, big bigint,
                     ratio double precision, word text, bytes bytea, at timestamptz, state jsonb)";
    on_all(table, async |pool| {
        let run = Ids::seeded(7).run();
        let at = Timestamp::from_micros(-1_234_567_890_123);
        let state = r#"{"kind": "done", "turns": 3}"#;
        pool.execute(
            "insert into things (id, flag, small, big, ratio, word, bytes, at, state)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            &params![
                run,
                true,
                i32::MIN,
                i64::MAX,
                0.1,
                "it's $1 — ß",
                vec![0_u8, 255],
                at,
                Json(state.to_owned())
            ],
        )
        .await
        .unwrap();
        let select = "select * from things where id = $1 and flag = $2 and big = $3 and word = $4
                         and bytes = $5 and at = $6";
        let found = params![run, true, i64::MAX, "it's $1 — ß", vec![0_u8, 255], at];
        let row = pool.query_opt(select, &found).await.unwrap().unwrap();
        assert_eq!(row.get::<RunId>("id").unwrap(), run);
        assert_eq!(row.get::<Uuid>("id").unwrap(), run.as_uuid());
        assert!(row.get::<bool>("flag").unwrap());
        assert_eq!(row.get::<i32>("small").unwrap(), i32::MIN);
        assert_eq!(row.get::<i64>("big").unwrap(), i64::MAX);
        assert_eq!(row.get::<f64>("ratio").unwrap().to_bits(), 0.1_f64.to_bits());
        assert_eq!(row.get::<String>("word").unwrap(), "it's $1 — ß");
        assert_eq!(row.get::<Vec<u8>>("bytes").unwrap(), [0, 255]);
        assert_eq!(row.get::<Timestamp>("at").unwrap(), at);
        let back: serde_json::Value = row.json("things", "state").unwrap();
        assert_eq!(back, serde_json::from_str::<serde_json::Value>(state).unwrap());
        let kind = pool.query_opt("select state ->> 'kind' as kind from things", &[]).await;
        assert_eq!(kind.unwrap().unwrap().get::<String>("kind").unwrap(), "done");
    })
    .await;
}

#[tokio::test]
async fn nulls_of_every_kind_go_in_and_come_back() {
    let table =
        "create table things (flag boolean, small integer, big bigint, ratio double precision,
                     word text, bytes bytea, id uuid, at timestamptz, state jsonb)";
    on_all(table, async |pool| {
        let kinds = [
            Kind::Bool,
            Kind::I32,
            Kind::I64,
            Kind::F64,
            Kind::Text,
            Kind::Bytes,
            Kind::Uuid,
            Kind::Time,
            Kind::Json,
        ];
        let insert = "insert into things (flag, small, big, ratio, word, bytes, id, at, state)
                      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        pool.execute(insert, &kinds.map(Value::NullOf)).await.unwrap();
        pool.execute(insert, &kinds.map(|_| Value::Null)).await.unwrap();
        let rows = pool.query("select * from things", &[]).await.unwrap();
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert_eq!(row.get::<Option<bool>>("flag").unwrap(), None);
            assert_eq!(row.get::<Option<i64>>("big").unwrap(), None);
            assert_eq!(row.get::<Option<RunId>>("id").unwrap(), None);
            assert_eq!(row.get::<Option<Json>>("state").unwrap(), None);
        }
        // A statement that leaves the type open needs the typed null.
        let nothing: Option<&str> = None;
        let row = pool.query_opt("select $1 is null as void", &params![nothing]).await;
        assert!(row.unwrap().unwrap().get::<bool>("void").unwrap());
    })
    .await;
}

#[tokio::test]
async fn parameters_bind_by_number_and_not_by_appearance() {
    on_all("", async |pool| {
        let row = pool
            .query_opt(
                "select $2 as second, $3 as third, $1 as first, $2 as again, '$1' as literal",
                &params!["one", "two", "three"],
            )
            .await
            .unwrap()
            .unwrap();
        assert_eq!(row.get::<String>("first").unwrap(), "one");
        assert_eq!(row.get::<String>("second").unwrap(), "two");
        assert_eq!(row.get::<String>("again").unwrap(), "two");
        assert_eq!(row.get::<String>("third").unwrap(), "three");
        assert_eq!(row.get::<String>("literal").unwrap(), "$1");
    })
    .await;
}

#[tokio::test]
async fn a_wrong_number_of_parameters_is_refused() {
    on_all("", async |pool| {
        let few = pool.query("select $1 as a, $2 as b", &params!["one"]).await;
        assert!(matches!(few, Err(Error::Database(_))), "{few:?}");
    })
    .await;
}

#[tokio::test]
async fn two_statements_in_one_text_are_refused() {
    on_all(COUNTERS, async |pool| {
        let both = "insert into counters values ('a', 1); insert into counters values ('b', 1)";
        assert!(matches!(pool.execute(both, &[]).await, Err(Error::Database(_))));
        assert_eq!(count(&pool).await, 0);
    })
    .await;
}

#[tokio::test]
async fn text_with_a_null_character_is_refused() {
    on_all(COUNTERS, async |pool| {
        let insert = "insert into counters (name, value) values ($1, 1)";
        let refused = pool.execute(insert, &params!["a\0b"]).await;
        assert!(matches!(refused, Err(Error::Database(_))), "{refused:?}");
        assert_eq!(count(&pool).await, 0);
    })
    .await;
}

#[tokio::test]
async fn rows_written_are_counted_and_returned() {
    on_all(COUNTERS, async |pool| {
        put(&pool, "a").await;
        put(&pool, "b").await;
        let all = "update counters set value = value + 1";
        assert_eq!(pool.execute(all, &[]).await.unwrap(), 2);
        let none = "update counters set value = 9 where name = 'c'";
        assert_eq!(pool.execute(none, &[]).await.unwrap(), 0);
        let returning = "update counters set value = value + 1 returning name, value";
        let rows = pool.query(returning, &[]).await.unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].get::<i64>("value").unwrap(), 2);
        let again = "insert into counters (name, value) values ('a', 1) on conflict do nothing";
        assert_eq!(pool.execute(again, &[]).await.unwrap(), 0);
        let with = "with other as (select 'c' as name)
                    insert into counters (name, value) select name, 5 from other returning value";
        let row = pool.query_opt(with, &[]).await.unwrap().unwrap();
        assert_eq!(row.get::<i64>("value").unwrap(), 5);
        assert_eq!(pool.execute("create table more (a text)", &[]).await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_column_that_is_not_there_or_of_another_type_is_an_error() {
    on_all("", async |pool| {
        let select = "select 'word' as word, 70000000000 as big, cast(null as text) as void";
        let row = pool.query_opt(select, &[]).await.unwrap().unwrap();
        let source = |error| match error {
            Error::Column { source, .. } => source,
            other => panic!("{other}"),
        };
        assert_eq!(source(row.get::<String>("other").unwrap_err()), Mismatch::Absent);
        assert_eq!(source(row.get::<String>("void").unwrap_err()), Mismatch::Null);
        let found = source(row.get::<i64>("word").unwrap_err());
        assert_eq!(found, Mismatch::Type { wanted: "an integer", found: "text" });
        assert!(matches!(source(row.get::<i32>("big").unwrap_err()), Mismatch::Type { .. }));
    })
    .await;
}

#[tokio::test]
async fn a_second_row_with_the_same_key_is_a_unique_violation() {
    on_all(COUNTERS, async |pool| {
        put(&pool, "a").await;
        let again = pool.execute("insert into counters values ('a', 1)", &[]).await.unwrap_err();
        let constraint = match again {
            Error::UniqueViolation { constraint } => constraint,
            other => panic!("{other:?}"),
        };
        match pool.engine() {
            Engine::Postgres => assert_eq!(constraint, "counters_pkey"),
            Engine::Sqlite => assert_eq!(constraint, "counters.name"),
        }
    })
    .await;
}

#[tokio::test]
async fn no_error_tells_a_value_or_a_statement() {
    let table = "create table secrets (word text primary key, length integer not null,
                     constraint secrets_short check (length < 5))";
    on_all(table, async |pool| {
        let insert = "insert into secrets (word, length) values ($1, $2)";
        pool.execute(insert, &params!["hunter2", 1]).await.unwrap();
        let cut = insert.replace("values", "valuse");
        let errors = [
            pool.execute(insert, &params!["hunter2", 1]).await.unwrap_err(),
            pool.execute(insert, &params!["hunter2!", 7]).await.unwrap_err(),
            pool.execute(insert, &params!["hunter2!", None::<i32>]).await.unwrap_err(),
            pool.execute(&cut, &params!["hunter2", 1]).await.unwrap_err(),
            pool.execute("insert into secrets (wrod) values ($1)", &params!["hunter2"])
                .await
                .unwrap_err(),
        ];
        for error in errors {
            let debug = format!("{error:?}");
            let told = format!("{debug} {:#}", anyhow::Error::from(error));
            assert!(!told.contains("hunter2"), "{told}");
            assert!(!told.contains("insert"), "{told}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_constraint_that_refuses_is_named() {
    let table = "create table small (n integer, constraint small_only check (n < 5))";
    on_all(table, async |pool| {
        let refused = pool.execute("insert into small values (7)", &[]).await.unwrap_err();
        let told = format!("{:#}", anyhow::Error::from(refused));
        assert!(told.contains("small_only"), "{told}");
    })
    .await;
}
