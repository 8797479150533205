import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { Uuid } from '../../contract/shapes.ts';

const { default: days, max } = limits.analyticsDays;

export const TokensQuery = Type.Object({
  days: Type.Integer({
    minimum: 1,
    maximum: max,
    default: days,
    description: 'today and the days before it',
  }),
});

const tenantId = Uuid;

export const TokensByDay = Type.Object(
  {
    tenantId,
    days: Type.Integer(),
    data: Type.Array(Type.Object({ date: Type.String(), count: Type.Integer() }), {
      description: 'one for every day (UTC), oldest first, zero included',
    }),
  },
  { title: 'TokensByDay' },
);
export type TokensByDay = Static<typeof TokensByDay>;

export const Activity = Type.Object(
  {
    tenantId,
    data: Type.Array(
      Type.Object({
        dow: Type.Integer({ minimum: 0, maximum: 6, description: '0 is Sunday' }),
        hour: Type.Integer({ minimum: 0, maximum: 23 }),
        count: Type.Integer(),
      }),
      {
        description: `tokens issued in the last ${max} days, for each of the 168 hours of a week (UTC), zero included`,
      },
    ),
  },
  { title: 'AgentActivity' },
);
export type Activity = Static<typeof Activity>;

export const TokensByAgent = Type.Object(
  {
    tenantId,
    month: Type.String({ description: 'the current calendar month (UTC) such as 2030-01' }),
    data: Type.Array(Type.Object({ agentId: Uuid, tokenCount: Type.Integer() }), {
      description: 'agents that were issued tokens this month, the busiest first; at most 10,000',
    }),
  },
  { title: 'TokensByAgent' },
);
export type TokensByAgent = Static<typeof TokensByAgent>;
