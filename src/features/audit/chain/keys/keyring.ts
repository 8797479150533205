/** The instance's key in the line of keys: which keys are trusted, and whether ours may link and sign. */
import type { Clock } from '../../../../kernel/clock.ts';
import type { Db, Queryable, Tx } from '../../../../kernel/data/db.ts';
import type { Log } from '../../../../kernel/observability/log.ts';
import type { PublicKey, ReadStatement, Seal, Signer } from '../../../../kernel/ports/signer.ts';
import type { Alarm } from '../../alarm.ts';
import { sealTag } from '../hashes.ts';
import {
  findRecorded,
  hasKeys,
  hasSealed,
  hasSharedSeals,
  insertKey,
  newestCheckpointKey,
  readKeys,
} from '../links-store.ts';
import { lockSequencer } from '../lock-store.ts';
import { claimed, sign, statementHash } from '../statements.ts';
import { createSharedSeals } from './shared-seals.ts';
import { type KeyRow, type Trust, trustFrom } from './trusted-keys.ts';

export interface Standing {
  /**
   * Our key may link and sign. It is in the line of keys, and each key that joined after it is configured here and has
   * shared its seal with ours: nodes with different keys of one published set take turns.
   */
  readonly current: boolean;
  /** The seals that can be checked, by the tag that such seals begin with. */
  readonly seals: ReadonlyMap<string, Seal>;
  /** Tags of earlier keys whose seals cannot be checked and are accepted for now. */
  readonly uncheckedTags: readonly string[];
}

export interface Keyring {
  trust(db: Queryable): Promise<Trust>;
  standing(db: Queryable): Promise<Standing>;
  /** The key that signs the log, when ours may not. Also works on a database that has no tables yet. */
  otherKey(): Promise<string | undefined>;
  /**
   * Adds our key to the line of keys and shares its seal. A key that is in the line already is added again only when a key
   * follows it that is not configured. Without `takeOver` a key is added only to an empty line. Where a statement was removed,
   * nothing is added and the alarm is raised.
   */
  introduce(takeOver: boolean): Promise<void>;
}

export interface KeyringDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly signer: Signer;
  readonly readStatement: ReadStatement;
  readonly alarm: Alarm;
}

/** After an unplanned change of keys, events that the earlier key sealed are still waiting to be linked. */
const earlierSealMs = 3_600_000;

/** A key that is stated for the first time has sealed nothing; looking further back would read the whole log. */
const sealedLatelyMs = 2 * 86_400_000;

const noSeals: ReadonlyMap<string, Seal> = new Map();

export function createKeyring({ db, clock, log, signer, readStatement, alarm }: KeyringDeps): Keyring {
  const roots = signer.publicKeys();
  const isConfigured = (keyId: string) => roots.some(({ kid }) => kid === keyId);
  const sharedSeals = createSharedSeals({ clock, signer, readStatement });
  let known: { rows: string; trust: Trust } | undefined;
  /** A statement of a key was removed: nothing counts until it is back. */
  let removed: string | undefined;

  const trustIn = async (rows: readonly KeyRow[]): Promise<Trust> => {
    const text = JSON.stringify(rows);
    if (known?.rows !== text) known = { rows: text, trust: await trustFrom(readStatement, roots, rows) };
    const isStated = rows.some(({ keyId }) => keyId === signer.keyId);
    return removed === undefined || isStated ? known.trust : { ...known.trust, problem: removed };
  };

  /** The first key is stated in an empty log, and every key before it signs: otherwise its statement was there and is gone. */
  const removedStatement = async (tx: Tx, rows: readonly KeyRow[]): Promise<string | undefined> => {
    const toDo = 'nothing is linked or signed until it is restored';
    const recorded = rows.length === 0 ? await findRecorded(tx) : [];
    if (recorded.length > 0) return `audit_keys was emptied, but ${recorded.join(', ')} was not: ${toDo}`;
    const isStated = rows.some(({ keyId }) => keyId === signer.keyId);
    if (isStated || rows.length === 0) return undefined;
    const hasActed =
      (await newestCheckpointKey(tx)) === signer.keyId ||
      (await hasSealed(tx, sealTag(signer.keyId), new Date(clock.now() - sealedLatelyMs)));
    return hasActed
      ? `the row of audit_keys for the signing key ${signer.keyId} was removed: ${toDo}`
      : undefined;
  };

  /** The keys whose seals we can check are named in our statement, so that removing a shared seal later shows. */
  const introduceAfter = async (tx: Tx, rows: readonly KeyRow[]): Promise<KeyRow> => {
    const [newest] = rows;
    const at = new Date(clock.now()).toISOString();
    const own = roots[0] as PublicKey;
    const predecessor = newest && claimed('key', newest.signed)?.key;
    const known = predecessor ? [predecessor, ...roots] : roots;
    const { keys } = await trustFrom(readStatement, known, rows);
    const sealsOf = rows.length > 0 ? [...(await sharedSeals.received(tx, keys)).keys()] : [];
    const number = (newest?.number ?? 0) + 1;
    const previous = newest && predecessor ? { hash: statementHash(newest.signed), key: predecessor } : null;
    const signed = await sign(signer, 'key', { number, key: own, at, previous, sealsOf });
    return { number, keyId: own.kid, at, signed };
  };

  /**
   * The only moment at which a key is trusted that the configuration does not name: the one that signed until now. When
   * further keys are configured, it must be one of them.
   */
  const mayFollow = async (rows: readonly KeyRow[]): Promise<boolean> => {
    const [newest] = rows;
    const predecessor = newest && claimed('key', newest.signed)?.key;
    if (!newest) return true;
    if (!predecessor) return false;
    if (roots.length > 1 && !isConfigured(predecessor.kid)) return false;
    return (await trustFrom(readStatement, [predecessor], rows)).problem === undefined;
  };

  /** The rows that were added after ours; all of them when there is none of ours. */
  const laterRows = (rows: readonly KeyRow[]): readonly KeyRow[] => {
    const place = rows.findIndex(({ keyId }) => keyId === signer.keyId);
    return place < 0 ? rows : rows.slice(0, place);
  };

  /** Our key is in the line, and only configured keys were added later: a restart in the middle of a rotation. */
  const hasJoined = (rows: readonly KeyRow[]): boolean => {
    const later = laterRows(rows);
    return later.length < rows.length && later.every(({ keyId }) => isConfigured(keyId));
  };

  /** `rows` from the newest to the oldest. */
  const judge = async (
    queryable: Queryable,
    rows: readonly KeyRow[],
  ): Promise<Standing & { problem: string | undefined }> => {
    const trust = await trustIn(rows);
    const shared = rows.length > 1 ? await sharedSeals.received(queryable, trust.keys) : noSeals;
    const later = laterRows(rows);
    const [own, ...before] = rows.slice(later.length);
    const hasJustJoined = clock.now() < Date.parse(own?.at ?? '') + earlierSealMs;
    const counts = (keyId: string) => hasJustJoined || isConfigured(keyId);
    const accepted = [...shared].filter(([keyId]) => counts(keyId));
    const stated = (own && claimed('key', own.signed)?.sealsOf) ?? [];
    const lost = stated.find((keyId) => counts(keyId) && !shared.has(keyId));
    const problem =
      trust.problem ??
      problemWith(later, shared) ??
      (lost && `the seal that the signing key ${lost} shared with ours was removed from audit_shared_seals`);
    const seals = new Map(
      [...accepted, [signer.keyId, signer.seal] as const].map(([keyId, seal]) => [sealTag(keyId), seal]),
    );
    const earlierTags = before.map(({ keyId }) => sealTag(keyId));
    return {
      current: own !== undefined && problem === undefined,
      seals,
      uncheckedTags: hasJustJoined ? earlierTags.filter((tag) => !seals.has(tag)) : [],
      problem,
    };
  };

  const problemWith = (later: readonly KeyRow[], shared: ReadonlyMap<string, Seal>): string | undefined => {
    const foreign = later.find(({ keyId }) => !isConfigured(keyId));
    if (foreign) return `the audit log is signed by another key: ${foreign.keyId}`;
    const silent = later.find(({ keyId }) => !shared.has(keyId));
    return silent && `the audit log is signed by another key, which does not list ours: ${silent.keyId}`;
  };

  return {
    trust: async (queryable) => trustIn(await readKeys(queryable)),
    async standing(queryable) {
      const rows = await readKeys(queryable);
      const { problem, ...standing } = await judge(queryable, rows);
      if (problem !== undefined && rows.length > 0) alarm.raise({ problem });
      return standing;
    },
    async otherKey() {
      const rows = (await hasKeys(db)) ? await readKeys(db) : [];
      const newest = rows[0]?.keyId;
      if (newest === undefined || newest === signer.keyId) return undefined;
      // An earlier version's database knows no shared seals.
      const isCurrent = (await hasSharedSeals(db)) && (await judge(db, rows)).current;
      return isCurrent ? undefined : newest;
    },
    introduce: (takeOver) =>
      db.transaction(async (tx) => {
        await lockSequencer(tx, clock);
        const rows = await readKeys(tx);
        const [newest] = rows;
        if (!hasJoined(rows)) {
          if (newest && !takeOver) return;
          removed = await removedStatement(tx, rows);
          if (removed !== undefined) return alarm.raise({ problem: removed });
          if (!(await mayFollow(rows)))
            return alarm.raise({ problem: `no key that may be believed signed before: ${newest?.keyId}` });
          await insertKey(tx, await introduceAfter(tx, rows));
          if (newest)
            log.warn(
              { keyId: signer.keyId, previousKeyId: newest.keyId },
              'the signing key has changed: this one takes over the audit log. If you did not change it, treat the key as stolen',
            );
        }
        await sharedSeals.share(tx);
      }),
  };
}
