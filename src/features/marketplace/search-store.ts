/** Marketplace search over `listing_words`, an inverted index. */
import type { Queryable } from '../../kernel/data/db.ts';
import { join, raw, type Sql, sql } from '../../kernel/data/sql.ts';
import { offsetOf } from '../../kernel/http/page.ts';
import { type SearchQuery, searchDepth } from './schema.ts';
import { type Alternative, parseAlternatives, toWebsearchQuery } from './search-query.ts';
import { columns, countListings, publishedAndVisibleTo, type StoredListing, visibleTo } from './store.ts';

/** `listing_words` holds labels as well as words; see the migration. */
const labelsOf = ({ capability, category, verified, agentType }: SearchQuery): string[] =>
  Object.entries({ capability, category, verified, type: agentType }).flatMap(([kind, value]) =>
    value === undefined ? [] : [`${kind.toUpperCase()}:${value}`],
  );

/**
 * Without a filter: all listings, with `total` from `listing_counts`. With a filter: the newest matches, at most `searchDepth`, and
 * `total` counts them; listings with every word in title, summary or labels come first. So the work is bounded for common words.
 */
export async function searchListings(
  db: Queryable,
  organizationId: string | undefined,
  query: SearchQuery,
): Promise<{ rows: StoredListing[]; total: number }> {
  const { q, capability, category, verified } = query;
  const isFiltered = [q || undefined, capability, category, verified].some((value) => value !== undefined);
  return isFiltered ? find(db, organizationId, query) : browse(db, organizationId, query);
}

async function browse(db: Queryable, organizationId: string | undefined, query: SearchQuery) {
  const { agentType, limit } = query;
  const ofType = agentType === undefined ? sql`true` : sql`l.agent_type = ${agentType}`;
  const matches = sql`${publishedAndVisibleTo(organizationId)} and ${ofType}`;
  const rows = await db.many<StoredListing>(
    'listings.browse',
    sql`select ${columns} from listings l where ${matches}
        order by l.place desc limit ${limit} offset ${offsetOf(query)}`,
  );
  return { rows, total: await countListings(db, matches) };
}

async function find(db: Queryable, organizationId: string | undefined, query: SearchQuery) {
  const { limit, q } = query;
  const words = sql`websearch_to_tsquery('english', ${toWebsearchQuery(q ?? '')})`;
  const rank = q ? sql`ts_rank(h.headline, ${words})` : sql`0`;
  const alternatives = q ? await lexemesOf(db, parseAlternatives(q)) : [{ lexemes: [], exact: true }];
  if (alternatives.length === 0) return { rows: [], total: 0 };
  /** The newest matches of every alternative; `keyOf` maps a lexeme to its key in the index. */
  const newest: Newest = (keyOf, when, besides) => {
    const parts = alternatives.map(({ lexemes, exact }) => {
      const matches = sql`${visibleTo(organizationId)} and ${besides} and ${exact ? sql`true` : sql`l.words @@ ${words}`}`;
      return sql`(${newestWith([...labelsOf(query), ...lexemes.map(keyOf)], when, matches)})`;
    });
    return sql`select distinct on (place) place, listing_id, headline from (${join(parts, ' union all ')}) h
               order by place desc limit ${searchDepth}`;
  };
  const found = await db.many<StoredListing & { total: number }>(
    'listings.search',
    sql`with ${q ? hitsByHeadline(newest) : sql`hits as materialized (${newest((lexeme) => lexeme, sql`true`, sql`true`)})`}, page as (
          select h.listing_id, h.place, ${rank} as rank from hits h
          order by rank desc, h.place desc limit ${limit} offset ${offsetOf(query)}
        )
        select counted.total, ${columns}
        from (select count(*) as total from hits) counted
        left join (page join listings l using (listing_id)) on true
        order by page.rank desc, page.place desc`,
  );
  const rows = found.filter(({ listingId }) => listingId !== null).map(({ total: _, ...row }) => row);
  return { rows, total: found[0]?.total ?? 0 };
}

type Newest = (keyOf: (lexeme: string) => string, when: Sql, besides: Sql) => Sql;

/** First the listings with every word in title, summary or labels; then, up to `searchDepth`, those with words in the description. */
const hitsByHeadline = (newest: Newest) => sql`
  in_headline as materialized (${newest((lexeme) => `HEADLINE:${lexeme}`, sql`true`, sql`true`)}),
  others as materialized (${newest(
    (lexeme) => lexeme,
    sql`${searchDepth} > (select count(*) from in_headline)`,
    sql`l.place not in (select f.place from in_headline f)`,
  )}),
  hits as materialized (
    select place, listing_id, headline
    from (select 1 as priority, f.* from in_headline f union all select 2, o.* from others o) h
    order by priority, place desc limit ${searchDepth}
  )`;

/** The newest listings that have all of these keys: scans the first key's entries in order and looks each up under the others. */
function newestWith(keys: readonly string[], when: Sql, matches: Sql): Sql {
  const selected = sql`select l.place, l.listing_id, l.headline`;
  const lists = keys.map((_, index) => raw(`w${index}`));
  const [first, ...others] = lists;
  if (first === undefined)
    return sql`${selected} from listing_index l where ${when} and ${matches} order by l.place desc limit ${searchDepth}`;
  const joined = others.map((list) => sql`join listing_words ${list} on ${list}.place = ${first}.place`);
  const having = lists.map((list, index) => sql`${list}.word = ${keys[index]}`);
  // `offset 0` is an optimization fence: one lookup for each entry, never a scan of the whole index.
  return sql`${selected} from listing_words ${first} ${join([sql``, ...joined], ' ')}
             cross join lateral (${selected} from listing_index l where l.place = ${first}.place and ${matches} offset 0) l
             where ${when} and ${join(having, ' and ')} order by ${first}.place desc limit ${searchDepth}`;
}

/** A long query looks up its longest lexemes in the index and checks the others on the matches. */
const maxLookups = 5;

/** Leaves out empty alternatives: an `or` without a word, or stop words such as "the". */
async function lexemesOf(db: Queryable, alternatives: readonly Alternative[]) {
  const rows = await db.many<{ lexemes: string[] }>(
    'listings.lexemes',
    sql`select tsvector_to_array(to_tsvector('english', text)) as lexemes
        from unnest(${alternatives.map(({ words }) => words.join(' '))}::text[]) with ordinality t (text, number) order by number`,
  );
  return alternatives.flatMap(({ exact, excludes }, index) => {
    const all = rows[index]?.lexemes ?? [];
    if (all.length === 0 && !excludes) return [];
    const lexemes = all.toSorted((a, b) => b.length - a.length).slice(0, maxLookups);
    return [{ lexemes, exact: exact && lexemes.length === all.length }];
  });
}
