//! The connection to PostgreSQL breaks just before, or just after, each commit of a demo task.

use store::Pool;
use testkit::{Database, eventually};

use crate::support::caller::{id, message, submission};
use crate::support::home::Home;
use crate::support::proxy::{Cut, Proxy};
use crate::support::stage::Stage;
use crate::support::{PATIENCE, REQUEST, age, book};

#[tokio::test]
async fn a_connection_that_breaks_before_any_commit_costs_nothing() {
    breaks_around_each_commit(Cut::Before).await;
}

#[tokio::test]
async fn a_connection_that_breaks_after_any_commit_costs_nothing() {
    breaks_around_each_commit(Cut::After).await;
}

async fn breaks_around_each_commit(cut: Cut) {
    let (home, database) = (Home::new(), Database::postgres().await);
    let proxy = Proxy::start(database.url()).await;
    let stage = Stage::new(&home, &Pool::connect(proxy.url(), 4).await.unwrap()).await;
    let direct = database.pool(1).await;
    let mut commits = 0;
    loop {
        commits += 1;
        proxy.plan(commits, cut);
        let task = admitted(&stage, &format!("m-{commits}")).await;
        stage.settle(&task, Vec::new()).await;
        let survived = !proxy.has_cut();

        let at = format!("cut {cut:?} commit {commits}");
        let ended = book::ended(&direct, &task).await;
        assert_eq!(ended.state, "completed", "{at}");
        assert_eq!(ended.files, ["report.md", "sales.csv"], "{at}");
        assert_eq!(ended.refused, Vec::<String>::new(), "{at}");
        assert_eq!(book::rows(&direct, "tasks").await, i64::try_from(commits).unwrap(), "{at}");
        assert_eq!(stage.objects.keys().len(), 4 * commits, "{at}: two files and descriptors");
        if survived {
            break;
        }
        // One workspace after the other, or this machine fills with sandboxes.
        age::idle_sandboxes(&direct).await;
        stage.functions.sweeper.sweep().await;
        assert_eq!(stage.pump(Vec::new()).await, []);
        eventually(PATIENCE, async || home.sandboxed().is_empty()).await;
    }
    assert!(commits > 30, "the demo commits more often than {commits} times");
}

/// Sends the demo request until somebody answers, as a client does.
async fn admitted(stage: &Stage, message_id: &str) -> String {
    let request = submission(&message(message_id, REQUEST));
    for _ in 0..3 {
        match stage.call("analyst", "SendMessage", &request).await {
            Ok(sent) => return id(&sent["task"]),
            Err(error) => assert_eq!(error["code"], -32603, "{error}"),
        }
    }
    panic!("nobody takes the message");
}
