-- Marketplace listings, how many there are, and what is known of agents' badges.

-- Immutable, unlike array_to_string itself, so that search columns can be made of it.
create function listing_words(words text[]) returns text language sql immutable parallel safe
  return array_to_string(words, ' ');

create table listings (
  listing_id uuid primary key,
  agent_id uuid not null references agents,
  organization_id uuid not null references organizations,
  title text not null,
  summary text not null,
  description text not null,
  categories text[] not null,
  tags text[] not null,
  endpoints jsonb not null,
  documentation_url text,
  pricing jsonb not null,
  visibility text not null check (visibility in ('public', 'organization')),
  status text not null check (status in ('draft', 'published', 'suspended', 'withdrawn')),
  published_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The agent's own, kept true in the transaction of every change of the agent, so that a search reads one table.
  agent_type text not null,
  version text not null,
  capabilities text[] not null,
  agent_active boolean not null,
  verified boolean not null,
  -- What a hit is ranked by, and what is searched.
  headline tsvector not null generated always as (
    to_tsvector('english', title || ' ' || summary || ' ' || listing_words(categories || tags || capabilities) || ' ' || agent_type)
  ) stored,
  search tsvector not null generated always as (
    to_tsvector('english', title || ' ' || summary || ' ' || listing_words(categories || tags || capabilities) || ' ' || agent_type
      || ' ' || description)
  ) stored
);
-- A long description is kept apart from the row, so that looking through many rows for a word does not fetch it.
alter table listings alter column search set storage main, alter column headline set storage main;
create unique index listings_agent on listings (agent_id);
create index listings_by_organization on listings (organization_id, created_at desc, listing_id desc);
create index listings_by_time on listings (created_at desc, listing_id desc);

-- What is on show, newest first, and found by its words, capabilities and categories.
create index listings_shown on listings (published_at desc, listing_id desc) where status = 'published' and agent_active;
create index listings_shown_by_type on listings (agent_type, published_at desc, listing_id desc)
  where status = 'published' and agent_active;
create index listings_by_words on listings using gin (search) where status = 'published' and agent_active;
create index listings_by_capability on listings using gin (capabilities) where status = 'published' and agent_active;
create index listings_by_category on listings using gin (categories) where status = 'published' and agent_active;

-- Few as a rule; their listings are not on show.
create index organizations_not_active on organizations (organization_id) where status <> 'active';

-- `total` is read from here, so that it is exact and does not count every listing.
create table listing_counts (
  organization_id uuid not null references organizations,
  agent_type text not null,
  visibility text not null,
  status text not null,
  agent_active boolean not null,
  listings bigint not null,
  primary key (organization_id, agent_type, visibility, status, agent_active)
);

create function listings_counted() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into listing_counts as c
    select organization_id, agent_type, visibility, status, agent_active, count(*)
    from new_listings group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (organization_id, agent_type, visibility, status, agent_active)
      do update set listings = c.listings + excluded.listings;
  elsif tg_op = 'DELETE' then
    insert into listing_counts as c
    select organization_id, agent_type, visibility, status, agent_active, -count(*)
    from old_listings group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict (organization_id, agent_type, visibility, status, agent_active)
      do update set listings = c.listings + excluded.listings;
  else
    insert into listing_counts as c
    select organization_id, agent_type, visibility, status, agent_active, sum(change) from (
      select organization_id, agent_type, visibility, status, agent_active, 1 as change from new_listings
      union all
      select organization_id, agent_type, visibility, status, agent_active, -1 from old_listings
    ) changes
    group by 1, 2, 3, 4, 5 having sum(change) <> 0 order by 1, 2, 3, 4, 5
    on conflict (organization_id, agent_type, visibility, status, agent_active)
      do update set listings = c.listings + excluded.listings;
  end if;
  return null;
end $$;

create trigger listings_counted_on_insert after insert on listings
  referencing new table as new_listings for each statement execute function listings_counted();
create trigger listings_counted_on_update after update on listings
  referencing new table as new_listings old table as old_listings for each statement execute function listings_counted();
create trigger listings_counted_on_delete after delete on listings
  referencing old table as old_listings for each statement execute function listings_counted();

-- What came out when an agent's badge was issued and verified: for these facts about it, under this key of the instance. A row
-- about other facts or another key says nothing.
create table badge_checks (
  agent_id uuid primary key references agents,
  facts text not null,
  key_id text not null,
  verified boolean not null,
  conforms boolean not null,
  checked_at timestamptz not null
);

-- Whether access ended with them is looked at every minute.
create index agents_decommissioned on agents (agent_id) where status = 'decommissioned';
