/**
 * Client authentication, outside any transaction, lock or queue: neither a flood of wrong secrets nor a slow Redis holds a
 * transaction or an agent's lock. It decides only against which window the request counts: the transaction that issues checks the
 * proof again (lock-clients.ts), and a secret that was revoked is then looked up anew.
 */

import { failToken, TokenError } from '../../../kernel/fail.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import type { VerifiedProof } from '../../../kernel/ports/possession.ts';
import { isClientAddress } from '../clients/client-credential.ts';
import type { AuthenticationFailure, ProofVerifier, VerifiedClient } from '../clients/verify-credential.ts';
import type { TokenDeps } from '../feature.ts';
import { findAgentStatuses } from '../store.ts';
import type { ParsedRequest } from './parse.ts';

export interface Authentication {
  /** TokenError `invalid_client` unless the proof is good; the request then counts against the address. */
  authenticate(request: ParsedRequest): Promise<VerifiedClient>;
  /** For a proof that turned out to be wrong in the transaction. */
  refuse(request: ParsedRequest, proof: VerifiedClient, failure: AuthenticationFailure): Promise<never>;
  /** The key that an authenticated client proves to have. Records the refusal of a proof that is not valid: a TokenError. */
  provePossession(request: ParsedRequest, proof: VerifiedClient): Promise<VerifiedProof | undefined>;
}

export function createAuthentication(
  { db, recordRefusal, assertions }: TokenDeps,
  { verify, invalidate }: ProofVerifier,
  prove: (request: ParsedRequest) => Promise<VerifiedProof | undefined>,
): Authentication {
  /** Counts against the address unless the request was counted, and records the refusal. */
  const refuseClient = async (
    request: ParsedRequest,
    { agentId, reason, code = 'invalid_client' }: AuthenticationFailure,
  ): Promise<never> => {
    await request.countAgainst('address');
    const found = (await findAgentStatuses(db, [agentId])).get(agentId);
    const organizationId = found?.organizationId ?? nilUuid;
    await recordRefusal({
      actor: request.origin,
      type: 'token.refused',
      subject: { organizationId, agentId, outcome: 'failure', metadata: { reason } },
    });
    return failToken(code, reason);
  };

  /** A client that is named by an address has the agent that the code, the refresh token or the assertion is for. */
  const verifyNamed = async ({ proof, grant, form, origin, countAgainst }: ParsedRequest) => {
    const clientId =
      proof.kind === 'assertion' ? (assertions.unverifiedClient(proof.assertion) ?? '') : form.client_id;
    const publicClients = grant.transaction === 'own' ? grant.publicClients : undefined;
    if (!publicClients || !clientId || !isClientAddress(clientId)) return verify(proof);
    if (publicClients.register) {
      // The client is not authenticated yet, and its document may be fetched.
      await countAgainst('address');
      await publicClients.register(form, clientId, origin);
    }
    const agentId = (await publicClients.findAgent(form, clientId)) ?? nilUuid;
    if (proof.kind === 'assertion') return verify({ ...proof, agentId });
    if (proof.kind !== 'public') return verify(proof);
    const verified = await verify({ ...proof, agentId });
    // The same for a form that refers to nothing, and for one that refers to another client.
    return verified.kind === 'public'
      ? verified
      : ({ ...verified, code: 'invalid_grant', reason: publicClients.unknown } as const);
  };

  return {
    async authenticate(request) {
      const verified = await verifyNamed(request);
      return verified.kind === 'unauthenticated' ? refuseClient(request, verified) : verified;
    },

    refuse(request, proof, failure) {
      // The next request with a revoked secret counts against the address.
      invalidate(proof);
      return refuseClient(request, failure);
    },

    async provePossession(request, { kind, agentId, organizationId }) {
      if (request.dpop === undefined) return undefined;
      return prove(request).catch(async (error) => {
        if (!(error instanceof TokenError)) throw error;
        await recordRefusal({
          actor: kind === 'public' ? request.origin : { ...request.origin, agentId },
          type: 'token.refused',
          subject: { organizationId, agentId, outcome: 'failure', metadata: { reason: error.reason } },
        });
        throw error;
      });
    },
  };
}
