use std::collections::BTreeMap;

use agent::retry::ErrorClass;
use agent::{AssistantTurn, CallArgs, StopReason, TurnCall, Usage};
use domain::limits::MAX_OUTPUT_BYTES;
use futures_util::StreamExt as _;
use serde_json::Value;

use crate::error::Reason;
use crate::{ModelError, ModelEvent, ModelStream};

/// Puts a model's events together into one turn.
///
/// Takes what sloppy providers send: arguments in one piece, blocks that are never closed, events
/// of several blocks mixed. What cannot be put together is an error of class `Malformed`; arguments
/// that are no JSON object make that one call invalid and nothing else.
#[derive(Debug, Default)]
pub struct Assembler {
    request: Option<String>,
    text: String,
    /// In the order of their indices, which is the order in which the model made them.
    calls: BTreeMap<u32, Gathered>,
    last_block: Option<u32>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
    bytes: u64,
}

#[derive(Debug)]
struct Gathered {
    id: Option<String>,
    name: String,
    args: String,
}

impl Assembler {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next event.
    pub fn push(&mut self, event: &ModelEvent) -> Result<(), ModelError> {
        if self.stop.is_some() && !matches!(event, ModelEvent::Usage(_)) {
            return Err(malformed("something follows the end of the answer"));
        }
        match event {
            ModelEvent::Start { request } => self.request.clone_from(request),
            ModelEvent::TextDelta { index, text } => {
                self.grow(text.len())?;
                self.text.push_str(text);
                self.last_block = Some(*index);
            }
            ModelEvent::ToolCallStart { index, id, name } => {
                self.grow(name.len())?;
                let call = Gathered { id: id.clone(), name: name.clone(), args: String::new() };
                if self.calls.insert(*index, call).is_some() {
                    return Err(malformed("two tool calls share one place"));
                }
                self.last_block = Some(*index);
            }
            ModelEvent::ToolArgsDelta { index, fragment } => {
                self.grow(fragment.len())?;
                let call = self.calls.get_mut(index);
                let call = call.ok_or_else(|| malformed("arguments without a tool call"))?;
                call.args.push_str(fragment);
                self.last_block = Some(*index);
            }
            ModelEvent::BlockStop { .. } => {}
            ModelEvent::Usage(usage) => self.usage = Some(*usage),
            ModelEvent::Stop(reason) => self.stop = Some(*reason),
        }
        Ok(())
    }

    /// The turn, once the stream has ended. Without a stop the connection broke.
    pub fn finish(self) -> Result<AssistantTurn, ModelError> {
        let stop = self.stop.ok_or_else(|| {
            ModelError::new(ErrorClass::Connection).because(Reason("the answer has no end"))
        })?;
        let cut = (stop == StopReason::MaxTokens).then_some(self.last_block).flatten();
        let calls = self.calls.into_iter().map(|(index, call)| TurnCall {
            id: call.id,
            name: call.name,
            args: arguments(call.args.clone(), cut == Some(index)),
            written: call.args,
        });
        Ok(AssistantTurn {
            text: self.text,
            calls: calls.collect(),
            stop,
            usage: self.usage,
            provider_request: self.request,
        })
    }

    fn grow(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes > MAX_OUTPUT_BYTES { Err(malformed("the answer has no end")) } else { Ok(()) }
    }
}

/// `cut`: the answer ended at its length limit within this call.
fn arguments(raw: String, cut: bool) -> CallArgs {
    if raw.trim().is_empty() && !cut {
        return CallArgs::Object(serde_json::Map::new());
    }
    let reason = match serde_json::from_str(&raw) {
        Ok(Value::Object(args)) => return CallArgs::Object(args),
        _ if cut => "the answer was cut off before the arguments were complete",
        Ok(_) => "the arguments are not a JSON object",
        Err(_) => "the arguments are not JSON",
    };
    CallArgs::Invalid { raw, reason: reason.to_owned() }
}

fn malformed(reason: &'static str) -> ModelError {
    ModelError::new(ErrorClass::Malformed).because(Reason(reason))
}

/// Reads a whole answer.
pub async fn collect(mut stream: ModelStream) -> Result<AssistantTurn, ModelError> {
    let mut assembler = Assembler::new();
    while let Some(event) = stream.next().await {
        assembler.push(&event?)?;
    }
    assembler.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assemble(events: &[ModelEvent]) -> Result<AssistantTurn, ErrorClass> {
        let mut assembler = Assembler::new();
        for event in events {
            assembler.push(event).map_err(|error| error.class)?;
        }
        assembler.finish().map_err(|error| error.class)
    }

    fn call(index: u32, args: &[&str]) -> Vec<ModelEvent> {
        let start = ModelEvent::ToolCallStart { index, id: Some("c".into()), name: "ls".into() };
        let fragments = args
            .iter()
            .map(|fragment| ModelEvent::ToolArgsDelta { index, fragment: (*fragment).to_owned() });
        std::iter::once(start).chain(fragments).collect()
    }

    fn args(fragments: &[&str], stop: StopReason) -> CallArgs {
        let mut events = call(0, fragments);
        events.push(ModelEvent::Stop(stop));
        assemble(&events).unwrap().calls.remove(0).args
    }

    #[test]
    fn t01_text_pieces_make_one_text() {
        let text = |index, text: &str| ModelEvent::TextDelta { index, text: text.into() };
        let turn = assemble(&[
            ModelEvent::Start { request: Some("r".into()) },
            text(0, "h"),
            text(0, "i"),
            ModelEvent::Usage(Usage::new(1, 1)),
            ModelEvent::Stop(StopReason::EndTurn),
            ModelEvent::Usage(Usage::new(1, 2)),
        ]);
        let expected = AssistantTurn {
            text: "hi".into(),
            calls: vec![],
            stop: StopReason::EndTurn,
            usage: Some(Usage::new(1, 2)),
            provider_request: Some("r".into()),
        };
        assert_eq!(turn, Ok(expected));
    }

    #[test]
    fn argument_pieces_make_one_object_and_none_make_an_empty_one() {
        let object = args(&["{\"pa", "th\":\"a\"}"], StopReason::ToolUse);
        let expected = serde_json::json!({"path": "a"});
        assert_eq!(CallArgs::Object(expected.as_object().unwrap().clone()), object);
        let empty = CallArgs::Object(serde_json::Map::new());
        assert_eq!(args(&[], StopReason::ToolUse), empty);
        assert_eq!(args(&[" "], StopReason::EndTurn), empty);
    }

    #[test]
    fn t21_arguments_that_are_no_object_make_an_invalid_call() {
        for raw in ["{\"a\":", "[1]", "\"x\"", "null", "{} {}"] {
            let CallArgs::Invalid { raw: kept, .. } = args(&[raw], StopReason::ToolUse) else {
                panic!("{raw} was taken");
            };
            assert_eq!(kept, raw);
        }
    }

    #[test]
    fn a_call_that_the_length_limit_cut_is_invalid_even_when_nothing_of_it_came() {
        assert!(matches!(args(&[], StopReason::MaxTokens), CallArgs::Invalid { .. }));
        assert!(matches!(args(&["{\"a\""], StopReason::MaxTokens), CallArgs::Invalid { .. }));
        assert!(matches!(args(&["{}"], StopReason::MaxTokens), CallArgs::Object(_)));
    }

    #[test]
    fn only_the_last_call_can_have_been_cut() {
        let mut events = call(0, &[]);
        events.extend(call(1, &["{\"x"]));
        events.push(ModelEvent::Stop(StopReason::MaxTokens));
        let turn = assemble(&events).unwrap();
        assert!(matches!(turn.calls[0].args, CallArgs::Object(_)));
        assert!(matches!(turn.calls[1].args, CallArgs::Invalid { .. }));
    }

    #[test]
    fn calls_are_ordered_by_their_place_even_when_their_pieces_mix() {
        let piece = |index, fragment: &str| ModelEvent::ToolArgsDelta {
            index,
            fragment: fragment.to_owned(),
        };
        let mut events = call(1, &["{\"n\":"]);
        events.extend(call(0, &["{\"n\":"]));
        events.extend([piece(1, "1}"), piece(0, "0}"), ModelEvent::Stop(StopReason::ToolUse)]);
        let turn = assemble(&events).unwrap();
        let numbers: Vec<_> = turn.calls.into_iter().map(|call| call.args).collect();
        let object =
            |n| CallArgs::Object(serde_json::Map::from_iter([("n".into(), Value::from(n))]));
        assert_eq!(numbers, [object(0), object(1)]);
    }

    #[test]
    fn an_answer_without_an_end_is_a_broken_connection() {
        let text = ModelEvent::TextDelta { index: 0, text: "hi".into() };
        assert_eq!(assemble(&[text]), Err(ErrorClass::Connection));
        assert_eq!(assemble(&[]), Err(ErrorClass::Connection));
    }

    #[test]
    fn pieces_that_fit_nowhere_are_malformed() {
        let stray = ModelEvent::ToolArgsDelta { index: 3, fragment: "{}".into() };
        assert_eq!(assemble(&[stray]), Err(ErrorClass::Malformed));
        let twice = [call(0, &[]), call(0, &[])].concat();
        assert_eq!(assemble(&twice), Err(ErrorClass::Malformed));
        let late = ModelEvent::TextDelta { index: 0, text: "x".into() };
        let after = [ModelEvent::Stop(StopReason::EndTurn), late];
        assert_eq!(assemble(&after), Err(ErrorClass::Malformed));
        let huge = ModelEvent::TextDelta { index: 0, text: "x".repeat(9 << 20) };
        assert_eq!(assemble(&[huge.clone(), huge]), Err(ErrorClass::Malformed));
    }
}
