//! P0: everything that makes a request durable, in one transaction.
//!
//! **After [`admit`] answers `New`, the work will be done, whoever dies: the run's wake-up is in the
//! outbox of the same transaction.** Two identical messages, at the same moment and in two
//! processes, make one task.

use std::time::Duration;

use domain::{
    AgentKey, EventBody, Ids, NewPart, RunId, Scope, ScopeDigest, SessionId, TaskId, TaskState,
};
use messages::runs::{Reason, RunReady};

use crate::conversation::{self, Envelope, NewMessage, Role};
use crate::driver::Statement;
use crate::events::{self, Source};
use crate::outbox::Outgoing;
use crate::webhooks::{self, NewWebhook, Put};
use crate::{Error, Pool, Tx};

/// A validated request.
#[derive(Debug)]
pub struct Admission<'a> {
    pub scope: &'a Scope,
    pub agent: &'a AgentKey,
    /// The client's `messageId`.
    pub message_id: &'a str,
    /// The client's `contextId`, if it chose one.
    pub context_id: Option<&'a str>,
    /// The task to continue.
    pub task: Option<TaskId>,
    pub envelope: Envelope,
    pub parts: &'a [NewPart],
    /// The digest of what counts as the message's content.
    pub fingerprint: &'a str,
    /// Whether the same messageId means the same request.
    pub idempotent: bool,
    /// The agent definition that the run pins, and its digest.
    pub manifest: &'a str,
    pub manifest_digest: &'a str,
    /// How long the run may take in all.
    pub timeout: Duration,
    /// Whom to tell of the task's updates, from the first one of this run on.
    pub webhook: Option<NewWebhook<'a>>,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admitted {
    New(Taken),
    /// The same message was admitted before; this is its task, in whatever state.
    Existing(TaskId),
    /// The messageId was used for other content.
    MessageIdReused,
    /// The context's current run has not ended, or the task does not wait for a message.
    Busy,
    /// No such task in this scope and agent.
    UnknownTask,
    /// The task belongs to another context than the one named.
    ContextMismatch,
    /// The task has ended.
    Ended(TaskState),
    /// The task has as many webhooks as it may have.
    TooManyWebhooks,
}

/// A request that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    pub task: TaskId,
    pub run: RunId,
    /// The log's position before the first event of this run.
    pub after: i64,
    pub outgoing: Outgoing,
}

/// Where the run will live, and its places in the session's logs. The session is locked, or nobody
/// else knows of it yet.
struct Target {
    session: SessionId,
    task: TaskId,
    continues: bool,
    sequence: i64,
    position: i64,
    has_webhooks: bool,
    /// Takes those places, where that is still to be done.
    takes: Option<Statement>,
}

/// Why a request is not taken, as far as one look tells.
enum Refused {
    With(Admitted),
    /// Another request has the messageId.
    MessageIdTaken,
}

impl From<Admitted> for Refused {
    fn from(answer: Admitted) -> Self {
        Self::With(answer)
    }
}

/// Admits a request, or says why not. Nothing is written unless the answer is `New`. May be
/// repeated: with `idempotent`, the same request is answered by `Existing`.
///
/// A request is taken to be new until something contradicts: only then is it looked for.
pub async fn admit(pool: &Pool, ids: &Ids, request: &Admission<'_>) -> Result<Admitted, Error> {
    let scope = request.scope.digest();
    loop {
        let mut tx = pool.begin().await?;
        let refused = match write(&mut tx, ids, &scope, request).await? {
            Ok(taken) => {
                tx.commit().await?;
                return Ok(Admitted::New(taken));
            }
            Err(refused) => refused,
        };
        // With all that we wrote, so that we do not find ourselves.
        tx.rollback().await?;
        // A duplicate is told before a refusal that its twin may have brought about: the first of
        // two identical messages makes its context busy, or has even ended its task, while the
        // second waits for a lock.
        if request.idempotent
            && let Some(answer) = earlier(pool, &scope, request).await?
        {
            return Ok(answer);
        }
        match refused {
            Refused::With(answer) => return Ok(answer),
            // It was forgotten meanwhile.
            Refused::MessageIdTaken => {}
        }
    }
}

async fn earlier(
    pool: &Pool,
    scope: &ScopeDigest,
    request: &Admission<'_>,
) -> Result<Option<Admitted>, Error> {
    let row = pool
        .query_opt(
            "-- store::admission::earlier
             select task_id, fingerprint from messages
              where scope_digest = $1 and agent_name = $2 and idempotency_key = $3",
            &[scope.as_str().into(), request.agent.as_str().into(), request.message_id.into()],
        )
        .await?;
    let Some(row) = row else { return Ok(None) };
    let fingerprint: Option<String> = row.get("fingerprint")?;
    Ok(Some(if fingerprint.as_deref() == Some(request.fingerprint) {
        Admitted::Existing(row.get("task_id")?)
    } else {
        Admitted::MessageIdReused
    }))
}

async fn target(
    tx: &mut Tx,
    ids: &Ids,
    scope: &ScopeDigest,
    request: &Admission<'_>,
) -> Result<Result<Target, Refused>, Error> {
    if let Some(task) = request.task {
        return continued(tx, scope, request, task).await;
    }
    let minted = ids.session();
    let own = minted.as_uuid().to_string();
    let open = Statement {
        sql: "-- store::admission::open_session
             insert into sessions (session_id, scope_digest, scope, agent_name, context_id,
                                   last_sequence, last_position, created_at)
             values ($1, $2, $3, $4, $5, 1, 1, statement_timestamp())
             on conflict (scope_digest, agent_name, context_id) do update
                set last_sequence = sessions.last_sequence + 1,
                    last_position = sessions.last_position + 1
             returning session_id, last_sequence, last_position, has_webhooks",
        params: vec![
            minted.into(),
            scope.as_str().into(),
            request.scope.canonical().into(),
            request.agent.as_str().into(),
            request.context_id.unwrap_or(&own).into(),
        ],
    };
    let (task, continues) = (ids.task(), false);
    if request.context_id.is_none() {
        // Nobody else has this context, so its session is what we make it.
        return Ok(Ok(Target {
            session: minted,
            task,
            continues,
            sequence: 1,
            position: 1,
            has_webhooks: false,
            takes: Some(open),
        }));
    }
    let row = tx.query_opt(open.sql, &open.params).await?.ok_or(Error::NotFound)?;
    Ok(Ok(Target {
        session: row.get("session_id")?,
        task,
        continues,
        sequence: row.get("last_sequence")?,
        position: row.get("last_position")?,
        has_webhooks: row.get("has_webhooks")?,
        takes: None,
    }))
}

async fn continued(
    tx: &mut Tx,
    scope: &ScopeDigest,
    request: &Admission<'_>,
    task: TaskId,
) -> Result<Result<Target, Refused>, Error> {
    // No stronger lock than an update's: a worker's foreign keys pass it, whatever they hold already.
    let row = tx
        .query_opt(
            "-- store::admission::lock_task
             select t.session_id, t.state, s.context_id, s.last_sequence, s.last_position,
                    s.has_webhooks
               from tasks t join sessions s on s.session_id = t.session_id
              where t.task_id = $1 and t.scope_digest = $2 and t.agent_name = $3
                for no key update",
            &[task.into(), scope.as_str().into(), request.agent.as_str().into()],
        )
        .await?;
    let Some(row) = row else { return Ok(Err(Admitted::UnknownTask.into())) };
    let context_id: String = row.get("context_id")?;
    if request.context_id.is_some_and(|named| named != context_id) {
        return Ok(Err(Admitted::ContextMismatch.into()));
    }
    let state: String = row.get("state")?;
    let state: TaskState =
        state.parse().map_err(|source| Error::corrupt("tasks", "state", source))?;
    if state.is_terminal() {
        return Ok(Err(Admitted::Ended(state).into()));
    }
    if !state.is_interrupted() {
        return Ok(Err(Admitted::Busy.into()));
    }
    let session: SessionId = row.get("session_id")?;
    let sequence = row.get::<i64>("last_sequence")? + 1;
    let position = row.get::<i64>("last_position")? + 1;
    let takes = Statement {
        sql: "-- store::admission::take_places
             update sessions set last_sequence = $3, last_position = $4
              where session_id = $1 and scope_digest = $2
                and last_sequence = $3 - 1 and last_position = $4 - 1",
        params: vec![session.into(), scope.as_str().into(), sequence.into(), position.into()],
    };
    Ok(Ok(Target {
        session,
        task,
        continues: true,
        sequence,
        position,
        has_webhooks: row.get("has_webhooks")?,
        takes: Some(takes),
    }))
}

/// Writes everything that a new request is. Its statements need no answer of each other, so they
/// are sent together; each of them must have written its row.
async fn write(
    tx: &mut Tx,
    ids: &Ids,
    scope: &ScopeDigest,
    request: &Admission<'_>,
) -> Result<Result<Taken, Refused>, Error> {
    let mut target = match target(tx, ids, scope, request).await? {
        Ok(target) => target,
        Err(refused) => return Ok(Err(refused)),
    };
    let run = ids.run();
    let source = Source { scope, session: target.session, task: target.task, run };
    let status = EventBody::Status { state: TaskState::Submitted, message: None, code: None };
    let reason = if target.continues { Reason::Continued } else { Reason::Admitted };
    let outgoing = Outgoing::new(ids, &RunReady::new(run, scope.clone(), reason), Duration::ZERO);

    let mut statements: Vec<Statement> = target.takes.take().into_iter().collect();
    statements.push(put_task(scope, request, &target, run));
    let run_at = statements.len();
    statements.push(put_run(scope, request, &target, run));
    let message_at = statements.len();
    put_message(&mut statements, ids, source, request, target.position)?;
    statements.push(events::put(source, target.sequence, None, &status)?);
    statements.push(outgoing.put(scope));

    let written = tx.together(&statements).await?;
    tx.announce(target.task.as_uuid());
    if written.get(run_at) == Some(&0) {
        return Ok(Err(Admitted::Busy.into()));
    }
    if written.get(message_at) == Some(&0) {
        return Ok(Err(Refused::MessageIdTaken));
    }
    if written.iter().any(|rows| *rows != 1) {
        return Err(Error::Conflict);
    }
    if let Some(webhook) = &request.webhook {
        let of = webhooks::Of { scope, agent: request.agent, task: target.task };
        match webhooks::put(tx, ids, of, target.session, webhook, 1).await? {
            Put::Yes => {}
            Put::TooMany => return Ok(Err(Admitted::TooManyWebhooks.into())),
        }
    }
    if target.has_webhooks || request.webhook.is_some() {
        webhooks::tell(tx, source, target.sequence, false).await?;
    }
    Ok(Ok(Taken { task: target.task, run, after: target.sequence - 1, outgoing }))
}

/// The message with its Parts.
fn put_message(
    statements: &mut Vec<Statement>,
    ids: &Ids,
    source: Source<'_>,
    request: &Admission<'_>,
    position: i64,
) -> Result<(), Error> {
    let message = ids.message();
    let body = serde_json::to_string(&request.envelope)
        .map_err(|source| Error::corrupt("messages", "body", source))?;
    let new = NewMessage {
        id: message,
        scope: source.scope,
        session: source.session,
        task: source.task,
        run: source.run,
        role: Role::User,
        step: None,
        body: &body,
        shown: true,
        agent: request.agent.as_str(),
        client_message_id: Some(request.message_id),
        idempotency_key: request.idempotent.then_some(request.message_id),
        fingerprint: Some(request.fingerprint),
    };
    statements.push(conversation::put(&new, position));
    for (index, part) in request.parts.iter().enumerate() {
        let part = part.clone().stored(source.task, request.message_id, index);
        statements.push(conversation::put_part(source.scope, message, index, &part));
    }
    Ok(())
}

fn put_task(
    scope: &ScopeDigest,
    request: &Admission<'_>,
    target: &Target,
    run: RunId,
) -> Statement {
    if target.continues {
        Statement {
            sql: "-- store::admission::continue_task
                 update tasks set state = 'submitted', status_message = null, status_code = null,
                                  status_at = case when status_at > statement_timestamp()
                                                   then status_at else statement_timestamp() end,
                                  status_tx = this_transaction(),
                                  current_run_id = $3
                  where task_id = $1 and scope_digest = $2
                    and state in ('input_required', 'auth_required')",
            params: vec![target.task.into(), scope.as_str().into(), run.into()],
        }
    } else {
        Statement {
            sql: "-- store::admission::put_task
                 insert into tasks (task_id, scope_digest, session_id, agent_name, state, status_at,
                                    status_tx, current_run_id, created_at)
                 values ($1, $2, $3, $4, 'submitted', statement_timestamp(), this_transaction(),
                         $5, statement_timestamp())",
            params: vec![
                target.task.into(),
                scope.as_str().into(),
                target.session.into(),
                request.agent.as_str().into(),
                run.into(),
            ],
        }
    }
}

/// Writes the run, unless one of the session lives. As long as the session is locked, no other one
/// can begin, and what this sees is newer than the lock.
///
/// Looked at and not tried: an insert that meets the index of live runs would wait for the worker
/// that is writing to that run, and the worker may be waiting for our session.
fn put_run(scope: &ScopeDigest, request: &Admission<'_>, target: &Target, run: RunId) -> Statement {
    Statement {
        sql: "-- store::admission::put_run
             insert into runs (run_id, scope_digest, session_id, task_id, attempt, state, fence,
                               signal, deadline_at, wake_at, crash_count, next_step, model_calls,
                               tool_calls, output_bytes, output_artifacts, manifest,
                               manifest_digest, created_at)
             select $1, $2, $3, $4,
                    (select coalesce(max(r.attempt), 0) + 1 from runs r where r.task_id = $4),
                    'queued', 0, 0, seconds_from_now($5), statement_timestamp(),
                    0, 1, 0, 0, 0, 0, $6, $7, statement_timestamp()
              where not exists (select r.run_id from runs r
                                 where r.session_id = $3 and r.state in ('queued', 'active'))",
        params: vec![
            run.into(),
            scope.as_str().into(),
            target.session.into(),
            target.task.into(),
            request.timeout.as_secs_f64().into(),
            request.manifest.into(),
            request.manifest_digest.into(),
        ],
    }
}
