/**
 * DID: who an agent is, in documents that others read without asking us anything else: DID documents (W3C DID Core 1.0, method
 * did:web) and agent cards in the published formats, signed with the instance's key. Owns nothing; all of it is made from the
 * facts that the registry holds, at the moment it is asked for. docs/identity.md says how each signature is checked.
 */
import type { AgentCard, AgentFacts, CardFacts } from '../../contract/identity.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Metrics } from '../../kernel/observability/metrics.ts';
import type { ReadAttestation, Signer } from '../../kernel/ports/signer.ts';
import { plainCard } from './card.ts';
import { type Conformity, createConformity } from './conformity.ts';
import { instanceMethods } from './document.ts';
import { createNames, type Names } from './names.ts';
import { didRoutes } from './routes.ts';
import { createDidService } from './service.ts';

export interface DidDeps {
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly metrics: Metrics;
  readonly signer: Pick<Signer, 'keyId' | 'attest' | 'publicKeys'>;
  readonly readAttestation: ReadAttestation;
  factsOf(agentId: string): Promise<AgentFacts | undefined>;
  /** Undefined when there is no such organization. */
  organizationOf(organizationId: string): Promise<RegisteredOrganization | undefined>;
  /** Where the agent says, to everybody, that it speaks A2A. */
  interfacesOf(agentId: string): Promise<readonly string[]>;
}

export interface RegisteredOrganization {
  readonly name: string;
  readonly status: 'active' | 'suspended' | 'deleted';
}

export interface Did {
  readonly routes: readonly RouteEntry[];
  readonly names: Pick<Names, 'agent' | 'card'>;
  /** The spec's card, for whoever lists many. */
  cardOf(facts: CardFacts, issuedAt: string): AgentCard;
  /** Issues a badge, verifies it as a stranger would, and holds every card against its schema. */
  conformityOf(facts: AgentFacts): Promise<Conformity>;
}

export function createDid(deps: DidDeps): Did {
  const names = createNames(deps.baseUrl);
  const methods = instanceMethods(names, deps.signer.publicKeys());
  return {
    routes: didRoutes(createDidService(deps, names, methods)),
    names,
    cardOf: (facts, issuedAt) => plainCard(names, facts, issuedAt),
    conformityOf: createConformity(deps, names, methods),
  };
}
