-- Whether a task was answered by a message in place of a task: asked for each completed one.
create index events_reply on events (task_id) where kind = 'reply';
