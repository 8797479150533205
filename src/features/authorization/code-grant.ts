/** The grant `authorization_code` (RFC 6749 §4.1.3, RFC 7636): the client exchanges a code for tokens of the chain that it stands for. */

import { createHash } from 'node:crypto';
import Type from '../../contract/json-schema.ts';
import { equivalentUris } from '../../kernel/audience.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { failToken, TokenError } from '../../kernel/fail.ts';
import { narrowingField, readNarrowing } from '../../kernel/http/input/authorization-details.ts';
import { hashSecret, sameHash } from '../../kernel/secrets.ts';
import type { UnbatchedGrant } from '../tokens/grant.ts';
import type { AuthorizationDeps } from './feature.ts';
import { findOwnerOfCode, lockCode, markCodeUsed, type StoredCode } from './grants-store.ts';
import { type NewRefreshToken, refreshKeyOf } from './refresh-token.ts';

const grantType = 'authorization_code';

/** The same for a code that does not exist, and for one of another client. */
const unknownCode = 'the code is unknown, was used or has expired';

const Field = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ maxLength, description }));

export const errorCodes = {
  malformed: 'invalid_request',
  missingClient: 'invalid_client',
  invalidResource: 'invalid_target',
} as const;

export function createCodeGrant(
  { db, clock, consents }: AuthorizationDeps,
  newRefreshToken: NewRefreshToken,
): UnbatchedGrant {
  const ownerOf = async (code: string | undefined) =>
    code ? findOwnerOfCode(db, hashSecret(code)) : undefined;

  const useUp = (tx: Tx, codeHash: Buffer) => markCodeUsed(tx, codeHash, new Date(clock.now()));

  return {
    grantType,
    fields: {
      code: Field(512, 'with grant_type=authorization_code'),
      redirect_uri: Field(2_048, 'with grant_type=authorization_code, if the authorization request named it'),
      code_verifier: Field(512, 'with grant_type=authorization_code (RFC 7636)'),
      ...narrowingField,
    },
    errorCodes,
    transaction: 'own',
    publicClients: {
      unknown: unknownCode,
      async findAgent({ code }, clientUri) {
        const owner = await ownerOf(code);
        return owner?.clientUri === clientUri ? owner.agentId : undefined;
      },
    },

    async agentsToLock({ code }) {
      const owner = await ownerOf(code);
      return owner ? consents.agentsToLock(owner.chainId) : [];
    },

    async authorize(tx, { client, form, audience, origin, keyThumbprint }) {
      const { code, code_verifier: verifier } = form;
      if (!code) return failToken('invalid_request', 'code is required');
      if (!verifier) return failToken('invalid_request', 'code_verifier is required');
      const codeHash = hashSecret(code);
      // Requests with the same code wait here for the first.
      const stored = await lockCode(tx, codeHash);
      if (stored?.agentId !== client.agentId) return failToken('invalid_grant', unknownCode);
      const { chainId } = stored;
      if (stored.usedAt !== null)
        return {
          // RFC 6749 §4.1.2: one of the two holders has stolen it.
          refusal: new TokenError('invalid_grant', unknownCode, 'the code was used twice'),
          effect: (refusing) =>
            consents.revoke(refusing, { ...origin, agentId: client.agentId }, chainId, 'code used twice'),
        };
      if (Date.parse(stored.expiresAt) <= clock.now())
        return failToken('invalid_grant', unknownCode, 'the code has expired');
      requireSameRequest(stored, form.redirect_uri, audience);
      if (!isVerifier(verifier, stored.codeChallenge))
        return {
          refusal: new TokenError('invalid_grant', 'code_verifier is wrong', 'wrong code verifier'),
          effect: (refusing) => useUp(refusing, codeHash),
        };
      if (stored.dpopJkt !== null && stored.dpopJkt !== keyThumbprint)
        return {
          refusal: new TokenError(
            'invalid_grant',
            'the code is bound to a key (dpop_jkt): send a DPoP proof by it',
            'code bound to another key',
          ),
          effect: (refusing) => useUp(refusing, codeHash),
        };
      const { resource, scopes, clientUri } = stored;
      const authorized = await consents.redeem(tx, chainId, {
        client,
        grantType,
        scope: undefined,
        within: scopes,
        audience: resource,
        authorizationDetails: readNarrowing(form),
      });
      if (!authorized) return failToken('invalid_grant', unknownCode, 'the consent was deleted');
      const { refreshToken, insert } = newRefreshToken({
        ...stored,
        dpopJkt: refreshKeyOf(stored, null, keyThumbprint),
      });
      return {
        ...authorized,
        ...(clientUri !== null && { clientUri }),
        refreshToken,
        async whenIssued(issuing) {
          await useUp(issuing, codeHash);
          await insert(issuing);
        },
      };
    },
  };
}

function requireSameRequest(
  { redirectUri, redirectUriNamed, resource }: StoredCode,
  repeated: string | undefined,
  audience: string | undefined,
): void {
  if (repeated === undefined ? redirectUriNamed : repeated !== redirectUri)
    failToken('invalid_grant', 'redirect_uri must be that of the authorization request');
  if (audience !== undefined && !equivalentUris(audience).includes(resource))
    failToken('invalid_grant', 'resource must be that of the authorization request');
}

const isVerifier = (verifier: string, challenge: string): boolean =>
  /^[\w.~-]{43,128}$/.test(verifier) &&
  sameHash(createHash('sha256').update(verifier).digest(), Buffer.from(challenge, 'base64url'));
