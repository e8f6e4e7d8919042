//! The ingress dies at every await, and its client sends the message again.

use serde_json::json;
use store::outbox::backlog;
use testkit::{Database, killed_after};

use crate::common::{Call, message, scene, sent};

#[tokio::test]
async fn an_ingress_that_dies_at_any_await_makes_one_task_of_the_repeated_message() {
    let database = Database::sqlite().await;
    let pool = database.pool(1).await;
    for polls in 0.. {
        let scene = scene(&pool);
        let message = message(&format!("m{polls}"));
        let params = json!({"message": message, "configuration": {"returnImmediately": true}});
        let call = Call::rpc("SendMessage", &params);
        let survived = killed_after(polls, Box::pin(call.send(&scene))).await.is_some();
        let task = sent(&scene, &message).await;
        assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED", "killed after {polls} polls");
        let count = async |table: &str, wanted: i64| {
            let sql = format!("select count(*) as n from {table}");
            let row = pool.query_opt(&sql, &[]).await.unwrap().unwrap();
            let found: i64 = row.get("n").unwrap();
            assert_eq!(found, wanted, "{table} after {polls} polls");
        };
        let all = i64::try_from(polls).unwrap() + 1;
        count("tasks", all).await;
        count("runs", all).await;
        count("messages", all).await;
        count("events", all).await;
        // Its wake-up was sent, or waits for the sweeper.
        let waiting = usize::try_from(backlog(&pool).await.unwrap().0).unwrap();
        assert!(waiting + scene.queues.sent().len() > 0, "killed after {polls} polls");
        pool.execute("delete from outbox", &[]).await.unwrap();
        if survived {
            assert!(polls > 10, "an admission takes more than {polls} awaits");
            break;
        }
    }
}
