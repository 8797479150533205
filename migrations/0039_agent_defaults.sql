-- The limit of an agent's rate window. Null: RATE_LIMIT_PER_MINUTE of the instance.
alter table agents add column rate_limit_per_minute integer
  constraint agents_rate_limit_range check (rate_limit_per_minute between 1 and 1000000);

-- E-mail addresses are unique within an organization. The index agents_email, unique over all organizations, stays: the previous
-- version names it in its inserts. A multi-tenant instance drops it later (src/features/agents/email-index-store.ts).
create unique index agents_email_in_organization on agents (organization_id, lower(email));

-- For the overview, doctor and the compliance control: few agents change agents, webhooks, APIs or organizations.
-- src/kernel/data/writing-scopes.ts has the same condition.
create index agents_with_writing_scopes on agents (organization_id, created_at desc, agent_id desc)
  where status <> 'decommissioned'
    and allowed_scopes && array['agents:write', 'webhooks:write', 'resources:write', 'admin:orgs']::text[];

-- Refusals that were sent to subscribers, per organization, kind and minute. Old rows are deleted with those of refusal_counts.
create table refusal_event_counts (
  organization_id uuid not null,
  event_type text not null,
  minute timestamptz not null,
  events integer not null,
  primary key (organization_id, event_type, minute)
);
create index refusal_event_counts_by_minute on refusal_event_counts (minute);
