-- A conversation (A2A context) of one agent in one exact scope.
create table sessions (
    session_id uuid primary key,
    scope_digest text not null,
    -- The canonical scope: the storage namespace is derived of it.
    scope text not null,
    agent_name text not null,
    -- Chosen by the client or by us; unique only here.
    context_id text not null,
    -- Counters that are moved in the transaction that uses them, so that neither log has a gap.
    last_sequence bigint not null,
    last_position bigint not null,
    created_at timestamptz not null,
    constraint sessions_context unique (scope_digest, agent_name, context_id)
);

-- Requested work.
create table tasks (
    task_id uuid primary key,
    scope_digest text not null,
    session_id uuid not null references sessions (session_id),
    agent_name text not null,
    state text not null,
    status_message text,
    status_code text,
    status_at timestamptz not null,
    current_run_id uuid not null,
    created_at timestamptz not null,
    constraint tasks_state check (state in ('submitted', 'working', 'input_required', 'auth_required',
        'completed', 'failed', 'canceled', 'rejected'))
);

-- One execution attempt of a task.
create table runs (
    run_id uuid primary key,
    scope_digest text not null,
    session_id uuid not null references sessions (session_id),
    task_id uuid not null references tasks (task_id),
    attempt integer not null,
    state text not null,
    -- Grows with every claim and every cancellation; in the guard of every write of a worker.
    fence bigint not null,
    lease_owner text,
    lease_until timestamptz,
    -- When a run without a lease is due again, at the latest.
    wake_at timestamptz,
    -- Grows with everything that the run may be waiting for; a worker that has not seen the newest
    -- value cannot go to sleep.
    signal bigint not null,
    deadline_at timestamptz not null,
    crash_count integer not null,
    next_step integer not null,
    model_calls integer not null,
    tool_calls integer not null,
    output_bytes bigint not null,
    output_artifacts integer not null,
    -- The pinned agent definition, and its SHA-256.
    manifest text not null,
    manifest_digest text not null,
    failure_code text,
    created_at timestamptz not null,
    started_at timestamptz,
    ended_at timestamptz,
    constraint runs_attempt unique (task_id, attempt),
    constraint runs_state check (state in ('queued', 'active', 'interrupted', 'done', 'failed', 'aborted', 'rejected'))
);

-- At most one live run per session; the database is the last guard.
create unique index runs_one_live_per_session on runs (session_id) where state in ('queued', 'active');
create index runs_live on runs (wake_at, lease_until) where state in ('queued', 'active');
