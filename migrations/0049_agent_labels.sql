-- Display names and labels of agents, and the indexes of lists that are sorted by name or by e-mail address.

alter table agents
  add column display_name text,
  add column labels jsonb not null default '{}',
  -- Of each label its key, and key:value, for filters. PostgreSQL knows how frequent the items of an array are, so a list with a frequent
  -- label is read in its order, and one with a rare label by the index. Of jsonb it knows neither.
  add column label_terms text[] not null default '{}';

create index agents_by_label on agents using gin (label_terms);

-- `q` is a prefix of this name, too.
create index agents_by_display_name_prefix on agents (lower(display_name) text_pattern_ops)
  where display_name is not null;

-- An agent without a display name is sorted by its e-mail address. The index agents_email_in_organization sorts by that address.
create index agents_by_name on agents (organization_id, lower(coalesce(display_name, email)), agent_id);
create index agents_by_name_everywhere on agents (lower(coalesce(display_name, email)), agent_id);
create index agents_by_email_everywhere on agents (lower(email), agent_id);
