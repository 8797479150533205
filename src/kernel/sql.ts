/** SQL is written as SQL; values become parameters, never text. */
import type { Sql } from 'sql-template-tag';

export { default as sql, join, raw, type Sql } from 'sql-template-tag';

const hot = new WeakSet<Sql>();

/** For the queries of the hot paths: each connection parses and plans them once. Their text must not vary. */
export function prepared(query: Sql): Sql {
  hot.add(query);
  return query;
}

export const isPrepared = (query: Sql): boolean => hot.has(query);
