-- A share needs the acceptance of the organization that receives it, and an identifier the proof of its host.

-- Offers that wait for acceptance. Accepted shares stay in `resource_shares`: earlier versions of the service take every row there for a
-- share in force, and the shares that exist are accepted. A row stays after its offer has ended: it remembers that the receiver was told
-- of the offer, and when the receiver declined.
create table resource_share_offers (
  -- No reference: the row outlives the resource until it is purged.
  resource_id uuid not null,
  -- The receiver.
  organization_id uuid not null references organizations,
  owner_id uuid not null references organizations,
  -- Those that wait for acceptance; empty when nothing is offered.
  scopes text[] not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- When the receiver's log got its only `share.offered`.
  announced_at timestamptz,
  declined_at timestamptz,
  primary key (resource_id, organization_id)
);

create index resource_share_offers_by_receiver on resource_share_offers (organization_id, resource_id) where scopes <> '{}';
create index resource_share_offers_by_owner on resource_share_offers (owner_id, organization_id, announced_at);

-- A resource whose identifier is not proven has it in `pending_identifier`, and in `identifier` a name that is the audience of no
-- token. `identifier` stays unique, several organizations may wait for one identifier, and queries by audience find verified resources
-- only, those of earlier versions of the service too. The resources that exist are verified.
alter table resources
  add column pending_identifier text,
  -- The text that the host publishes; null when no proof is needed.
  add column verification_token text,
  -- `dns`, `well-known` or `operator`; null when the resource is pending, or when no proof was needed.
  add column verification_method text;
