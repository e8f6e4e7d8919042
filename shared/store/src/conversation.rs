//! The log of a conversation as the model and the client's history see it.

mod newest;

use std::collections::HashMap;

use domain::{MessageId, PartKind, RunId, ScopeDigest, SessionId, StoredPart, TaskId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::driver::Statement;
use crate::{Error, Pool, Row, Tx};

pub use newest::History;
pub(crate) use newest::of_tasks;

/// One message of a session's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredMessage {
    pub id: MessageId,
    pub task: TaskId,
    pub run: RunId,
    pub position: i64,
    pub role: Role,
    pub step: Option<i32>,
    /// `User`: an [`Envelope`]; else what the loop wrote.
    pub body: String,
    /// The client's `messageId`, on `User` messages.
    pub client_message_id: Option<String>,
    pub at: Timestamp,
    /// What the client sent, in its order; empty on other roles.
    pub parts: Vec<StoredPart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
    Tool,
}

impl Role {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// A client's message without its Parts. JSON that the client sent is kept as the text it sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    pub v: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reference_task_ids: Vec<String>,
    /// The media types that the client takes, where the agent might answer with another one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted_output_modes: Vec<String>,
}

impl Envelope {
    pub const VERSION: u32 = 1;

    pub fn parse(body: &str) -> Result<Self, Error> {
        serde_json::from_str(body).map_err(|source| Error::corrupt("messages", "body", source))
    }
}

/// A message to append.
#[derive(Debug, Clone)]
pub(crate) struct NewMessage<'a> {
    pub id: MessageId,
    pub scope: &'a ScopeDigest,
    pub session: SessionId,
    pub task: TaskId,
    pub run: RunId,
    pub role: Role,
    pub step: Option<i32>,
    pub body: &'a str,
    /// Whether the task's client sees it.
    pub shown: bool,
    pub agent: &'a str,
    pub client_message_id: Option<&'a str>,
    pub idempotency_key: Option<&'a str>,
    pub fingerprint: Option<&'a str>,
}

/// Appends a message at the end of its session's log. `false` when the idempotency key is taken.
pub(crate) async fn append(tx: &mut Tx, message: &NewMessage<'_>) -> Result<bool, Error> {
    let row = tx
        .query_opt(
            "-- store::conversation::next_position
             update sessions set last_position = last_position + 1
              where session_id = $1 and scope_digest = $2
             returning last_position",
            &[message.session.into(), message.scope.as_str().into()],
        )
        .await?
        .ok_or(Error::NotFound)?;
    let Statement { sql, params } = put(message, row.get("last_position")?);
    Ok(tx.execute(sql, &params).await? == 1)
}

/// Writes a message at a position of its session's log that is its own. Writes nothing when the
/// idempotency key is taken.
pub(crate) fn put(message: &NewMessage<'_>, position: i64) -> Statement {
    Statement {
        sql: "-- store::conversation::append
             insert into messages (message_id, scope_digest, session_id, task_id, run_id, position,
                                   role, step, body, shown, agent_name, client_message_id,
                                   idempotency_key, fingerprint, created_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
                     statement_timestamp())
             on conflict (scope_digest, agent_name, idempotency_key)
                where idempotency_key is not null do nothing",
        params: vec![
            message.id.into(),
            message.scope.as_str().into(),
            message.session.into(),
            message.task.into(),
            message.run.into(),
            position.into(),
            message.role.as_str().into(),
            message.step.into(),
            message.body.into(),
            message.shown.into(),
            message.agent.into(),
            message.client_message_id.into(),
            message.idempotency_key.into(),
            message.fingerprint.into(),
        ],
    }
}

/// Writes a Part of a message that was written; of another one, nothing.
pub(crate) fn put_part(
    scope: &ScopeDigest,
    message: MessageId,
    index: usize,
    part: &StoredPart,
) -> Statement {
    let value = match part.kind {
        PartKind::Text => quoted(&part.value),
        _ => part.value.clone(),
    };
    Statement {
        sql: "-- store::conversation::put_part
             insert into parts (message_id, ordinal, scope_digest, part_id, kind, value, media_type,
                                filename, metadata)
             select $1, $2, $3, $4, $5, $6, $7, $8, $9
              where exists (select m.message_id from messages m where m.message_id = $1)",
        params: vec![
            message.into(),
            i32::try_from(index).unwrap_or(i32::MAX).into(),
            scope.as_str().into(),
            part.part_id.as_str().into(),
            part.kind.as_str().into(),
            value.into(),
            part.media_type.as_deref().into(),
            part.filename.as_deref().map(quoted).into(),
            part.metadata.as_deref().into(),
        ],
    }
}

/// The whole log of a session, oldest first, with the Parts of its user messages.
pub async fn thread(
    pool: &Pool,
    scope: &ScopeDigest,
    session: SessionId,
) -> Result<Vec<StoredMessage>, Error> {
    let mut tx = pool.snapshot().await?;
    let rows = tx
        .query(
            "-- store::conversation::thread
             select message_id, task_id, run_id, position, role, step, body, client_message_id,
                    created_at
               from messages where session_id = $1 and scope_digest = $2 order by position",
            &[session.into(), scope.as_str().into()],
        )
        .await?;
    let parts = tx
        .query(
            "-- store::conversation::thread_parts
             select p.message_id, p.part_id, p.kind, p.value, p.media_type, p.filename, p.metadata
               from parts p join messages m on m.message_id = p.message_id
              where m.session_id = $1 and p.scope_digest = $2
              order by m.position, p.ordinal",
            &[session.into(), scope.as_str().into()],
        )
        .await?;
    drop(tx);
    assemble(&rows, &parts)
}

fn assemble(rows: &[Row], parts: &[Row]) -> Result<Vec<StoredMessage>, Error> {
    let mut messages = rows.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let place: HashMap<MessageId, usize> =
        messages.iter().enumerate().map(|(index, message)| (message.id, index)).collect();
    for row in parts {
        let owner: MessageId = row.get("message_id")?;
        // Parts of messages outside the window have no place here.
        if let Some(message) = place.get(&owner).and_then(|index| messages.get_mut(*index)) {
            message.parts.push(read_part(row)?);
        }
    }
    Ok(messages)
}

/// Messages out of rows that hold a message with one of its Parts each, or with none: in the order
/// of the log, and of the message. The body comes with the first Part alone.
pub(crate) fn joined<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
) -> Result<Vec<StoredMessage>, Error> {
    let mut messages: Vec<StoredMessage> = Vec::new();
    for row in rows {
        let id: MessageId = row.get("message_id")?;
        if messages.last().is_none_or(|message| message.id != id) {
            messages.push(read(row)?);
        }
        if let Some(message) = messages.last_mut()
            && row.holds("part_id")
        {
            message.parts.push(read_part(row)?);
        }
    }
    Ok(messages)
}

fn read(row: &Row) -> Result<StoredMessage, Error> {
    let role: String = row.get("role")?;
    Ok(StoredMessage {
        id: row.get("message_id")?,
        task: row.get("task_id")?,
        run: row.get("run_id")?,
        position: row.get("position")?,
        role: match role.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            _ => return Err(Error::corrupt("messages", "role", domain::state::UnknownWord)),
        },
        step: row.get("step")?,
        body: row.get("body")?,
        client_message_id: row.get("client_message_id")?,
        at: row.get("created_at")?,
        parts: Vec::new(),
    })
}

fn read_part(row: &Row) -> Result<StoredPart, Error> {
    let kind: String = row.get("kind")?;
    let kind = PartKind::from_word(&kind)
        .ok_or_else(|| Error::corrupt("parts", "kind", domain::state::UnknownWord))?;
    let value: String = row.get("value")?;
    let filename: Option<String> = row.get("filename")?;
    let unquote = |column, text: &str| {
        serde_json::from_str(text).map_err(|source| Error::corrupt("parts", column, source))
    };
    Ok(StoredPart {
        part_id: row.get("part_id")?,
        kind,
        value: if kind == PartKind::Text { unquote("value", &value)? } else { value },
        media_type: row.get("media_type")?,
        filename: filename.map(|name| unquote("filename", &name)).transpose()?,
        metadata: row.get("metadata")?,
    })
}

/// A text as a JSON string, in which U+0000 is an escape that PostgreSQL takes.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
