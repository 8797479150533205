/** Whether the log is what it was: one organization's chain, whole or for a period, as GET /audit/verify answers it. */
import type { Clock } from '../../../kernel/clock.ts';
import type { Db, Tx } from '../../../kernel/data/db.ts';
import type { ReadStatement } from '../../../kernel/ports/signer.ts';
import type { Alarm, Finding } from '../alarm.ts';
import {
  afterAnchor,
  cutBack,
  isGenuine,
  type Position,
  type Positions,
  positionOf,
} from '../chain/chain-heads.ts';
import type { Keyring } from '../chain/keys/keyring.ts';
import { findLastSequences } from '../chain/links-store.ts';
import type { Pending } from '../chain/pending.ts';
import { type Period, withinTime } from '../log/period.ts';
import {
  countSettled,
  countSettledWithin,
  findStray,
  firstCheckpointSince,
  hasUncounted,
  lastCheckpointBefore,
  type Settled,
  settledIn,
  takeSnapshot,
  uncounted,
} from './evidence-store.ts';
import { type Walked, walk } from './scope.ts';

export interface VerifierDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly readStatement: ReadStatement;
  readonly keyring: Keyring;
  readonly positions: Positions;
  readonly alarm: Alarm;
  readonly pending: Pick<Pending, 'missing'>;
  /** Links all there is to link, and answers with a snapshot: what is visible in it was looked at. */
  drain(): Promise<string>;
}

export interface Verdict {
  readonly checked: number;
  readonly finding?: Finding;
  /** The newest checkpoint, when all is well. */
  readonly position?: Position;
}

export interface Verifier {
  verify(organizationId: string, period?: Period, onProgress?: (events: number) => void): Promise<Verdict>;
}

/** Before the snapshot is taken: what it must have. */
interface Known {
  readonly seen: string;
  readonly before: Position | undefined;
}

/** An event is linked within seconds; the allowance is for clocks that differ and transactions that were long open. */
const allowanceMs = 600_000;

export function createVerifier(deps: VerifierDeps): Verifier {
  const { db, readStatement, keyring, positions, alarm, pending } = deps;

  const inSnapshot = (
    organizationId: string,
    known: Known,
    period: Period | undefined,
    rowByRow: boolean,
    onProgress?: (events: number) => void,
  ): Promise<Verdict> =>
    db.transaction(async (tx) => {
      await takeSnapshot(tx);
      const settled = await settledIn(tx, known.seen);
      const { keys, problem } = await keyring.trust(tx);
      if (problem !== undefined) return { checked: 0, finding: { problem } };
      const { anchor, problem: badAnchor } = await positions.anchor(tx, organizationId);
      if (badAnchor !== undefined) return { checked: 0, finding: { organizationId, problem: badAnchor } };
      if (await hasUncounted(tx, organizationId))
        return { checked: 0, finding: { organizationId, problem: uncounted } };
      const way = {
        organizationId,
        from: anchor ? afterAnchor(anchor) : positions.beginning(organizationId),
        droppedThrough: anchor?.droppedThrough,
        settled,
        period,
        keys,
        rowByRow,
        onProgress,
      };
      const part = period && (await partOf(tx, organizationId, period));
      if (part) {
        const walked = await walk(tx, readStatement, { ...way, ...part });
        if (walked.finding) return { checked: walked.inPeriod, finding: walked.finding };
        // Otherwise an event of the period was linked at quite another time, or not at all.
        if (walked.inPeriod >= (await countSettledWithin(tx, organizationId, settled, period)))
          return { checked: walked.inPeriod, position: walked.position };
      }
      const walked = await walk(tx, readStatement, way);
      const finding = walked.finding ?? (await endProblem(tx, organizationId, walked, settled, known.before));
      const checked = period ? walked.inPeriod : walked.events;
      return finding ? { checked, finding } : { checked, position: walked.position };
    });

  /** From the last checkpoint before the period to the first behind it; undefined when that is everything. */
  const partOf = async (tx: Tx, organizationId: string, { from, to }: Period) => {
    const { keys } = await keyring.trust(tx);
    const iso = (time: number) => new Date(withinTime(time)).toISOString();
    const before = await lastCheckpointBefore(tx, organizationId, iso(from - allowanceMs));
    const behind = await firstCheckpointSince(tx, organizationId, iso(to + allowanceMs));
    if (!before || !(await isGenuine(readStatement, before, keys))) return undefined;
    return { from: positionOf(before), through: behind?.number };
  };

  /** The chain holds as far as it goes: does it go as far as it must, and hold everything? */
  const endProblem = async (
    tx: Tx,
    organizationId: string,
    { position, settled: counted }: Walked,
    settled: Settled,
    before: Position | undefined,
  ): Promise<Finding | undefined> => {
    const [last] = await findLastSequences(tx, [organizationId]);
    if (last && last.sequence > position.size)
      return {
        organizationId,
        sequence: position.size + 1,
        problem: 'there are links that no checkpoint covers',
      };
    const cut = cutBack(before, position)?.problem;
    if (cut !== undefined) return { organizationId, problem: cut };
    if ((await countSettled(tx, organizationId, settled)) <= counted) return undefined;
    const stray = await findStray(tx, organizationId, settled);
    return {
      organizationId,
      eventId: stray?.eventId,
      problem: 'the event is in no link: it was not recorded by this service',
    };
  };

  return {
    async verify(organizationId, period, onProgress) {
      const known = { seen: await deps.drain(), before: positions.remembered(organizationId) };
      const look = (rowByRow: boolean) => inSnapshot(organizationId, known, period, rowByRow, onProgress);
      const walked = await look(false).catch((error) => {
        if (!isUnreadable(error)) throw error;
        return look(true);
      });
      const finding = walked.finding ?? (await pending.missing(organizationId, period));
      const verdict: Verdict = finding ? { checked: walked.checked, finding } : walked;
      if (verdict.finding) alarm.raise(verdict.finding);
      else if (!period) {
        alarm.clear(organizationId);
        if (verdict.position) positions.remember(organizationId, verdict.position);
      }
      return verdict;
    },
  };
}

/** SQL's class 22: a value that cannot be what it should be, in a log that somebody has written into. */
export const isUnreadable = (error: unknown): boolean =>
  /^22/.test(String((error as { code?: unknown } | null)?.code ?? ''));
