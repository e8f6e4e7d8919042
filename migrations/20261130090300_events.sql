-- What happened, in the order in which everybody sees it.
create table events (
    session_id uuid not null references sessions (session_id),
    sequence bigint not null,
    scope_digest text not null,
    task_id uuid not null,
    run_id uuid not null,
    -- Where in the run it was made: the same place writes the same event only once.
    step integer,
    attempt integer,
    ordinal integer,
    kind text not null,
    -- Versioned JSON.
    payload text not null,
    created_at timestamptz not null,
    constraint events_key primary key (session_id, sequence)
);

create unique index events_place on events (run_id, step, attempt, ordinal) where step is not null;
create index events_task on events (task_id, sequence);
