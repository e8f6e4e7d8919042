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
use crate::events::{self, Source};
use crate::outbox::{self, Outgoing};
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

/// Where the run will live.
struct Target {
    session: SessionId,
    task: TaskId,
    attempt: i32,
    continues: bool,
}

/// Admits a request, or says why not. Nothing is written unless the answer is `New`. May be
/// repeated: with `idempotent`, the same request is answered by `Existing`.
pub async fn admit(pool: &Pool, ids: &Ids, request: &Admission<'_>) -> Result<Admitted, Error> {
    let scope = request.scope.digest();
    loop {
        let mut tx = pool.begin().await?;
        if request.idempotent
            && let Some(answer) = earlier(&mut tx, &scope, request).await?
        {
            return Ok(answer);
        }
        let target = match target(&mut tx, ids, &scope, request).await? {
            Ok(target) => target,
            Err(refusal) => return refused(&mut tx, &scope, request, refusal).await,
        };
        if has_live_run(&mut tx, &scope, target.session).await? {
            return refused(&mut tx, &scope, request, Admitted::Busy).await;
        }
        match write(&mut tx, ids, &scope, request, &target).await? {
            Written::Yes(admitted) => {
                tx.commit().await?;
                return Ok(Admitted::New(admitted));
            }
            // Another process admitted this messageId while we wrote: its answer is ours.
            Written::MessageIdTaken => tx.rollback().await?,
            Written::TooManyWebhooks => return Ok(Admitted::TooManyWebhooks),
        }
    }
}

/// A duplicate is told before a refusal that its twin may have brought about: the first of two
/// identical messages makes its context busy, or has even ended its task, while the second waits for
/// a lock.
async fn refused(
    tx: &mut Tx,
    scope: &ScopeDigest,
    request: &Admission<'_>,
    refusal: Admitted,
) -> Result<Admitted, Error> {
    let by_twin = request.idempotent && matches!(refusal, Admitted::Busy | Admitted::Ended(_));
    let twin = if by_twin { earlier(tx, scope, request).await? } else { None };
    Ok(twin.unwrap_or(refusal))
}

async fn earlier(
    tx: &mut Tx,
    scope: &ScopeDigest,
    request: &Admission<'_>,
) -> Result<Option<Admitted>, Error> {
    let row = tx
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
) -> Result<Result<Target, Admitted>, Error> {
    if let Some(task) = request.task {
        return continued(tx, scope, request, task).await;
    }
    let minted = ids.session();
    let context_id = match request.context_id {
        Some(chosen) => chosen.to_owned(),
        None => minted.as_uuid().to_string(),
    };
    tx.execute(
        "-- store::admission::open_session
         insert into sessions (session_id, scope_digest, scope, agent_name, context_id,
                               last_sequence, last_position, created_at)
         values ($1, $2, $3, $4, $5, 0, 0, statement_timestamp())
         on conflict (scope_digest, agent_name, context_id) do nothing",
        &[
            minted.into(),
            scope.as_str().into(),
            request.scope.canonical().into(),
            request.agent.as_str().into(),
            context_id.as_str().into(),
        ],
    )
    .await?;
    let row = tx
        .query_opt(
            "-- store::admission::lock_session
             select session_id from sessions
              where scope_digest = $1 and agent_name = $2 and context_id = $3
                for no key update",
            &[scope.as_str().into(), request.agent.as_str().into(), context_id.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    let session = row.get("session_id")?;
    Ok(Ok(Target { session, task: ids.task(), attempt: 1, continues: false }))
}

async fn continued(
    tx: &mut Tx,
    scope: &ScopeDigest,
    request: &Admission<'_>,
    task: TaskId,
) -> Result<Result<Target, Admitted>, Error> {
    // No stronger lock than an update's: a worker's foreign keys pass it, whatever they hold already.
    let row = tx
        .query_opt(
            "-- store::admission::lock_task
             select t.session_id, t.state, s.context_id
               from tasks t join sessions s on s.session_id = t.session_id
              where t.task_id = $1 and t.scope_digest = $2 and t.agent_name = $3
                for no key update",
            &[task.into(), scope.as_str().into(), request.agent.as_str().into()],
        )
        .await?;
    let Some(row) = row else { return Ok(Err(Admitted::UnknownTask)) };
    let context_id: String = row.get("context_id")?;
    if request.context_id.is_some_and(|named| named != context_id) {
        return Ok(Err(Admitted::ContextMismatch));
    }
    let state: String = row.get("state")?;
    let state: TaskState =
        state.parse().map_err(|source| Error::corrupt("tasks", "state", source))?;
    if state.is_terminal() {
        return Ok(Err(Admitted::Ended(state)));
    }
    if !state.is_interrupted() {
        return Ok(Err(Admitted::Busy));
    }
    // Asked once the task is locked: who waited for the lock would be told of an earlier time.
    let runs = tx
        .query_opt(
            "-- store::admission::attempts
             select max(attempt) as attempts from runs where task_id = $1 and scope_digest = $2",
            &[task.into(), scope.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    let attempts: i32 = runs.get("attempts")?;
    let session = row.get("session_id")?;
    Ok(Ok(Target { session, task, attempt: attempts + 1, continues: true }))
}

/// Whether a run of the session lives. As long as the session is locked, no other one can begin.
///
/// Looked at and not tried: an insert that meets the index of live runs would wait for the worker
/// that is writing to that run, and the worker may be waiting for our session.
async fn has_live_run(tx: &mut Tx, scope: &ScopeDigest, session: SessionId) -> Result<bool, Error> {
    let row = tx
        .query_opt(
            "-- store::admission::live_run
             select run_id from runs
              where session_id = $1 and scope_digest = $2 and state in ('queued', 'active')",
            &[session.into(), scope.as_str().into()],
        )
        .await?;
    Ok(row.is_some())
}

/// What became of the writes of a request.
enum Written {
    Yes(Taken),
    MessageIdTaken,
    TooManyWebhooks,
}

/// Writes everything that a new request is.
async fn write(
    tx: &mut Tx,
    ids: &Ids,
    scope: &ScopeDigest,
    request: &Admission<'_>,
    target: &Target,
) -> Result<Written, Error> {
    let run = ids.run();
    put_task(tx, scope, request, target, run).await?;
    put_run(tx, scope, request, target, run).await?;
    let message = ids.message();
    let body = serde_json::to_string(&request.envelope)
        .map_err(|source| Error::corrupt("messages", "body", source))?;
    let taken = conversation::append(
        tx,
        &NewMessage {
            id: message,
            scope,
            session: target.session,
            task: target.task,
            run,
            role: Role::User,
            step: None,
            body: &body,
            agent: request.agent.as_str(),
            client_message_id: Some(request.message_id),
            idempotency_key: request.idempotent.then_some(request.message_id),
            fingerprint: Some(request.fingerprint),
        },
    )
    .await?;
    if !taken {
        return Ok(Written::MessageIdTaken);
    }
    for (index, part) in request.parts.iter().enumerate() {
        let part = part.clone().stored(target.task, request.message_id, index);
        conversation::put_part(tx, scope, message, index, &part).await?;
    }
    if let Some(webhook) = &request.webhook {
        let of = webhooks::Of { scope, agent: request.agent, task: target.task };
        match webhooks::put(tx, ids, of, target.session, webhook).await? {
            Put::Yes => {}
            Put::TooMany => return Ok(Written::TooManyWebhooks),
        }
    }
    let source = Source { scope, session: target.session, task: target.task, run };
    let status = EventBody::Status { state: TaskState::Submitted, message: None, code: None };
    let sequence = events::append(tx, source, None, &status).await?.unwrap_or_default();
    let reason = if target.continues { Reason::Continued } else { Reason::Admitted };
    let ready = RunReady::new(run, scope.clone(), reason);
    let outgoing = outbox::put(tx, ids, scope, &ready, Duration::ZERO).await?;
    Ok(Written::Yes(Taken { task: target.task, run, after: sequence - 1, outgoing }))
}

async fn put_task(
    tx: &mut Tx,
    scope: &ScopeDigest,
    request: &Admission<'_>,
    target: &Target,
    run: RunId,
) -> Result<(), Error> {
    if target.continues {
        tx.execute(
            "-- store::admission::continue_task
             update tasks set state = 'submitted', status_message = null, status_code = null,
                              status_at = case when status_at > statement_timestamp()
                                               then status_at else statement_timestamp() end,
                              current_run_id = $3
              where task_id = $1 and scope_digest = $2",
            &[target.task.into(), scope.as_str().into(), run.into()],
        )
        .await?;
    } else {
        tx.execute(
            "-- store::admission::put_task
             insert into tasks (task_id, scope_digest, session_id, agent_name, state, status_at,
                                current_run_id, created_at)
             values ($1, $2, $3, $4, 'submitted', statement_timestamp(), $5, statement_timestamp())",
            &[
                target.task.into(),
                scope.as_str().into(),
                target.session.into(),
                request.agent.as_str().into(),
                run.into(),
            ],
        )
        .await?;
    }
    Ok(())
}

async fn put_run(
    tx: &mut Tx,
    scope: &ScopeDigest,
    request: &Admission<'_>,
    target: &Target,
    run: RunId,
) -> Result<(), Error> {
    tx.execute(
        "-- store::admission::put_run
         insert into runs (run_id, scope_digest, session_id, task_id, attempt, state, fence,
                           signal, deadline_at, wake_at, crash_count, next_step, model_calls,
                           tool_calls, output_bytes, output_artifacts, manifest,
                           manifest_digest, created_at)
         values ($1, $2, $3, $4, $5, 'queued', 0, 0, seconds_from_now($6), statement_timestamp(),
                 0, 1, 0, 0, 0, 0, $7, $8, statement_timestamp())",
        &[
            run.into(),
            scope.as_str().into(),
            target.session.into(),
            target.task.into(),
            target.attempt.into(),
            request.timeout.as_secs_f64().into(),
            request.manifest.into(),
            request.manifest_digest.into(),
        ],
    )
    .await?;
    Ok(())
}
