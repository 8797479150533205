/**
 * Compliance: what can be shown about this instance (SOC 2 controls) and about one organization (report, cards of its agents).
 * Owns `badge_checks`: which agents' badges have been issued and verified. Otherwise a read model that spans tables: it reads
 * `agents` and `agent_counts`, samples `credentials`, and asks PostgreSQL about itself. It changes nothing of others.
 */
import type { AgentCard, AgentFacts, CardFacts } from '../../contract/identity.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Kv } from '../../kernel/ports/kv.ts';
import type { Signer } from '../../kernel/ports/signer.ts';
import { createCards } from './cards.ts';
import { createControls } from './controls.ts';
import { createVerificationLoop } from './loops.ts';
import { createReports } from './report.ts';
import { complianceRoutes } from './routes.ts';
import { createVerification } from './verification.ts';

export interface ComplianceDeps {
  readonly db: Db;
  readonly kv: Kv;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly signer: Pick<Signer, 'keyId' | 'publicKeys'>;
  readonly settings: {
    readonly complianceEnabled: boolean;
    readonly baseUrl: string;
    readonly rateLimitPerMinute: number;
    readonly dataEncryptionKey: unknown;
  };
  readonly audit: { of(organizationId: string): Promise<boolean>; everywhere(): Promise<boolean> };
  /** That a stranger is refused what only operators may. */
  deniesByDefault(): boolean;
  readonly identity: {
    cardOf(facts: CardFacts, issuedAt: string): AgentCard;
    conformityOf(facts: AgentFacts): Promise<{ verified: boolean; conforms: boolean }>;
  };
}

export interface Compliance {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
}

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
