/**
 * DID: identity documents of agents that third parties verify on their own: DID documents (W3C DID Core 1.0, method did:web) and
 * agent cards in the published formats, signed with the instance's key. Owns no tables; each document is generated on request
 * from the registry's facts. docs/guides/identity-documents.md says how to verify each signature.
 */
import { plainCard } from './card.ts';
import { createConformanceCheck } from './conformance.ts';
import type { Did, DidDeps } from './deps.ts';
import { instanceMethods } from './document.ts';
import { createIdentifiers } from './identifiers.ts';
import { didRoutes } from './routes.ts';
import { createDidService } from './service.ts';

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
