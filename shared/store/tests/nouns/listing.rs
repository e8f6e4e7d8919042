//! Pages of tasks: order, filters, totals, and what is unreadable (O8).

mod changing;
mod unfinished;

use domain::{
    ArtifactContent, ArtifactId, ArtifactUpdate, EventBody, TaskId, TaskState, Timestamp,
};
use store::events::Place;
use store::runs::{Ending, Output, PlacedEvent, append, finish};
use store::tasks::list::{Cursor, Filter, Page, PageWant, list};
use store::{Lease, Pool};
use testkit::on_both;

use crate::common::{Request, agent, claimed, scope, working};

const BARE: PageWant = PageWant { size: 50, history: None, artifacts: false };

async fn page(pool: &Pool, user: &str, filter: Filter<'_>, want: PageWant) -> Page {
    list(pool, &scope(user).digest(), &agent(), filter, None, want).await.unwrap()
}

fn ids(page: &Page) -> Vec<TaskId> {
    page.tasks.iter().map(|listed| listed.task.id).collect()
}

/// Every page of `size`, one after the other, with `between` called before each but the first.
async fn all_pages(
    pool: &Pool,
    user: &str,
    size: u32,
    mut between: impl AsyncFnMut(),
) -> Vec<TaskId> {
    let want = PageWant { size, ..BARE };
    let mut seen = Vec::new();
    let mut after: Option<Cursor> = None;
    loop {
        let page =
            list(pool, &scope(user).digest(), &agent(), Filter::default(), after, want).await;
        let page = page.unwrap();
        assert!(page.tasks.len() <= usize::try_from(size).unwrap());
        seen.extend(ids(&page));
        after = page.next;
        if after.is_none() {
            return seen;
        }
        between().await;
    }
}

async fn text(pool: &Pool, lease: &Lease, ordinal: i32, text: &str) {
    let body = EventBody::Artifact(ArtifactUpdate {
        artifact: ArtifactId::response(lease.task()),
        name: None,
        append: ordinal > 0,
        last_chunk: false,
        content: ArtifactContent::Text { text: text.to_owned() },
        about: domain::About::default(),
    });
    let place = Place { step: 1, attempt: 1, ordinal };
    append(pool, lease, &[PlacedEvent { place, body }], Output::default()).await.unwrap();
}

#[tokio::test]
async fn o8_the_newest_status_comes_first_and_every_page_size_gives_each_task_once() {
    on_both(async |pool| {
        let mut made = Vec::new();
        for number in 0..7 {
            made.push(Request::new("a", &format!("m{number}")).taken(&pool).await);
        }
        // The first one changes last.
        claimed(&pool, "a", made[0].run).await;
        let mut expected: Vec<TaskId> = made[1..].iter().rev().map(|taken| taken.task).collect();
        expected.insert(0, made[0].task);
        for size in 1..=8 {
            assert_eq!(all_pages(&pool, "a", size, async || {}).await, expected, "size {size}");
        }
        assert_eq!(page(&pool, "a", Filter::default(), BARE).await.total, 7);
        for user in ["b", "nobody"] {
            let foreign = page(&pool, user, Filter::default(), BARE).await;
            assert_eq!((foreign.tasks.len(), foreign.total, foreign.next), (0, 0, None));
        }
    })
    .await;
}

#[tokio::test]
async fn o8_every_filter_narrows_what_the_others_leave() {
    on_both(async |pool| {
        let (done, lease) = working(&pool, "a").await;
        finish(&pool, lease, &[], &Ending::Completed).await.unwrap();
        let first = Request::new("a", "m1").context("c").taken(&pool).await;
        let lease = claimed(&pool, "a", first.run).await.lease;
        finish(&pool, lease, &[], &Ending::Completed).await.unwrap();
        let second = Request::new("a", "m2").context("c").taken(&pool).await;
        Request::new("b", "m1").context("c").taken(&pool).await;
        let check = async |filter: Filter<'_>, expected: &[TaskId]| {
            let page = page(&pool, "a", filter, BARE).await;
            assert_eq!(ids(&page), expected, "{filter:?}");
            assert_eq!(page.total, expected.len() as u64, "{filter:?}");
            page
        };
        let all = check(Filter::default(), &[second.task, first.task, done.task]).await;
        let context = Filter { context_id: Some("c"), ..Filter::default() };
        check(context, &[second.task, first.task]).await;
        check(Filter { context_id: Some("unknown"), ..context }, &[]).await;
        let completed = Some(TaskState::Completed);
        let state = Filter { state: completed, ..Filter::default() };
        check(state, &[first.task, done.task]).await;
        check(Filter { state: completed, ..context }, &[first.task]).await;
        // The time itself is within.
        let since = all.tasks[1].task.status_at;
        let recent = Filter { status_since: Some(since), ..Filter::default() };
        check(recent, &[second.task, first.task]).await;
        let later = Timestamp::from_micros(since.as_micros() + 1);
        let all_three = Filter { status_since: Some(later), state: completed, ..context };
        check(all_three, &[]).await;
    })
    .await;
}

#[tokio::test]
async fn a_forged_place_shows_tasks_of_the_caller_alone() {
    on_both(async |pool| {
        let mut own = Vec::new();
        for number in 0..3 {
            own.push(Request::new("a", &format!("m{number}")).taken(&pool).await.task);
        }
        let foreign = Request::new("b", "m").taken(&pool).await.task;
        let last_of_9999 = 253_402_300_799_999_999;
        let now = page(&pool, "a", Filter::default(), BARE).await.tasks[0].task.status_at;
        let times = [0, 1, now.as_micros() - 1, now.as_micros(), last_of_9999];
        for (as_of, at) in times.iter().flat_map(|as_of| times.map(|at| (*as_of, at))) {
            for task in [own[1], foreign] {
                let time = Timestamp::from_micros;
                let forged = Cursor { as_of: time(as_of), seen: None, at: time(at), task };
                let digest = scope("a").digest();
                let filter = Filter::default();
                let after = Some(forged.clone());
                let page = list(&pool, &digest, &agent(), filter, after, BARE).await.unwrap();
                assert!(ids(&page).iter().all(|seen| own.contains(seen)), "{forged:?}");
                assert_eq!(page.total, 3);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn the_event_of_a_status_has_the_time_of_the_status() {
    on_both(async |pool| {
        let (taken, lease) = working(&pool, "a").await;
        text(&pool, &lease, 0, "x").await;
        finish(&pool, lease, &[], &Ending::Completed).await.unwrap();
        let listed = page(&pool, "a", Filter::default(), BARE).await;
        let digest = scope("a").digest();
        let events = store::events::after(&pool, &digest, taken.task, 0, 10).await.unwrap();
        assert_eq!(events.last().unwrap().at, listed.tasks[0].task.status_at);
        let created: Timestamp = pool
            .query_opt("select created_at from tasks", &[])
            .await
            .unwrap()
            .unwrap()
            .get("created_at")
            .unwrap();
        assert_eq!(events[0].at, created, "a task begins with its first status");
    })
    .await;
}

#[tokio::test]
async fn nothing_is_read_that_was_not_asked_for_and_nothing_of_one_task_hides_another() {
    on_both(async |pool| {
        let (fine, lease) = working(&pool, "a").await;
        text(&pool, &lease, 0, "one ").await;
        text(&pool, &lease, 1, "two").await;
        let broken = Request::new("a", "m2").taken(&pool).await;
        let lease = claimed(&pool, "a", broken.run).await.lease;
        text(&pool, &lease, 0, "lost").await;
        for sql in [
            "update events set payload = '{\"v\":99}' where kind = 'artifact' and task_id = $1",
            "update parts set value = 'no JSON' where message_id in
                 (select message_id from messages where task_id = $1)",
        ] {
            assert_eq!(pool.execute(sql, &[broken.task.into()]).await.unwrap(), 1);
        }
        let bare = page(&pool, "a", Filter::default(), BARE).await;
        assert!(bare.tasks.iter().all(|listed| {
            listed.history.as_ref().unwrap().is_empty()
                && listed.artifacts.as_ref().unwrap().is_empty()
        }));
        let want = PageWant { history: Some(5), artifacts: true, ..BARE };
        let full = page(&pool, "a", Filter::default(), want).await;
        assert_eq!(ids(&full), [broken.task, fine.task]);
        assert!(full.tasks[0].history.is_err() && full.tasks[0].artifacts.is_err());
        assert_eq!(full.tasks[1].history.as_ref().unwrap()[0].parts[0].value, "hello");
        assert_eq!(full.tasks[1].artifacts.as_ref().unwrap().len(), 2);
        // A row that is itself unreadable is left out, and the rest stays.
        assert_eq!(
            pool.execute(
                "update sessions set context_id = 'x' where session_id in
                     (select session_id from tasks where task_id = $1)",
                &[broken.task.into()]
            )
            .await
            .unwrap(),
            1
        );
        assert_eq!(page(&pool, "a", Filter::default(), want).await.tasks.len(), 2);
    })
    .await;
}
