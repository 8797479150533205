/** An external checkpoint: a copy kept outside the database. An attacker who rewrites the whole database cannot change it. */
import type { Db } from '../../../kernel/data/db.ts';
import type { PublicKey, ReadStatement } from '../../../kernel/ports/signer.ts';
import type { ChainHeads } from '../chain/chain-heads.ts';
import type { Keyring } from '../chain/keys/keyring.ts';
import { firstCheckpointFromSize } from '../chain/segments-store.ts';
import {
  type Checkpoint,
  checkpointText,
  entryHash,
  type Inclusion,
  keyIdOf,
  readSigned,
  statementTypes,
} from '../chain/statements.ts';
import { headOf, inclusionFinding } from '../chain/verify-chain.ts';
import { type Finding, finding } from '../findings.ts';

/** An entry of GET /audit/checkpoints; of a checkpoint that is signed itself, the signed text is enough. */
export interface ExternalCheckpoint {
  readonly signed: string;
  readonly inclusion?: (Inclusion & { readonly checkpoint: string }) | null;
}

/** Reads the signed text alone, or the entry as JSON; undefined for any other text. */
export function readExternalCheckpoint(text: string): ExternalCheckpoint | undefined {
  if (!text.startsWith('{')) return isStatement(text) ? { signed: text } : undefined;
  try {
    const { signed, inclusion } = JSON.parse(text);
    if (typeof signed !== 'string' || !isStatement(signed)) return undefined;
    if (inclusion === undefined || inclusion === null) return { signed };
    const isComplete = typeof inclusion.checkpoint === 'string' && Array.isArray(inclusion.proof);
    return isComplete ? { signed, inclusion } : undefined;
  } catch {
    return undefined;
  }
}

/** A checkpoint or tree head by its form; the verification checks the signature. */
function isStatement(text: string): boolean {
  const [header] = /^([\w-]+)\.[\w-]+\.[\w-]+$/.exec(text)?.slice(1) ?? [];
  try {
    const { typ } = JSON.parse(Buffer.from(header ?? '', 'base64url').toString());
    return typ === statementTypes.checkpoint || typ === statementTypes.treeHead;
  } catch {
    return false;
  }
}

/** The checkpoint, if a trusted key signed it or a tree head that includes it. */
async function readCheckpoint(
  read: ReadStatement,
  keys: readonly PublicKey[],
  { signed, inclusion }: ExternalCheckpoint,
): Promise<Checkpoint | undefined> {
  if (!inclusion) return readSigned(read, 'checkpoint', signed, keys);
  const checkpoint = parseCheckpoint(inclusion.checkpoint);
  const treeHead = await readSigned(read, 'treeHead', signed, keys);
  if (!checkpoint || !treeHead) return undefined;
  const row = { ...checkpoint, keyId: keyIdOf(signed) ?? '', signed, inclusion };
  return inclusionFinding(row, treeHead) ? undefined : checkpoint;
}

/** Undefined unless it is the canonical text of a checkpoint. */
function parseCheckpoint(text: string): Checkpoint | undefined {
  try {
    const checkpoint = JSON.parse(text);
    return checkpointText(checkpoint) === text ? checkpoint : undefined;
  } catch {
    return undefined;
  }
}

/** Why the checkpoint is not part of the log; undefined when it is. */
export async function checkExternalCheckpoint(
  deps: { db: Db; readStatement: ReadStatement; keyring: Keyring; chainHeads: ChainHeads },
  external: ExternalCheckpoint,
): Promise<Finding | undefined> {
  const { db, readStatement, keyring, chainHeads } = deps;
  const { keys } = await keyring.trust(db);
  if (!external.inclusion && (await readSigned(readStatement, 'treeHead', external.signed, keys)))
    return finding('EXTERNAL_CHECKPOINT_INCOMPLETE');
  const checkpoint = await readCheckpoint(readStatement, keys, external);
  if (!checkpoint) return finding('EXTERNAL_CHECKPOINT_NOT_SIGNED');
  const { organizationId, number, size } = checkpoint;
  const hash = entryHash(external);
  const row = await firstCheckpointFromSize(db, organizationId, size);
  if (row && headOf(row).hash === hash) return undefined;
  if (row && (row.size === size || row.number === number))
    return finding('EXTERNAL_CHECKPOINT_DIFFERS', { number }, { organizationId });
  const { anchor } = await chainHeads.anchor(db, organizationId);
  if (anchor?.checkpoint.hash === hash) return undefined;
  return anchor && anchor.checkpoint.number > number
    ? finding('EXTERNAL_CHECKPOINT_EXPIRED', { number }, { organizationId })
    : finding('EXTERNAL_CHECKPOINT_MISSING', { number }, { organizationId });
}
