/**
 * DID: identity documents of agents that third parties verify on their own: DID documents (W3C DID Core 1.0, method did:web) and
 * agent cards in the published formats, signed with the instance's key. Owns no tables; each document is generated on request
 * from the registry's facts. docs/guides/identity-documents.md says how to verify each signature.
 */

import type { AgentCard, AgentFacts, CardFacts } from '../../contract/identity.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { ReadAttestation, Signer } from '../../kernel/ports/signer.ts';
import { plainCard } from './card.ts';
import { type Conformance, createConformanceCheck } from './conformance.ts';
import { instanceMethods } from './document.ts';
import { createIdentifiers, type Identifiers } from './identifiers.ts';
import { didRoutes } from './routes.ts';
import { createDidService } from './service.ts';

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

export interface Did {
  readonly routes: readonly RouteEntry[];
  readonly identifiers: Pick<Identifiers, 'agent' | 'card'>;
  /** The spec's card, for lists. */
  cardOf(facts: CardFacts, issuedAt: string): AgentCard;
  /** Issues and verifies a badge, and validates every card against its schema. */
  checkConformance(facts: AgentFacts): Promise<Conformance>;
}

export function createDid(deps: DidDeps): Did {
  const identifiers = createIdentifiers(deps.baseUrl);
  const methods = instanceMethods(identifiers, deps.signer.publicKeys());
  return {
    routes: didRoutes(createDidService(deps, identifiers, methods)),
    identifiers: identifiers,
    cardOf: (facts, issuedAt) => plainCard(identifiers, facts, issuedAt),
    checkConformance: createConformanceCheck(deps, identifiers, methods),
  };
}
