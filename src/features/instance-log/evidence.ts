/** What the audit log needs of the instance log: the checkpoint that exports prove against, and proofs that it has a tree head. */
import { proveInclusion } from '../../../sdk/typescript/src/transparency/prove.ts';
import { createTileReader, indexOfTreeHead, treeHeadAt } from './entries.ts';
import type { LogEvidence } from './feature.ts';
import { findNewestLog } from './store.ts';

export const createLogEvidence = (): LogEvidence => ({
  async checkpoint(db) {
    const log = await findNewestLog(db);
    if (!log || log.size === 0) return undefined;
    const { logNumber, size, checkpoint: text, firstTreeHead } = log;
    return {
      logNumber,
      size,
      text,
      hasQuorum: false,
      firstTreeHead,
      highestTreeHead: treeHeadAt(log, size - 1),
    };
  },
  async prove(db, { logNumber, size }, treeHead) {
    const log = await findNewestLog(db);
    const leafIndex = log?.logNumber === logNumber ? indexOfTreeHead(log, treeHead) : undefined;
    if (leafIndex === undefined || leafIndex >= size) return undefined;
    return { leafIndex, proof: await proveInclusion(createTileReader(db, logNumber), leafIndex, size) };
  },
  witnessed: async () => null,
});
