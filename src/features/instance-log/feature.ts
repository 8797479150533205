/**
 * The instance log: one append-only Merkle tree over the signed tree heads of the audit log, in the formats of transparency logs (C2SP), so
 * that witnesses which others run can cosign it. It owns `instance_logs` and `instance_log_tiles`. The tree heads, which are
 * its entries, belong to the audit log. Witnesses and readers need no account: an entry names no organization, person or agent.
 * docs/decisions/026-instance-log.md.
 */
import type { KeyObject } from 'node:crypto';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import { BrokenLog, createGrowth } from './growth.ts';
import { createLogReader } from './reader.ts';
import { instanceLogRoutes } from './routes.ts';

export interface InstanceLogDeps extends Pick<SharedDeps, 'db' | 'clock' | 'log'> {
  readonly logKey: KeyObject;
  /** Of BASE_URL, with its port if it names one. */
  readonly host: string;
  /** With numbers above `after`, in their order. */
  readTreeHeads(
    db: Queryable,
    after: number,
    limit: number,
  ): Promise<readonly { readonly number: number; readonly signed: string }[]>;
}

/** For exports and verifications of the audit log. */
export interface LogEvidence {
  /** The checkpoint that exports prove against: the newest with a quorum, else the newest with any cosignature, else the newest. Undefined without a log. */
  checkpoint(db: Queryable): Promise<
    | {
        readonly logNumber: number;
        readonly size: number;
        readonly text: string;
        readonly hasQuorum: boolean;
        readonly firstTreeHead: number;
        readonly highestTreeHead: number;
      }
    | undefined
  >;
  /** Where a tree head is in the tree of that size. Undefined when that log does not contain it. */
  prove(
    db: Queryable,
    at: { logNumber: number; size: number },
    treeHead: number,
  ): Promise<{ readonly leafIndex: number; readonly proof: readonly string[] } | undefined>;
  witnessed(): Promise<{ checkpointSize: number; time: string; witnesses: string[] } | null>;
}

export { createLogEvidence } from './evidence.ts';
export { verifyInstanceLog } from './verify-log.ts';

/** Without a key nothing is signed, and a log that there was before stays readable. */
export function createInstanceLog({
  logKey,
  ...deps
}: Omit<InstanceLogDeps, 'logKey'> & { logKey: KeyObject | undefined }) {
  const { log } = deps;
  const routes = instanceLogRoutes(createLogReader(deps));
  if (!logKey) return { routes, loops: [], grow: async () => {} };
  const growth = createGrowth({ ...deps, logKey });
  let reported: string | undefined;
  const loop: Loop = {
    name: 'instance-log',
    everyMs: 2_000,
    async run(signal) {
      try {
        await growth.grow(signal);
      } catch (error) {
        if (!(error instanceof BrokenLog)) throw error;
        if (error.message !== reported)
          log.error({ reason: error.message }, 'the instance log cannot go on; it signs nothing more');
        reported = error.message;
      }
    },
  };
  return {
    routes,
    loops: [loop],
    /** One round of the loop. */
    grow: growth.grow,
  };
}
