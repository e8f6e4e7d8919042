-- When a webhook's task ended, from which on it is kept for a while and then forgotten. Null while
-- the task goes on, however long it waits.
alter table webhooks add column ended_at timestamptz;

update webhooks set ended_at = (select t.status_at from tasks t where t.task_id = webhooks.task_id)
 where task_id in (select t.task_id from tasks t
                    where t.state in ('completed', 'failed', 'canceled', 'rejected'));

create index webhooks_ended on webhooks (ended_at) where ended_at is not null;
create index webhook_dead_letters_given_up on webhook_dead_letters (given_up_at);
