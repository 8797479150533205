-- What is used, counted: rows for days, hours and months, never one for each call or token. `shard` keeps processes that
-- count the same thing at the same moment from waiting for each other; a figure is the sum over its shards, and those of
-- days that are over are added up into shard 0. No foreign keys: what was used stays used, whatever becomes of the agent.

-- Only the figure of a row changes, so with room on the page an update touches no index.
create table usage_days (
  organization_id uuid not null,
  day date not null,
  metric text not null,
  agent_id uuid not null,
  shard smallint not null,
  quantity bigint not null,
  primary key (organization_id, day, metric, agent_id, shard)
) with (fillfactor = 70);
create index usage_days_in_shards on usage_days (day) where shard <> 0;
create index usage_days_by_age on usage_days using brin (day);

-- Tokens issued, by organization and hour (UTC): the daily limit, and analytics by day and by hour of the week.
create table token_hours (
  organization_id uuid not null,
  hour timestamptz not null,
  shard smallint not null,
  tokens bigint not null,
  primary key (organization_id, hour, shard)
) with (fillfactor = 70);
create index token_hours_in_shards on token_hours (hour) where shard <> 0;
create index token_hours_by_age on token_hours using brin (hour);

-- Tokens issued, by agent and month: the monthly limit of a client, and analytics by agent.
create table token_months (
  organization_id uuid not null,
  month date not null,
  agent_id uuid not null,
  shard smallint not null,
  tokens bigint not null,
  primary key (organization_id, month, agent_id, shard)
) with (fillfactor = 70);
create index token_months_in_shards on token_months (month) where shard <> 0;
create index token_months_by_age on token_months using brin (month);
