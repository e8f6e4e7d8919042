-- Where updates of a task are posted to. There is no key to `tasks`: it would lock the task after the
-- session, against the order of all others.
create table webhooks (
    webhook_id uuid primary key,
    scope_digest text not null,
    agent_name text not null,
    session_id uuid not null references sessions (session_id),
    task_id uuid not null,
    -- Chosen by the client or by us; unique only here.
    config_id text not null,
    -- Address, token and credentials, and the name of the key that opens them.
    sealed bytea not null,
    key_id text not null,
    -- Up to here, every update was delivered or given up; and the last one that there is.
    sent_sequence bigint not null,
    wanted_sequence bigint not null,
    -- When somebody was, or will be, asked to go on. Null while nothing is to be done, and while a
    -- worker holds it.
    due_at timestamptz,
    -- Grows with every claim and every replacement; in the guard of every write of a worker.
    fence bigint not null,
    lease_owner text,
    lease_until timestamptz,
    -- Attempts that were begun at the next update.
    attempts integer not null,
    -- Updates in a row that were given up.
    given_up integer not null,
    created_at timestamptz not null,
    constraint webhooks_config unique (task_id, config_id)
);

create index webhooks_due on webhooks (due_at) where due_at is not null;
create index webhooks_held on webhooks (lease_until) where lease_until is not null;

-- An update that a webhook was not told of. It may outlive its webhook.
create table webhook_dead_letters (
    webhook_id uuid not null,
    sequence bigint not null,
    scope_digest text not null,
    task_id uuid not null,
    why text not null,
    attempts integer not null,
    given_up_at timestamptz not null,
    constraint webhook_dead_letters_key primary key (webhook_id, sequence)
);

-- Whether a task of the session has, or had, webhooks: an append need not look otherwise.
alter table sessions add column has_webhooks boolean not null default false;
