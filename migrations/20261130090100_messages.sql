-- The log of a conversation: what the client said, what the model answered, what tools gave back.
create table messages (
    message_id uuid primary key,
    scope_digest text not null,
    session_id uuid not null references sessions (session_id),
    task_id uuid not null,
    run_id uuid not null,
    position bigint not null,
    role text not null,
    -- Of the run, for messages that the loop wrote.
    step integer,
    -- `user`: the client's message without its Parts; else the loop's own message. Versioned JSON.
    body text not null,
    agent_name text not null,
    client_message_id text,
    -- Null where suppression of duplicates is off.
    idempotency_key text,
    fingerprint text,
    created_at timestamptz not null,
    constraint messages_position unique (session_id, position),
    constraint messages_role check (role in ('user', 'assistant', 'tool'))
);

create unique index messages_idempotency on messages (scope_digest, agent_name, idempotency_key)
    where idempotency_key is not null;
create index messages_task on messages (task_id, position);

-- The canonical record of what a client sent, in its order.
create table parts (
    message_id uuid not null references messages (message_id),
    ordinal integer not null,
    scope_digest text not null,
    part_id text not null,
    kind text not null,
    -- `text` and file names as JSON strings (they may hold U+0000), the rest as sent.
    value text not null,
    media_type text,
    filename text,
    metadata text,
    constraint parts_key primary key (message_id, ordinal),
    constraint parts_kind check (kind in ('text', 'data', 'raw', 'url'))
);
