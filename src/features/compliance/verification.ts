/**
 * Verifies the identities of active agents: issues and verifies a badge for each, and validates its cards against their schemas (the did
 * feature does both). A signature costs about half a millisecond, so results are stored under a digest of all inputs and the key id: only
 * new or changed agents are verified again, and all of them after a key rotation. Two at a time on the thread pool, with a rest after
 * them as long as they took, so that requests are not delayed.
 */

import { isoTime } from '../../kernel/clock.ts';
import { rest } from '../../kernel/concurrency/pace.ts';
import type { ComplianceDeps } from './feature.ts';
import { type Cursor, countChecked, findUnchecked, saveChecks, type UncheckedAgent } from './store.ts';

export interface Verification {
  /** Verifies unchecked agents until the given time. True when none is left. */
  verifyUntil(organizationId: string, until: number, signal?: AbortSignal): Promise<boolean>;
  count(organizationId: string): ReturnType<typeof countChecked>;
  /** Organizations whose verification did not finish in time; the loop continues them. */
  readonly unfinished: Set<string>;
}

const batchSize = 250;
const concurrency = 2;

export function createVerification(
  deps: Pick<ComplianceDeps, 'db' | 'clock' | 'signer' | 'identity'>,
): Verification {
  const { db, clock, identity } = deps;
  const { keyId } = deps.signer;

  const check = async (agents: readonly UncheckedAgent[]) => {
    const checked = [];
    for (let start = 0; start < agents.length; start += concurrency) {
      const startedAt = performance.now();
      const group = agents.slice(start, start + concurrency);
      const results = await Promise.all(group.map(identity.checkConformance));
      for (const [index, { agentId, digest }] of group.entries()) {
        const { verified = false, conforms = false } = results[index] ?? {};
        checked.push({ agentId, digest, verified, conforms });
      }
      await rest(performance.now() - startedAt);
    }
    await saveChecks(db, checked, { keyId, now: isoTime(clock) });
  };

  return {
    unfinished: new Set(),
    count: (organizationId) => countChecked(db, organizationId, keyId),
    async verifyUntil(organizationId, until, signal) {
      let cursor: Cursor | undefined;
      for (;;) {
        const agents = await findUnchecked(db, { organizationId, keyId }, cursor, batchSize);
        const last = agents.at(-1);
        if (!last) return true;
        await check(agents);
        cursor = { createdAt: last.exactTime, agentId: last.agentId };
        if (agents.length < batchSize) return true;
        if (signal?.aborted || clock.now() >= until) return false;
      }
    },
  };
}
