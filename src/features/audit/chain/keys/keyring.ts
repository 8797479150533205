/** The signing keys of the log: which are trusted, and whether our key may link and sign. */

import {
  type KeyRow,
  type Trust as TrustWith,
  trustFrom,
} from '../../../../../sdk/typescript/src/audit/trusted-keys.ts';
import type { Clock } from '../../../../kernel/clock.ts';
import type { Db, Queryable, Tx } from '../../../../kernel/data/db.ts';
import type { Log } from '../../../../kernel/observability/log.ts';
import type { PublicKey, ReadStatement, Seal, Signer } from '../../../../kernel/ports/signer.ts';
import { type Finding, type FindingCode, finding } from '../../findings.ts';
import type { IntegrityStatus } from '../../integrity-status.ts';
import { sealTag } from '../hashes.ts';
import { lockSequencer } from '../lock-store.ts';
import { sign, statementHash, unverifiedClaims } from '../statements.ts';
import {
  findTablesWithRows,
  hasKeysTable,
  hasSealed,
  hasSharedSealsTable,
  insertKey,
  newestCheckpointKey,
  readKeys,
} from './keys-store.ts';
import { createSharedSeals } from './shared-seals.ts';

export interface SigningStatus {
  /**
   * Our key may link and sign. It has a row in audit_keys, and each key that was added later is configured here and has
   * shared its seal with ours: nodes with different keys of one published set sign the same log.
   */
  readonly maySign: boolean;
  /** The seals that can be checked, by seal tag. */
  readonly seals: ReadonlyMap<string, Seal>;
  /** Tags of earlier keys whose seals cannot be checked and are accepted for now. */
  readonly uncheckedTags: readonly string[];
}

type Trust = TrustWith<FindingCode>;

export interface Keyring {
  trust(db: Queryable): Promise<Trust>;
  signingStatus(db: Queryable): Promise<SigningStatus>;
  /** The key that signs the log, when ours may not. Also works on a database that has no tables yet. */
  otherKey(): Promise<string | undefined>;
  /**
   * Adds our key to audit_keys and shares its seal. A key that has a row is added again only when a later key is not
   * configured. Without `takeOver` a key is added only to an empty table. When a statement was removed, it adds nothing and
   * raises the alarm.
   */
  introduce(takeOver: boolean): Promise<void>;
}

interface KeyringDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly signer: Signer;
  readonly readStatement: ReadStatement;
  readonly integrity: IntegrityStatus;
}

/** After an unplanned change of keys, the backlog still has events that the earlier key sealed. */
const earlierSealMs = 3_600_000;

/** A key without a row has sealed nothing. An older event would need a scan of the whole log. */
const sealedLatelyMs = 2 * 86_400_000;

const noSeals: ReadonlyMap<string, Seal> = new Map();

export function createKeyring({ db, clock, log, signer, readStatement, integrity }: KeyringDeps): Keyring {
  const roots = signer.publicKeys();
  const isConfigured = (keyId: string) => roots.some(({ kid }) => kid === keyId);
  const sharedSeals = createSharedSeals({ clock, signer, readStatement });
  let cachedTrust: { rows: string; trust: Trust } | undefined;
  /** The statement of a key was removed: no key may sign until it is restored. */
  let removed: Finding | undefined;

  const trustIn = async (rows: readonly KeyRow[]): Promise<Trust> => {
    const text = JSON.stringify(rows);
    if (cachedTrust?.rows !== text)
      cachedTrust = { rows: text, trust: await trustFrom(readStatement, roots, rows) };
    const { trust } = cachedTrust;
    const hasRow = rows.some(({ keyId }) => keyId === signer.keyId);
    return removed === undefined || hasRow ? trust : { ...trust, finding: removed };
  };

  /** The first key is added to an empty log, and each key has a row before it signs. Otherwise a row was removed. */
  const removedStatement = async (tx: Tx, rows: readonly KeyRow[]): Promise<Finding | undefined> => {
    const tables = rows.length === 0 ? await findTablesWithRows(tx) : [];
    if (tables.length > 0) return finding('KEYS_EMPTIED', { tables });
    const hasRow = rows.some(({ keyId }) => keyId === signer.keyId);
    if (hasRow || rows.length === 0) return undefined;
    const wasUsed =
      (await newestCheckpointKey(tx)) === signer.keyId ||
      (await hasSealed(tx, sealTag(signer.keyId), new Date(clock.now() - sealedLatelyMs)));
    return wasUsed ? finding('KEY_ROW_REMOVED', { keyId: signer.keyId }) : undefined;
  };

  /** The statement names the keys whose seals we can check, so that a later removal of a shared seal is found. */
  const createRow = async (tx: Tx, rows: readonly KeyRow[]): Promise<KeyRow> => {
    const [newest] = rows;
    const at = new Date(clock.now()).toISOString();
    const own = roots[0] as PublicKey;
    const predecessor = newest && unverifiedClaims('key', newest.signed)?.key;
    const { keys } = await trustFrom(readStatement, predecessor ? [predecessor, ...roots] : roots, rows);
    const sealsOf = rows.length > 0 ? [...(await sharedSeals.received(tx, keys)).keys()] : [];
    const number = (newest?.number ?? 0) + 1;
    const previous = newest && predecessor ? { hash: statementHash(newest.signed), key: predecessor } : null;
    const signed = await sign(signer, 'key', { number, key: own, at, previous, sealsOf });
    return { number, keyId: own.kid, at, signed };
  };

  /**
   * Whether our key may follow the newest one. Only here is a key trusted that is not configured: the one that signed until
   * now. When further keys are configured, it must be one of them.
   */
  const mayFollow = async (rows: readonly KeyRow[]): Promise<boolean> => {
    const [newest] = rows;
    if (!newest) return true;
    const predecessor = unverifiedClaims('key', newest.signed)?.key;
    if (!predecessor) return false;
    if (roots.length > 1 && !isConfigured(predecessor.kid)) return false;
    return (await trustFrom(readStatement, [predecessor], rows)).finding === undefined;
  };

  /** The rows that were added after ours; all of them when ours has none. */
  const laterRows = (rows: readonly KeyRow[]): readonly KeyRow[] => {
    const index = rows.findIndex(({ keyId }) => keyId === signer.keyId);
    return index < 0 ? rows : rows.slice(0, index);
  };

  /** Our key has a row, and only configured keys were added later: a restart during a rotation. */
  const hasJoined = (rows: readonly KeyRow[]): boolean => {
    const later = laterRows(rows);
    return later.length < rows.length && later.every(({ keyId }) => isConfigured(keyId));
  };

  /** `rows` from the newest to the oldest. */
  const evaluate = async (
    queryable: Queryable,
    rows: readonly KeyRow[],
  ): Promise<SigningStatus & { finding: Finding | undefined }> => {
    const trust = await trustIn(rows);
    const shared = rows.length > 1 ? await sharedSeals.received(queryable, trust.keys) : noSeals;
    const later = laterRows(rows);
    const [own, ...before] = rows.slice(later.length);
    const hasJustJoined = clock.now() < Date.parse(own?.at ?? '') + earlierSealMs;
    const isAccepted = (keyId: string) => hasJustJoined || isConfigured(keyId);
    const sealsOf = (own && unverifiedClaims('key', own.signed)?.sealsOf) ?? [];
    const lost = sealsOf.find((keyId) => isAccepted(keyId) && !shared.has(keyId));
    const problem =
      trust.finding ??
      laterKeyFinding(later, shared) ??
      (lost === undefined ? undefined : finding('SHARED_SEAL_REMOVED', { keyId: lost }));
    const accepted = [...shared].filter(([keyId]) => isAccepted(keyId));
    const seals = new Map(
      [...accepted, [signer.keyId, signer.seal] as const].map(([keyId, seal]) => [sealTag(keyId), seal]),
    );
    const earlierTags = before.map(({ keyId }) => sealTag(keyId));
    return {
      maySign: own !== undefined && problem === undefined,
      seals,
      uncheckedTags: hasJustJoined ? earlierTags.filter((tag) => !seals.has(tag)) : [],
      finding: problem,
    };
  };

  const laterKeyFinding = (
    later: readonly KeyRow[],
    shared: ReadonlyMap<string, Seal>,
  ): Finding | undefined => {
    const unlisted = later.find(({ keyId }) => !isConfigured(keyId));
    if (unlisted) return finding('SIGNED_BY_UNLISTED_KEY', { keyId: unlisted.keyId });
    const withoutSeal = later.find(({ keyId }) => !shared.has(keyId));
    return withoutSeal && finding('SIGNED_BY_KEY_WITHOUT_SEAL', { keyId: withoutSeal.keyId });
  };

  return {
    trust: async (queryable) => trustIn(await readKeys(queryable)),
    async signingStatus(queryable) {
      const rows = await readKeys(queryable);
      const { finding: problem, ...status } = await evaluate(queryable, rows);
      if (problem && rows.length > 0) integrity.raise(problem);
      return status;
    },
    async otherKey() {
      const rows = (await hasKeysTable(db)) ? await readKeys(db) : [];
      const newest = rows[0]?.keyId;
      if (newest === undefined || newest === signer.keyId) return undefined;
      // The database of an earlier version has no shared seals.
      const maySign = (await hasSharedSealsTable(db)) && (await evaluate(db, rows)).maySign;
      return maySign ? undefined : newest;
    },
    introduce: (takeOver) =>
      db.transaction(async (tx) => {
        await lockSequencer(tx, clock);
        const rows = await readKeys(tx);
        const [newest] = rows;
        if (!hasJoined(rows)) {
          if (newest && !takeOver) return;
          removed = await removedStatement(tx, rows);
          if (removed) return integrity.raise(removed);
          if (!(await mayFollow(rows)))
            return integrity.raise(finding('PREVIOUS_KEY_NOT_TRUSTED', { keyId: newest?.keyId }));
          await insertKey(tx, await createRow(tx, rows));
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
