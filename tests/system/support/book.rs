//! What must hold of a task, as its rows tell, whatever has happened to it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use domain::{PublicationId, SessionId, TaskId};
use serde_json::Value;
use store::driver::Engine;
use store::{Pool, Row};

const TERMINAL: [&str; 4] = ["completed", "failed", "canceled", "rejected"];

/// What a look at an ended task brought to light.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) state: String,
    /// The names of the delivered files, sorted.
    pub(crate) files: Vec<String>,
    /// Publications that were refused, by their files' names.
    pub(crate) refused: Vec<String>,
}

/// Looks at a task that has ended, and fails the story when one of these does not hold:
///
/// - one outcome: one terminal status, nothing after it, and the task's row says the same
/// - no run of it lives
/// - the session's events and messages have neither gap nor repetition
/// - each finished tool call has its result, and is told once; a completed task has no other ones
/// - each publication that counts has exactly one artifact event, and each such event a publication
pub(crate) async fn ended(pool: &Pool, task: &str) -> Ended {
    let task: TaskId = task.parse().unwrap();
    let row = one(pool, "select session_id, state from tasks where task_id = $1", task).await;
    let (session, state) = (row.get::<SessionId>("session_id").unwrap(), text(&row, "state"));
    let events = events(pool, task).await;
    let at = |why: &str| format!("{why}: {task} {state} {events:#?}");

    let statuses = events.iter().filter(|event| event["type"] == "status");
    let ends: Vec<&Value> = statuses.filter(|event| is_terminal(event)).collect();
    assert_eq!(ends.len(), 1, "{}", at("one terminal status"));
    assert_eq!(ends[0]["state"], state.as_str(), "{}", at("the row says what the log says"));
    assert!(is_terminal(events.last().unwrap()), "{}", at("nothing after the terminal status"));
    let live = "select count(*) as found from runs
                 where task_id = $1 and state in ('queued', 'active')";
    assert_eq!(count(pool, live, task).await, 0, "{}", at("no run lives"));
    complete_logs(pool, session).await;
    results(pool, task, &state, &events).await;
    let (files, refused) = publications(pool, task, &events).await;
    Ended { state, files, refused }
}

fn is_terminal(event: &Value) -> bool {
    event["state"].as_str().is_some_and(|state| TERMINAL.contains(&state))
}

async fn complete_logs(pool: &Pool, session: SessionId) {
    let row = one(
        pool,
        "select last_sequence, last_position,
                (select count(*) from events e where e.session_id = s.session_id) as events,
                (select max(sequence) from events e where e.session_id = s.session_id) as newest,
                (select count(*) from messages m where m.session_id = s.session_id) as messages,
                (select max(position) from messages m where m.session_id = s.session_id) as last,
                (select count(*) from messages m
                  where m.session_id = s.session_id and m.role = 'tool') as results,
                (select count(*) from tool_calls c join runs r on r.run_id = c.run_id
                  where r.session_id = s.session_id) as calls
           from sessions s where session_id = $1",
        session,
    )
    .await;
    let number = |column: &str| row.get::<i64>(column).unwrap();
    assert_eq!(number("events"), number("last_sequence"), "the event log has no gap");
    assert_eq!(number("newest"), number("last_sequence"));
    assert_eq!(number("messages"), number("last_position"), "the conversation has no gap");
    assert_eq!(number("last"), number("last_position"));
    assert!(number("results") <= number("calls"), "no call has two results");
}

async fn results(pool: &Pool, task: TaskId, state: &str, events: &[Value]) {
    let calls = "select count(*) as found from tool_calls
                  where run_id in (select run_id from runs where task_id = $1)";
    let done = format!("{calls} and state = 'done'");
    let answered = format!(
        "{calls} and exists (select 1 from messages m
                              where m.message_id = result_message_id and m.role = 'tool')"
    );
    let done = count(pool, &done, task).await;
    assert_eq!(count(pool, &answered, task).await, done, "{task}: a finished call has its result");
    if state == "completed" {
        assert_eq!(count(pool, calls, task).await, done, "{task}: every call is finished");
    }
    let mut finished = BTreeMap::new();
    for event in events.iter().filter(|event| event["type"] == "tool_finished") {
        *finished.entry(event["call"].as_str().unwrap()).or_insert(0) += 1;
    }
    assert!(finished.values().all(|times| *times == 1), "{task}: {finished:?}");
}

/// The names of the files that count, and of those that do not.
async fn publications(pool: &Pool, task: TaskId, events: &[Value]) -> (Vec<String>, Vec<String>) {
    let statement = "select publication_id, state, filename from publications
                      where task_id = $1 order by filename";
    let (mut files, mut refused) = (Vec::new(), Vec::new());
    let mut active = Vec::new();
    for row in pool.query(statement, &[task.into()]).await.unwrap() {
        let filename = text(&row, "filename");
        match text(&row, "state").as_str() {
            "active" => {
                let id: PublicationId = row.get("publication_id").unwrap();
                active.push(id.as_uuid().to_string());
                files.push(filename);
            }
            "failed" => refused.push(filename),
            _ => {}
        }
    }
    let published = events.iter().filter(|event| event["content"]["kind"] == "published");
    let published = published.map(|event| event["content"]["publication"].as_str().unwrap());
    let mut announced: Vec<String> = published.map(str::to_owned).collect();
    announced.sort();
    active.sort();
    assert_eq!(announced, active, "{task}: one artifact event per publication that counts");
    let mut once = files.clone();
    once.dedup();
    assert_eq!(once, files, "{task}: each file once");
    (files, refused)
}

/// The task's events, oldest first.
pub(crate) async fn events(pool: &Pool, task: TaskId) -> Vec<Value> {
    let statement = "select payload from events where task_id = $1 order by sequence";
    let rows = pool.query(statement, &[task.into()]).await.unwrap();
    rows.iter().map(|row| serde_json::from_str(&text(row, "payload")).unwrap()).collect()
}

/// Whether the task has ended.
pub(crate) async fn is_over(pool: &Pool, task: &str) -> bool {
    let task: TaskId = task.parse().unwrap();
    let row = one(pool, "select state from tasks where task_id = $1", task).await;
    TERMINAL.contains(&text(&row, "state").as_str())
}

/// How many rows a table has.
pub(crate) async fn rows(pool: &Pool, table: &str) -> i64 {
    let statement = format!("select count(*) as found from {table}");
    let row = pool.query_opt(&statement, &[]).await.unwrap().unwrap();
    row.get("found").unwrap()
}

/// Everything that the database holds, a line per row, by table. Bytes and times included.
pub(crate) async fn everything(pool: &Pool) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for (table, columns) in tables(pool).await {
        let list: Vec<_> =
            columns.iter().map(|column| format!("cast({column} as text) as {column}")).collect();
        let statement = format!("select {} from {table}", list.join(", "));
        let mut lines = Vec::new();
        for row in pool.query(&statement, &[]).await.unwrap() {
            let mut line = String::new();
            for column in &columns {
                let value: Option<String> = row.get(column).unwrap();
                write!(line, "{column}={} ", value.as_deref().unwrap_or("null")).unwrap();
            }
            lines.push(line);
        }
        lines.sort();
        all.insert(table, lines);
    }
    all
}

async fn tables(pool: &Pool) -> BTreeMap<String, Vec<String>> {
    let statement = match pool.engine() {
        Engine::Postgres => {
            "select cast(table_name as text) as named, cast(column_name as text) as part
               from information_schema.columns where table_schema = 'public'"
        }
        Engine::Sqlite => {
            "select m.name as named, c.name as part
               from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table'"
        }
    };
    let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in pool.query(statement, &[]).await.unwrap() {
        tables.entry(text(&row, "named")).or_default().push(text(&row, "part"));
    }
    assert!(tables.contains_key("runs") && tables.contains_key("events"), "{tables:?}");
    tables
}

async fn one(pool: &Pool, statement: &str, id: impl Into<store::Value>) -> Row {
    pool.query_opt(statement, &[id.into()]).await.unwrap().expect("the row is there")
}

async fn count(pool: &Pool, statement: &str, id: impl Into<store::Value>) -> i64 {
    one(pool, statement, id).await.get("found").unwrap()
}

fn text(row: &Row, column: &str) -> String {
    row.get(column).unwrap()
}
