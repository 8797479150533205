/**
 * Shared seals. During a rotation, nodes with different keys write into one log. A seal can be checked only with the secret
 * of its own key, so each key shares that secret with the other configured keys before it records its first event.
 */
import type { Clock } from '../../../../kernel/clock.ts';
import type { Queryable, Tx } from '../../../../kernel/data/db.ts';
import type { PublicKey, ReadStatement, Seal, Signer } from '../../../../kernel/ports/signer.ts';
import { readSigned, sign } from '../statements.ts';
import { insertSharedSeal, readSharedSeals, type SharedSealRow } from './keys-store.ts';

interface SharedSeals {
  /** The seals that trusted keys shared with ours, by key id. A seal that was read once stays in memory. */
  received(db: Queryable, trusted: readonly PublicKey[]): Promise<ReadonlyMap<string, Seal>>;
  /** Shares our seal with every other configured key that does not have it yet. */
  share(tx: Tx): Promise<void>;
}

export function createSharedSeals(deps: {
  clock: Clock;
  signer: Signer;
  readStatement: ReadStatement;
}): SharedSeals {
  const { clock, signer, readStatement } = deps;
  const [own, ...further] = signer.publicKeys();
  const seals = new Map<string, Seal>();

  /** Undefined unless the row's own key has signed it. */
  const read = async ({ keyId, recipient, signed }: SharedSealRow, keys: readonly PublicKey[]) => {
    const sharer = keys.filter(({ kid }) => kid === keyId);
    const statement = await readSigned(readStatement, 'sharedSeal', signed, sharer);
    return statement?.recipient === recipient ? statement : undefined;
  };

  return {
    async received(db, trusted) {
      for (const row of await readSharedSeals(db, signer.keyId)) {
        const isNew = row.recipient === signer.keyId && !seals.has(row.keyId);
        const statement = isNew ? await read(row, trusted) : undefined;
        const seal = statement && (await signer.openSeal(statement.sealKey));
        if (seal) seals.set(row.keyId, seal);
      }
      return seals;
    },
    async share(tx) {
      if (!own || further.length === 0) return;
      const shared = new Set<string>();
      for (const row of await readSharedSeals(tx, own.kid))
        if (await read(row, [own])) shared.add(row.recipient);
      for (const recipient of further.filter(({ kid }) => !shared.has(kid))) {
        const sealKey = await signer.shareSeal(recipient);
        const at = new Date(clock.now()).toISOString();
        const signed = await sign(signer, 'sharedSeal', { recipient: recipient.kid, at, sealKey });
        await insertSharedSeal(tx, { keyId: own.kid, recipient: recipient.kid, signed });
      }
    },
  };
}
