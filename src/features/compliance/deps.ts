import type { AgentCard, AgentFacts, CardFacts } from '../../contract/identity.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { Kv } from '../../kernel/ports/kv.ts';
import type { Signer } from '../../kernel/ports/signer.ts';

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
  /** True when the policies refuse an operator's action to an agent without scopes. */
  deniesByDefault(): boolean;
  readonly identity: {
    cardOf(facts: CardFacts, issuedAt: string): AgentCard;
    checkConformance(facts: AgentFacts): Promise<{ verified: boolean; conforms: boolean }>;
  };
}

export interface Compliance {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
}
