/** The approval policy of an organization: how long access may last, and who counts as an approver. Owns `approval_policies`. */

import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { Uuid } from '../../contract/shapes.ts';
import { audienceOf, equivalentUris } from '../../kernel/audience.ts';
import type { Caller } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import { fail } from '../../kernel/fail.ts';
import { policy, type RouteEntry, route } from '../../kernel/http/route.ts';
import { organization } from '../../kernel/policy.ts';
import type { ApprovalDeps } from './feature.ts';

const { minAccessSeconds, maxAccessSeconds, maxRequireTwo } = limits.approval;

const fields = {
  maxAccessSeconds: Type.Integer({
    minimum: minAccessSeconds,
    maximum: maxAccessSeconds,
    description: 'the longest access that an approval can give, in seconds',
  }),
  selfApproval: Type.Boolean({
    description: 'whether a person may approve requests of an agent that the person registered or owns',
  }),
  requireTwo: Type.Array(
    Type.String({
      minLength: 1,
      maxLength: limits.resource.maxIdentifierLength,
      pattern: '^[!-~]+$',
      description: 'the identifier of an API',
      examples: ['https://orders.example.com'],
    }),
    {
      maxItems: maxRequireTwo,
      uniqueItems: true,
      description: 'the APIs for which two different people must approve',
    },
  ),
};

export const ApprovalPolicy = Type.Object(fields, { title: 'ApprovalPolicy' });
export type ApprovalPolicy = Static<typeof ApprovalPolicy>;

const ApprovalPolicyChange = Type.Object(
  {
    maxAccessSeconds: Type.Integer({ ...fields.maxAccessSeconds, default: maxAccessSeconds }),
    selfApproval: Type.Boolean({ ...fields.selfApproval, default: false }),
    requireTwo: Type.Array(fields.requireTwo.items, { ...fields.requireTwo, default: [] }),
  },
  { title: 'ApprovalPolicyChange', additionalProperties: false },
);

const Params = Type.Object({ orgId: Uuid });

const defaultPolicy: ApprovalPolicy = { maxAccessSeconds, selfApproval: false, requireTwo: [] };

export const findApprovalPolicy = async (db: Queryable, organizationId: string): Promise<ApprovalPolicy> =>
  (await db.maybe<ApprovalPolicy>(
    'approvals.findPolicy',
    sql`select max_access_seconds as "maxAccessSeconds", self_approval as "selfApproval", require_two as "requireTwo"
        from approval_policies where organization_id = ${organizationId}`,
  )) ?? defaultPolicy;

const access = policy(
  'organizations:managePeople',
  (_, { orgId = '' }) => organization(orgId),
  'ORG_NOT_FOUND',
);

export function approvalPolicyRoutes({
  db,
  clock,
  ledger,
  issuer,
  organizationFor,
  lockOrganization,
}: Pick<
  ApprovalDeps,
  'db' | 'clock' | 'ledger' | 'issuer' | 'organizationFor' | 'lockOrganization'
>): RouteEntry[] {
  /** As a resource would be registered, so that another spelling does not leave the rule without effect. */
  const spelled = (identifier: string): string => {
    const [lower = identifier] = equivalentUris(identifier);
    return audienceOf(lower, issuer) ?? lower;
  };

  const put = (caller: Caller, orgId: string, body: ApprovalPolicy) =>
    db.transaction(async (tx) => {
      const wanted = { ...body, requireTwo: [...new Set(body.requireTwo.map(spelled))] };
      const organizationId = orgId.toLowerCase();
      if (!(await lockOrganization(tx, organizationId))) fail('ORG_NOT_FOUND');
      const before = await findApprovalPolicy(tx, organizationId);
      if (JSON.stringify(before) === JSON.stringify(wanted)) return before;
      const { maxAccessSeconds: seconds, selfApproval, requireTwo } = wanted;
      await tx.run(
        'approvals.putPolicy',
        sql`insert into approval_policies
              (organization_id, max_access_seconds, self_approval, require_two, updated_at)
            values (${organizationId}, ${seconds}, ${selfApproval}, ${requireTwo}, ${isoTime(clock)})
            on conflict (organization_id) do update
            set max_access_seconds = excluded.max_access_seconds, self_approval = excluded.self_approval,
                require_two = excluded.require_two, updated_at = excluded.updated_at`,
      );
      await ledger.record(tx, caller, 'approval_policy.updated', {
        organizationId,
        agentId: caller.agentId,
        metadata: { ...wanted, previous: before },
      });
      return wanted;
    });

  return [
    route({
      id: 'getApprovalPolicy',
      summary: "Read the organization's rules for approvals",
      tag: 'Approvals',
      method: 'GET',
      url: '/organizations/:orgId/approval-policy',
      access,
      limit: 'caller',
      schema: { params: Params, response: { 200: ApprovalPolicy } },
      errors: ['ORG_NOT_FOUND'],
      async handler({ caller, params }) {
        const { organizationId } = await organizationFor(caller, params.orgId);
        return findApprovalPolicy(db, organizationId);
      },
    }),
    route({
      id: 'putApprovalPolicy',
      summary: "Set the organization's rules for approvals",
      description:
        'A field that is absent gets its default. The rules count where a person decides, also for requests that wait already; they end no access that was approved.',
      tag: 'Approvals',
      method: 'PUT',
      url: '/organizations/:orgId/approval-policy',
      access,
      limit: 'caller',
      schema: { params: Params, body: ApprovalPolicyChange, response: { 200: ApprovalPolicy } },
      errors: ['ORG_NOT_FOUND'],
      handler: ({ caller, params, body }) => put(caller, params.orgId, body),
    }),
  ];
}
