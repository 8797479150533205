/** An external checkpoint: a copy kept outside the database. An attacker who rewrites the whole database cannot change it. */
import type { Db } from '../../../kernel/data/db.ts';
import type { ReadStatement } from '../../../kernel/ports/signer.ts';
import type { ChainHeads } from '../chain/chain-heads.ts';
import { readCheckpoints } from '../chain/checkpoints-store.ts';
import type { Keyring } from '../chain/keys/keyring.ts';
import { readSigned, statementHash } from '../chain/statements.ts';
import { type Finding, finding } from '../findings.ts';

/** Why the checkpoint is not part of the log; undefined when it is. */
export async function checkExternalCheckpoint(
  deps: { db: Db; readStatement: ReadStatement; keyring: Keyring; chainHeads: ChainHeads },
  signed: string,
): Promise<Finding | undefined> {
  const { db, readStatement, keyring, chainHeads } = deps;
  const { keys } = await keyring.trust(db);
  const checkpoint = await readSigned(readStatement, 'checkpoint', signed, keys);
  if (!checkpoint) return finding('EXTERNAL_CHECKPOINT_NOT_SIGNED');
  const { organizationId, number } = checkpoint;
  const [row] = await readCheckpoints(db, organizationId, number - 1, 1);
  if (row?.number === number)
    return row.signed === signed
      ? undefined
      : finding('EXTERNAL_CHECKPOINT_DIFFERS', { number }, { organizationId });
  const { anchor } = await chainHeads.anchor(db, organizationId);
  if (anchor?.checkpoint.hash === statementHash(signed)) return undefined;
  return anchor && anchor.checkpoint.number > number
    ? finding('EXTERNAL_CHECKPOINT_EXPIRED', { number }, { organizationId })
    : finding('EXTERNAL_CHECKPOINT_MISSING', { number }, { organizationId });
}
