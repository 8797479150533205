/**
 * DID: identity documents of agents that third parties verify on their own: DID documents (W3C DID Core 1.0, method did:web) and
 * agent cards in the published formats, signed with the instance's key. Owns no tables; each document is generated on request
 * from the registry's facts. docs/guides/identity-documents.md says how to verify each signature.
 */

import type { AgentFacts, CardFacts } from '../../contract/identity.ts';
import type { ReadAttestation, Signer } from '../../kernel/ports/signer.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { Marketplace } from '../marketplace/feature.ts';
import type { OrganizationService } from '../organizations/service.ts';
import { plainCard } from './card.ts';
import { createConformanceCheck } from './conformance.ts';
import { instanceMethods } from './document.ts';
import { createIdentifiers } from './identifiers.ts';
import { didRoutes } from './routes.ts';
import { createDidService } from './service.ts';

export interface DidDeps extends Pick<SharedDeps, 'clock' | 'ids' | 'metrics'> {
  readonly baseUrl: string;
  readonly signer: Pick<Signer, 'keyId' | 'algorithm' | 'attest' | 'publicKeys'>;
  readonly readAttestation: ReadAttestation;
  factsOf(agentId: string): Promise<AgentFacts | undefined>;
  organizationOf(organizationId: string): ReturnType<OrganizationService['describe']>;
  readonly interfacesOf: Marketplace['interfacesOf'];
}

export function createDid(deps: DidDeps) {
  const identifiers = createIdentifiers(deps.baseUrl);
  const methods = instanceMethods(identifiers, deps.signer.publicKeys());
  return {
    routes: didRoutes(createDidService(deps, identifiers, methods)),
    identifiers,
    /** The spec's card, for lists. */
    cardOf: (facts: CardFacts, issuedAt: string) => plainCard(identifiers, facts, issuedAt),
    checkConformance: createConformanceCheck(deps, identifiers, methods),
  };
}

export type Did = ReturnType<typeof createDid>;
