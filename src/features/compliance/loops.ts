import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Verification } from './verification.ts';

/** In every process, since each remembers for itself whose report was asked for. Nothing to do as a rule. */
export const createVerificationLoop = ({ unfinished, proceed }: Verification): Loop => ({
  name: 'compliance-verification',
  everyMs: 1_000,
  inEveryProcess: true,
  async run(signal) {
    for (const organizationId of [...unfinished]) {
      if (signal.aborted) return;
      // To the end of the line first: one that fails every time must not keep the others from their turn.
      unfinished.delete(organizationId);
      unfinished.add(organizationId);
      if (await proceed(organizationId, Number.POSITIVE_INFINITY, signal)) unfinished.delete(organizationId);
    }
  },
});
