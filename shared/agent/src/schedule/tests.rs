use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::tools::parse;

fn call(name: &str, args: &serde_json::Value) -> ToolRequest {
    parse(name, args.as_object().unwrap()).unwrap()
}

fn write(path: &str) -> ToolRequest {
    call("write_file", &json!({"file_path": path, "content": ""}))
}

fn read(path: &str) -> ToolRequest {
    call("read_file", &json!({ "file_path": path }))
}

fn run() -> ToolRequest {
    call("execute", &json!({"command": "make"}))
}

fn publish(path: &str) -> ToolRequest {
    call("publish_artifact", &json!({ "path": path }))
}

/// The rounds in which calls run when each round ends before the next begins.
fn rounds(requests: &[ToolRequest], max: usize) -> Vec<Vec<usize>> {
    let mut states = vec![CallState::Waiting; requests.len()];
    let mut rounds = Vec::new();
    loop {
        let calls: Vec<_> = requests.iter().zip(states.iter().copied()).collect();
        let starting = startable(&calls, max);
        if starting.is_empty() {
            assert!(states.iter().all(|s| *s == CallState::Done), "a call never runs: {states:?}");
            return rounds;
        }
        for position in &starting {
            states[*position] = CallState::Done;
        }
        rounds.push(starting);
    }
}

#[test]
fn t23_calls_on_different_files_run_together() {
    assert_eq!(rounds(&[write("a"), write("b"), read("c")], 8), [vec![0, 1, 2]]);
    let published = [publish("/workspace/a"), publish("/workspace/b")];
    assert_eq!(rounds(&published, 8), [vec![0, 1]]);
}

#[test]
fn t23_two_edits_of_one_path_run_in_call_order() {
    let edit = |old: &str| {
        call("edit_file", &json!({"file_path": "a", "old_string": old, "new_string": "z"}))
    };
    assert_eq!(rounds(&[edit("x"), edit("y"), write("b")], 8), [vec![0, 2], vec![1]]);
    let spelled = [write("a"), write("/workspace/./a")];
    assert_eq!(rounds(&spelled, 8), [vec![0], vec![1]]);
}

#[test]
fn a_file_is_read_and_published_after_it_was_written() {
    assert_eq!(rounds(&[write("a"), publish("/workspace/a")], 8), [vec![0], vec![1]]);
    assert_eq!(rounds(&[read("a"), write("a")], 8), [vec![0], vec![1]]);
    assert_eq!(rounds(&[read("a"), read("a")], 8), [vec![0, 1]]);
}

#[test]
fn a_folder_counts_as_all_that_lies_in_it() {
    let delete = call("delete", &json!({"file_path": "out"}));
    assert_eq!(rounds(&[write("out/a"), delete, write("outer")], 8), [vec![0, 2], vec![1]]);
    let ls = call("ls", &json!({"path": "."}));
    assert_eq!(rounds(&[write("a"), ls], 8), [vec![0], vec![1]]);
}

#[test]
fn commands_run_one_at_a_time_and_in_order_with_the_files_around_them() {
    assert_eq!(rounds(&[run(), run()], 8), [vec![0], vec![1]]);
    let script = [write("a"), write("b"), run(), publish("/workspace/c")];
    assert_eq!(rounds(&script, 8), [vec![0, 1], vec![2], vec![3]]);
}

#[test]
fn a_clients_part_never_changes_and_never_waits() {
    assert_eq!(rounds(&[run(), read("/artifacts/a2a-input-1")], 8), [vec![0, 1]]);
}

#[test]
fn no_more_run_at_once_than_allowed() {
    let many: Vec<_> = (0..20).map(|n| write(&n.to_string())).collect();
    let sizes: Vec<_> = rounds(&many, MAX_PARALLEL).iter().map(Vec::len).collect();
    assert_eq!(sizes, [8, 8, 4]);
    let busy = [(&many[0], CallState::Running), (&many[1], CallState::Waiting)];
    assert_eq!(startable(&busy, 1), Vec::<usize>::new());
    assert_eq!(startable(&busy, 2), [1]);
}

#[test]
fn a_call_waits_even_for_a_later_one_that_was_begun_before() {
    let (first, second) = (write("a"), write("a"));
    let taken_over = [(&first, CallState::Waiting), (&second, CallState::Running)];
    assert_eq!(startable(&taken_over, 8), Vec::<usize>::new());
}

fn any_call() -> impl Strategy<Value = ToolRequest> {
    let path = prop_oneof![Just("a"), Just("a/b"), Just("a/c"), Just("d"), Just("ab")];
    (path, 0..6).prop_map(|(path, kind)| match kind {
        0 => write(path),
        1 => read(path),
        2 => call("delete", &json!({ "file_path": path })),
        3 => call("ls", &json!({ "path": path })),
        4 => publish(&format!("/workspace/{path}")),
        _ => run(),
    })
}

proptest! {
    /// Plays a batch with calls that end in any order.
    #[test]
    fn conflicting_calls_never_run_together_and_always_in_order(
        requests in proptest::collection::vec(any_call(), 0..12),
        max in 0usize..5,
        choices in proptest::collection::vec(any::<prop::sample::Index>(), 12),
    ) {
        let mut states = vec![CallState::Waiting; requests.len()];
        let mut choices = choices.into_iter();
        let mut ended = Vec::new();
        loop {
            let calls: Vec<_> = requests.iter().zip(states.iter().copied()).collect();
            for position in startable(&calls, max) {
                for earlier in 0..position {
                    prop_assert!(
                        states[earlier] == CallState::Done
                            || !conflict(&requests[earlier], &requests[position])
                    );
                }
                states[position] = CallState::Running;
            }
            let running: Vec<_> =
                (0..states.len()).filter(|p| states[*p] == CallState::Running).collect();
            prop_assert!(running.len() <= max.max(1));
            for (n, a) in running.iter().enumerate() {
                for b in &running[n + 1..] {
                    prop_assert!(!conflict(&requests[*a], &requests[*b]));
                }
            }
            if running.is_empty() {
                break;
            }
            let position = running[choices.next().unwrap().index(running.len())];
            states[position] = CallState::Done;
            ended.push(position);
        }
        prop_assert_eq!(ended.len(), requests.len(), "every call ran once");
    }
}
