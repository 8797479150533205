/** What a tenant can ask of its own log: that it proves itself, and the signatures to keep elsewhere. */
import { type Caller, isOperator } from '../../kernel/caller.ts';
import type { Db } from '../../kernel/db.ts';
import { fail } from '../../kernel/fail.ts';
import { type Page, pageOf } from '../../kernel/page.ts';
import { listCheckpoints } from './evidence-store.ts';
import { type Asked, openPeriod, withinTime } from './period.ts';
import type { AuditCheckpoint, CheckpointQuery, Verification } from './schema.ts';
import type { Verifier } from './verify.ts';

export interface Proof {
  verify(caller: Caller, asked: Asked & { organizationId?: string }): Promise<Verification>;
  checkpoints(caller: Caller, query: CheckpointQuery): Promise<Page<AuditCheckpoint>>;
}

const always = {
  from: withinTime(Number.NEGATIVE_INFINITY),
  to: withinTime(Number.POSITIVE_INFINITY),
};

export function createProof({ db, verifier }: { db: Db; verifier: Verifier }): Proof {
  return {
    async verify(caller, asked) {
      const organizationId = chosen(caller, asked.organizationId);
      const period = openPeriod(asked);
      const whole = period.from === undefined && period.to === undefined;
      const { checked, finding } = await verifier.verify(
        organizationId,
        whole ? undefined : { ...always, ...period },
      );
      return {
        verified: finding === undefined,
        checkedCount: checked,
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
