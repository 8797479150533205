-- Marketplace listings, how many there are, and what is known of agents' badges.

-- Whoever is published later has the higher place, wherever the clocks are.
create sequence listing_places;

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
  place bigint,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The agent's own, kept true in the transaction of every change of the agent, so that a search reads one table.
  agent_type text not null,
  version text not null,
  capabilities text[] not null,
  agent_active boolean not null,
  verified boolean not null
);
create unique index listings_agent on listings (agent_id);
create index listings_by_organization on listings (organization_id, created_at desc, listing_id desc);
create index listings_by_time on listings (created_at desc, listing_id desc);

-- What is on show, newest first.
create index listings_shown on listings (place desc) where status = 'published' and agent_active;
create index listings_shown_by_type on listings (agent_type, place desc)
  where status = 'published' and agent_active;

create function listings_placed() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' or new.published_at is distinct from old.published_at then
    new.place := case when new.published_at is not null then nextval('listing_places') end;
  end if;
  return new;
end $$;

create trigger listings_placed before insert or update on listings
  for each row execute function listings_placed();

-- What is on show, and how it is ranked and searched.
create table listing_index (
  place bigint primary key,
  listing_id uuid not null unique references listings on delete cascade,
  organization_id uuid not null,
  visibility text not null,
  -- The words of title, summary and labels.
  headline tsvector not null,
  -- Those and the words of the description.
  words tsvector not null
);

-- Under each word, and each label that a search can be narrowed to, who has it, in the order of publication. A search reads as many
-- as it answers with; by an index that does not know the order it would have to look at everybody who has the word.
create table listing_words (
  word text collate "C",
  place bigint references listing_index on delete cascade,
  primary key (word, place)
);
create index listing_words_by_place on listing_words (place);

-- Words alone, whatever stands between them: left to itself the parser would take `ci/cd` for a path and `<agent>` for a tag, and where
-- the locale is C a dash or a curly quote for a letter. The same is done to what somebody looks for (features/marketplace/words.ts).
create function listing_text(text text) returns text language sql immutable parallel safe
  return regexp_replace(normalize(text, NFKC),
    '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u00d7\u00f7\u2000-\u206f\u2190-\u2bff\u3000-\u303f'
    '\ufe00-\ufe0f\ufeff\uff00-\uff0f\uff61-\uff65\U0001f000-\U0001faff]+', ' ', 'g');

-- Words of texts are in lower case, and so no word is a label.
create function listing_labels(listing listings) returns text[] language sql immutable parallel safe
  return array['TYPE:' || listing.agent_type, 'VERIFIED:' || listing.verified]
    || array(select 'CAPABILITY:' || value from unnest(listing.capabilities) value)
    || array(select 'CATEGORY:' || value from unnest(listing.categories) value);

create function listings_indexed() returns trigger language plpgsql as $$
declare
  headline tsvector;
  words tsvector;
begin
  if tg_op = 'UPDATE' then
    delete from listing_index where listing_id = new.listing_id;
  end if;
  if new.status = 'published' and new.agent_active then
    headline := to_tsvector('english', listing_text(concat_ws(' ', new.title, new.summary,
      array_to_string(new.categories || new.tags || new.capabilities, ' '), new.agent_type)));
    words := headline || to_tsvector('english', listing_text(new.description));
    insert into listing_index (place, listing_id, organization_id, visibility, headline, words)
    values (new.place, new.listing_id, new.organization_id, new.visibility, headline, words);
    insert into listing_words (word, place)
    select distinct word, new.place
    from unnest(tsvector_to_array(words) || listing_labels(new) || array(
      select 'HEADLINE:' || lexeme from unnest(tsvector_to_array(headline)) lexeme)) word;
  end if;
  return null;
end $$;

create trigger listings_indexed after insert or update on listings
  for each row execute function listings_indexed();

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
