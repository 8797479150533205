/**
 * Compliance: SOC 2 controls of this instance, and the report and agent cards of one organization. Owns `badge_checks`: the agents whose
 * badges were issued and verified. Otherwise a read model that spans tables: it reads `agents`, `agent_counts` and `approvals`, samples
 * `credentials`, and reads PostgreSQL's catalog and settings. It writes no other table.
 */

import type { Kv } from '../../kernel/ports/kv.ts';
import type { Signer } from '../../kernel/ports/signer.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { Audit } from '../audit/feature.ts';
import type { Did } from '../did/feature.ts';
import { createCards } from './cards.ts';
import { createControls } from './controls.ts';
import { createVerificationLoop } from './loops.ts';
import { createReports } from './report.ts';
import { complianceRoutes } from './routes.ts';
import { createVerification } from './verification.ts';

export interface ComplianceDeps extends Pick<SharedDeps, 'db' | 'clock' | 'metrics'> {
  readonly kv: Kv;
  readonly signer: Pick<Signer, 'keyId' | 'publicKeys'>;
  readonly settings: {
    readonly complianceEnabled: boolean;
    readonly baseUrl: string;
    readonly nodeEnv: string;
    readonly rateLimitPerMinute: number;
    readonly dataEncryptionKey: unknown;
  };
  readonly audit: Audit['integrity'];
  /** True when the policies refuse an operator's action to an agent without scopes. */
  deniesByDefault(): boolean;
  readonly identity: Pick<Did, 'cardOf' | 'checkConformance'>;
}

export function createCompliance(deps: ComplianceDeps) {
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
