/**
 * Compliance: what can be shown about this instance (SOC 2 controls) and about one organization (report, cards of its agents).
 * Owns `badge_checks`: which agents' badges have been issued and verified. Otherwise a read model that spans tables: it reads
 * `agents` and `agent_counts`, samples `credentials`, and asks PostgreSQL about itself. It changes nothing of others.
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
