/** SQL is written as SQL; values become parameters, never text. */
import sql, { type Sql } from 'sql-template-tag';

export { default as sql, empty, join, raw, type Sql } from 'sql-template-tag';

const preparedQueries = new WeakSet<Sql>();

/** Marks a query of a hot path as a prepared statement: each connection parses and plans it once. Its text must not vary. */
export function prepared(query: Sql): Sql {
  preparedQueries.add(query);
  return query;
}

/**
 * An array parameter as one joined text, for hot paths: the driver's quoting of an array literal would cost more than the query.
 * Only for texts that are not empty and have no control characters: ids, JSON.
 */
export const listOf = (texts: readonly string[]): Sql =>
  sql`string_to_array(${texts.join('\u001e')}, chr(30))`;

export const isPrepared = (query: Sql): boolean => preparedQueries.has(query);
