/** SQL is written as SQL; values become parameters, never text. */
import sql, { type Sql } from 'sql-template-tag';

export { default as sql, join, raw, type Sql } from 'sql-template-tag';

const hot = new WeakSet<Sql>();

/** For the queries of the hot paths: each connection parses and plans them once. Their text must not vary. */
export function prepared(query: Sql): Sql {
  hot.add(query);
  return query;
}

/**
 * A column of many rows as one text that SQL takes apart: for hot paths, where writing an array in PostgreSQL's own way,
 * quotes and all, would cost more than the query. Texts that are not empty and hold no control characters: ids, JSON.
 */
export const listOf = (texts: readonly string[]): Sql =>
  sql`string_to_array(${texts.join('\u001e')}, chr(30))`;

export const isPrepared = (query: Sql): boolean => hot.has(query);
