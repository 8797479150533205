/**
 * DID: who an agent is, in documents that others read without asking us anything else: DID documents (W3C DID Core 1.0, method
 * did:web) and agent cards in the published formats, signed with the instance's key. Owns nothing; all of it is made from the
 * facts that the registry holds, at the moment it is asked for. docs/guides/identity-documents.md says how each signature is checked.
 */
import { plainCard } from './card.ts';
import { createConformanceCheck } from './conformance.ts';
import type { Did, DidDeps } from './deps.ts';
import { instanceMethods } from './document.ts';
import { createIdentifiers } from './identifiers.ts';
import { didRoutes } from './routes.ts';
import { createDidService } from './service.ts';

export function createDid(deps: DidDeps): Did {
  const names = createIdentifiers(deps.baseUrl);
  const methods = instanceMethods(names, deps.signer.publicKeys());
  return {
    routes: didRoutes(createDidService(deps, names, methods)),
    identifiers: names,
    cardOf: (facts, issuedAt) => plainCard(names, facts, issuedAt),
    checkConformance: createConformanceCheck(deps, names, methods),
  };
}
