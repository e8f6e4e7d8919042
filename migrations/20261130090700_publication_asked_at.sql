-- When the publisher was last asked, so that a sweeper does not ask at every tick.
alter table publications add column asked_at timestamptz;

create index publications_requested on publications (created_at) where state = 'requested';
