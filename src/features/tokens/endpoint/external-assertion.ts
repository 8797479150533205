/**
 * Clients that authenticate by an assertion of an external issuer. The port verifies the assertion, counts the request and opens the
 * transaction, because it marks the assertion as used in the same transaction that issues.
 */

import { type ClientFields, findClientCredential } from '../clients/client-credential.ts';
import type { TokenDeps } from '../feature.ts';
import type { ExternalClientAssertion, IssuedToken, Mint, RefusalWithEffect } from '../grant.ts';
import { withTokenType } from './decision.ts';
import type { ParsedRequest } from './parse.ts';

export function createExternalIssue(
  { db, metrics, externalAssertions, issuer }: TokenDeps,
  mint: Mint,
): (request: ParsedRequest) => Promise<IssuedToken> | undefined {
  return (request) => {
    const { form, origin, audience, countAgainst, proof, grant } = request;
    if (proof.kind !== 'assertion' || !externalAssertions.isExternal(proof.assertion)) return undefined;
    const base = { token: proof.assertion, agentId: form.client_id, origin, countAgainst };
    if (grant.transaction === 'shared') {
      const assertion = { ...base, scope: form.scope, agentsToLock: async () => [] };
      return externalAssertions.redeem(assertion, audience ?? issuer);
    }
    const assertion: ExternalClientAssertion = {
      ...base,
      scope: undefined,
      agentsToLock: () => grant.agentsToLock(form),
    };
    let effect: RefusalWithEffect['effect'] | undefined;
    const issuing = externalAssertions.authenticateWorkload(assertion, async (tx, client) => {
      const authorized = await grant.authorize(tx, { client, form, audience, origin });
      if ('refusal' in authorized) {
        effect = authorized.effect;
        throw authorized.refusal;
      }
      const { agentId, trustPolicyId } = client;
      const issued = await mint(tx, {
        ...authorized,
        origin,
        agentId,
        ...(trustPolicyId !== undefined && { trustPolicyId }),
      });
      tx.afterCommit(() => {
        metrics.count('service_oidc_tokens_issued_total', {});
        grant.onIssued?.(client);
      });
      return withTokenType(grant, issued);
    });
    // The port has rolled its transaction back.
    return issuing.catch(async (error) => {
      if (effect) await db.transaction(effect);
      throw error;
    });
  };
}

/** For other endpoints: the external assertion that a request presents as its only proof. */
export const createFindExternalAssertion =
  ({ externalAssertions }: Pick<TokenDeps, 'externalAssertions'>) =>
  (form: ClientFields, authorization: string | undefined): string | undefined => {
    const proof = findClientCredential(form, authorization);
    return proof?.kind === 'assertion' && externalAssertions.isExternal(proof.assertion)
      ? proof.assertion
      : undefined;
  };
