/**
 * Compliance: SOC 2 controls of this instance, and the report and agent cards of one organization. Owns `badge_checks`: the agents whose
 * badges were issued and verified. Otherwise a read model that spans tables: it reads `agents` and `agent_counts`, samples
 * `credentials`, and reads PostgreSQL's catalog and settings. It writes no other table.
 */
import { createCards } from './cards.ts';
import { createControls } from './controls.ts';
import type { Compliance, ComplianceDeps } from './deps.ts';
import { createVerificationLoop } from './loops.ts';
import { createReports } from './report.ts';
import { complianceRoutes } from './routes.ts';
import { createVerification } from './verification.ts';

export function createCompliance(deps: ComplianceDeps): Compliance {
  const verification = createVerification(deps);
  return {
    routes: complianceRoutes({
      enabled: deps.settings.complianceEnabled,
      controls: createControls(deps),
      reports: createReports(deps, verification),
      cards: createCards(deps),
    }),
    loops: [createVerificationLoop(verification)],
  };
}
