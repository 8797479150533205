import { type UsageMetric, usageMetrics } from '../../contract/usage.ts';
import type { Caller } from '../../kernel/caller.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import type { Counting } from './counting.ts';
import type { UsageDeps } from './deps.ts';
import { periodAsked } from './period.ts';
import type { exportFormats, Usage, UsageExportQuery, UsageQuery } from './schema.ts';
import { listByAgent, listByDay, type UsageAsked, type UsageLine } from './store.ts';

export interface UsageService {
  usage(caller: Caller, query: UsageQuery): Promise<Usage>;
  export(caller: Caller, query: UsageExportQuery): Promise<UsageFile>;
}

export interface UsageFile {
  readonly name: string;
  readonly contentType: string;
  readonly text: AsyncIterable<string>;
}

/** More would be a file, not an answer. */
const rowsAtMost = 10_000;
const rowsPerPage = 2_000;

export function createUsageService({ db, clock }: UsageDeps, { flush }: Counting): UsageService {
  const read = (caller: Caller, query: UsageQuery | UsageExportQuery): UsageAsked => ({
    ...periodAsked(query, clock.now()),
    organizationId: caller.organizationId,
    metric: query.metric,
  });

  return {
    async usage(caller, query) {
      const asked = read(caller, query);
      await flush();
      const data =
        query.groupBy === 'day'
          ? await listByDay(db, asked)
          : refuseTooMany(await listByAgent(db, asked, rowsAtMost + 1));
      const { organizationId, from, to, metric } = asked;
      return { organizationId, from, to, data, totals: totalsOf(data, metric) };
    },

    /** The first lines are there before anything is answered, so that an outage is a 503 and no broken file. */
    async export(caller, query) {
      const asked = read(caller, query);
      await flush();
      const first = await listByAgent(db, asked, rowsPerPage);
      const next = (last: UsageLine) => listByAgent(db, asked, rowsPerPage, last);
      const { begin, line, contentType } = formats[query.format];
      return {
        name: `usage-${asked.from}-${asked.to}.${query.format}`,
        contentType,
        text: pages(first, next, begin, line),
      };
    },
  };
}

async function* pages(
  first: readonly UsageLine[],
  next: (last: UsageLine) => Promise<readonly UsageLine[]>,
  begin: string,
  line: (row: UsageLine) => string,
): AsyncGenerator<string> {
  yield begin + first.map(line).join('');
  let page = first;
  for (let last = page.at(-1); last && page.length === rowsPerPage; last = page.at(-1)) {
    page = await next(last);
    yield page.map(line).join('');
  }
}

/** Dates, ids, words of ours and numbers: nothing that would need quoting. */
const formats: Record<
  (typeof exportFormats)[number],
  { readonly contentType: string; readonly begin: string; line(row: UsageLine): string }
> = {
  csv: {
    contentType: 'text/csv; charset=utf-8',
    begin: 'date,agentId,metric,quantity\r\n',
    line: ({ date, agentId, metric, quantity }) => `${date},${agentId},${metric},${quantity}\r\n`,
  },
  jsonl: {
    contentType: 'application/x-ndjson; charset=utf-8',
    begin: '',
    line: ({ date, agentId, metric, quantity }) => `${JSON.stringify({ date, agentId, metric, quantity })}\n`,
  },
};

function refuseTooMany(lines: UsageLine[]): UsageLine[] {
  if (lines.length <= rowsAtMost) return lines;
  const message = `would give more than ${rowsAtMost} rows; ask for fewer days or one metric, or use /usage/export`;
  throw validationError('query', [{ in: 'query', field: 'groupBy', message }]);
}

function totalsOf(lines: readonly UsageLine[], only: UsageMetric | undefined): Usage['totals'] {
  const totals: Record<string, number> = {};
  for (const metric of only ? [only] : usageMetrics) totals[metric] = 0;
  for (const { metric, quantity } of lines) totals[metric] = (totals[metric] ?? 0) + quantity;
  return totals;
}
