/** GET /audit/verify and GET /audit/checkpoints: for a tenant its own chain, for the operator every chain. */
import type { Witnessed } from '../../../contract/shapes.ts';
import { type Caller, tenantOf } from '../../../kernel/caller.ts';
import type { Db } from '../../../kernel/data/db.ts';
import { type Page, pageOf } from '../../../kernel/http/page.ts';
import { listCheckpoints } from '../chain/segments-store.ts';
import { type CheckpointRow, checkpointText } from '../chain/statements.ts';
import type { Finding } from '../findings.ts';
import { organizationOf } from '../log-owner.ts';
import { clampTime, openPeriod, type Period, type PeriodQuery } from '../period.ts';
import type { AuditCheckpoint, CheckpointQuery, Verification } from '../schema.ts';
import type { Verifier, VerifyOptions } from './verifier.ts';

export interface VerificationService {
  verify(caller: Caller, query: PeriodQuery & { organizationId?: string }): Promise<Verification>;
  checkpoints(caller: Caller, query: CheckpointQuery): Promise<Page<AuditCheckpoint>>;
}

const allTime = {
  from: clampTime(Number.NEGATIVE_INFINITY),
  to: clampTime(Number.POSITIVE_INFINITY),
};

interface VerificationServiceDeps {
  readonly db: Db;
  readonly verifier: Verifier;
  /** Every organization that has events or evidence. */
  organizations(): Promise<string[]>;
  verifyTreeHeads(): Promise<Finding | undefined>;
  /** The newest checkpoint of the instance log with a quorum of its witnesses. */
  witnessed(): Promise<Witnessed | null>;
}

export function createVerificationService({
  db,
  verifier,
  organizations,
  verifyTreeHeads,
  witnessed,
}: VerificationServiceDeps): VerificationService {
  /** One chain after another, up to the first finding. The alarm logs the finding. */
  const verifyAll = async (chains: readonly string[], period: Period | undefined, options: VerifyOptions) => {
    let checkedCount = 0;
    for (const organizationId of chains) {
      const { checked, finding } = await verifier.verify(organizationId, period, options);
      checkedCount += checked;
      if (finding) return { verified: false, checkedCount };
    }
    return { verified: true, checkedCount };
  };

  return {
    async verify(caller, query) {
      const period = openPeriod(query);
      const all = query.organizationId === undefined && tenantOf(caller) === undefined;
      const one = all ? undefined : organizationOf(caller, query.organizationId);
      const whole = period.from === undefined && period.to === undefined;
      const chains = one ? [one] : await organizations();
      const rest = {
        fromDate: isoOrNull(period.from),
        toDate: isoOrNull(period.to),
        witnessed: await witnessed(),
      };
      if (!one && (await verifyTreeHeads())) return { verified: false, checkedCount: 0, ...rest };
      const options = { treeHeadsVerified: !one };
      const verdict = await verifyAll(chains, whole ? undefined : { ...allTime, ...period }, options);
      return { ...verdict, ...rest };
    },
    async checkpoints(caller, query) {
      const organizationId = organizationOf(caller, query.organizationId);
      const { rows, total } = await listCheckpoints(db, organizationId, query);
      return pageOf(query, rows.map(checkpointEntry), total);
    },
  };
}

/** A checkpoint as the API answers it. */
export const checkpointEntry = (row: CheckpointRow): AuditCheckpoint => ({
  number: row.number,
  size: row.size,
  headHash: row.head,
  time: row.at,
  keyId: row.keyId,
  signed: row.signed,
  inclusion: row.inclusion
    ? { checkpoint: checkpointText(row), ...row.inclusion, proof: [...row.inclusion.proof] }
    : null,
});

const isoOrNull = (time: number | undefined): string | null =>
  time === undefined ? null : new Date(time).toISOString();
