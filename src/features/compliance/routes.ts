import { AgentCard } from '../../contract/identity.ts';
import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { fail } from '../../kernel/fail.ts';
import { bearer, open, type RouteEntry, route } from '../../kernel/http/route.ts';
import type { Cards } from './cards.ts';
import type { Controls } from './controls.ts';
import type { Reports } from './report.ts';
import { ComplianceReport, Controls as ControlsShape } from './schema.ts';

interface ComplianceServices {
  readonly enabled: boolean;
  readonly controls: Controls;
  readonly reports: Reports;
  readonly cards: Cards;
}

export const complianceRoutes = ({ enabled, controls, reports, cards }: ComplianceServices): RouteEntry[] => {
  const requireEnabled = () => enabled || fail('COMPLIANCE_DISABLED');
  return [
    route({
      id: 'getControls',
      summary: 'The SOC 2 controls of this instance, as they were last checked',
      tag: 'Compliance',
      method: 'GET',
      url: '/compliance/controls',
      access: open(),
      limit: 'caller',
      schema: { response: { 200: ControlsShape } },
      async handler({ header }) {
        const current = await controls.current();
        header('cache-control', `public, max-age=${limits.complianceControlsCacheSeconds}`);
        return { controls: current };
      },
    }),
    route({
      id: 'getComplianceReport',
      summary: "The organization's compliance report; X-Cache says whether it was kept from earlier",
      description: 'The list of approvals needs the scope audit:read; without it `approvals.data` is null.',
      tag: 'Compliance',
      method: 'GET',
      url: '/compliance/report',
      access: bearer(),
      limit: 'caller',
      cost: 'heavy',
      schema: { response: { 200: ComplianceReport } },
      errors: ['COMPLIANCE_DISABLED'],
      async handler({ caller, header }) {
        requireEnabled();
        const report = await reports.of(caller.organizationId, {
          mayListApprovals: caller.scopes.has('audit:read'),
        });
        header('x-cache', report.from_cache ? 'HIT' : 'MISS');
        return report;
      },
    }),
    route({
      id: 'exportAgentCards',
      summary: "The cards of all the organization's active agents",
      tag: 'Compliance',
      method: 'GET',
      url: '/compliance/agent-cards',
      access: bearer(),
      limit: 'caller',
      cost: 'heavy',
      schema: { response: { 200: Type.Array(AgentCard) } },
      errors: ['COMPLIANCE_DISABLED'],
      produces: 'application/json; charset=utf-8',
      handler({ caller }) {
        requireEnabled();
        return cards.of(caller.organizationId);
      },
    }),
  ];
};
