//! Ids that a repetition makes again, so that doing a step twice makes the same thing.
//!
//! **All are `UUIDv5` in the run's own id as namespace.** The empty name segment is the root agent;
//! subagents will have a path there.

use std::collections::BTreeSet;

use domain::{ArtifactId, CallId, MessageId, RunId, TaskId};
use uuid::Uuid;

/// The message that a run's step writes at `ordinal`.
pub fn message(run: RunId, step: u32, ordinal: u32) -> MessageId {
    MessageId::from_uuid(derive(run.as_uuid(), &format!("message//{step}/{ordinal}")))
}

/// The result that mends a call which its own run left open.
pub fn patch(assistant: MessageId, call: &CallId) -> MessageId {
    MessageId::from_uuid(derive(assistant.as_uuid(), &format!("patch//{call}")))
}

/// The name under which the sandbox's journal knows a command. Not the bare call id: the same one
/// may occur in two runs of one workspace.
pub fn exec(run: RunId, call: &CallId) -> Uuid {
    derive(run.as_uuid(), &format!("exec//{call}"))
}

/// The artifact of a call that names none.
pub fn artifact(run: RunId, task: TaskId, call: &CallId) -> ArtifactId {
    let id = derive(run.as_uuid(), &format!("artifact/{}/{call}", task.as_uuid()));
    ArtifactId(id.to_string())
}

fn derive(namespace: Uuid, name: &str) -> Uuid {
    Uuid::new_v5(&namespace, name.as_bytes())
}

/// Longest call id that every provider takes.
const MAX_CALL_ID: usize = 64;

/// The id under which a call is stored and sent back: what the provider gave, made safe, or one of
/// our own where it gave none or one that the conversation already has.
pub fn call(
    run: RunId,
    step: u32,
    ordinal: u32,
    given: Option<&str>,
    used: &BTreeSet<CallId>,
) -> CallId {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let given = given.unwrap_or_default();
    let normal = CallId(given.chars().take(MAX_CALL_ID).map(safe).collect());
    if !normal.0.is_empty() && !used.contains(&normal) {
        return normal;
    }
    let prefix: String =
        derive(run.as_uuid(), "call/").simple().to_string().chars().take(8).collect();
    let base = format!("call_{prefix}_{step}_{ordinal}");
    // A provider may have used even this one; then the first free suffix serves.
    let candidates = std::iter::once(base.clone()).chain((2..).map(|n: u64| format!("{base}_{n}")));
    let mut free = candidates.map(CallId).filter(|id| !used.contains(id));
    free.next().unwrap_or_else(|| unreachable!("a finite set leaves a suffix free"))
}

#[cfg(test)]
mod tests {
    use domain::Ids;

    use super::*;

    #[test]
    fn ids_differ_by_run_step_ordinal_and_kind_and_repeat_otherwise() {
        let ids = Ids::seeded(1);
        let (one, two) = (ids.run(), ids.run());
        let id = CallId("c".into());
        assert_eq!(message(one, 1, 2), message(one, 1, 2));
        assert_ne!(message(one, 1, 2), message(two, 1, 2));
        assert_ne!(message(one, 1, 2), message(one, 2, 1));
        assert_ne!(message(one, 1, 12), message(one, 11, 2));
        assert_eq!(exec(one, &id), exec(one, &id));
        assert_ne!(exec(one, &id), exec(two, &id));
    }

    #[test]
    fn a_call_id_is_made_safe_and_unique() {
        let run = Ids::seeded(1).run();
        let mut used = BTreeSet::new();
        let id = call(run, 1, 0, Some("toolu_01-x"), &used);
        assert_eq!(id.0, "toolu_01-x");
        assert_eq!(call(run, 1, 0, Some("../a b/é"), &used).0, "___a_b__");
        assert_eq!(call(run, 1, 0, Some(&"x".repeat(90)), &used).0.len(), 64);

        used.insert(id);
        let own = call(run, 1, 0, Some("toolu_01-x"), &used);
        assert!(own.0.starts_with("call_") && own.0.ends_with("_1_0"), "{own}");
        assert_eq!(own, call(run, 1, 0, None, &used));
        assert_eq!(own, call(run, 1, 0, Some(""), &used));
        used.insert(own.clone());
        assert_eq!(call(run, 1, 0, None, &used).0, format!("{own}_2"));
    }
}
