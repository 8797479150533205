import type { AgentCard, AgentFacts } from '../../contract/identity.ts';
import { type Caller, tenantOf } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import { fail } from '../../kernel/fail.ts';
import { a2aCard, badgeCredential, oasfRecord, plainCard } from './card.ts';
import type { DidDeps, RegisteredOrganization } from './deps.ts';
import { agentDocument, type IdentityStatus, type InstanceMethods, instanceDocument } from './document.ts';
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

export function createDidService(deps: DidDeps, names: Identifiers, methods: InstanceMethods): DidService {
  const { clock, ids, metrics, signer, factsOf, organizationOf, interfacesOf } = deps;
  const kid = names.instanceKey(signer.keyId);

  const find = async (agentId: string): Promise<Found> => {
    const facts = (await factsOf(agentId)) ?? fail('AGENT_NOT_FOUND');
    const organization = await organizationOf(facts.organizationId);
    return { facts, organization, standing: standingOf(facts, organization?.status) };
  };

  const generated = <T>(document: T): T => {
    metrics.count('service_did_documents_generated_total', {});
    return document;
  };

  /** What we sign, we sign for agents in good standing only. */
  const findGood = async (agentId: string): Promise<{ facts: AgentFacts; organization: string }> => {
    const { facts, organization, standing } = await find(agentId);
    if (standing !== 'good' || !organization)
      fail('AGENT_NOT_FOUND', { message: 'The agent is not active, so nothing is signed for it.' });
    return { facts, organization: organization.name };
  };

  return {
    instance: () => generated(instanceDocument(names, methods)),

    async document(agentId) {
      const { facts, standing } = await find(agentId);
      if (standing === 'gone') fail('AGENT_DECOMMISSIONED', { status: 410 });
      return generated(agentDocument(names, methods, facts, standing));
    },

    async resolve(caller, agentId) {
      const { facts, standing } = await find(agentId);
      const tenant = tenantOf(caller);
      if (tenant !== undefined && facts.organizationId !== tenant) fail('AGENT_NOT_FOUND');
      return {
        didDocument: generated(agentDocument(names, methods, facts, standing)),
        didDocumentMetadata: {
          created: facts.createdAt,
          updated: facts.updatedAt,
          deactivated: standing === 'gone',
        },
        didResolutionMetadata: { contentType: 'application/did+ld+json', retrieved: isoTime(clock) },
      };
    },

    async card(agentId) {
      const { facts, standing } = await find(agentId);
      if (standing === 'gone')
        fail('AGENT_NOT_FOUND', { message: 'The agent is decommissioned and has no card.' });
      return plainCard(names, facts, isoTime(clock));
    },

    async a2a(agentId) {
      const { facts, organization } = await findGood(agentId);
      const interfaces = await interfacesOf(facts.agentId);
      return signA2a(a2aCard(names, facts, organization, interfaces), kid, signer.attest);
    },

    async oasf(agentId) {
      const { facts, organization } = await findGood(agentId);
      return signOasf(oasfRecord(names, facts, organization), kid, isoTime(clock), signer.attest);
    },

    async badge(agentId) {
      const { facts, organization } = await findGood(agentId);
      const credential = badgeCredential(names, facts, organization, { id: ids.uuid(), now: clock.now() });
      return enveloped(await signBadge(credential, kid, signer.attest));
    },
  };
}

interface Found {
  readonly facts: AgentFacts;
  readonly organization: RegisteredOrganization | undefined;
  readonly standing: IdentityStatus;
}

/** A deleted organization does not come back, and its agents with it. */
function standingOf({ status }: AgentFacts, organization: string | undefined): IdentityStatus {
  if (status === 'decommissioned' || organization === undefined || organization === 'deleted') return 'gone';
  return status === 'active' && organization === 'active' ? 'good' : 'suspended';
}
