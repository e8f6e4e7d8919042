//! A worker that is paused beyond its lease and wakes up: what it then commits touches no row, the
//! sandbox refuses it, and what it publishes does not count (issue "from message to deliverable", 7).
//!
//! A paused worker is a handler that is not polled. On PostgreSQL only: one that is frozen inside of a
//! transaction keeps others waiting until the database ends that transaction, here soon.

mod publisher;
mod sandbox;
mod worker;

use cognition_local::functions::Functions;
use futures_util::future::LocalBoxFuture;
use store::Pool;
use testkit::{Database, killed_after};

use crate::support::home::Home;
use crate::support::stage::{Letter, Post, Stage, deliver};

/// A database, those who work on it, and the one who will be paused.
struct Scene {
    stage: Stage,
    /// Functions of another process, on connections of its own.
    sleeper: Functions,
    _database: Database,
    _home: Home,
}

/// In milliseconds; a database that serves functions sets it too.
const FROZEN: &str = "idle_in_transaction_session_timeout%3D500";

/// A handler that is not polled.
type Paused = LocalBoxFuture<'static, Option<Letter>>;

impl Scene {
    async fn new(home: Home) -> Self {
        let database = Database::postgres().await;
        let stage = Stage::new(&home, &database.pool(4).await).await;
        let url = format!("{}?options=-c%20{FROZEN}", database.url());
        let sleepers = Pool::connect(&url, 2).await.unwrap();
        let sleeper = stage.another(&home, &sleepers).await;
        Self { stage, sleeper, _database: database, _home: home }
    }

    /// Lets the sleeper handle the letter for so many polls.
    async fn pause(
        &self,
        post: &mut Post<'_>,
        letter: Letter,
        polls: usize,
        kept: &mut Vec<Letter>,
    ) -> Option<Paused> {
        self.resume(post, deliver(&self.sleeper, letter), polls, kept).await
    }

    /// Lets a handler go on for so many polls. The other functions do their part meanwhile; letters
    /// that wake runs go to `kept`. `None` when the handler was done before.
    async fn resume(
        &self,
        post: &mut Post<'_>,
        mut handler: Paused,
        polls: usize,
        kept: &mut Vec<Letter>,
    ) -> Option<Paused> {
        // Also between two polls: the worker may wait for one of them.
        post.serve_worker(kept).await;
        let done = tokio::select! {
            biased;
            done = killed_after(polls, handler.as_mut()) => done,
            never = async { loop { post.serve_worker(kept).await } } => never,
        };
        match done {
            Some(again) => {
                kept.extend(again);
                None
            }
            None => Some(handler),
        }
    }
}
