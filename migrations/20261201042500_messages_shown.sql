-- Whether clients see a message in the history of its task: what they said themselves, and what the
-- model said in words. Turns that only call tools, and what tools gave back, are for the model alone.
alter table messages add column shown boolean not null default true;
update messages set shown = false
 where role = 'tool' or (role = 'assistant' and body not like '%"type":"text"%');

-- The newest messages of a task that its client sees, however many it does not.
create index messages_shown on messages (task_id, position) where shown;
