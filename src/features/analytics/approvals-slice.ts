/** Requests for approval, by agent and outcome. Reads `approvals`. */

import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { pageSizes } from '../../contract/limits.ts';
import { PageOf, pageQuery, Uuid } from '../../contract/shapes.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import { offsetOf, pageOf } from '../../kernel/http/page.ts';
import { bearer, type RouteEntry, route } from '../../kernel/http/route.ts';
import type { AnalyticsDeps } from './feature.ts';
import { TokensQuery } from './schema.ts';

const ApprovalsQuery = Type.Object({ ...TokensQuery.properties, ...pageQuery(pageSizes.standard) });
type ApprovalsQuery = Static<typeof ApprovalsQuery>;

const ApprovalsOfAgent = Type.Object({
  agentId: Uuid,
  pending: Type.Integer(),
  approved: Type.Integer(),
  denied: Type.Integer(),
  expired: Type.Integer(),
  canceled: Type.Integer(),
});
type ApprovalsOfAgent = Static<typeof ApprovalsOfAgent>;

const ApprovalsByAgent = Type.Object(
  {
    tenantId: Uuid,
    days: Type.Integer(),
    ...PageOf(ApprovalsOfAgent, 'ApprovalsOfAgentPage').properties,
  },
  { title: 'ApprovalsByAgent' },
);

const dayMs = 86_400_000;

/** Agents that have asked since then, the most frequent first. A request that has lapsed counts as expired. */
async function approvalsByAgent(
  db: Queryable,
  organizationId: string,
  query: ApprovalsQuery,
  { from, now }: { from: Date; now: Date },
) {
  const rows = await db.many<ApprovalsOfAgent & { readonly total: number }>(
    'analytics.approvals',
    sql`with agents as (
          select agent_id, count(*) as requests,
                 count(*) filter (where status = 'pending' and expires_at > ${now}) as pending,
                 count(*) filter (where status = 'approved') as approved,
                 count(*) filter (where status = 'denied') as denied,
                 count(*) filter (where status = 'expired' or status = 'pending' and expires_at <= ${now}) as expired,
                 count(*) filter (where status = 'canceled') as canceled
          from approvals where organization_id = ${organizationId} and created_at >= ${from} group by agent_id
        ), page as (
          select * from agents order by requests desc, agent_id limit ${query.limit} offset ${offsetOf(query)}
        )
        -- A page after the last one has the total alone.
        select agent_id as "agentId", pending, approved, denied, expired, canceled, total
        from (select count(*) as total from agents) counted left join page on true
        order by requests desc, agent_id`,
  );
  return {
    data: rows.filter(({ agentId }) => agentId !== null).map(({ total: _, ...row }) => row),
    total: rows[0]?.total ?? 0,
  };
}

export const approvalAnalyticsRoutes = ({ db, clock }: Pick<AnalyticsDeps, 'db' | 'clock'>): RouteEntry[] => [
  route({
    id: 'getApprovalAnalytics',
    summary: 'Requests for approval by agent and outcome',
    tag: 'Analytics',
    method: 'GET',
    url: '/analytics/approvals',
    access: bearer(),
    limit: 'caller',
    cost: 'heavy',
    schema: { query: ApprovalsQuery, response: { 200: ApprovalsByAgent } },
    errors: ['ROUTE_NOT_FOUND'],
    async handler({ caller: { organizationId }, query }) {
      const now = clock.now();
      const from = new Date((Math.floor(now / dayMs) - query.days + 1) * dayMs);
      const found = await approvalsByAgent(db, organizationId, query, { from, now: new Date(now) });
      return { tenantId: organizationId, days: query.days, ...pageOf(query, found.data, found.total) };
    },
  }),
];
