import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { limitTypes, pageSizes, planTiers } from '../../contract/limits.ts';
import { dayOrTime } from '../../contract/patterns.ts';
import { literals, Nullable, PageOf, pageQuery, Timestamp, Uuid } from '../../contract/shapes.ts';
import { usageMetrics } from '../../contract/usage.ts';

const Day = Type.String({ description: 'a day of UTC such as 2030-01-31' });

/** Parsed by period.ts. A time stands for its day of UTC. */
const day = { maxLength: 40, documentedPattern: dayOrTime };

const filterFields = {
  from: Type.Optional(
    Type.String({ ...day, description: 'the first day (UTC); 30 days up to `to` when absent' }),
  ),
  to: Type.Optional(Type.String({ ...day, description: 'the last day (UTC); today when absent' })),
  metric: Type.Optional(literals(usageMetrics)),
};

export const UsageQuery = Type.Object({
  ...filterFields,
  groupBy: Type.Unsafe<'day' | 'agent'>({
    type: 'string',
    enum: ['day', 'agent'],
    default: 'day',
    description: '`day`: one figure for each day and metric; `agent`: for each day, metric and agent',
  }),
});
export type UsageQuery = Static<typeof UsageQuery>;

export const AgentUsageQuery = Type.Object({ ...filterFields, ...pageQuery(pageSizes.standard) });
export type AgentUsageQuery = Static<typeof AgentUsageQuery>;

export const exportFormats = ['csv', 'jsonl'] as const;

export const UsageExportQuery = Type.Object({
  ...filterFields,
  format: Type.Unsafe<(typeof exportFormats)[number]>({
    type: 'string',
    enum: [...exportFormats],
    default: 'csv',
    description: 'the format of the file: CSV, or one JSON object a line',
  }),
});
export type UsageExportQuery = Static<typeof UsageExportQuery>;

export const Usage = Type.Object(
  {
    organizationId: Uuid,
    from: Day,
    to: Day,
    data: Type.Array(
      Type.Object({
        date: Day,
        agentId: Type.Optional(Uuid),
        metric: literals(usageMetrics),
        quantity: Type.Integer(),
      }),
      { description: 'oldest first; days without usage are omitted' },
    ),
    totals: Type.Object(
      Object.fromEntries(usageMetrics.map((metric) => [metric, Type.Optional(Type.Integer())])),
      { description: 'for each requested metric, zero included' },
    ),
  },
  { title: 'Usage' },
);
export type Usage = Static<typeof Usage>;

export const AgentUsage = Type.Object(
  {
    agentId: Uuid,
    totals: Type.Object(
      Object.fromEntries(usageMetrics.map((metric) => [metric, Type.Optional(Type.Integer())])),
      { description: 'for each requested metric, zero included' },
    ),
  },
  { title: 'AgentUsage' },
);
export type AgentUsage = Static<typeof AgentUsage>;
export const AgentUsagePage = PageOf(AgentUsage, 'AgentUsagePage');

export const PlanLimit = Type.Object({
  limitType: literals(limitTypes),
  limit: Type.Integer({ description: '2147483647 is unlimited' }),
  used: Type.Integer(),
  remaining: Type.Integer(),
  resetsAt: Nullable(Timestamp),
});

export const UsageLimits = Type.Object(
  {
    tier: literals(planTiers),
    limits: Type.Array(PlanLimit, {
      description: "`tokens_per_month` is the calling agent's own; the others are the organization's",
    }),
  },
  { title: 'UsageLimits' },
);
export type UsageLimits = Static<typeof UsageLimits>;

export const UsageExport = Type.String({
  description: 'a line for each day, metric and agent: CSV with a header, or JSON lines',
  examples: [
    'date,agentId,metric,quantity\n2030-01-31,7c9e6679-7425-40de-944b-e07fc1f90ae7,tokens_issued,42\n',
  ],
});
