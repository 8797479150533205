-- Memberships, agents' public keys, and the figures and indexes that keep lists fast at a million agents.

create table memberships (
  member_id uuid primary key,
  organization_id uuid not null references organizations,
  agent_id uuid not null references agents,
  role text not null check (role in ('member', 'admin')),
  joined_at timestamptz not null,
  unique (organization_id, agent_id)
);
create index memberships_by_agent on memberships (agent_id);

create index organizations_by_time on organizations (created_at desc, organization_id desc);

-- A JWKS's keys: public members only.
alter table agents add column public_keys jsonb not null default '[]';

-- Lists are ordered by time within an organization, whatever the filter; the operator's lists within the instance.
create index agents_by_owner on agents (organization_id, owner, created_at desc, agent_id desc);
create index agents_by_type on agents (organization_id, agent_type, created_at desc, agent_id desc);
create index agents_by_status on agents (organization_id, status, created_at desc, agent_id desc);
create index agents_by_owner_everywhere on agents (owner, created_at desc, agent_id desc);
create index agents_by_time on agents (created_at desc, agent_id desc);

-- A secret is looked up by its hash, however many credentials an agent has.
create index credentials_by_secret on credentials (agent_id, secret_hash);

create index credentials_expiring on credentials (expires_at) where status = 'active' and expires_at is not null;

-- How many agents an organization has, by type and status: `total` and the plan's limit are read from here, so that they
-- are exact and do not count a million rows.
create table agent_counts (
  organization_id uuid not null references organizations,
  agent_type text not null,
  status text not null,
  agents bigint not null,
  primary key (organization_id, agent_type, status)
);

create function agents_counted() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into agent_counts as c
    select organization_id, agent_type, status, count(*) from new_agents group by 1, 2, 3 order by 1, 2, 3
    on conflict (organization_id, agent_type, status) do update set agents = c.agents + excluded.agents;
  else
    insert into agent_counts as c
    select organization_id, agent_type, status, sum(change) from (
      select organization_id, agent_type, status, 1 as change from new_agents
      union all
      select organization_id, agent_type, status, -1 from old_agents
    ) changes
    group by 1, 2, 3 having sum(change) <> 0 order by 1, 2, 3
    on conflict (organization_id, agent_type, status) do update set agents = c.agents + excluded.agents;
  end if;
  return null;
end $$;

create trigger agents_counted_on_insert after insert on agents
  referencing new table as new_agents for each statement execute function agents_counted();
create trigger agents_counted_on_update after update on agents
  referencing new table as new_agents old table as old_agents for each statement execute function agents_counted();

insert into agent_counts select organization_id, agent_type, status, count(*) from agents group by 1, 2, 3;
