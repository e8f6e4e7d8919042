//! `publish_artifact`: asked for under the fence, done by the publisher, told to the model here.
//!
//! **The publication is made once per call, whatever happens in between.** The publisher alone
//! decides it and announces the file; this worker only turns the outcome into the call's result.

use std::time::Duration;

use agent::tools::PublishArtifact;
use agent::tools::files::published;
use agent::{ToolCode, ToolError, ToolResult};
use domain::{PublicationFailure, PublicationId};
use store::publications::{self, Outcome, Request};
use tokio::time::Instant;

use super::{End, Job, Wait};
use crate::sandbox::Sandbox;
use crate::worker::Stop;

/// Between two looks at the outcome: at first, and at most.
const FIRST_LOOK: Duration = Duration::from_millis(10);
const LONGEST_LOOK: Duration = Duration::from_millis(250);

impl Job<'_> {
    pub(super) async fn publish(
        &self,
        sandbox: &Sandbox,
        publish: &PublishArtifact,
    ) -> Result<End, Stop> {
        let worker = self.worker;
        let pool = &worker.on.pool;
        let known = publications::of_call(pool, &worker.lease, &self.call.call).await?;
        if let Some((publication, outcome)) = known
            && let Some(result) = result(publication, publish, outcome)
        {
            return Ok(result.into());
        }
        // A repetition finds the row that is there, and asks the publisher once more.
        let request = Request {
            call: &self.call.call,
            path: publish.path.relative(),
            media_type: &publish.media_type,
            filename: publish.path.file_name(),
            instance: sandbox.instance,
            generation: sandbox.generation,
        };
        let (publication, outgoing) =
            publications::request(pool, &worker.on.ids, &worker.lease, &request).await?;
        worker.send(outgoing).await;
        let began = Instant::now();
        let mut wait = FIRST_LOOK;
        loop {
            let outcome = publications::outcome(pool, worker.lease.scope(), publication).await?;
            if let Some(result) = result(publication, publish, outcome) {
                return Ok(result.into());
            }
            let left = worker.on.settings.time.patience.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(End::Wait(Wait::Signal));
            }
            worker.sleep(wait.min(left)).await?;
            wait = (wait * 2).min(LONGEST_LOOK);
        }
    }
}

/// The call's result, once the publication is decided.
fn result(
    publication: PublicationId,
    publish: &PublishArtifact,
    outcome: Outcome,
) -> Option<ToolResult> {
    match outcome {
        Outcome::Requested => None,
        Outcome::Active(summary) => Some(published(
            publication,
            &publish.path,
            &summary.media_type,
            summary.size,
            &summary.sha256,
        )),
        Outcome::Failed(why) => Some(not_published(why).into()),
    }
}

fn not_published(why: PublicationFailure) -> ToolError {
    let code = match why {
        PublicationFailure::InvalidPath => ToolCode::InvalidPath,
        PublicationFailure::InvalidMediaType => ToolCode::InvalidArguments,
        PublicationFailure::FileNotFound => ToolCode::FileNotFound,
        PublicationFailure::NotAFile => ToolCode::NotAFile,
        PublicationFailure::FileTooLarge => ToolCode::TooLarge,
        PublicationFailure::Disabled
        | PublicationFailure::FileUnreadable
        | PublicationFailure::FileChanged
        | PublicationFailure::SandboxReplaced
        | PublicationFailure::RunEnded
        | PublicationFailure::OutputBytesExceeded
        | PublicationFailure::OutputArtifactsExceeded
        | PublicationFailure::VerificationFailed
        | PublicationFailure::PublicationFailed => ToolCode::PublicationFailed,
    };
    ToolError::new(code, format!("The file was not published: {why}. The user got nothing of it."))
}
