/** The search of the marketplace, by the lists that `listing_words` keeps. */
import type { Queryable } from '../../kernel/data/db.ts';
import { join, raw, type Sql, sql } from '../../kernel/data/sql.ts';
import { offsetOf } from '../../kernel/http/page.ts';
import { type SearchQuery, searchDepth } from './schema.ts';
import { columns, countListings, publishedAndVisibleTo, type StoredListing, visibleTo } from './store.ts';
import { type Alternative, parseAlternatives, toWebsearchQuery } from './words.ts';

/** Labels are in `listing_words` beside words; see the migration. */
const labelsOf = ({ capability, category, verified, agentType }: SearchQuery): string[] =>
  Object.entries({ capability, category, verified, type: agentType }).flatMap(([kind, value]) =>
    value === undefined ? [] : [`${kind.toUpperCase()}:${value}`],
  );

/**
 * Without a narrowing condition: all of them, and `total` as it is counted already. With one: the newest that fit, up to
 * `searchDepth`, those before others whose title, summary and labels have every word; `total` is how many those are. So the work is
 * bounded, however many have a word.
 */
export async function searchListings(
  db: Queryable,
  organizationId: string | undefined,
  query: SearchQuery,
): Promise<{ rows: StoredListing[]; total: number }> {
  const { q, capability, category, verified } = query;
  const narrowed = [q || undefined, capability, category, verified].some((one) => one !== undefined);
  return narrowed ? find(db, organizationId, query) : browse(db, organizationId, query);
}

async function browse(db: Queryable, organizationId: string | undefined, query: SearchQuery) {
  const { agentType, limit } = query;
  const ofType = agentType === undefined ? sql`true` : sql`l.agent_type = ${agentType}`;
  const shown = sql`${publishedAndVisibleTo(organizationId)} and ${ofType}`;
  const rows = await db.many<StoredListing>(
    'listings.browse',
    sql`select ${columns} from listings l where ${shown}
        order by l.place desc limit ${limit} offset ${offsetOf(query)}`,
  );
  return { rows, total: await countListings(db, shown) };
}

async function find(db: Queryable, organizationId: string | undefined, query: SearchQuery) {
  const { limit, q } = query;
  const words = sql`websearch_to_tsquery('english', ${toWebsearchQuery(q ?? '')})`;
  const rank = q ? sql`ts_rank(h.headline, ${words})` : sql`0`;
  const choices = q ? await lexemesOf(db, parseAlternatives(q)) : [{ lexemes: [], exact: true }];
  if (choices.length === 0) return { rows: [], total: 0 };
  /** The newest of every choice, from the lists that `listed` names for its words. */
  const newest: Newest = (listed, when, besides) => {
    const parts = choices.map(({ lexemes, exact }) => {
      const fits = sql`${visibleTo(organizationId)} and ${besides} and ${exact ? sql`true` : sql`l.words @@ ${words}`}`;
      return sql`(${newestWith([...labelsOf(query), ...lexemes.map(listed)], when, fits)})`;
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

type Newest = (listed: (lexeme: string) => string, when: Sql, besides: Sql) => Sql;

/** Those first whose title, summary or labels have every word; then, if there is room, those whose description has some. */
const hitsByHeadline = (newest: Newest) => sql`
  foremost as materialized (${newest((lexeme) => `HEADLINE:${lexeme}`, sql`true`, sql`true`)}),
  others as materialized (${newest(
    (lexeme) => lexeme,
    sql`${searchDepth} > (select count(*) from foremost)`,
    sql`l.place not in (select f.place from foremost f)`,
  )}),
  hits as materialized (
    select place, listing_id, headline
    from (select 1 as turn, f.* from foremost f union all select 2, o.* from others o) h
    order by turn, place desc limit ${searchDepth}
  )`;

/** The newest that have all of these words: from one word's list, in its order, each looked up in the lists of the others. */
function newestWith(words: readonly string[], when: Sql, fits: Sql): Sql {
  const taken = sql`select l.place, l.listing_id, l.headline`;
  const lists = words.map((_, index) => raw(`w${index}`));
  const [first, ...others] = lists;
  if (first === undefined)
    return sql`${taken} from listing_index l where ${when} and ${fits} order by l.place desc limit ${searchDepth}`;
  const joined = others.map((list) => sql`join listing_words ${list} on ${list}.place = ${first}.place`);
  const having = lists.map((list, index) => sql`${list}.word = ${words[index]}`);
  // `offset 0` keeps it one look-up for each: joined freely, it might be a walk along the whole index.
  return sql`${taken} from listing_words ${first} ${join([sql``, ...joined], ' ')}
             cross join lateral (${taken} from listing_index l where l.place = ${first}.place and ${fits} offset 0) l
             where ${when} and ${join(having, ' and ')} order by ${first}.place desc limit ${searchDepth}`;
}

/** Of a long question the longest words are looked up, and the others looked for in what was found. */
const maxLookups = 5;

/** Without those that say nothing: an `or` beside nothing, or words like "the". */
async function lexemesOf(db: Queryable, choices: readonly Alternative[]) {
  const rows = await db.many<{ lexemes: string[] }>(
    'listings.lexemes',
    sql`select tsvector_to_array(to_tsvector('english', text)) as lexemes
        from unnest(${choices.map(({ words }) => words.join(' '))}::text[]) with ordinality t (text, number) order by number`,
  );
  return choices.flatMap(({ exact, excludes }, index) => {
    const all = rows[index]?.lexemes ?? [];
    if (all.length === 0 && !excludes) return [];
    const lexemes = all.toSorted((a, b) => b.length - a.length).slice(0, maxLookups);
    return [{ lexemes, exact: exact && lexemes.length === all.length }];
  });
}
