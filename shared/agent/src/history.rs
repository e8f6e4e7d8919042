//! A conversation's log, arranged and read.
//!
//! **The log is only ever appended to.** A result may therefore lie far behind its call; here it
//! comes to its place. A message that occurs twice counts once, in its later form.

use std::collections::{HashMap, HashSet};

use domain::CallId;

use crate::conversation::{Block, Body, MediaKind, Message, Role, Source};

/// What stands for an answer when the model gave none.
pub const NO_ANSWER: &str = "(The agent finished without a text answer.)";

/// Arranges a log for a model: each batch of calls is followed by its results in call order, a
/// result without a call is left out, and media that the model cannot take become a line of text.
pub fn for_model(log: &[Message], media: &[MediaKind]) -> Vec<Message> {
    let results = results(log);
    let mut arranged = Vec::with_capacity(log.len());
    let mut seen = HashSet::new();
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
pub fn results(log: &[Message]) -> HashMap<&CallId, &Message> {
    log.iter().filter_map(|message| Some((message.answers()?, message))).collect()
}

/// Every call id that the conversation has used.
pub fn call_ids(log: &[Message]) -> HashSet<CallId> {
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
    let last: HashMap<_, _> = log.iter().map(|message| (message.id, message)).collect();
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
