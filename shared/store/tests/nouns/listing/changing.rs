//! A list that changes between its pages loses nothing and repeats nothing.

use std::collections::{BTreeMap, BTreeSet};

use domain::{TaskId, TaskState};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use store::driver::Engine;
use store::runs::{Ending, finish};
use store::tasks::list::{Filter, PageWant, list};
use store::{Lease, Pool};
use testkit::Database;

use super::BARE;
use super::unfinished::Unfinished;
use crate::common::{Request, agent, claimed, scope, waiting_for_locks};

/// What happens between two pages. A number chooses the task.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// The task goes one state further: claimed, then asks its client, then is continued, …
    Step(usize),
    /// Another task is made.
    Make,
    /// A task that nobody has claimed is claimed by a transaction that stays open, where the engine
    /// lets others write meanwhile. One that was open before is finished.
    Begin(usize),
    /// The transaction that is open is finished.
    Finish,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => any::<usize>().prop_map(Change::Step),
        1 => Just(Change::Make),
        2 => any::<usize>().prop_map(Change::Begin),
        1 => Just(Change::Finish),
    ]
}

#[derive(Debug)]
struct Story {
    tasks: usize,
    /// What happens before the first page.
    before: Vec<Change>,
    size: u32,
    /// Whether only tasks in one state are listed.
    state: Option<TaskState>,
    /// What happens between any two pages.
    changes: Vec<Vec<Change>>,
}

fn stories() -> impl Strategy<Value = Story> {
    let few = |most| prop::collection::vec(change(), 0..=most);
    let state = prop_oneof![2 => Just(None), 1 => Just(Some(TaskState::Working))];
    (0..9_usize, few(6), 1..5_u32, state, prop::collection::vec(few(3), 12)).prop_map(
        |(tasks, before, size, state, changes)| Story { tasks, before, size, state, changes },
    )
}

/// The tasks of one caller, moved from outside.
struct World<'a> {
    pool: &'a Pool,
    /// For a transaction that stays open.
    side: &'a Pool,
    user: String,
    tasks: Vec<(TaskId, Next)>,
    open: Option<(TaskId, Unfinished)>,
    messages: usize,
}

enum Next {
    Claim(domain::RunId),
    Ask(Lease),
    Continue,
}

impl World<'_> {
    async fn make(&mut self) {
        self.messages += 1;
        let request = Request::new(&self.user, &format!("m{}", self.messages));
        let taken = request.taken(self.pool).await;
        self.tasks.push((taken.task, Next::Claim(taken.run)));
    }

    async fn change(&mut self, change: Change) {
        let count = self.tasks.len();
        match change {
            Change::Step(chosen) if count > 0 => {
                let (task, next) = self.tasks.swap_remove(chosen % count);
                let next = match next {
                    Next::Claim(run) => Next::Ask(claimed(self.pool, &self.user, run).await.lease),
                    Next::Ask(lease) => {
                        let ask = Ending::InputRequired { message: "which?".to_owned() };
                        finish(self.pool, lease, &[], &ask).await.unwrap();
                        Next::Continue
                    }
                    Next::Continue => {
                        self.messages += 1;
                        let id = format!("m{}", self.messages);
                        let more = Request::new(&self.user, &id).task(task);
                        Next::Claim(more.taken(self.pool).await.run)
                    }
                };
                self.tasks.push((task, next));
            }
            Change::Step(_) | Change::Make => self.make().await,
            Change::Begin(chosen) => {
                self.finish().await;
                let fresh = |(_, next): &(TaskId, Next)| matches!(next, Next::Claim(_));
                let fresh: Vec<usize> =
                    (0..count).filter(|index| fresh(&self.tasks[*index])).collect();
                if self.pool.engine() == Engine::Sqlite || fresh.is_empty() {
                    return;
                }
                let (task, next) = self.tasks.swap_remove(fresh[chosen % fresh.len()]);
                let Next::Claim(run) = next else { unreachable!("only such were looked for") };
                let open = Unfinished::begin(self.side, &self.user, task, run).await;
                waiting_for_locks(self.pool, 1).await;
                self.open = Some((task, open));
            }
            Change::Finish => self.finish().await,
        }
    }

    async fn finish(&mut self) {
        if let Some((task, open)) = self.open.take() {
            self.tasks.push((task, Next::Ask(open.finish().await)));
        }
    }

    fn in_state(&self, state: Option<TaskState>) -> BTreeSet<TaskId> {
        let is = |next: &Next| match next {
            Next::Claim(_) => TaskState::Submitted,
            Next::Ask(_) => TaskState::Working,
            Next::Continue => TaskState::InputRequired,
        };
        let wanted = self.tasks.iter().filter(|(_, next)| state.is_none_or(|s| s == is(next)));
        let open = state.is_none_or(|state| state == TaskState::Submitted);
        let open = self.open.iter().filter(|_| open).map(|(task, _)| *task);
        wanted.map(|(task, _)| *task).chain(open).collect()
    }
}

/// One story on one engine, as a caller of its own.
async fn tell((pool, side): (&Pool, &Pool), user: String, story: &Story) {
    let Story { tasks, before, size, state, changes } = story;
    let mut world = World { pool, side, user, tasks: Vec::new(), open: None, messages: 0 };
    for number in 0..*tasks {
        world.make().await;
        for _ in 0..number % 3 {
            // Some are further than others.
            let newest = world.tasks.len() - 1;
            world.change(Change::Step(newest)).await;
        }
    }
    for change in before {
        world.change(*change).await;
    }
    let filter = Filter { state: *state, ..Filter::default() };
    let want = PageWant { size: *size, ..BARE };
    let digest = scope(&world.user).digest();
    let existed: BTreeSet<TaskId> = world.in_state(None);
    let mut throughout = world.in_state(*state);
    let mut seen: BTreeMap<TaskId, usize> = BTreeMap::new();
    let mut after = None;
    let mut changes = changes.iter();
    loop {
        let page = list(pool, &digest, &agent(), filter, after, want).await.unwrap();
        for listed in &page.tasks {
            *seen.entry(listed.task.id).or_default() += 1;
            assert!(state.is_none_or(|state| state == listed.task.state), "as it is now");
        }
        after = page.next;
        if after.is_none() {
            break;
        }
        for change in changes.next().into_iter().flatten() {
            world.change(*change).await;
            throughout = &throughout & &world.in_state(*state);
        }
    }
    world.finish().await;
    assert!(seen.values().all(|times| *times == 1), "none comes twice: {seen:?}");
    let seen: BTreeSet<TaskId> = seen.into_keys().collect();
    assert!(throughout.is_subset(&seen), "none is lost: {throughout:?} {seen:?}");
    assert!(seen.is_subset(&existed), "none comes that was made meanwhile");
}

/// O8. Every second story lists without a filter: then all that existed come, and nothing else.
#[test]
fn o8_paging_through_a_changing_list_neither_loses_nor_repeats() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let databases =
        runtime.block_on(async { [Database::sqlite().await, Database::postgres().await] });
    for database in &databases {
        let pool = runtime.block_on(database.pool(1));
        let side = runtime.block_on(database.pool(2));
        let number = std::cell::Cell::new(0);
        let mut runner = TestRunner::new(ProptestConfig::with_cases(80));
        runner
            .run(&stories(), |story| {
                number.set(number.get() + 1);
                runtime.block_on(tell((&pool, &side), format!("u{}", number.get()), &story));
                Ok(())
            })
            .unwrap();
    }
}
