import type { AgentCard, AgentFacts } from '../../contract/identity.ts';
import { type Caller, tenantOf } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import { fail } from '../../kernel/fail.ts';
import type { Organization } from '../organizations/schema.ts';
import { a2aCard, badgeCredential, oasfRecord, plainCard } from './card.ts';
import { agentDocument, type IdentityStatus, type InstanceMethods, instanceDocument } from './document.ts';
import type { DidDeps } from './feature.ts';
import type { A2aCard, Badge, OasfRecord } from './formats.ts';
import type { Identifiers } from './identifiers.ts';
import type { DidDocument, DidResolution } from './schema.ts';
import { enveloped, signA2a, signBadge, signOasf } from './sign.ts';

export interface DidService {
  instance(): DidDocument;
  document(agentId: string): Promise<DidDocument>;
  resolve(caller: Caller, agentId: string): Promise<DidResolution>;
  card(agentId: string): Promise<AgentCard>;
  a2a(agentId: string): Promise<A2aCard>;
  oasf(agentId: string): Promise<OasfRecord>;
  badge(agentId: string): Promise<Badge>;
}

export function createDidService(
  deps: DidDeps,
  identifiers: Identifiers,
  methods: InstanceMethods,
): DidService {
  const { clock, ids, metrics, signer, factsOf, organizationOf, interfacesOf } = deps;
  const kid = identifiers.instanceKey(signer.keyId);

  const find = async (agentId: string): Promise<AgentIdentity> => {
    const facts = (await factsOf(agentId)) ?? fail('AGENT_NOT_FOUND');
    const organization = await organizationOf(facts.organizationId);
    return { facts, organization, status: identityStatusOf(facts, organization?.status) };
  };

  const countGenerated = <T>(document: T): T => {
    metrics.count('service_did_documents_generated_total', {});
    return document;
  };

  /** We sign for active agents only. */
  const findActive = async (agentId: string): Promise<{ facts: AgentFacts; organization: string }> => {
    const { facts, organization, status } = await find(agentId);
    if (status !== 'active' || !organization)
      fail('AGENT_NOT_FOUND', { message: 'The agent is not active, so nothing is signed for it.' });
    return { facts, organization: organization.name };
  };

  return {
    instance: () => countGenerated(instanceDocument(identifiers, methods)),

    async document(agentId) {
      const { facts, status } = await find(agentId);
      if (status === 'deactivated') fail('AGENT_DECOMMISSIONED', { status: 410 });
      return countGenerated(agentDocument(identifiers, methods, facts, status));
    },

    async resolve(caller, agentId) {
      const { facts, status } = await find(agentId);
      const tenant = tenantOf(caller);
      if (tenant !== undefined && facts.organizationId !== tenant) fail('AGENT_NOT_FOUND');
      return {
        didDocument: countGenerated(agentDocument(identifiers, methods, facts, status)),
        didDocumentMetadata: {
          created: facts.createdAt,
          updated: facts.updatedAt,
          deactivated: status === 'deactivated',
        },
        didResolutionMetadata: { contentType: 'application/did+ld+json', retrieved: isoTime(clock) },
      };
    },

    async card(agentId) {
      const { facts, status } = await find(agentId);
      if (status === 'deactivated')
        fail('AGENT_NOT_FOUND', { message: 'The agent is decommissioned and has no card.' });
      return plainCard(identifiers, facts, isoTime(clock));
    },

    async a2a(agentId) {
      const { facts, organization } = await findActive(agentId);
      const interfaces = await interfacesOf(facts.agentId);
      return signA2a(a2aCard(identifiers, facts, organization, interfaces), kid, signer.attest);
    },

    async oasf(agentId) {
      const { facts, organization } = await findActive(agentId);
      return signOasf(oasfRecord(identifiers, facts, organization), kid, isoTime(clock), signer);
    },

    async badge(agentId) {
      const { facts, organization } = await findActive(agentId);
      const credential = badgeCredential(identifiers, facts, organization, {
        id: ids.uuid(),
        now: clock.now(),
      });
      return enveloped(await signBadge(credential, kid, signer.attest));
    },
  };
}

interface AgentIdentity {
  readonly facts: AgentFacts;
  readonly organization: Organization | undefined;
  readonly status: IdentityStatus;
}

/** A deleted organization is final, and so are its agents. */
function identityStatusOf({ status }: AgentFacts, organization: string | undefined): IdentityStatus {
  if (status === 'decommissioned' || organization === undefined || organization === 'deleted')
    return 'deactivated';
  return status === 'active' && organization === 'active' ? 'active' : 'suspended';
}
