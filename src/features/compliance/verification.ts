/**
 * Which agents' identities hold together: for every active agent a badge is issued and verified, and its cards are held against
 * their schemas (the did feature does it). A signature costs about half a millisecond, so what came out is remembered, under a
 * digest of all that went in and the key that signed: only agents that are new or have changed are looked at again, and after a
 * change of keys all of them. A few at a time, on the thread pool: nobody else waits for it.
 */
import { isoTime } from '../../kernel/clock.ts';
import type { ComplianceDeps } from './deps.ts';
import { countChecked, findUnchecked, type Place, saveChecks, type UncheckedAgent } from './store.ts';

export interface Verification {
  /** Looks at what has not been looked at, until the time given; answers whether it is done. */
  proceed(organizationId: string, until: number, signal?: AbortSignal): Promise<boolean>;
  count(organizationId: string): ReturnType<typeof countChecked>;
  /** Organizations whose verification was not done in time; the loop goes on with them. */
  readonly unfinished: Set<string>;
}

const batch = 250;
const atOnce = 4;

export function createVerification(
  deps: Pick<ComplianceDeps, 'db' | 'clock' | 'signer' | 'identity'>,
): Verification {
  const { db, clock, identity } = deps;
  const { keyId } = deps.signer;

  const check = async (agents: readonly UncheckedAgent[]) => {
    const checked = [];
    for (let start = 0; start < agents.length; start += atOnce) {
      const some = agents.slice(start, start + atOnce);
      const found = await Promise.all(some.map(identity.checkConformance));
      for (const [index, { agentId, digest }] of some.entries()) {
        const { verified = false, conforms = false } = found[index] ?? {};
        checked.push({ agentId, digest, verified, conforms });
      }
    }
    await saveChecks(db, checked, { keyId, now: isoTime(clock) });
  };

  return {
    unfinished: new Set(),
    count: (organizationId) => countChecked(db, organizationId, keyId),
    async proceed(organizationId, until, signal) {
      let place: Place | undefined;
      for (;;) {
        const agents = await findUnchecked(db, { organizationId, keyId }, place, batch);
        const last = agents.at(-1);
        if (!last) return true;
        await check(agents);
        place = { createdAt: last.exactTime, agentId: last.agentId };
        if (agents.length < batch) return true;
        if (signal?.aborted || clock.now() >= until) return false;
      }
    },
  };
}
