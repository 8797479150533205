-- Whoever relies on an agent as it stands takes the agent's lock together with others (kernel/locks.ts, `takeTurn`), then reads.
-- Whoever changes the agent or one of its credentials takes it alone. That is seen to here, so that no statement can forget it.
-- A lock of this kind, unlike one of the row, writes nothing: issuing a token leaves agents and credentials untouched.
-- 2 is the number of agents in kernel/locks.ts.
create function agent_turn() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(2, hashtext(old.agent_id::text));
  return case when tg_op = 'DELETE' then old else new end;
end $$;

create trigger agents_turn before update or delete on agents
  for each row execute function agent_turn();
create trigger credentials_turn before update or delete on credentials
  for each row execute function agent_turn();
