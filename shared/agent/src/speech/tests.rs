use domain::{Ids, PublicationId};
use serde_json::json;

use super::*;
use crate::tools::{self, ToolRequest};

struct Turn {
    ids: Ids,
    speech: Speech,
    log: Vec<Message>,
    said: u32,
}

impl Turn {
    fn new() -> Self {
        Self::after(Ids::seeded(1), Vec::new())
    }

    fn after(ids: Ids, log: Vec<Message>) -> Self {
        let fixed = Ids::seeded(9);
        let speech = Speech::new(fixed.task(), fixed.run(), &log);
        Self { ids, speech, log, said: 0 }
    }

    fn say(&mut self, tool: &str, args: &str) -> Spoken {
        let request = tools::parse(tool, &serde_json::from_str(args).unwrap()).unwrap();
        let ToolRequest::Say(say) = request else { panic!("{request:?}") };
        self.said += 1;
        let call = CallId(format!("c{}", self.said));
        let spoken = self.speech.say(&call, &say, Some(args));
        self.log.push(spoken.result.clone().into_message(self.ids.message(), &call, tool));
        spoken
    }

    /// The next turn, which knows only what the log says.
    fn next(self) -> Self {
        Self { said: self.said, ..Self::after(self.ids, self.log) }
    }
}

fn code(spoken: &Spoken) -> Option<ToolCode> {
    assert_eq!(spoken.result.is_ok(), spoken.result.code.is_none());
    spoken.result.code
}

/// O14.
#[test]
fn nothing_is_appended_after_a_last_chunk_in_this_turn_or_in_a_later_one() {
    let mut turn = Turn::new();
    let first = turn.say("put_artifact", r#"{"artifact_id":"a","text":"1","last_chunk":false}"#);
    assert!(first.new);
    let append = r#"{"artifact_id":"a","text":"2","append":true,"last_chunk":false}"#;
    assert!(!turn.say("put_artifact", append).new);
    let mut turn = turn.next();
    let last = turn.say("put_artifact", r#"{"artifact_id":"a","text":"3","append":true}"#);
    assert!(last.update.unwrap().last_chunk);
    let late = turn.say("put_artifact", append);
    assert_eq!(code(&late), Some(ToolCode::ArtifactClosed));
    assert_eq!((late.update, late.bytes), (None, 0));
    let mut turn = turn.next();
    assert_eq!(code(&turn.say("put_artifact", append)), Some(ToolCode::ArtifactClosed));
    // It may be put anew, and then goes on.
    assert_eq!(
        code(&turn.say("put_artifact", r#"{"artifact_id":"a","text":"4","last_chunk":false}"#)),
        None
    );
    assert_eq!(code(&turn.say("put_artifact", append)), None);
}

/// O14: an append to an unknown id makes it.
#[test]
fn an_artifact_that_is_appended_to_first_is_made() {
    let spoken = Turn::new().say("put_artifact", r#"{"artifact_id":"a","text":"1","append":true}"#);
    assert!(spoken.new && spoken.update.unwrap().append);
}

#[test]
fn an_artifact_without_an_id_gets_the_same_one_whenever_its_call_is_answered() {
    let id = |turn: &mut Turn| turn.say("put_artifact", r#"{"text":"x"}"#).update.unwrap().artifact;
    let mut turn = Turn::new();
    let one = id(&mut turn);
    assert_ne!(one, id(&mut turn), "another call");
    assert_eq!(one, id(&mut Turn::new()));
}

#[test]
fn the_answer_and_published_files_are_not_put_artifacts_to_change() {
    let fixed = Ids::seeded(9);
    let response = ArtifactId::response(fixed.task());
    let publication: PublicationId = Ids::seeded(3).publication();
    let ids = Ids::seeded(1);
    let published = ToolArtifact::Published {
        publication,
        filename: "a".into(),
        media_type: "b".into(),
        size_bytes: 1,
        sha256: "00".into(),
    };
    let result = ToolResult::success("x").with(published);
    let log = vec![result.into_message(ids.message(), &CallId("p".into()), "publish_artifact")];
    let mut turn = Turn::after(ids, log);
    for id in [response, ArtifactId::from(publication)] {
        let spoken = turn.say("put_artifact", &json!({"artifact_id": id, "text": "x"}).to_string());
        assert_eq!(code(&spoken), Some(ToolCode::ArtifactClosed));
    }
}

#[test]
fn numbers_stay_as_the_model_wrote_them() {
    let args = r#"{"name":"n","data": {"b":1.50,"a":1e2,"big":123456789012345678901234567890}}"#;
    let update = Turn::new().say("put_artifact", args).update.unwrap();
    let json = r#"{"b":1.50,"a":1e2,"big":123456789012345678901234567890}"#.to_owned();
    assert_eq!(update.content, ArtifactContent::Data { json });
}

#[test]
fn what_is_put_out_is_counted() {
    let mut turn = Turn::new();
    let args =
        r#"{"text":"\u00e9","name":"ab","description":"c","filename":"d","extensions":["ef"]}"#;
    assert_eq!(turn.say("put_artifact", args).bytes, 2 + 2 + 1 + 1 + 2);
    assert_eq!(turn.say("put_artifact", r#"{"data":[1]}"#).bytes, 3);
    assert_eq!(turn.say("conclude", r#"{"message":"done"}"#).bytes, 4);
}

#[test]
fn of_several_last_words_the_first_counts() {
    let mut turn = Turn::new();
    let first = turn.say("conclude", r#"{"message":"done"}"#);
    let word = LastWord::Concluded { message: "done".into() };
    assert_eq!(first.result.artifact, Some(ToolArtifact::LastWord { word }));
    let second = turn.say("decline_task", r#"{"reason":"no"}"#);
    assert_eq!(code(&second), Some(ToolCode::AlreadyEnding));
    assert_eq!(second.result.artifact, None);
}
