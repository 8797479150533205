import type { AgentCard, AgentFacts, CardFacts } from '../../contract/identity.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { ReadAttestation, Signer } from '../../kernel/ports/signer.ts';
import type { Identifiers } from './identifiers.ts';

export interface DidDeps {
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly metrics: Metrics;
  readonly signer: Pick<Signer, 'keyId' | 'algorithm' | 'attest' | 'publicKeys'>;
  readonly readAttestation: ReadAttestation;
  factsOf(agentId: string): Promise<AgentFacts | undefined>;
  /** Undefined when the organization does not exist. */
  organizationOf(organizationId: string): Promise<RegisteredOrganization | undefined>;
  /** The agent's public A2A endpoints. */
  interfacesOf(agentId: string): Promise<readonly string[]>;
}

export interface RegisteredOrganization {
  readonly name: string;
  readonly status: 'active' | 'suspended' | 'deleted';
}

export interface Conformance {
  /** The DID document resolves and the badge verifies. */
  readonly verified: boolean;
  /** And every card is valid against its schema. */
  readonly conforms: boolean;
}

export interface Did {
  readonly routes: readonly RouteEntry[];
  readonly identifiers: Pick<Identifiers, 'agent' | 'card'>;
  /** The spec's card, for lists. */
  cardOf(facts: CardFacts, issuedAt: string): AgentCard;
  /** Issues and verifies a badge, and validates every card against its schema. */
  checkConformance(facts: AgentFacts): Promise<Conformance>;
}
