-- Epochs count the ends of tokens. A token carries the sum of the epochs that it depends on, so that an end does not depend on the
-- clocks of the nodes (docs/decisions/020-epochs.md). Triggers count, so that no statement, and no node of an earlier version, can
-- forget it.

-- How often the agent, or the organization, has stopped being active.
alter table agents add column epoch integer not null default 0;
alter table organizations add column epoch integer not null default 0;

create function epoch_counted() returns trigger language plpgsql as $$
begin
  new.epoch := old.epoch + 1;
  return new;
end $$;

create trigger agents_epoch before update on agents
  for each row when (old.status = 'active' and new.status <> 'active') execute function epoch_counted();
create trigger organizations_epoch before update on organizations
  for each row when (old.status = 'active' and new.status <> 'active') execute function epoch_counted();

-- How often an agent has lost scopes for an identifier, which may still be pending (migration 0035). The row outlives the grant and the resource: a resource that is registered again
-- has the same identifier and another id.
create table grant_epochs (
  agent_id uuid not null,
  identifier text not null,
  epoch integer not null,
  primary key (agent_id, identifier)
);

-- {"scope": the epoch of the grant when the agent got the scope}. A scope without an entry is from before this column and counts as 0.
alter table resource_grants add column epochs jsonb not null default '{}';

create function grant_epochs_counted() returns trigger language plpgsql as $$
declare
  earlier jsonb := case when tg_op = 'INSERT' then '{}' else old.scopes end;
  later jsonb := case when tg_op = 'DELETE' then '{}' else new.scopes end;
  counted integer;
begin
  if exists (select from jsonb_each(earlier) as held where later -> held.key is distinct from held.value) then
    insert into grant_epochs (agent_id, identifier, epoch)
    select old.agent_id, coalesce(pending_identifier, identifier), 1 from resources where resource_id = old.resource_id
    on conflict (agent_id, identifier) do update set epoch = grant_epochs.epoch + 1;
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  select e.epoch into counted from resources r join grant_epochs e on e.identifier = coalesce(r.pending_identifier, r.identifier)
  where e.agent_id = new.agent_id and r.resource_id = new.resource_id;
  new.epochs := (
    select coalesce(jsonb_object_agg(held.key,
      case when earlier -> held.key = held.value then coalesce(old.epochs -> held.key, '0') else to_jsonb(coalesce(counted, 0)) end), '{}')
    from jsonb_each(later) as held);
  return new;
end $$;

create trigger resource_grants_epochs before insert or update or delete on resource_grants
  for each row execute function grant_epochs_counted();
