-- Files that the model chose to publish. The bytes' home is the object store; this row decides
-- whether they count.
create table publications (
    publication_id uuid primary key,
    scope_digest text not null,
    session_id uuid not null references sessions (session_id),
    task_id uuid not null references tasks (task_id),
    run_id uuid not null references runs (run_id),
    call_id text not null,
    state text not null,
    -- The model's request, and where it may be read from: recorded when the row is made.
    path text not null,
    media_type text not null,
    filename text not null,
    instance_id uuid not null,
    generation bigint not null,
    -- Known once the bytes are verified.
    delivery text,
    size_bytes bigint,
    sha256 text,
    object_key text,
    descriptor_key text,
    descriptor_sha256 text,
    -- The bytes of a file that travels inline; a larger one is only in the object store.
    inline_bytes bytea,
    -- Why it failed, in a word that the model may see.
    failure_code text,
    created_at timestamptz not null,
    decided_at timestamptz,
    constraint publications_call unique (run_id, call_id),
    constraint publications_state check (state in ('requested', 'active', 'failed')),
    constraint publications_delivery check (delivery in ('raw', 'url')),
    constraint publications_active check (state <> 'active' or (delivery is not null and size_bytes is not null
        and sha256 is not null and object_key is not null and descriptor_key is not null))
);
