//! The text answer of a task: one artifact that grows while the model speaks.
//!
//! **What clients hold is always the text of the committed messages, followed by what the present
//! attempt has said so far.** When an attempt is repeated after clients saw some of it, its first
//! update replaces everything, and the text converges again (agent-loop.md §23.5).

use agent::Message;
use domain::{About, ArtifactContent, ArtifactId, ArtifactUpdate, EventBody, TaskId};
use store::events::Place;
use store::runs::{Output, PlacedEvent};

/// The artifact's name, as clients see it.
pub const NAME: &str = "response";
/// What a client gets when the model ended without a word and without a file.
pub const NO_RESPONSE: &str = "The agent finished without an answer.";
/// Stands between the texts of two steps.
const SEPARATOR: &str = "\n\n";

/// The answer as of the committed messages: their texts, in their order.
pub fn committed<'a>(messages: impl IntoIterator<Item = &'a Message>) -> String {
    let mut whole = String::new();
    for message in messages {
        if matches!(message.body, agent::Body::Assistant { .. }) {
            let text = message.text();
            if !text.is_empty() {
                whole.push_str(separator(&whole));
                whole.push_str(&text);
            }
        }
    }
    whole
}

const fn separator(before: &str) -> &'static str {
    if before.is_empty() { "" } else { SEPARATOR }
}

/// What one attempt at a model step adds to the answer.
#[derive(Debug)]
pub struct Growth {
    artifact: ArtifactId,
    committed: String,
    /// Clients hold text of an attempt that never became history.
    stale: bool,
    /// This attempt has put out something.
    begun: bool,
    next: Place,
}

impl Growth {
    /// `committed` is the text before this step. `stale` says that an earlier attempt at this step
    /// was seen.
    pub fn new(task: TaskId, committed: String, stale: bool, step: i32, attempt: i32) -> Self {
        let next = Place { step, attempt, ordinal: 0 };
        Self { artifact: ArtifactId::response(task), committed, stale, begun: false, next }
    }

    /// The update that shows the next piece of text, and how much it adds to the run's output.
    pub fn piece(&mut self, text: &str) -> (PlacedEvent, Output) {
        let new = !self.begun && !self.stale && self.committed.is_empty();
        let output = Output {
            bytes: i64::try_from(text.len()).unwrap_or(i64::MAX),
            artifacts: i32::from(new),
        };
        (self.update(text), output)
    }

    /// The update that takes back what an earlier attempt showed, when this one has nothing to say
    /// in its place.
    pub fn retraction(&mut self) -> Option<PlacedEvent> {
        (self.stale && !self.begun).then(|| self.update(""))
    }

    /// The place of the next event of this attempt.
    pub fn place(&mut self) -> Place {
        let place = self.next;
        self.next.ordinal += 1;
        place
    }

    fn update(&mut self, text: &str) -> PlacedEvent {
        let first = !std::mem::replace(&mut self.begun, true);
        let mut whole = String::new();
        if first && self.stale {
            whole.push_str(&self.committed);
        }
        if first && !text.is_empty() {
            whole.push_str(separator(&self.committed));
        }
        whole.push_str(text);
        let append = !first || (!self.stale && !self.committed.is_empty());
        let body = text_update(self.artifact.clone(), whole, append, false);
        PlacedEvent { place: self.place(), body }
    }
}

/// The last update of a run: it closes the answer, or says in our words that there is none.
///
/// `text` says whether clients hold any, `files` whether the run has put out other artifacts.
pub fn last(task: TaskId, text: bool, files: bool) -> Option<EventBody> {
    let artifact = ArtifactId::response(task);
    match (text, files) {
        (true, _) => Some(text_update(artifact, String::new(), true, true)),
        (false, true) => None,
        (false, false) => Some(text_update(artifact, NO_RESPONSE.to_owned(), false, true)),
    }
}

fn text_update(artifact: ArtifactId, text: String, append: bool, last_chunk: bool) -> EventBody {
    EventBody::Artifact(ArtifactUpdate {
        artifact,
        name: Some(NAME.to_owned()),
        append,
        last_chunk,
        content: ArtifactContent::Text { text },
        about: About::default(),
    })
}

#[cfg(test)]
mod tests {
    use domain::Ids;

    use super::*;

    /// What a client holds that applies the updates to the letter.
    fn held<'a>(events: impl IntoIterator<Item = &'a PlacedEvent>) -> String {
        let mut text = String::new();
        for event in events {
            let EventBody::Artifact(update) = &event.body else { panic!("{event:?}") };
            let ArtifactContent::Text { text: piece } = &update.content else {
                panic!("{event:?}")
            };
            if !update.append {
                text.clear();
            }
            text.push_str(piece);
        }
        text
    }

    fn growth(committed: &str, stale: bool, attempt: i32) -> Growth {
        Growth::new(Ids::seeded(1).task(), committed.to_owned(), stale, 2, attempt)
    }

    #[test]
    fn texts_of_several_steps_are_one_answer_with_blank_lines_between() {
        let mut first = growth("", false, 1);
        let mut events = vec![first.piece("one").0, first.piece(" more").0];
        let mut second = growth("one more", false, 1);
        events.push(second.piece("two").0);
        assert_eq!(held(&events), "one more\n\ntwo");
        assert_eq!(second.retraction(), None);
    }

    #[test]
    fn t66_a_repeated_attempt_replaces_what_the_first_one_showed() {
        for committed in ["", "before"] {
            let mut dead = growth(committed, false, 1);
            let mut events = vec![dead.piece("wro").0, dead.piece("ng").0];
            if !committed.is_empty() {
                events.insert(0, growth("", false, 1).piece(committed).0);
            }
            let mut again = growth(committed, true, 2);
            events.extend([again.piece("ri").0, again.piece("ght").0]);
            assert!(again.retraction().is_none());
            assert_eq!(held(&events), format!("{committed}{}right", separator(committed)));
        }
    }

    #[test]
    fn a_repeated_attempt_without_text_takes_back_what_was_seen() {
        let mut again = growth("before", true, 2);
        let retraction = again.retraction().unwrap();
        assert_eq!(held([&retraction]), "before");
        assert_eq!(again.retraction(), None);
    }

    #[test]
    fn every_event_of_an_attempt_has_its_own_place() {
        let mut growth = growth("", false, 3);
        let places: Vec<_> = (0..3).map(|_| growth.piece("x").0.place).collect();
        let ordinals: Vec<_> = places.iter().map(|p| (p.step, p.attempt, p.ordinal)).collect();
        assert_eq!(ordinals, [(2, 3, 0), (2, 3, 1), (2, 3, 2)]);
        assert_eq!(growth.place().ordinal, 3);
    }

    #[test]
    fn the_artifact_counts_once() {
        let mut first = growth("", false, 1);
        assert_eq!(first.piece("é").1, Output { bytes: 2, artifacts: 1 });
        assert_eq!(first.piece("x").1, Output { bytes: 1, artifacts: 0 });
        assert_eq!(growth("x", false, 1).piece("x").1.artifacts, 0);
        assert_eq!(growth("", true, 2).piece("x").1.artifacts, 0);
    }

    #[test]
    fn only_a_run_that_put_out_nothing_gets_our_words() {
        let task = Ids::seeded(1).task();
        let kind = |body| match body {
            Some(EventBody::Artifact(update)) => Some((update.append, update.last_chunk)),
            _ => None,
        };
        assert_eq!(kind(last(task, true, false)), Some((true, true)));
        assert_eq!(kind(last(task, true, true)), Some((true, true)));
        assert_eq!(kind(last(task, false, true)), None);
        assert_eq!(kind(last(task, false, false)), Some((false, true)));
    }
}
