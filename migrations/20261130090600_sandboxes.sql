-- Who may write a workspace. One row per workspace, for ever; the generation only grows.
create table sandbox_leases (
    workspace_key text primary key,
    scope_digest text not null,
    session_id uuid not null references sessions (session_id),
    agent_name text not null,
    generation bigint not null,
    holder_run_id uuid,
    holder_fence bigint not null,
    lease_until timestamptz,
    instance_id uuid,
    -- When a workspace without a holder gives its sandbox back.
    idle_release_at timestamptz,
    updated_at timestamptz not null
);

create index sandbox_leases_holder on sandbox_leases (holder_run_id);
create index sandbox_leases_idle on sandbox_leases (idle_release_at) where instance_id is not null;

-- One row per allocation.
create table sandbox_instances (
    instance_id uuid primary key,
    workspace_key text not null references sandbox_leases (workspace_key),
    scope_digest text not null,
    generation_at_launch bigint not null,
    -- The newest generation that the sandbox itself has confirmed, 0 before the first: it is the
    -- holder's when it equals that of the lease.
    generation bigint not null,
    backend text not null,
    config_digest text not null,
    -- The process that owns a `process` instance: only it may end it.
    runner text,
    state text not null,
    state_reason text,
    endpoint text,
    -- Where commands find the workspace, as the sandbox says.
    workspace_root text,
    launch_requested_at timestamptz,
    ready_at timestamptz,
    release_requested_at timestamptz,
    release_reason text,
    terminated_at timestamptz,
    next_check_at timestamptz not null,
    created_at timestamptz not null,
    constraint sandbox_instances_state check (state in ('reserved', 'launching', 'initializing', 'ready',
        'releasing', 'terminated', 'failed_launch')),
    constraint sandbox_instances_ready check (state <> 'ready' or (endpoint is not null and workspace_root is not null))
);

create unique index sandbox_instances_one_live on sandbox_instances (workspace_key)
    where state not in ('terminated', 'failed_launch');
create index sandbox_instances_check on sandbox_instances (next_check_at)
    where state not in ('terminated', 'failed_launch');
