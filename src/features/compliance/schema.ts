import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { literals, Nullable, Timestamp, Uuid } from '../../contract/shapes.ts';

const reasons = ['not_applicable', 'not_visible', 'not_checked'] as const;
type Reason = (typeof reasons)[number];

export const Control = Type.Object(
  {
    id: Type.String({ description: 'the SOC 2 criterion it bears on' }),
    name: Type.String(),
    status: literals(['pass', 'fail', 'unknown']),
    reason: Nullable(
      Type.Unsafe<Reason>({
        ...literals(reasons),
        description:
          'why the status is unknown: the control does not apply to development on a loopback address, the service cannot see it, or the check failed to run; null with the other statuses',
      }),
    ),
    lastChecked: Timestamp,
  },
  { title: 'Soc2Control' },
);
export type Control = Static<typeof Control>;

export const Controls = Type.Object({ controls: Type.Array(Control) }, { title: 'Soc2Controls' });

const outcomes = ['pending', 'approved', 'denied', 'expired', 'canceled'] as const;
const { days, maxListed } = limits.complianceApprovals;

const ReportedApprovals = Type.Object(
  {
    since: Timestamp,
    pending: Type.Integer(),
    approved: Type.Integer(),
    denied: Type.Integer(),
    expired: Type.Integer(),
    canceled: Type.Integer(),
    data: Nullable(
      Type.Array(
        Type.Object({
          approvalId: Uuid,
          agentId: Uuid,
          resource: Type.String({ examples: ['https://orders.example.com'] }),
          scopes: Type.Array(Type.String()),
          status: literals(outcomes),
          decidedBy: Nullable(Uuid),
          createdAt: Timestamp,
          decidedAt: Nullable(Timestamp),
        }),
        { description: `the newest first, at most ${maxListed}; null without the scope audit:read` },
      ),
    ),
  },
  {
    title: 'ReportedApprovals',
    description: `requests for the approval of people, of the last ${days} days, by their outcome`,
  },
);

export const ComplianceReport = Type.Object(
  {
    tenantId: Type.String(),
    generatedAt: Timestamp,
    agntcyConformance: Type.Boolean(),
    agentCount: Type.Integer({ description: 'agents that are not decommissioned' }),
    writingAgentCount: Type.Integer({
      description: "of these, agents that hold a scope of this service's own API that changes something",
    }),
    verifiedAgentCount: Type.Integer({
      description:
        "active agents whose DID document resolves and whose badge verifies with the instance's key; owner, capabilities and the organization's name are not checked",
    }),
    auditChainIntegrity: Type.Boolean(),
    approvals: ReportedApprovals,
    from_cache: Type.Boolean(),
  },
  { title: 'ComplianceReport' },
);
export type ComplianceReport = Static<typeof ComplianceReport>;
