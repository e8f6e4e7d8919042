-- Messages that are committed and not yet known to be sent.
create table outbox (
    outbox_id uuid primary key,
    scope_digest text not null,
    queue text not null,
    body text not null,
    not_before timestamptz not null,
    created_at timestamptz not null
);

create index outbox_due on outbox (not_before);
