/** What a tenant can ask of its own log, and the operator of all: that it proves itself, and the signatures to keep elsewhere. */
import { type Caller, isOperator, tenantOf } from '../../../kernel/caller.ts';
import { createFairQueue } from '../../../kernel/concurrency/fair-queue.ts';
import type { Db } from '../../../kernel/data/db.ts';
import { fail } from '../../../kernel/fail.ts';
import { type Page, pageOf } from '../../../kernel/http/page.ts';
import { type Asked, openPeriod, type Period, withinTime } from '../log/period.ts';
import type { AuditCheckpoint, CheckpointQuery, Verification } from '../schema.ts';
import { listCheckpoints } from './evidence-store.ts';
import type { Verifier } from './verifier.ts';

export interface Proof {
  verify(caller: Caller, asked: Asked & { organizationId?: string }): Promise<Verification>;
  checkpoints(caller: Caller, query: CheckpointQuery): Promise<Page<AuditCheckpoint>>;
}

const always = {
  from: withinTime(Number.NEGATIVE_INFINITY),
  to: withinTime(Number.POSITIVE_INFINITY),
};

export interface ProofDeps {
  readonly db: Db;
  readonly verifier: Verifier;
  /** Every organization in the log. */
  organizations(): Promise<string[]>;
}

/** Each has a connection for as long as it reads, and the organization's requests of two minutes may wait. */
const verifications = { concurrency: 2, maxQueue: 60 } as const;

export function createProof({ db, verifier, organizations }: ProofDeps): Proof {
  const inTurn = createFairQueue(verifications);

  /** In turn, and no further than the first that is broken: the alarm names what it is. */
  const verifyAll = async (chains: readonly string[], period: Period | undefined) => {
    let checkedCount = 0;
    for (const organizationId of chains) {
      const { checked, finding } = await verifier.verify(organizationId, period);
      checkedCount += checked;
      if (finding) return { verified: false, checkedCount };
    }
    return { verified: true, checkedCount };
  };

  return {
    async verify(caller, asked) {
      const period = openPeriod(asked);
      const all = asked.organizationId === undefined && tenantOf(caller) === undefined;
      const one = all ? undefined : chosen(caller, asked.organizationId);
      const whole = period.from === undefined && period.to === undefined;
      const verdict = await inTurn(caller.organizationId, async () =>
        verifyAll(one ? [one] : await organizations(), whole ? undefined : { ...always, ...period }),
      );
      return {
        ...verdict,
        fromDate: isoOrNull(period.from),
        toDate: isoOrNull(period.to),
      };
    },
    async checkpoints(caller, query) {
      const organizationId = chosen(caller, query.organizationId);
      const { rows, total } = await listCheckpoints(db, organizationId, query);
      const data = rows.map(({ number, size, head, at, keyId, signed }) => ({
        number,
        size,
        headHash: head,
        time: at,
        keyId,
        signed,
      }));
      return pageOf(query, data, total);
    },
  };
}

function chosen(caller: Caller, asked: string | undefined): string {
  const organizationId = asked?.toLowerCase() ?? caller.organizationId;
  return organizationId === caller.organizationId || isOperator(caller)
    ? organizationId
    : fail('ORG_NOT_FOUND');
}

const isoOrNull = (time: number | undefined): string | null =>
  time === undefined ? null : new Date(time).toISOString();
