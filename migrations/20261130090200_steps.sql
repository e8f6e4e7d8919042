-- The step log of a run: what was begun and what is history.
create table run_steps (
    run_id uuid not null references runs (run_id),
    step integer not null,
    scope_digest text not null,
    attempt integer not null,
    fence bigint not null,
    state text not null,
    provider text not null,
    model text not null,
    stop_reason text,
    -- Token usage as reported; null when the provider reported none.
    usage jsonb,
    started_at timestamptz not null,
    committed_at timestamptz,
    constraint run_steps_key primary key (run_id, step),
    constraint run_steps_state check (state in ('started', 'committed'))
);

create table tool_calls (
    run_id uuid not null references runs (run_id),
    call_id text not null,
    scope_digest text not null,
    step integer not null,
    ordinal integer not null,
    tool text not null,
    -- The model's arguments, a JSON object.
    args text not null,
    state text not null,
    attempt integer not null,
    -- What a later worker needs to find out how a begun call ended: exec id, instance, digests.
    handle jsonb,
    result_message_id uuid,
    started_at timestamptz,
    finished_at timestamptz,
    constraint tool_calls_key primary key (run_id, call_id),
    constraint tool_calls_ordinal unique (run_id, step, ordinal),
    constraint tool_calls_state check (state in ('planned', 'started', 'done'))
);
