//! The parts of a sweep. Each makes short transactions, one per row, and sends after the commit.

use cloud::queues;
use domain::{FailureCode, PublicationFailure};
use lambda_kit::chain;
use messages::Queue;
use store::publications::{self, Decision};
use store::runs::Ending;
use store::sweeps::{self, Crash, RunRef, SilentWebhook, Waiting};
use store::{Error, Outgoing, outbox, sandboxes};

use crate::rounds::Rounds;
use crate::{Sweeper, Swept};

impl Sweeper {
    pub(crate) async fn send_what_is_left(&self, swept: &mut Swept) -> Result<(), Error> {
        let (grace, retry) = (self.pace.outbox_grace, self.pace.outbox_retry);
        let mut silent: Vec<Queue> = Vec::new();
        let mut rounds = Rounds::new(&self.pace);
        while rounds.goes_on() {
            let left = outbox::take_due(&self.pool, self.pace.batch, grace, retry).await?;
            rounds.found(left.len());
            for outgoing in left {
                let Outgoing { id, queue, body, delay } = outgoing;
                // Nobody waits for the same queue again and again; its messages come back later.
                if silent.contains(&queue) {
                    swept.messages_unsent += 1;
                    continue;
                }
                match self.queues.send(queue, body, delay).await {
                    Ok(()) => {
                        outbox::sent(&self.pool, id).await?;
                        swept.messages_sent += 1;
                        rounds.moved();
                    }
                    Err(error) => {
                        tracing::warn!(outbox.id = %id, "{id} waits: {}", chain(&error));
                        swept.messages_unsent += 1;
                        if matches!(error, queues::Error::Unavailable { .. }) {
                            silent.push(queue);
                        }
                    }
                }
            }
        }
        rounds.end()
    }

    pub(crate) async fn after_crashes(&self, swept: &mut Swept) -> Result<(), Error> {
        let mut rounds = Rounds::new(&self.pace);
        while rounds.goes_on() {
            let found = sweeps::crashed(&self.pool, self.pace.batch).await?;
            rounds.found(found.len());
            for run in found {
                let taken = self.after_crash(swept, &run).await;
                rounds.took(swept, taken)?;
            }
        }
        rounds.end()
    }

    async fn after_crash(&self, swept: &mut Swept, found: &RunRef) -> Result<bool, Error> {
        let run = found.run;
        let poisoned = failed(FailureCode::Poisoned, "The run was given up after several crashes.");
        match sweeps::after_crash(&self.pool, &self.ids, found, &poisoned).await? {
            Crash::Revived(outgoing) => {
                tracing::warn!(run.id = %run, "{run} has lost its worker");
                swept.runs_revived += 1;
                self.send(outgoing).await;
            }
            Crash::GivenUp => {
                tracing::error!(run.id = %run, "{run} has crashed too often");
                swept.runs_poisoned += 1;
            }
            Crash::Passed => return Ok(false),
        }
        Ok(true)
    }

    pub(crate) async fn end_what_is_late(&self, swept: &mut Swept) -> Result<(), Error> {
        let late = failed(FailureCode::ExecutionTimeout, "The agent took longer than it may.");
        let mut rounds = Rounds::new(&self.pace);
        while rounds.goes_on() {
            let found = sweeps::overdue(&self.pool, self.pace.batch).await?;
            rounds.found(found.len());
            for run in found {
                let ended = sweeps::time_out(&self.pool, &run, &late).await;
                swept.runs_timed_out += usize::from(matches!(ended, Ok(true)));
                rounds.took(swept, ended)?;
            }
        }
        rounds.end()
    }

    pub(crate) async fn wake_what_is_due(&self, swept: &mut Swept) -> Result<(), Error> {
        let mut rounds = Rounds::new(&self.pace);
        while rounds.goes_on() {
            let found = sweeps::due(&self.pool, self.pace.due_grace, self.pace.batch).await?;
            rounds.found(found.len());
            for run in found {
                let taken = self.remind(swept, &run).await;
                rounds.took(swept, taken)?;
            }
        }
        rounds.end()
    }

    async fn remind(&self, swept: &mut Swept, found: &RunRef) -> Result<bool, Error> {
        let (grace, again) = (self.pace.due_grace, self.pace.due_again);
        let woken = sweeps::remind(&self.pool, &self.ids, found, grace, again).await?;
        let Some(outgoing) = woken else { return Ok(false) };
        swept.runs_woken += 1;
        self.send(outgoing).await;
        Ok(true)
    }

    pub(crate) async fn ask_for_sandboxes(&self, swept: &mut Swept) -> Result<(), Error> {
        let mut rounds = Rounds::new(&self.pace);
        while rounds.goes_on() {
            let (batch, again) = (self.pace.batch, self.pace.sandbox_again);
            let asked = sandboxes::sweep(&self.pool, &self.ids, batch, again).await?;
            rounds.found(asked.len());
            for outgoing in asked {
                swept.sandboxes_asked += 1;
                rounds.moved();
                self.send(outgoing).await;
            }
        }
        rounds.end()
    }

    pub(crate) async fn ask_for_publications(&self, swept: &mut Swept) -> Result<(), Error> {
        let mut rounds = Rounds::new(&self.pace);
        while rounds.goes_on() {
            let again = self.pace.publication_again;
            let found = sweeps::waiting(&self.pool, again, self.pace.batch).await?;
            rounds.found(found.len());
            for waiting in found {
                let taken = self.take_up(swept, &waiting).await;
                rounds.took(swept, taken)?;
            }
        }
        rounds.end()
    }

    pub(crate) async fn ask_for_notifications(&self, swept: &mut Swept) -> Result<(), Error> {
        let grace = self.pace.webhook_grace;
        let mut rounds = Rounds::new(&self.pace);
        while rounds.goes_on() {
            let found = sweeps::silent_webhooks(&self.pool, grace, self.pace.batch).await?;
            rounds.found(found.len());
            for silent in found {
                let taken = self.remind_webhook(swept, &silent).await;
                rounds.took(swept, taken)?;
            }
        }
        rounds.end()
    }

    async fn remind_webhook(
        &self,
        swept: &mut Swept,
        silent: &SilentWebhook,
    ) -> Result<bool, Error> {
        let grace = self.pace.webhook_grace;
        let asked = sweeps::remind_webhook(&self.pool, &self.ids, silent, grace).await?;
        let Some(outgoing) = asked else { return Ok(false) };
        swept.webhooks_asked += 1;
        self.send(outgoing).await;
        Ok(true)
    }

    pub(crate) async fn forget_what_was_kept(&self, swept: &mut Swept) -> Result<(), Error> {
        let (kept, batch) = (self.pace.webhook_retention, self.pace.batch);
        let mut rounds = Rounds::new(&self.pace);
        while rounds.goes_on() {
            let gone = sweeps::forget_webhooks(&self.pool, kept, batch).await?;
            swept.webhooks_forgotten += rounds.took_all(gone);
        }
        let mut rounds = Rounds::new(&self.pace);
        while rounds.goes_on() {
            let gone = sweeps::forget_dead_letters(&self.pool, kept, batch).await?;
            swept.dead_letters_forgotten += rounds.took_all(gone);
        }
        Ok(())
    }

    /// Asks the publisher for a publication, or gives it up.
    async fn take_up(&self, swept: &mut Swept, found: &Waiting) -> Result<bool, Error> {
        if !found.wanted {
            return self.fail(swept, found, PublicationFailure::RunEnded).await;
        }
        if found.age >= self.pace.publication_give_up {
            return self.fail(swept, found, PublicationFailure::PublicationFailed).await;
        }
        let again = self.pace.publication_again;
        let asked = sweeps::ask_again(&self.pool, &self.ids, found, again).await?;
        let Some(outgoing) = asked else { return Ok(false) };
        swept.publications_asked += 1;
        self.send(outgoing).await;
        Ok(true)
    }

    async fn fail(
        &self,
        swept: &mut Swept,
        found: &Waiting,
        code: PublicationFailure,
    ) -> Result<bool, Error> {
        let Waiting { publication, scope, .. } = found;
        match publications::fail(&self.pool, &self.ids, scope, *publication, code).await? {
            Decision::Failed(_, outgoing) => {
                tracing::warn!(publication.id = %publication, "{publication} is given up: {code}");
                swept.publications_failed += 1;
                if let Some(outgoing) = outgoing {
                    self.send(outgoing).await;
                }
                Ok(true)
            }
            Decision::Active(_) | Decision::Already => Ok(false),
        }
    }

    /// Sends what is committed; what is not sent is in the outbox.
    async fn send(&self, outgoing: Outgoing) {
        dispatch::send(&self.pool, &*self.queues, outgoing).await;
    }
}

fn failed(code: FailureCode, message: &str) -> Ending {
    Ending::Failed { code, message: message.to_owned() }
}
