//! The connection to PostgreSQL breaks just before, or just after, each commit of a task.

use store::Pool;
use testkit::{Database, eventually};

use crate::support::caller::{id, message, submission};
use crate::support::proxy::{Cut, Proxy};
use crate::support::stage::Stage;
use crate::support::{PATIENCE, REQUEST, age, book, counting};

#[tokio::test]
async fn a_connection_that_breaks_before_any_commit_of_the_demo_costs_nothing() {
    breaks_around_each_commit(Cut::Before, "analyst").await;
}

#[tokio::test]
async fn a_connection_that_breaks_after_any_commit_of_the_demo_costs_nothing() {
    breaks_around_each_commit(Cut::After, "analyst").await;
}

#[tokio::test]
async fn a_connection_that_breaks_before_any_commit_doubles_no_command() {
    breaks_around_each_commit(Cut::Before, counting::AGENT).await;
}

#[tokio::test]
async fn a_connection_that_breaks_after_any_commit_doubles_no_command() {
    breaks_around_each_commit(Cut::After, counting::AGENT).await;
}

async fn breaks_around_each_commit(cut: Cut, agent: &str) {
    let (home, database) = (counting::home(), Database::postgres().await);
    let proxy = Proxy::start(database.url()).await;
    let stage = Stage::new(&home, &Pool::connect(proxy.url(), 4).await.unwrap()).await;
    let direct = database.pool(1).await;
    let mut commits = 0;
    loop {
        commits += 1;
        proxy.plan(commits, cut);
        let task = admitted(&stage, agent, &format!("m-{commits}")).await;
        stage.settle(&task, Vec::new()).await;
        let survived = !proxy.has_cut();

        let at = format!("cut {cut:?} commit {commits}");
        if agent == counting::AGENT {
            counting::one_effect_each(&stage, &task, &at).await;
        } else {
            let ended = book::ended(&direct, &task).await;
            assert_eq!(ended.state, "completed", "{at}");
            assert_eq!(ended.files, ["report.md", "sales.csv"], "{at}");
            assert_eq!(ended.refused, Vec::<String>::new(), "{at}");
        }
        assert_eq!(book::rows(&direct, "tasks").await, i64::try_from(commits).unwrap(), "{at}");
        let published = book::rows(&direct, "publications").await;
        let objects = i64::try_from(stage.objects.keys().len()).unwrap();
        assert_eq!(objects, 2 * published, "{at}: each file and its descriptor, once");
        if survived {
            break;
        }
        // One workspace after the other, or this machine fills with sandboxes.
        age::idle_sandboxes(&direct).await;
        stage.functions.sweeper.sweep().await;
        assert_eq!(stage.pump(Vec::new()).await, []);
        eventually(PATIENCE, async || home.sandboxed().is_empty()).await;
    }
    assert!(commits > 30, "a task commits more often than {commits} times");
}

/// Sends a request until somebody answers, as a client does.
async fn admitted(stage: &Stage, agent: &str, message_id: &str) -> String {
    let request = submission(&message(message_id, REQUEST));
    for _ in 0..3 {
        match stage.call(agent, "SendMessage", &request).await {
            Ok(sent) => return id(&sent["task"]),
            Err(error) => assert_eq!(error["code"], -32603, "{error}"),
        }
    }
    panic!("nobody takes the message");
}
