/**
 * Whether an agent's identity holds together, found out as a third party would: the DID document is made and read, a badge is
 * issued and verified with the key that the document names, and every card is held against its schema.
 */
import { AgentCard, type AgentFacts } from '../../contract/identity.ts';
import { isoTime } from '../../kernel/clock.ts';
import { isShape } from '../../kernel/http/input/validation.ts';
import { a2aCard, badgeCredential, oasfRecord, plainCard } from './card.ts';
import type { DidDeps } from './deps.ts';
import { agentDocument, hasDistinctIds, type InstanceMethods } from './document.ts';
import { A2aCard, BadgeCredential, OasfRecord } from './formats.ts';
import type { Identifiers } from './identifiers.ts';
import { DidDocument } from './schema.ts';
import { badgeType, signBadge } from './sign.ts';

export interface Conformance {
  /** The DID document resolves and the badge verifies. */
  readonly verified: boolean;
  /** And every card is what its schema says. */
  readonly conforms: boolean;
}

/**
 * Stands for the organization's registered name, which is never empty. The result does not depend on the name, so a rename
 * causes no new checks.
 */
const anyOrganization = 'Organization';

const isDocument = isShape<DidDocument>(DidDocument);
const isCard = isShape<AgentCard>(AgentCard);
const isA2a = isShape<A2aCard>(A2aCard);
const isOasf = isShape<OasfRecord>(OasfRecord);
const isBadge = isShape<BadgeCredential>(BadgeCredential);

export function createConformanceCheck(
  deps: Pick<DidDeps, 'clock' | 'ids' | 'signer' | 'readAttestation'>,
  names: Identifiers,
  methods: InstanceMethods,
): (facts: AgentFacts) => Promise<Conformance> {
  const { clock, ids, signer, readAttestation } = deps;
  const kid = names.instanceKey(signer.keyId);

  const badgeHolds = async (facts: AgentFacts, document: DidDocument): Promise<boolean> => {
    const credential = badgeCredential(names, facts, anyOrganization, { id: ids.uuid(), now: clock.now() });
    const signed = await signBadge(credential, kid, signer.attest);
    const method = document.verificationMethod.find(({ id }) => id === kid);
    if (!method || !document.assertionMethod?.includes(kid)) return false;
    const text = await readAttestation(signed, { typ: badgeType, kid }, method.publicKeyJwk);
    const read: unknown = text === undefined ? undefined : JSON.parse(text);
    return isBadge(read) && read.issuer === document.controller && read.credentialSubject.id === document.id;
  };

  return async (facts) => {
    if (facts.status !== 'active') return { verified: false, conforms: false };
    try {
      const document = agentDocument(names, methods, facts, 'good');
      const verified =
        isDocument(document) &&
        hasDistinctIds(document) &&
        document.id === names.agent(facts.agentId) &&
        (await badgeHolds(facts, document));
      const cards =
        isCard(plainCard(names, facts, isoTime(clock))) &&
        isA2a(a2aCard(names, facts, anyOrganization, [])) &&
        isOasf(oasfRecord(names, facts, anyOrganization));
      return { verified, conforms: verified && cards };
    } catch {
      // Rows that somebody else has written can hold anything.
      return { verified: false, conforms: false };
    }
  };
}
