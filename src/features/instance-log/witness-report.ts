/** GET /audit/witnesses: what each configured witness has cosigned, of the newest log. */
import { formatVerifierKey } from '../../../sdk/typescript/src/transparency/verifier-key.ts';
import type { WitnessPolicy } from '../../../sdk/typescript/src/transparency/witness-policy.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import type { LogEvidence } from './feature.ts';
import type { AuditWitnesses } from './schema.ts';
import { findNewestLog } from './store.ts';
import { findWitnesses } from './witnesses-store.ts';

export const createWitnessReport =
  ({
    db,
    policy,
    evidence,
  }: {
    db: Queryable;
    policy: WitnessPolicy | undefined;
    evidence: Pick<LogEvidence, 'witnessed'>;
  }) =>
  async (): Promise<AuditWitnesses> => {
    const log = await findNewestLog(db);
    const rows = log && policy ? await findWitnesses(db, log.origin) : [];
    return {
      quorum: policy?.quorum ?? null,
      witnessed: await evidence.witnessed(),
      witnesses: (policy?.witnesses ?? []).map(({ key }) => {
        const verifierKey = formatVerifierKey(key);
        const row = rows.find((each) => each.name === key.name && each.verifierKey === verifierKey);
        return {
          name: key.name,
          verifierKey,
          checkpointSize: row?.cosignedAt ? row.knownSize : null,
          time: row?.cosignedAt ?? null,
          failing: row?.failing ?? null,
        };
      }),
      logKey: log?.verifierKey ?? null,
    };
  };
