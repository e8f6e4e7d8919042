-- In which version of the protocol a webhook is told: that in which its client registered it. Those
-- that are there already were all told as 1.0 has it.
alter table webhooks add column protocol text not null default '1.0'
    constraint webhooks_protocol check (protocol in ('0.3', '1.0'));
