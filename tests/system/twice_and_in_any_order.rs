//! Every message twice, late and in any order: no effect is doubled (issue "from message to
//! deliverable", 4).
//!
//! A case is a list of choices. What a choice does follows from what lies in the queues at that
//! moment, so that every choice does something.

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, TestRunner};
use testkit::Database;

use crate::support::caller::{id, message, submission};
use crate::support::stage::{Letter, Post, Stage};
use crate::support::{age, book, counting};

#[test]
fn messages_that_come_twice_and_in_any_order_double_no_effect_on_sqlite() {
    for_all_choices(async || Database::sqlite().await);
}

#[test]
fn messages_that_come_twice_and_in_any_order_double_no_effect_on_postgresql() {
    for_all_choices(async || Database::postgres().await);
}

const CASES: u32 = 16;

fn for_all_choices(database: impl AsyncFn() -> Database) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let home = counting::home();
    let (stage, _database) = runtime.block_on(async {
        let database = database().await;
        let pool = database.pool(4).await;
        (Stage::new(&home, &pool).await, database)
    });
    let config = Config {
        cases: CASES,
        max_shrink_iters: 10,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRunner::deterministic().new_rng());
    let cases = Cell::new(0);
    let outcome = runner.run(&vec(any::<u8>(), 10..60), |choices| {
        cases.set(cases.get() + 1);
        runtime.block_on(a_case(&stage, cases.get(), &choices));
        Ok(())
    });
    outcome.unwrap();
}

/// One task, whose messages are delivered as the choices say.
async fn a_case(stage: &Stage, case: u32, choices: &[u8]) {
    let request = submission(&message(&format!("m-{case}"), "Count."));
    let task = id(&stage.call(counting::AGENT, "SendMessage", &request).await.unwrap()["task"]);
    let mut office = Office { post: Post::of(stage), waiting: Vec::new(), past: Vec::new() };
    for choice in choices {
        office.choose(stage, *choice).await;
    }
    office.deliver_the_rest(stage).await;
    let Office { post, mut past, .. } = office;
    stage.settle(&task, post.again).await;
    counting::one_effect_each(stage, &task, &format!("{choices:?}")).await;

    // Now that all is over, all of it comes once more, oldest and newest first.
    let before = book::everything(&stage.pool).await;
    let backwards: Vec<_> = past.iter().rev().cloned().collect();
    past.extend(backwards);
    for letter in past {
        assert_eq!(stage.pump(vec![letter]).await, []);
    }
    assert_eq!(book::everything(&stage.pool).await, before, "late messages change nothing");

    age::idle_sandboxes(&stage.pool).await;
    stage.functions.sweeper.sweep().await;
    assert_eq!(stage.pump(Vec::new()).await, []);
}

/// Where the messages of one task lie.
struct Office<'a> {
    post: Post<'a>,
    /// Not delivered yet, oldest first.
    waiting: Vec<Letter>,
    /// Delivered at least once.
    past: Vec<Letter>,
}

impl Office<'_> {
    /// Does what the choice says, or the next best thing that can be done.
    async fn choose(&mut self, stage: &Stage, choice: u8) {
        self.waiting.extend(stage.take());
        self.waiting.append(&mut self.post.again);
        let which = usize::from(choice / 6);
        match choice % 6 {
            0 if !self.waiting.is_empty() => self.deliver(0, 1),
            1 if !self.waiting.is_empty() => self.deliver(self.waiting.len() - 1, 1),
            2 if !self.waiting.is_empty() => self.deliver(which % self.waiting.len(), 2),
            3 if !self.past.is_empty() => {
                self.post.deliver(self.past[which % self.past.len()].clone());
            }
            // Whoever is at work gets far, or not.
            4 if self.post.is_busy() => {
                for _ in 0..40 {
                    self.post.work().await;
                }
            }
            _ if self.post.is_busy() => self.post.work().await,
            _ if !self.waiting.is_empty() => self.deliver(0, 2),
            _ => {}
        }
    }

    fn deliver(&mut self, position: usize, times: usize) {
        let letter = self.waiting.remove(position);
        for _ in 0..times {
            self.post.deliver(letter.clone());
        }
        self.past.push(letter);
    }

    /// Everything that nobody chose comes in the end, twice.
    async fn deliver_the_rest(&mut self, stage: &Stage) {
        loop {
            self.waiting.extend(stage.take());
            self.waiting.append(&mut self.post.again);
            while !self.waiting.is_empty() {
                self.deliver(self.waiting.len() - 1, 2);
            }
            if !self.post.is_busy() {
                return;
            }
            self.post.work().await;
        }
    }
}
