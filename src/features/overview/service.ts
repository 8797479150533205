import { limits } from '../../contract/limits.ts';
import { type Caller, isOperator } from '../../kernel/caller.ts';
import { fail } from '../../kernel/fail.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import type { OverviewDeps } from './feature.ts';
import type { Overview, OverviewQuery } from './schema.ts';
import {
  countAgents,
  type EventCounts,
  findExpiring,
  findFailingWebhooks,
  findFirstSteps,
  findWritingAgents,
  readApprovals,
  readRecentEvents,
  sumTokens,
} from './store.ts';

export interface OverviewService {
  of(caller: Caller, query: OverviewQuery): Promise<Overview>;
}

const {
  tokenMinutes,
  refusalHours,
  dayHours,
  maxReasons,
  maxEvents,
  expiryDays,
  maxCredentials,
  maxWritingAgents,
  maxCount,
} = limits.overview;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const isoOf = (time: number) => new Date(time).toISOString();

export function createOverviewService({
  db,
  clock,
  countIssued,
  auditStatus,
}: OverviewDeps): OverviewService {
  const readFigures = async (organizationId: string, now: number) => {
    const firstMinute = now - (now % minuteMs) - (tokenMinutes - 1) * minuteMs;
    const since = now - refusalHours * hourMs;
    const events = await readRecentEvents(db, organizationId, {
      since: isoOf(since),
      firstMinute: isoOf(firstMinute),
      until: isoOf(now),
      limit: maxEvents,
    });
    return {
      tokens: tokensOf(events, firstMinute),
      refusals: refusalsOf(events, isoOf(since)),
      approvals: await readApprovals(db, organizationId, {
        since: isoOf(since),
        now: isoOf(now),
        limit: maxEvents,
      }),
    };
  };

  return {
    async of(caller, query) {
      const organizationId = organizationOf(caller, query.organizationId);
      const now = clock.now();
      const since = isoOf(startOfDay(query.startOfDay, now));
      await countIssued();
      const { exists, ...firstSteps } = await findFirstSteps(db, organizationId, caller.agentId);
      if (!exists) fail('ORG_NOT_FOUND');
      const maySeeAudit = caller.scopes.has('audit:read');
      const figures = maySeeAudit
        ? await readFigures(organizationId, now)
        : { tokens: null, refusals: null, approvals: null };
      const expiring = await findExpiring(db, organizationId, {
        from: isoOf(now),
        to: isoOf(now + expiryDays * dayMs),
        maxCount,
        limit: maxCredentials,
      });
      const writing = await findWritingAgents(db, organizationId, { maxCount, limit: maxWritingAgents });
      return {
        organizationId,
        generatedAt: isoOf(now),
        agents: await countAgents(db, organizationId),
        tokensToday: { since, issued: await sumTokens(db, organizationId, since) },
        ...figures,
        expiringCredentials: withTotal(expiring),
        writingAgents: withTotal(writing),
        failingDeliveries: caller.scopes.has('webhooks:read')
          ? await findFailingWebhooks(db, organizationId, maxCount)
          : null,
        audit: maySeeAudit ? auditStatus(organizationId) : null,
        firstSteps,
      };
    },
  };
}

/** Tokens are counted by hours of UTC. A clock that is wrong by days must not cost the reader the whole answer. */
function startOfDay(requested: string | undefined, now: number): number {
  const start = requested === undefined ? now - (now % dayMs) : Date.parse(requested);
  // The format also allows leap seconds.
  if (Number.isNaN(start))
    throw validationError('query', [{ in: 'query', field: 'startOfDay', message: 'must be a time' }]);
  const clamped = Math.min(now, Math.max(now - dayHours * hourMs, start));
  return clamped - (clamped % hourMs);
}

const withTotal = <T extends { readonly total: number }>(rows: readonly T[]) => ({
  data: rows.map(({ total: _, ...row }) => row),
  total: rows[0]?.total ?? 0,
});

function organizationOf(caller: Caller, requested: string | undefined): string {
  const organizationId = requested?.toLowerCase() ?? caller.organizationId;
  return organizationId === caller.organizationId || isOperator(caller)
    ? organizationId
    : fail('ORG_NOT_FOUND');
}

/** The time from which the events are complete, when that is after the start of the period. */
const truncation = ({ read, oldest }: EventCounts, since: string): string | null =>
  read >= maxEvents && oldest !== null && oldest > since ? oldest : null;

function tokensOf(events: EventCounts, firstMinute: number): NonNullable<Overview['tokens']> {
  const counts = new Map(events.minutes.map((row) => [Date.parse(row.minute), row]));
  const data = Array.from({ length: tokenMinutes }, (_, index) => {
    const minute = firstMinute + index * minuteMs;
    const { issued = 0, refused = 0 } = counts.get(minute) ?? {};
    return { minute: isoOf(minute), issued, refused };
  });
  return { data, truncatedBefore: truncation(events, isoOf(firstMinute)) };
}

const refusalsOf = (events: EventCounts, since: string): NonNullable<Overview['refusals']> => ({
  since,
  total: events.reasons.reduce((sum, { count }) => sum + count, 0),
  data: events.reasons.slice(0, maxReasons),
  truncatedBefore: truncation(events, since),
});
