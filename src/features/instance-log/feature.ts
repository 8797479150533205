/**
 * The instance log: one append-only Merkle tree over the signed tree heads of the audit log, in the formats of transparency logs (C2SP), so
 * that witnesses which others run can cosign it. It owns `instance_logs` and `instance_log_tiles`. The tree heads, which are
 * its entries, belong to the audit log. Witnesses and readers need no account: an entry names no organization, person or agent.
 * docs/decisions/026-instance-log.md.
 */
import type { KeyObject } from 'node:crypto';
import type { WitnessPolicy } from '../../../sdk/typescript/src/transparency/witness-policy.ts';
import type { Witnessed } from '../../contract/shapes.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Outbound } from '../../kernel/ports/outbound.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import { createWitnessQuestions } from './ask-witnesses.ts';
import { type Continuation, createContinuation } from './continuation.ts';
import { checkpointPolicyOf, createLogEvidence } from './evidence.ts';
import { createGrowth } from './growth.ts';
import { createGrowthLoop, createWitnessLoop } from './loops.ts';
import { createLogReader } from './reader.ts';
import { createRounds } from './rounds.ts';
import { instanceLogRoutes, witnessesRoute } from './routes.ts';
import { findNewestLog } from './store.ts';
import { createWitnessReport } from './witness-report.ts';

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

/** What the audit log writes into its exports and answers. */
export interface LogEvidence {
  /** The checkpoint that exports prove against: the newest with a quorum, else the newest with any cosignature, else the newest. Undefined without a log. */
  checkpoint(db: Queryable): Promise<
    | {
        readonly logNumber: number;
        readonly size: number;
        /** The signed note, with its cosignatures. */
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
    at: { readonly logNumber: number; readonly size: number },
    treeHead: number,
  ): Promise<{ readonly leafIndex: number; readonly proof: readonly string[] } | undefined>;
  /** The newest checkpoint with a quorum. */
  witnessed(): Promise<Witnessed | null>;
}

export type { Continuation, LogConflict } from './continuation.ts';
export { checkpointPolicyOf, createLogEvidence } from './evidence.ts';
export { verifyInstanceLog } from './verify-log.ts';

export interface WitnessingDeps extends InstanceLogDeps, Pick<SharedDeps, 'metrics'> {
  readonly outbound: Pick<Outbound, 'send'>;
  readonly policy: WitnessPolicy;
  readonly intervalSeconds: number;
  /** In milliseconds, from any start. */
  elapsed(): number;
}

type Deps = Omit<WitnessingDeps, 'logKey' | 'policy'> & {
  readonly logKey: KeyObject | undefined;
  readonly policy: WitnessPolicy | undefined;
};

export interface InstanceLog {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
  readonly evidence: LogEvidence;
  /** Undefined without witnesses. */
  readonly continuation: Continuation | undefined;
  /** One round of the log. */
  grow(signal?: AbortSignal): Promise<void>;
  /** One round of the witnesses. */
  witness(): Promise<'done' | 'idle' | 'busy'>;
}

/** Without a key nothing is signed, and a log that there was before stays readable. */
export function createInstanceLog({ logKey, policy, ...deps }: Deps): InstanceLog {
  const { db, clock, metrics, elapsed, intervalSeconds } = deps;
  const evidence = createLogEvidence({ db, policy: policy && checkpointPolicyOf(policy) });
  const routes = [
    ...instanceLogRoutes(createLogReader({ ...deps, hasWitnesses: policy !== undefined })),
    witnessesRoute(createWitnessReport({ db, policy, evidence })),
  ];
  if (!logKey)
    return {
      routes,
      loops: [],
      evidence,
      continuation: undefined,
      grow: async () => {},
      witness: async () => 'idle',
    };
  const questions = policy && createWitnessQuestions({ ...deps, logKey, policy });
  const rounds = questions && createRounds({ ...deps, logKey, policy }, questions);
  const continuation = questions && createContinuation({ ...deps, logKey, policy }, questions);
  if (rounds)
    metrics.gaugeFromQuery('service_audit_quorum_age_seconds', async () => {
      const newest = await findNewestLog(db);
      if (!newest) return undefined;
      const { unwitnessedSince: since } = newest;
      return since === null ? 0 : Math.max(0, (clock.now() - Date.parse(since)) / 1_000);
    });
  let hasGrown = true;
  const growth = createGrowth({
    ...deps,
    logKey,
    continuation,
    onGrown: () => {
      hasGrown = true;
    },
  });
  const takeGrown = () => {
    const before = hasGrown;
    hasGrown = false;
    return before;
  };
  return {
    routes,
    loops: [
      createGrowthLoop(growth, deps),
      ...(rounds ? [createWitnessLoop(rounds, { elapsed, intervalSeconds, takeGrown })] : []),
    ],
    evidence,
    continuation,
    grow: growth.grow,
    witness: async () => rounds?.round() ?? 'idle',
  };
}
