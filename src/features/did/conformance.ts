/**
 * Conformance check of an agent's identity, from the view of a third party: generates and reads the DID document, issues a badge,
 * verifies it with the key from the document, and validates every card against its schema.
 */

import { AgentCard, type AgentFacts } from '../../contract/identity.ts';
import { isoTime } from '../../kernel/clock.ts';
import { isShape } from '../../kernel/http/input/validation.ts';
import { a2aCard, badgeCredential, oasfRecord, plainCard } from './card.ts';
import { agentDocument, hasDistinctIds, type InstanceMethods } from './document.ts';
import type { DidDeps } from './feature.ts';
import { A2aCard, BadgeCredential, OasfRecord } from './formats.ts';
import type { Identifiers } from './identifiers.ts';
import { DidDocument } from './schema.ts';
import { badgeType, signBadge } from './sign.ts';

interface Conformance {
  /** The DID document resolves and the badge verifies. */
  readonly verified: boolean;
  /** And every card is valid against its schema. */
  readonly conforms: boolean;
}

/** The result does not depend on the organization's name, so a rename causes no new checks. */
const placeholderOrganization = 'Organization';

const isDocument = isShape<DidDocument>(DidDocument);
const isCard = isShape<AgentCard>(AgentCard);
const isA2a = isShape<A2aCard>(A2aCard);
const isOasf = isShape<OasfRecord>(OasfRecord);
const isBadge = isShape<BadgeCredential>(BadgeCredential);

export function createConformanceCheck(
  deps: Pick<DidDeps, 'clock' | 'ids' | 'signer' | 'readAttestation'>,
  identifiers: Identifiers,
  methods: InstanceMethods,
): (facts: AgentFacts) => Promise<Conformance> {
  const { clock, ids, signer, readAttestation } = deps;
  const kid = identifiers.instanceKey(signer.keyId);

  const badgeVerifies = async (facts: AgentFacts, document: DidDocument): Promise<boolean> => {
    const credential = badgeCredential(identifiers, facts, placeholderOrganization, {
      id: ids.uuid(),
      now: clock.now(),
    });
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
      const document = agentDocument(identifiers, methods, facts, 'active');
      const verified =
        isDocument(document) &&
        hasDistinctIds(document) &&
        document.id === identifiers.agent(facts.agentId) &&
        (await badgeVerifies(facts, document));
      const cards =
        isCard(plainCard(identifiers, facts, isoTime(clock))) &&
        isA2a(a2aCard(identifiers, facts, placeholderOrganization, [])) &&
        isOasf(oasfRecord(identifiers, facts, placeholderOrganization));
      return { verified, conforms: verified && cards };
    } catch {
      // Rows that were not written by this service may hold invalid values.
      return { verified: false, conforms: false };
    }
  };
}
