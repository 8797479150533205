/**
 * Clients that authenticate by an assertion of an external issuer. The port verifies the assertion, counts the request and opens the
 * transaction, because it marks the assertion as used in the same transaction that issues.
 */

import type { VerifiedProof } from '../../../kernel/ports/possession.ts';
import {
  type ClientCredential,
  type ClientFields,
  findClientCredential,
} from '../clients/client-credential.ts';
import type { LockClient } from '../eligibility.ts';
import type { TokenDeps } from '../feature.ts';
import type { ExternalClientAssertion, IssuedToken, Mint, RefusalWithEffect } from '../grant.ts';
import { withTokenType } from './decision.ts';
import type { ParsedRequest } from './parse.ts';

export function createExternalIssue(
  { db, ledger, metrics, externalAssertions, issuer }: TokenDeps,
  mint: Mint,
  prove: (request: ParsedRequest) => Promise<VerifiedProof | undefined>,
  lockClient: LockClient,
): (request: ParsedRequest) => Promise<IssuedToken> | undefined {
  return (request) => {
    const { form, origin, audience, countAgainst, proof, grant } = request;
    if (!isExternal(proof, externalAssertions)) return undefined;
    const base = {
      token: proof.assertion,
      svid: proof.kind === 'svid',
      agentId: form.client_id,
      origin,
      countAgainst,
      provePossession: () => prove(request),
    };
    const own = { ...base, scope: form.scope, agentsToLock: async () => [] };
    if (proof.kind === 'workload') return externalAssertions.exchange(own, audience ?? issuer);
    if (grant.transaction === 'shared') return externalAssertions.redeem(own, audience ?? issuer);
    const assertion: ExternalClientAssertion = {
      ...base,
      scope: undefined,
      async agentsToLock(client, keyProof) {
        const prepared = { form, audience, origin, client };
        const refusal = await grant.prepare?.(
          keyProof ? { ...prepared, keyThumbprint: keyProof.thumbprint } : prepared,
        );
        if (refusal) throw refusal;
        return grant.agentsToLock(form);
      },
    };
    let effect: RefusalWithEffect['effect'] | undefined;
    const issuing = externalAssertions.authenticateWorkload(assertion, async (tx, client) => {
      const { agentId, trustPolicyId, keyProof } = client;
      const authorized = await grant.authorize(tx, {
        client,
        form,
        audience,
        origin,
        ...(keyProof && { keyThumbprint: keyProof.thumbprint }),
      });
      if ('refusal' in authorized) {
        effect = authorized.effect;
        throw authorized.refusal;
      }
      if ('entry' in authorized) {
        await lockClient(tx, agentId, keyProof);
        await ledger.recordAll(tx, [authorized.entry]);
        tx.afterCommit(() => grant.onIssued?.(client));
        return authorized.response;
      }
      const issued = await mint(tx, {
        ...authorized,
        origin,
        agentId,
        keyProof,
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
  (
    form: ClientFields,
    authorization: string | undefined,
  ): Pick<ExternalClientAssertion, 'token' | 'svid'> | undefined => {
    const proof = findClientCredential(form, authorization);
    return proof && isExternal(proof, externalAssertions)
      ? { token: proof.assertion, svid: proof.kind === 'svid' }
      : undefined;
  };

const isExternal = (
  proof: ClientCredential,
  externalAssertions: TokenDeps['externalAssertions'],
): proof is Extract<ClientCredential, { readonly assertion: string }> =>
  proof.kind === 'svid' ||
  proof.kind === 'workload' ||
  (proof.kind === 'assertion' && externalAssertions.isExternal(proof.assertion));
