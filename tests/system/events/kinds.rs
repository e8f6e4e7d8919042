//! Of every kind that one type can be, there is a sample.
//!
//! The names come from matches without a default: a new kind does not compile until it has a name
//! here, and then fails until it has a sample.

use std::collections::BTreeSet;

use agent::conversation::ToolArtifact;
use agent::render::PartContent;
use agent::{Block, Body, LastWord, Message as LoopMessage};
use domain::{ArtifactContent, EventBody};
use messages::notifications::WebhookReady;
use messages::publications::PublicationRequested;
use messages::runs::{Reason, RunReady};
use messages::sandboxes::{Command, SandboxCommand};
use messages::{Message, Queue};
use run_orchestrator::note::Note;
use store::events::Payload;

use super::readers::bodies;
use super::samples;

fn all<M: Message>(folder: &str) -> Vec<M> {
    samples(folder).iter().flat_map(|sample| bodies(&sample.text)).collect()
}

fn set<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<&'a str> {
    names.into_iter().collect()
}

#[test]
fn every_queue_has_messages() {
    for queue in Queue::ALL {
        let found = match queue {
            Queue::Runs => all::<RunReady>("run-orchestrator/").len(),
            Queue::Sandboxes => all::<SandboxCommand>("sandbox-controller/").len(),
            Queue::Publications => all::<PublicationRequested>("artifact-publisher/").len(),
            Queue::Notifications => all::<WebhookReady>("push-notifier/").len(),
        };
        assert_ne!(found, 0, "{queue}");
    }
}

#[test]
fn every_reason_to_look_at_a_run_has_a_message() {
    let name = |message: &RunReady| match message.reason {
        Reason::Admitted => "admitted",
        Reason::Continued => "continued",
        Reason::SandboxReady => "sandbox_ready",
        Reason::PublicationDone => "publication_done",
        Reason::Due => "due",
        Reason::LeaseExpired => "lease_expired",
    };
    let found = set(all("run-orchestrator/").iter().map(name));
    let wanted =
        ["admitted", "continued", "sandbox_ready", "publication_done", "due", "lease_expired"];
    assert_eq!(found, set(wanted));
}

#[test]
fn every_command_to_the_controller_has_a_message() {
    let name = |message: &SandboxCommand| match message.command {
        Command::Acquire { .. } => "acquire",
        Command::Release { .. } => "release",
    };
    let found = set(all("sandbox-controller/").iter().map(name));
    assert_eq!(found, set(["acquire", "release"]));
}

#[test]
fn every_kind_of_event_is_stored() {
    let name = |body: &EventBody| match body {
        EventBody::Status { .. } => "status",
        EventBody::Artifact(update) => match update.content {
            ArtifactContent::Text { .. } => "text",
            ArtifactContent::Data { .. } => "data",
            ArtifactContent::Link { .. } => "link",
            ArtifactContent::Published { .. } => "published",
        },
        EventBody::Reply { .. } => "reply",
        EventBody::ToolCalled { .. } => "tool_called",
        EventBody::ToolFinished { .. } => "tool_finished",
    };
    let samples = samples("store/event-");
    let read = |text: &str| serde_json::from_str::<Payload>(text).unwrap().body;
    let found = set(samples.iter().map(|sample| name(&read(&sample.text))));
    let wanted =
        ["status", "text", "data", "link", "published", "reply", "tool_called", "tool_finished"];
    assert_eq!(found, set(wanted));
}

#[test]
fn every_kind_of_note_is_stored() {
    let name = |note: &Note| match note {
        Note::Command(_) => "command",
        Note::Edit(_) => "edit",
        Note::Delete => "delete",
    };
    let samples = samples("store/note-");
    let found = set(samples.iter().map(|sample| name(&Note::from_json(&sample.text).unwrap())));
    assert_eq!(found, set(["command", "edit", "delete"]));
}

fn loop_messages() -> Vec<LoopMessage> {
    let samples = samples("store/message-");
    samples.iter().map(|sample| LoopMessage::from_json(&sample.text).unwrap()).collect()
}

#[test]
fn every_kind_of_message_of_the_loop_is_stored() {
    let name = |message: &LoopMessage| match &message.body {
        Body::User { .. } => "user",
        Body::Assistant { .. } => "assistant",
        Body::Tool { artifact: None, .. } => "tool",
        Body::Tool { artifact: Some(artifact), .. } => match artifact {
            ToolArtifact::Command { .. } => "command",
            ToolArtifact::File { .. } => "file",
            ToolArtifact::Published { .. } => "published",
            ToolArtifact::Put { .. } => "put",
            ToolArtifact::LastWord { word } => match word {
                LastWord::Asked { .. } => "asked",
                LastWord::Declined { .. } => "declined",
                LastWord::Replied { .. } => "replied",
                LastWord::Concluded { .. } => "concluded",
            },
        },
    };
    let found = set(loop_messages().iter().map(name));
    let words = ["asked", "declined", "replied", "concluded"];
    let wanted = ["user", "assistant", "tool", "command", "file", "published", "put"];
    assert_eq!(found, set(wanted.into_iter().chain(words)));
}

#[test]
fn every_kind_of_content_is_stored() {
    let name = |block: &Block| match block {
        Block::Text { .. } => "text",
        Block::Context(_) => "context",
        Block::Media(_) => "media",
        Block::Part(part) => match part.content {
            PartContent::Text { .. } => "part text",
            PartContent::Data { .. } => "part data",
            PartContent::Stored { .. } => "part stored",
        },
    };
    let messages = loop_messages();
    let found = set(messages.iter().flat_map(|message| message.content().iter().map(name)));
    let wanted = ["text", "context", "media", "part text", "part data", "part stored"];
    assert_eq!(found, set(wanted));
}

#[test]
fn calls_that_can_run_and_calls_that_cannot_are_stored() {
    let messages = loop_messages();
    assert!(messages.iter().any(|message| !message.tool_calls().is_empty()));
    assert!(messages.iter().any(|message| !message.invalid_tool_calls().is_empty()));
}
