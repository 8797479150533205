import { type UsageMetric, usageMetrics } from '../../contract/usage.ts';
import type { Caller } from '../../kernel/caller.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import type { UsageCounter } from './counter.ts';
import type { UsageDeps } from './feature.ts';
import { periodOf } from './period.ts';
import type {
  AgentUsage,
  AgentUsageQuery,
  exportFormats,
  Usage,
  UsageExportQuery,
  UsageQuery,
} from './schema.ts';
import { listByAgent, listByDay, listSumsByAgent, type UsageFilter, type UsageTotal } from './store.ts';

export interface UsageService {
  usage(caller: Caller, query: UsageQuery): Promise<Usage>;
  byAgent(caller: Caller, query: AgentUsageQuery): Promise<Page<AgentUsage>>;
  export(caller: Caller, query: UsageExportQuery): Promise<UsageFile>;
}

interface UsageFile {
  readonly name: string;
  readonly contentType: string;
  readonly text: AsyncIterable<string>;
}

/** For more rows there is the export. */
const maxRows = 10_000;
const rowsPerPage = 2_000;

export function createUsageService(
  { db, clock }: UsageDeps,
  counter: UsageCounter,
  countIssued: () => Promise<void>,
): UsageService {
  /** Writes all counters that a response reads. */
  const flush = async () => {
    await counter.flush();
    await countIssued();
  };

  const filterOf = (caller: Caller, query: Omit<UsageExportQuery, 'format'>): UsageFilter => ({
    ...periodOf(query, clock.now()),
    organizationId: caller.organizationId,
    metric: query.metric,
  });

  return {
    async usage(caller, query) {
      const filter = filterOf(caller, query);
      await flush();
      const data =
        query.groupBy === 'day'
          ? await listByDay(db, filter)
          : requireAtMostMaxRows(await listByAgent(db, filter, maxRows + 1));
      const { organizationId, from, to, metric } = filter;
      return { organizationId, from, to, data, totals: totalsOf(data, metric) };
    },

    async byAgent(caller, query) {
      const filter = filterOf(caller, query);
      await flush();
      const { rows, total } = await listSumsByAgent(db, filter, query);
      const data = rows.map(({ agentId, sums }) => ({
        agentId,
        totals: { ...zeros(filter.metric), ...sums },
      }));
      return pageOf(query, data, total);
    },

    /** Reads the first page before the response starts, so that an outage is a 503 and not a truncated file. */
    async export(caller, query) {
      const filter = filterOf(caller, query);
      await flush();
      const first = await listByAgent(db, filter, rowsPerPage);
      const next = (last: UsageTotal) => listByAgent(db, filter, rowsPerPage, last);
      const { header, line, contentType } = formats[query.format];
      return {
        name: `usage-${filter.from}-${filter.to}.${query.format}`,
        contentType,
        text: pages(first, next, header, line),
      };
    },
  };
}

async function* pages(
  first: readonly UsageTotal[],
  next: (last: UsageTotal) => Promise<readonly UsageTotal[]>,
  header: string,
  line: (row: UsageTotal) => string,
): AsyncGenerator<string> {
  yield header + first.map(line).join('');
  let page = first;
  for (let last = page.at(-1); last && page.length === rowsPerPage; last = page.at(-1)) {
    page = await next(last);
    yield page.map(line).join('');
  }
}

/** The values are dates, ids, metric names and numbers, so CSV needs no quoting. */
const formats: Record<
  (typeof exportFormats)[number],
  { readonly contentType: string; readonly header: string; line(row: UsageTotal): string }
> = {
  csv: {
    contentType: 'text/csv; charset=utf-8',
    header: 'date,agentId,metric,quantity\r\n',
    line: ({ date, agentId, metric, quantity }) => `${date},${agentId},${metric},${quantity}\r\n`,
  },
  jsonl: {
    contentType: 'application/x-ndjson; charset=utf-8',
    header: '',
    line: ({ date, agentId, metric, quantity }) => `${JSON.stringify({ date, agentId, metric, quantity })}\n`,
  },
};

function requireAtMostMaxRows(rows: UsageTotal[]): UsageTotal[] {
  if (rows.length <= maxRows) return rows;
  const message = `would give more than ${maxRows} rows; ask for fewer days or one metric, or use /usage/export`;
  throw validationError('query', [{ in: 'query', field: 'groupBy', message }]);
}

const zeros = (only: UsageMetric | undefined): Record<string, number> =>
  Object.fromEntries((only ? [only] : usageMetrics).map((metric) => [metric, 0]));

function totalsOf(rows: readonly UsageTotal[], only: UsageMetric | undefined): Usage['totals'] {
  const totals = zeros(only);
  for (const { metric, quantity } of rows) totals[metric] = (totals[metric] ?? 0) + quantity;
  return totals;
}
