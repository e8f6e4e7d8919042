use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use store::Pool;

use crate::{Database, eventually};

const LIMIT: Duration = Duration::from_secs(60);
/// Set in the process that will be killed.
const CHILD: &str = "TESTKIT_POSTGRES_CHILD";

async fn folder(pool: &Pool) -> String {
    let row = pool.query_opt("show data_directory", &[]).await.unwrap().unwrap();
    row.get("data_directory").unwrap()
}

#[tokio::test]
async fn each_test_gets_a_database_of_its_own() {
    let (one, two) = (Database::postgres().await, Database::postgres().await);
    let (one, two) = (one.pool(1).await, two.pool(1).await);
    one.execute("create table only_here (a text)", &[]).await.unwrap();
    two.execute("create table only_here (a text)", &[]).await.unwrap();
    assert_eq!(folder(&one).await, folder(&two).await, "they share a cluster");
}

#[tokio::test]
async fn a_database_goes_away_with_its_handle() {
    let kept = Database::empty_postgres().await;
    let gone = Database::empty_postgres().await;
    let name = gone.url().rsplit('/').next().unwrap().to_owned();
    let pool = kept.pool(1).await;
    drop(gone);
    let count = "select count(*) as n from pg_database where datname = $1";
    eventually(LIMIT, async || {
        let row = pool.query_opt(count, &[name.as_str().into()]).await.unwrap().unwrap();
        row.get::<i64>("n").unwrap() == 0
    })
    .await;
}

/// Not a test of its own: the body of the process that the next one kills.
#[tokio::test]
async fn child() {
    if env::var_os(CHILD).is_some() {
        let database = Database::empty_postgres().await;
        println!("\nfolder={}", folder(&database.pool(1).await).await);
        std::future::pending::<()>().await;
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_cluster_whose_test_process_was_killed() {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "postgres::tests::child", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let told = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .find_map(|line| line.unwrap().strip_prefix("folder=").map(str::to_owned))
        .unwrap();
    let data = Path::new(&told);
    let pid = fs::read_to_string(data.join("postmaster.pid")).unwrap();
    let process = Path::new("/proc").join(pid.lines().next().unwrap());
    let is_server = || {
        let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
        let state = fs::read_to_string(process.join("stat")).unwrap_or_default();
        // A zombie is gone; its parent has just not looked yet.
        name.trim() == "postgres" && !state.contains(") Z ")
    };
    assert!(is_server());
    child.kill().unwrap();
    child.wait().unwrap();
    let folder = data.parent().unwrap();
    eventually(LIMIT, async || !is_server() && !folder.exists()).await;
}
