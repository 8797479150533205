-- Federation partners: other identity providers whose tokens this instance verifies. They belong to the instance.
create table federation_partners (
  partner_id uuid primary key,
  name text not null,
  issuer text not null unique,
  jwks_uri text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index federation_partners_by_time on federation_partners (created_at, partner_id);
