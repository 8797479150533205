-- A row of the audit log no longer stores its canonical text: the text is built from the columns. Rows of earlier versions
-- keep theirs.
alter table audit_events alter column canonical drop not null;

-- Nodes of the previous version read the stored text. So in a database that is in use, rows store it for another day, during
-- which the nodes are replaced. The default is evaluated once and rewrites no row: the sequencer would take a rewritten row of
-- audit_progress for a restored one.
do $$
begin
  if exists (select from audit_events) then
    alter table audit_progress add column texts_until timestamptz not null default now() + interval '1 day';
  else
    alter table audit_progress add column texts_until timestamptz not null default '-infinity';
  end if;
end $$;
alter table audit_progress alter column texts_until set default '-infinity';

-- Tokens of organizations without limits, one row for each batch of the token endpoint: adding a row costs less than three
-- counters for each agent. A loop adds them to usage_days, token_hours and token_months, and deletes them.
create table uncounted_tokens (
  hour timestamptz not null,
  organization_ids uuid[] not null,
  agent_ids uuid[] not null
);
