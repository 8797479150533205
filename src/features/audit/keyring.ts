/** The instance's key among those that came before: who may be believed, and whether it is our turn to sign. */
import type { Clock } from '../../kernel/clock.ts';
import type { Db, Queryable } from '../../kernel/db.ts';
import { takeLock } from '../../kernel/locks.ts';
import type { Log } from '../../kernel/log.ts';
import type { PublicKey, ReadStatement, Signer } from '../../kernel/signer.ts';
import type { Alarm } from './alarm.ts';
import { sealTag } from './chain.ts';
import { hasKeys, insertKey, readKeys } from './links-store.ts';
import { claimed, sign, statementHash } from './statements.ts';
import { type KeyRow, type Trust, trustFrom } from './trust.ts';

export interface Standing {
  /** Our key is the one that took over last. */
  readonly current: boolean;
  readonly since: number;
  /** What our seals begin with, and what those of our predecessors do. */
  readonly tag: string;
  readonly earlierTags: readonly string[];
}

export interface Keyring {
  trust(db: Queryable): Promise<Trust>;
  standing(db: Queryable): Promise<Standing>;
  /** False before the very first key has said who it is. */
  begun(): Promise<boolean>;
  /** The key that signs the log, where that is another than ours. Also asked of a database that has no tables yet. */
  otherKey(): Promise<string | undefined>;
  /** Says who we are and who came before, unless that was said already; who does not take over, only where nobody came before. */
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

export function createKeyring({ db, clock, log, signer, readStatement, alarm }: KeyringDeps): Keyring {
  const roots = signer.publicKeys();
  let known: { rows: string; trust: Trust } | undefined;

  const trustIn = async (rows: readonly KeyRow[]): Promise<Trust> => {
    const text = JSON.stringify(rows);
    if (known?.rows !== text) known = { rows: text, trust: await trustFrom(readStatement, roots, rows) };
    return known.trust;
  };

  const introduceAfter = async (newest: KeyRow | undefined): Promise<KeyRow> => {
    const at = new Date(clock.now()).toISOString();
    const own = roots[0] as PublicKey;
    const predecessor = newest && claimed('key', newest.signed)?.key;
    const number = (newest?.number ?? 0) + 1;
    const previous = newest && predecessor ? { hash: statementHash(newest.signed), key: predecessor } : null;
    const signed = await sign(signer, 'key', { number, key: own, at, previous });
    return { number, keyId: own.kid, at, signed };
  };

  /**
   * The only moment at which a key is believed that the configuration does not name: the one that signed until now. Who
   * has named earlier keys has said which it may be.
   */
  const mayFollow = async (rows: readonly KeyRow[]): Promise<boolean> => {
    const [newest] = rows;
    const predecessor = newest && claimed('key', newest.signed)?.key;
    if (!newest) return true;
    if (!predecessor) return false;
    if (roots.length > 1 && !roots.some(({ kid }) => kid === predecessor.kid)) return false;
    return (await trustFrom(readStatement, [predecessor], rows)).problem === undefined;
  };

  return {
    trust: async (queryable) => trustIn(await readKeys(queryable)),
    async standing(queryable) {
      const rows = await readKeys(queryable);
      const { keys, problem } = await trustIn(rows);
      const current = rows[0]?.keyId === signer.keyId && problem === undefined;
      if (!current && rows.length > 0)
        alarm.raise({ problem: problem ?? `the audit log is signed by another key: ${rows[0]?.keyId}` });
      return {
        current,
        since: Date.parse(rows[0]?.at ?? ''),
        tag: sealTag(signer.keyId),
        earlierTags: keys.filter(({ kid }) => kid !== signer.keyId).map(({ kid }) => sealTag(kid)),
      };
    },
    begun: async () => (await readKeys(db)).length > 0,
    async otherKey() {
      const [newest] = (await hasKeys(db)) ? await readKeys(db) : [];
      return newest?.keyId === signer.keyId ? undefined : newest?.keyId;
    },
    introduce: (takeOver) =>
      db.transaction(async (tx) => {
        await takeLock(tx, 'auditSequencer');
        const rows = await readKeys(tx);
        const [newest] = rows;
        if (newest?.keyId === signer.keyId || (newest && !takeOver)) return;
        if (!(await mayFollow(rows)))
          return alarm.raise({ problem: `no key that may be believed signed before: ${newest?.keyId}` });
        await insertKey(tx, await introduceAfter(newest));
        if (newest)
          log.warn(
            { keyId: signer.keyId, previousKeyId: newest.keyId },
            'the signing key has changed: this one takes over the audit log. If you did not change it, somebody else did',
          );
      }),
  };
}
