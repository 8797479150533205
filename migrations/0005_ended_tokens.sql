-- When the agent was last suspended or decommissioned: tokens from before are over, also after a reactivation.
alter table agents add column tokens_ended_at timestamptz;
