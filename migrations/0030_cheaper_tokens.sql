-- A row of the audit log no longer stores its canonical text: the text is built from the columns. Rows of earlier versions
-- keep theirs.
alter table audit_events alter column canonical drop not null;

-- Tokens of organizations without limits, one row for each batch of the token endpoint: adding a row costs less than three
-- counters for each agent. A loop adds them to usage_days, token_hours and token_months, and deletes them.
create table uncounted_tokens (
  hour timestamptz not null,
  organization_ids uuid[] not null,
  agent_ids uuid[] not null
);
