/** A checkpoint that somebody kept elsewhere: the one thing that whoever rewrites the whole database cannot rewrite. */
import type { Db } from '../../../kernel/data/db.ts';
import type { ReadStatement } from '../../../kernel/ports/signer.ts';
import type { Positions } from '../chain/chain-heads.ts';
import type { Keyring } from '../chain/keys/keyring.ts';
import { readSigned, statementHash } from '../chain/statements.ts';
import { readCheckpoints } from './evidence-store.ts';

export async function keptProblem(
  deps: { db: Db; readStatement: ReadStatement; keyring: Keyring; positions: Positions },
  signed: string,
): Promise<string | undefined> {
  const { db, readStatement, keyring, positions } = deps;
  const { keys } = await keyring.trust(db);
  const kept = await readSigned(readStatement, 'checkpoint', signed, keys);
  if (!kept) return 'the checkpoint that was kept is signed by no key that is trusted';
  const { organizationId, number } = kept;
  const [row] = await readCheckpoints(db, organizationId, number - 1, 1);
  if (row?.number === number)
    return row.signed === signed ? undefined : `checkpoint ${number} is not the one that was kept`;
  const { anchor } = await positions.anchor(db, organizationId);
  if (anchor?.checkpoint.hash === statementHash(signed)) return undefined;
  return anchor && anchor.checkpoint.number > number
    ? `checkpoint ${number}, which was kept, is older than what retention has left`
    : `checkpoint ${number}, which was kept, is not in the log`;
}
