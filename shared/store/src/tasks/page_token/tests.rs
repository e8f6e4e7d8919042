//! Tokens come back as they were written, to their own list and to no other.

use domain::{AgentName, Ids, Scope, TaskState};
use proptest::prelude::*;

use super::*;

fn scope(user: &str) -> ScopeDigest {
    Scope::new([("user".to_owned(), user.to_owned())]).unwrap().digest()
}

fn agent(name: &str) -> AgentKey {
    AgentName::try_from(name.to_owned()).unwrap().into()
}

fn cursor() -> Cursor {
    Cursor { seen: Snapshot::new(734, 740, vec![734, 738]), ..bare() }
}

/// As it is on SQLite, and as all were before snapshots were carried along.
fn bare() -> Cursor {
    Cursor {
        as_of: Timestamp::from_micros(1_800_000_000_000_001),
        seen: None,
        at: Timestamp::from_micros(1_700_000_000_000_000),
        task: Ids::random().task(),
    }
}

/// Lists that differ in one thing each.
fn bindings() -> Vec<Binding> {
    let none = Filter::default();
    let time = Timestamp::from_micros(7);
    vec![
        Binding::new(&scope("a"), &agent("x"), &none),
        Binding::new(&scope("b"), &agent("x"), &none),
        Binding::new(&scope("a"), &agent("y"), &none),
        Binding::new(&scope("a"), &agent("x"), &Filter { context_id: Some("c"), ..none }),
        Binding::new(&scope("a"), &agent("x"), &Filter { context_id: Some("working"), ..none }),
        Binding::new(&scope("a"), &agent("x"), &Filter { state: Some(TaskState::Working), ..none }),
        Binding::new(&scope("a"), &agent("x"), &Filter { status_since: Some(time), ..none }),
    ]
}

#[test]
fn a_token_is_read_by_its_own_list_and_by_no_other() {
    for (index, binding) in bindings().into_iter().enumerate() {
        let cursor = if index % 2 == 0 { cursor() } else { bare() };
        let token = write(&cursor, binding);
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        for (other, read_by) in bindings().into_iter().enumerate() {
            let expected = (index == other).then_some(&cursor);
            assert_eq!(read(&token, read_by).as_ref(), expected, "{index} read by {other}");
        }
    }
}

#[test]
fn what_is_no_token_is_none() {
    let binding = bindings()[0];
    let token = write(&bare(), binding);
    let whole = write(&cursor(), binding);
    let time = |as_of: i64, at: i64| {
        let times = [as_of.to_be_bytes(), at.to_be_bytes()].concat();
        format!("{}{}{}", &token[..34], hex::encode(times), &token[66..])
    };
    assert!(read(&time(9, 8), binding).is_some());
    for bad in [
        String::new(),
        "x".to_owned(),
        "\u{e9}".repeat(49),
        token[2..].to_owned(),
        format!("{token}00"),
        token.to_uppercase(),
        format!("02{}", &token[2..]),
        format!("03{}", &token[2..]),
        format!("01{}", &whole[2..]),
        whole[..whole.len() - 2].to_owned(),
        whole[..whole.len() - 8].to_owned(),
        whole[..2 * LENGTH].to_owned(),
        format!("{whole}00000005"),
        format!("{whole}{}", "00000005".repeat(300)),
        time(8, 9),
        time(-1, -2),
        time(9, -1),
        time(i64::MAX, 0),
    ] {
        assert_eq!(read(&bad, binding), None, "{bad}");
    }
}

proptest! {
    #[test]
    fn whatever_a_client_sends_is_read_or_not_and_nothing_else_happens(text in ".{0,120}") {
        prop_assert_eq!(read(&text, bindings()[0]), None);
    }

    #[test]
    fn a_token_that_was_tampered_with_is_none_or_another_place_of_the_same_list(
        at in 0..LENGTH + 20, flip in 1..=u8::MAX,
    ) {
        let (binding, cursor) = (bindings()[0], cursor());
        let mut bytes = hex::decode(write(&cursor, binding)).unwrap();
        bytes[at] ^= flip;
        let tampered = hex::encode(&bytes);
        match read(&tampered, binding) {
            None => {}
            Some(other) => {
                prop_assert!(at > BOUND, "version and binding are held");
                prop_assert!(other.at <= other.as_of);
                prop_assert_eq!(write(&other, binding), tampered);
            }
        }
    }

    #[test]
    fn every_place_comes_back(
        as_of in 0..=LAST,
        at in 0..=LAST,
        task in any::<u128>(),
        oldest in 0..=Snapshot::LAST - 1000,
        running in prop::collection::btree_set(0..1000_i64, 0..=Snapshot::MOST_RUNNING),
    ) {
        let running = running.into_iter().map(|distance| oldest + distance).collect();
        let (at, as_of) = (at.min(as_of), as_of.max(at));
        let cursor = Cursor {
            as_of: Timestamp::from_micros(as_of),
            seen: Snapshot::new(oldest, oldest + 1000, running),
            at: Timestamp::from_micros(at),
            task: TaskId::from_uuid(Uuid::from_u128(task)),
        };
        prop_assert_eq!(cursor.seen.is_some(), oldest > 0);
        let binding = bindings()[0];
        let token = write(&cursor, binding);
        prop_assert_eq!(read(&token, binding), Some(cursor));
    }
}
