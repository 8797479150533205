import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Verification } from './verification.ts';

/** In every process, since each has its own list of unfinished organizations, which is mostly empty. */
export const createVerificationLoop = ({ unfinished, verifyUntil }: Verification): Loop => ({
  name: 'compliance-verification',
  everyMs: 1_000,
  inEveryProcess: true,
  async run(signal) {
    for (const organizationId of [...unfinished]) {
      if (signal.aborted) return;
      // Move it to the end of the queue first: an organization that always fails must not block the others.
      unfinished.delete(organizationId);
      unfinished.add(organizationId);
      if (await verifyUntil(organizationId, Number.POSITIVE_INFINITY, signal))
        unfinished.delete(organizationId);
    }
  },
});
