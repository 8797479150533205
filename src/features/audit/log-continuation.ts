/** A finding when the witnesses of the instance log know more than this database: nothing is linked or signed until it is resolved. */
import type { Queryable } from '../../kernel/data/db.ts';
import type { Continuation, LogConflict } from '../instance-log/feature.ts';
import { type Finding, finding } from './findings.ts';

export interface LogContinuation {
  /** In the first call of a process it asks the witnesses, for a few seconds at most. */
  beforeSigning(): Promise<Finding | undefined>;
  finding(db: Queryable): Promise<Finding | undefined>;
}

export function createLogContinuation(continuation: Continuation | undefined): LogContinuation {
  const toFinding = (conflict: LogConflict | undefined): Finding | undefined =>
    conflict &&
    finding(conflict.kind === 'larger' ? 'WITNESS_KNOWS_LARGER_LOG' : 'WITNESS_KNOWS_OTHER_LOG', conflict);
  return {
    beforeSigning: async () => toFinding(await continuation?.beforeSigning()),
    finding: async (db) => toFinding(await continuation?.conflict(db)),
  };
}
