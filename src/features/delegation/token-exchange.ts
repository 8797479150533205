/**
 * The grant token exchange (RFC 8693): the delegatee exchanges a delegation token for an access token, or an access token by which it acts for
 * a person for an identity assertion.
 */

import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { failToken, TokenError } from '../../kernel/fail.ts';
import { narrowingField, readNarrowing } from '../../kernel/http/input/authorization-details.ts';
import type { Grant, GrantRequest } from '../tokens/grant.ts';
import { agentsOf } from './chain.ts';
import { createDelegationTokens } from './delegation-token.ts';
import type { DelegationDeps } from './feature.ts';
import { createIdJags, idJagType } from './id-jag.ts';
import { createRedeem } from './redeem.ts';
import { findChain } from './store.ts';

const tokenType = (name: string) => `urn:ietf:params:oauth:token-type:${name}`;
const jwt = tokenType('jwt');
const accessToken = tokenType('access_token');

export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';

const Field = (maxLength: number) => Type.Optional(Type.String({ maxLength }));

export function createTokenExchange(deps: DelegationDeps): Grant {
  const { db, issuer, count } = deps;
  const tokens = createDelegationTokens(deps);
  const redeem = createRedeem(deps);
  const idJags = createIdJags(deps);

  return {
    grantType: tokenExchange,
    fields: {
      subject_token: Field(limits.delegation.maxTokenLength),
      subject_token_type: Field(128),
      requested_token_type: Field(128),
      audience: Field(1024),
      actor_token: Field(limits.delegation.maxTokenLength),
      actor_token_type: Field(128),
      ...narrowingField,
    },
    errorCodes: {
      malformed: 'invalid_request',
      missingClient: 'invalid_client',
      invalidResource: 'invalid_target',
    },
    issuedTokenType: accessToken,
    transaction: 'own',

    async prepare(request) {
      if (request.form.requested_token_type !== idJagType) return undefined;
      try {
        readSubjectToken(request.form);
        await idJags.verifySubject(request);
        return undefined;
      } catch (error) {
        if (error instanceof TokenError) return error;
        throw error;
      }
    },

    async agentsToLock(form) {
      const { subject_token, requested_token_type } = form;
      if (requested_token_type === idJagType) return idJags.agentsToLock(form);
      const read = subject_token ? await tokens.read(subject_token) : undefined;
      const chain = read && (await findChain(db, read.chainId));
      return chain ? agentsOf(chain) : [];
    },

    async authorize(tx, request) {
      const { client, form, audience } = request;
      const subjectToken = readSubjectToken(form);
      if (form.requested_token_type === idJagType) return idJags.issue(tx, request);
      const read = await tokens.read(subjectToken);
      const found = read && (await findChain(tx, read.chainId));
      if (!found) return failToken('invalid_grant', 'subject_token is no delegation token of ours');
      if (form.audience !== undefined && form.audience !== (audience ?? issuer))
        failToken('invalid_target', 'audience is not read: name the target by resource');
      return redeem(tx, found, {
        client,
        grantType: tokenExchange,
        scope: form.scope,
        audience,
        authorizationDetails: readNarrowing(form),
      });
    },

    onIssued: (client) => count('token_exchanges', client),
  };
}

function readSubjectToken(form: GrantRequest['form']): string {
  const refuse = (description: string) => failToken('invalid_request', description);
  if (!form.subject_token) return refuse('subject_token is required');
  const isForIdJag = form.requested_token_type === idJagType;
  const subjectType = isForIdJag ? accessToken : jwt;
  if (form.subject_token_type !== subjectType) return refuse(`subject_token_type must be ${subjectType}`);
  if (!isForIdJag && form.requested_token_type !== undefined && form.requested_token_type !== accessToken)
    return refuse(`requested_token_type must be ${accessToken}, or ${idJagType}`);
  if (form.actor_token !== undefined || form.actor_token_type !== undefined)
    return refuse('actor_token is not read: the client that authenticates is the actor');
  return form.subject_token;
}
