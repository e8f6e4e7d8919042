-- Pages of tasks, the newest status first, and how many there are: by scope and agent, and by each
-- filter that clients may set.
create index tasks_listed on tasks (scope_digest, agent_name, status_at, task_id);
create index tasks_listed_by_state on tasks (scope_digest, agent_name, state, status_at, task_id);
create index tasks_listed_by_session on tasks (scope_digest, agent_name, session_id, status_at, task_id);

-- Where a task stood at an earlier moment: its newest status of that time.
create index events_status on events (task_id, created_at) where kind = 'status';
