/** The rows of tree heads. */
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { listOf, prepared, sql } from '../../../kernel/data/sql.ts';
import type { TreeHeadRow } from './statements.ts';

const columns = sql`
  number, taken_at as at, size, encode(root, 'hex') as root, encode(previous, 'hex') as previous, key_id as "keyId", signed`;

export const insertTreeHeads = (tx: Tx, rows: readonly TreeHeadRow[]): Promise<number> => {
  const list = (value: (row: TreeHeadRow) => string | number) =>
    listOf(rows.map((row) => String(value(row))));
  return tx.run(
    'audit.treeHeads.insert',
    prepared(sql`
      insert into audit_tree_heads (number, taken_at, taken_on, size, root, previous, key_id, signed)
      select number, taken_at, (taken_at at time zone 'UTC')::date, size, decode(root, 'hex'),
             decode(nullif(previous, '-'), 'hex'), key_id, signed
      from unnest(${list((row) => row.number)}::bigint[], ${list((row) => row.at)}::timestamptz[],
                  ${list((row) => row.size)}::integer[], ${list((row) => row.root)}, ${list((row) => row.previous ?? '-')},
                  ${list((row) => row.keyId)}, ${list((row) => row.signed)})
           as made (number, taken_at, size, root, previous, key_id, signed)`),
  );
};

export const findNewestTreeHead = (db: Queryable): Promise<TreeHeadRow | undefined> =>
  db.maybe(
    'audit.treeHeads.newest',
    prepared(sql`select ${columns} from audit_tree_heads order by number desc, taken_on desc limit 1`),
  );

/** Whether the row of this tree head is there, with its signed text. */
export async function hasTreeHead(
  db: Queryable,
  { number, at, signed }: Pick<TreeHeadRow, 'number' | 'at' | 'signed'>,
): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(
    'audit.treeHeads.has',
    prepared(sql`
      select exists (select from audit_tree_heads
                     where number = ${number} and taken_on = ${at.slice(0, 10)}::date and signed = ${signed}) as found`),
  );
  return found;
}

export type DatedTreeHead = TreeHeadRow & { readonly takenOn: string };

/** In the order of their numbers. */
export const readTreeHeads = (db: Queryable, after: number, limit: number): Promise<DatedTreeHead[]> =>
  db.many(
    'audit.treeHeads.read',
    prepared(sql`
      select ${columns}, taken_on as "takenOn" from audit_tree_heads
      where number > ${after} order by number, taken_on limit ${limit}`),
  );

/** Newest first, between two numbers that are not included. */
export const readTreeHeadsBackwards = (
  db: Queryable,
  { before, after, limit }: { before: number; after: number; limit: number },
): Promise<DatedTreeHead[]> =>
  db.many(
    'audit.treeHeads.backwards',
    prepared(sql`
      select ${columns}, taken_on as "takenOn" from audit_tree_heads
      where number < ${before} and number > ${after} order by number desc, taken_on desc limit ${limit}`),
  );

/** The one with the highest number of these days (YYYYMMDD). */
export const findHighestTreeHead = (
  db: Queryable,
  days: readonly string[],
): Promise<DatedTreeHead | undefined> =>
  db.maybe(
    'audit.treeHeads.highest',
    sql`select ${columns}, taken_on as "takenOn" from audit_tree_heads
        where taken_on = any (${days}::date[]) order by number desc limit 1`,
  );

/** The lowest number; undefined without tree heads. */
export async function lowestTreeHead(db: Queryable): Promise<number | undefined> {
  const [lowest] = await readTreeHeads(db, 0, 1);
  return lowest?.number;
}

/** The highest number of the tree heads through a day; 0 when there is none. */
export async function highestTreeHeadThrough(db: Queryable, day: string): Promise<number> {
  const { number } = await db.one<{ number: number }>(
    'audit.treeHeads.through',
    sql`select coalesce(max(number), 0) as number from audit_tree_heads where taken_on <= ${day}::date`,
  );
  return number;
}
