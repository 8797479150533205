import { limits } from '../../contract/limits.ts';
import type { Caller } from '../../kernel/caller.ts';
import type { AnalyticsDeps } from './feature.ts';
import type { Activity, TokensByAgent, TokensByDay } from './schema.ts';
import { tokensByAgent, tokensByDay, tokensByHourOfWeek } from './store.ts';

export interface AnalyticsService {
  tokens(caller: Caller, days: number): Promise<TokensByDay>;
  activity(caller: Caller): Promise<Activity>;
  agents(caller: Caller): Promise<TokensByAgent>;
}

const dayMs = 86_400_000;
const maxAgents = 10_000;

export function createAnalyticsService({
  db,
  clock,
  countIssued,
}: Pick<AnalyticsDeps, 'db' | 'clock' | 'countIssued'>): AnalyticsService {
  /** Midnight of the first day of a period that ends today. */
  const firstDayOf = (days: number) => new Date((Math.floor(clock.now() / dayMs) - days + 1) * dayMs);

  return {
    async tokens({ organizationId }, days) {
      const first = firstDayOf(days);
      await countIssued();
      const rows = await tokensByDay(db, organizationId, first);
      const counts = new Map(rows.map(({ date, count }) => [date, count]));
      const data = Array.from({ length: days }, (_, day) => {
        const date = new Date(first.getTime() + day * dayMs).toISOString().slice(0, 10);
        return { date, count: counts.get(date) ?? 0 };
      });
      return { tenantId: organizationId, days, data };
    },

    async activity({ organizationId }) {
      await countIssued();
      const rows = await tokensByHourOfWeek(db, organizationId, firstDayOf(limits.analyticsDays.max));
      const counts = new Map(rows.map(({ dow, hour, count }) => [dow * 24 + hour, count]));
      const data = Array.from({ length: 7 * 24 }, (_, cell) => ({
        dow: Math.floor(cell / 24),
        hour: cell % 24,
        count: counts.get(cell) ?? 0,
      }));
      return { tenantId: organizationId, data };
    },

    async agents({ organizationId }) {
      await countIssued();
      const month = new Date(clock.now()).toISOString().slice(0, 7);
      return {
        tenantId: organizationId,
        month,
        data: await tokensByAgent(db, organizationId, month, maxAgents),
      };
    },
  };
}
