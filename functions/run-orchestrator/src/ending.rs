//! How a run's end is told to its client: in the model's own words, or, where it failed, by the code
//! and one sentence of ours.

use agent::LastWord;
use agent::speech::Need;
use domain::FailureCode;
use store::runs::Ending;

/// The ending of a run that failed with `code`. The sentence never depends on what went wrong in
/// particular: causes are in the log.
pub(crate) fn failed(code: FailureCode) -> Ending {
    Ending::Failed { code, message: sentence(code).to_owned() }
}

/// The ending of a run whose model has said a last word of its own.
pub(crate) fn said(word: LastWord) -> Ending {
    match word {
        LastWord::Asked { question, need: Need::Input } => {
            Ending::InputRequired { message: question }
        }
        LastWord::Asked { question, need: Need::Authorization } => {
            Ending::AuthRequired { message: question }
        }
        LastWord::Declined { reason } => Ending::Rejected { message: reason },
        LastWord::Replied { text } => Ending::Replied { text },
        LastWord::Concluded { message } => Ending::Concluded { message },
    }
}

const fn sentence(code: FailureCode) -> &'static str {
    match code {
        FailureCode::ModelRateLimited => "The model took no more requests. Try again later.",
        FailureCode::ModelUnavailable => "The model could not be reached. Try again later.",
        FailureCode::ModelTimeout => "The model did not answer in time.",
        FailureCode::ModelInvalidRequest => "The model refused the form of the request.",
        FailureCode::ModelAuth => "The model refused our credentials or quota.",
        FailureCode::ModelRefused => "The model declined to answer.",
        FailureCode::ModelMalformed => "The model's answer could not be read.",
        FailureCode::ModelOutputTruncated => "The model's answer was cut off again and again.",
        FailureCode::ContextOverflow => "The conversation is too long for the model.",
        FailureCode::StepLimit => "The agent took more steps than it may.",
        FailureCode::ModelCallLimit => "The agent asked the model more often than it may.",
        FailureCode::ToolCallLimit => "The agent called more tools than it may.",
        FailureCode::ExecutionTimeout => "The agent took longer than it may.",
        FailureCode::OutputBytesExceeded => "The agent put out more text than it may.",
        FailureCode::OutputArtifactsExceeded => "The agent put out more artifacts than it may.",
        FailureCode::SandboxUnavailable => "The agent's workspace could not be started.",
        FailureCode::ProviderConfigError => "The agent's model is not set up here.",
        FailureCode::ManifestMismatch => "The agent's definition does not match its record.",
        FailureCode::ScriptExhausted => "The scripted model has no further turn.",
        FailureCode::Poisoned => "The run was given up after several crashes.",
        FailureCode::Internal => "Something went wrong on our side.",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_failure_has_its_own_sentence() {
        let sentences: BTreeSet<_> = FailureCode::ALL.iter().map(|code| sentence(*code)).collect();
        assert_eq!(sentences.len(), FailureCode::ALL.len());
    }
}
