//! A conversation's log, arranged and read.
//!
//! **The log is only ever appended to.** A result may therefore lie far behind its call; here it
//! comes to its place. A message that occurs twice counts once, in its later form.

use std::collections::{BTreeMap, BTreeSet};

use domain::CallId;

use crate::conversation::{Block, Body, MediaKind, Message, Role, Source};

/// What stands for an answer when the model gave none.
pub const NO_ANSWER: &str = "(The agent finished without a text answer.)";

/// Arranges a log for a model: each batch of calls is followed by its results in call order, a
/// result without a call is left out, and media that the model cannot take become a line of text.
pub fn for_model(log: &[Message], media: &[MediaKind]) -> Vec<Message> {
    let results = results(log);
    let mut arranged = Vec::with_capacity(log.len());
    let mut seen = BTreeSet::new();
    for message in latest(log) {
        if message.role() == Role::Tool || !seen.insert(message.id) {
            continue;
        }
        arranged.push(fit(message, media));
        let answers = message.calls().into_iter().filter_map(|(id, _)| results.get(id));
        arranged.extend(answers.map(|result| fit(result, media)));
    }
    arranged
}

/// The results of a log by the call that they answer.
pub fn results(log: &[Message]) -> BTreeMap<&CallId, &Message> {
    log.iter().filter_map(|message| Some((message.answers()?, message))).collect()
}

/// Every call id that the conversation has used.
pub fn call_ids(log: &[Message]) -> BTreeSet<CallId> {
    log.iter().flat_map(|message| message.calls()).map(|(id, _)| id.clone()).collect()
}

/// How many answers the model has given since the client last spoke: which turn comes next.
pub fn turn(log: &[Message]) -> usize {
    let since = log.iter().rev().take_while(|message| !is_request(message));
    since.filter(|message| message.role() == Role::Assistant).count()
}

/// What the client said last.
pub fn last_request(log: &[Message]) -> Option<&Message> {
    log.iter().rev().find(|message| is_request(message))
}

/// The answer that the client sees of this run: the last text of the model that is not empty.
pub fn answer(log: &[Message]) -> String {
    let since = log.iter().rev().take_while(|message| !is_request(message));
    let mut texts = since.filter(|m| m.role() == Role::Assistant).map(Message::text);
    texts.find(|text| !text.trim().is_empty()).unwrap_or_else(|| NO_ANSWER.to_owned())
}

fn is_request(message: &Message) -> bool {
    message.role() == Role::User && message.meta.source == Source::User
}

/// The log with each message in its last version, at the place of its first.
fn latest(log: &[Message]) -> impl Iterator<Item = &Message> {
    let last: BTreeMap<_, _> = log.iter().map(|message| (message.id, message)).collect();
    log.iter().map(move |message| last.get(&message.id).copied().unwrap_or(message))
}

fn fit(message: &Message, media: &[MediaKind]) -> Message {
    let mut fitted = message.clone();
    let content = match &mut fitted.body {
        Body::User { content } | Body::Assistant { content, .. } | Body::Tool { content, .. } => {
            content
        }
    };
    for block in content {
        if let Block::Media(file) = block
            && !media.contains(&file.kind)
        {
            let note = format!(
                "[{} is a file of type {}, which this model cannot look at.]",
                file.path, file.media_type
            );
            *block = Block::text(note);
        }
    }
    fitted
}

#[cfg(test)]
mod tests {
    use domain::Ids;
    use serde_json::Map;

    use super::*;
    use crate::conversation::{Media, Meta, ToolCall};
    use crate::tools::ToolResult;

    fn user(ids: &Ids, text: &str) -> Message {
        Message::user(ids.message(), vec![Block::text(text)])
    }

    fn assistant(ids: &Ids, text: &str, calls: &[&str]) -> Message {
        let call = |(ordinal, id): (u32, &&str)| ToolCall {
            id: CallId((*id).into()),
            name: "ls".into(),
            args: Map::new(),
            ordinal,
        };
        let body = Body::Assistant {
            content: if text.is_empty() { vec![] } else { vec![Block::text(text)] },
            tool_calls: (0..).zip(calls).map(call).collect(),
            invalid_tool_calls: vec![],
        };
        Message::new(ids.message(), body, Meta::default())
    }

    fn result(ids: &Ids, call: &str) -> Message {
        ToolResult::success(call).into_message(ids.message(), &CallId(call.into()), "ls")
    }

    fn shape(log: &[Message]) -> Vec<String> {
        log.iter().map(|m| format!("{} {}", m.role().as_str(), m.text())).collect()
    }

    #[test]
    fn t23_results_are_shown_in_call_order_in_whatever_order_they_came() {
        let ids = Ids::seeded(1);
        let log = [
            user(&ids, "hi"),
            assistant(&ids, "", &["a", "b"]),
            result(&ids, "b"),
            user(&ids, "again"),
            result(&ids, "a"),
            result(&ids, "stray"),
        ];
        let arranged = for_model(&log, &[]);
        assert_eq!(shape(&arranged), ["user hi", "assistant ", "tool a", "tool b", "user again"]);
    }

    #[test]
    fn a_message_that_occurs_twice_counts_once_in_its_later_form() {
        let ids = Ids::seeded(1);
        let first = user(&ids, "old");
        let replaced = Message::user(first.id, vec![Block::text("new")]);
        let arranged = for_model(&[first, user(&ids, "more"), replaced], &[]);
        assert_eq!(shape(&arranged), ["user new", "user more"]);
    }

    #[test]
    fn media_that_the_model_cannot_take_become_a_line_of_text() {
        let media = Media {
            kind: MediaKind::Image,
            media_type: "image/png".into(),
            path: "/workspace/a.png".into(),
            sha256: "00".into(),
            size_bytes: 1,
        };
        let message = Message::user(Ids::seeded(1).message(), vec![Block::Media(media)]);
        let log = [message];
        assert_eq!(for_model(&log, &[MediaKind::Image]), log);
        let fitted = for_model(&log, &[MediaKind::Audio]);
        assert!(fitted[0].text().contains("/workspace/a.png"));
    }

    #[test]
    fn turns_and_answers_count_from_the_last_request() {
        let ids = Ids::seeded(1);
        let mut log = vec![user(&ids, "one"), assistant(&ids, "first", &[])];
        assert_eq!((turn(&log), answer(&log).as_str()), (1, "first"));
        log.push(user(&ids, "two"));
        assert_eq!((turn(&log), answer(&log).as_str()), (0, NO_ANSWER));
        log.extend([assistant(&ids, "said", &["a"]), result(&ids, "a"), assistant(&ids, " ", &[])]);
        assert_eq!((turn(&log), answer(&log).as_str()), (2, "said"));
        let mut steering = user(&ids, "go on");
        steering.meta.source = Source::Harness;
        log.push(steering);
        assert_eq!(turn(&log), 2, "what the loop itself says is no request");
        assert_eq!(last_request(&log).unwrap().text(), "two");
        assert_eq!(call_ids(&log), BTreeSet::from([CallId("a".into())]));
    }
}
