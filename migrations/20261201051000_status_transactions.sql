-- The transaction that wrote a status and its event (PostgreSQL). A list tells by it whether its first
-- page saw them, whatever time they bear. Null where nobody noted it: such a status counts as seen.
alter table tasks add column status_tx bigint;
alter table events add column created_tx bigint;

-- A caller's statuses that may have been written while a first page was read.
create index tasks_status_tx on tasks (scope_digest, agent_name, status_tx) where status_tx is not null;
