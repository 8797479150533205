/**
 * Where chains end, as far as it is signed, and as far as this process has seen: a chain that was cut back together with
 * its checkpoints is whole in the database, but not what it was.
 */
import type { Queryable } from '../../../kernel/data/db.ts';
import type { PublicKey, ReadStatement } from '../../../kernel/ports/signer.ts';
import { newestAnchor } from '../verify/evidence-store.ts';
import { firstHash } from './hashes.ts';
import type { Keyring } from './keys/keyring.ts';
import { type CheckpointRow, findHeads } from './links-store.ts';
import { type Anchor, type Checkpoint, claimed, keyIdOf, readSigned, statementHash } from './statements.ts';

export interface Position {
  readonly number: number;
  readonly size: number;
  readonly head: string;
  /** Of the checkpoint's text; null before the first. */
  readonly hash: string | null;
  readonly at: string;
}

export interface Found {
  readonly position?: Position;
  readonly problem?: string;
}

export interface Positions {
  beginning(organizationId: string): Position;
  remember(organizationId: string, position: Position): void;
  remembered(organizationId: string): Position | undefined;
  /** All of it, as it is now: what is read in a snapshot must be held against what was known before that was taken. */
  known(): ReadonlyMap<string, Position>;
  /** The end of each chain, checked; chains that have none are left out. What was known when it is asked, unless told. */
  newest(
    db: Queryable,
    organizationIds: readonly string[],
    known?: ReadonlyMap<string, Position>,
  ): Promise<Map<string, Found>>;
  /** What retention has said about this organization last. */
  anchor(db: Queryable, organizationId: string): Promise<{ anchor?: Anchor; problem?: string }>;
}

export const beginningOf = (organizationId: string): Position => ({
  number: 0,
  size: 0,
  head: firstHash(organizationId),
  hash: null,
  at: new Date(0).toISOString(),
});

export const positionOf = ({ number, size, head, at, signed }: CheckpointRow): Position => ({
  number,
  size,
  head,
  at,
  hash: statementHash(signed),
});

export const afterAnchor = ({ organizationId, checkpoint }: Anchor): Position => ({
  ...beginningOf(organizationId),
  ...checkpoint,
});

/** The row says what its text says; whether the text is genuine is another question. */
export function agrees(row: CheckpointRow, said: Checkpoint | undefined): boolean {
  if (!said) return false;
  const { organizationId, number, size, head, at, previous } = said;
  return (
    row.organizationId === organizationId &&
    row.number === number &&
    row.size === size &&
    row.head === head &&
    row.at === at &&
    row.previous === previous &&
    row.keyId === keyIdOf(row.signed)
  );
}

export const isGenuine = async (
  read: ReadStatement,
  row: CheckpointRow,
  keys: readonly PublicKey[],
): Promise<boolean> => agrees(row, await readSigned(read, 'checkpoint', row.signed, keys));

export function createPositions(deps: { keyring: Keyring; readStatement: ReadStatement }): Positions {
  const { keyring, readStatement } = deps;
  const seen = new Map<string, Position>();

  const judge = async (
    row: CheckpointRow,
    keys: readonly PublicKey[],
    before: Position | undefined,
  ): Promise<Found> => {
    const position = positionOf(row);
    const known = before?.hash === position.hash && agrees(row, claimed('checkpoint', row.signed));
    if (!known && !(await isGenuine(readStatement, row, keys)))
      return { problem: `checkpoint ${row.number} is not what a trusted key has signed` };
    return cutBack(before, position) ?? { position };
  };

  const anchor: Positions['anchor'] = async (db, organizationId) => {
    const row = await newestAnchor(db, organizationId);
    if (!row) return {};
    const { keys } = await keyring.trust(db);
    const said = await readSigned(readStatement, 'anchor', row.signed, keys);
    const right = said?.organizationId === organizationId && said.number === row.number && said.at === row.at;
    return right
      ? { anchor: said }
      : { problem: `anchor ${row.number} is not what a trusted key has signed` };
  };

  const afterRetention = async (
    db: Queryable,
    organizationId: string,
    before: Position | undefined,
  ): Promise<Found | undefined> => {
    const { anchor: last, problem } = await anchor(db, organizationId);
    if (problem !== undefined) return { problem };
    const position = last ? afterAnchor(last) : beginningOf(organizationId);
    return cutBack(before, position) ?? (last && { position });
  };

  return {
    beginning: beginningOf,
    anchor,
    remember(organizationId, position) {
      if ((seen.get(organizationId)?.number ?? 0) < position.number) seen.set(organizationId, position);
    },
    remembered: (organizationId) => seen.get(organizationId),
    known: () => new Map(seen),
    async newest(db, organizationIds, known = some(seen, organizationIds)) {
      const { keys } = await keyring.trust(db);
      const found = new Map<string, Found>();
      for (const row of await findHeads(db, organizationIds))
        found.set(row.organizationId, await judge(row, keys, known.get(row.organizationId)));
      for (const organizationId of organizationIds) {
        if (found.has(organizationId)) continue;
        const end = await afterRetention(db, organizationId, known.get(organizationId));
        if (end) found.set(organizationId, end);
      }
      return found;
    },
  };
}

const some = (all: ReadonlyMap<string, Position>, ids: readonly string[]) =>
  new Map(ids.flatMap((id) => (all.has(id) ? [[id, all.get(id) as Position]] : [])));

/** What was seen earlier must still be there. */
export function cutBack(before: Position | undefined, now: Position): Found | undefined {
  if (!before || before.number < now.number) return undefined;
  if (before.number === now.number && before.hash === now.hash) return undefined;
  return { problem: `checkpoint ${before.number}, which was there, is gone or another` };
}
