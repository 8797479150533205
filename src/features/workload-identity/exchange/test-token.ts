/** Dry run of a policy against a token: every check with its expected and actual value. Issues nothing, marks nothing as used. */

import type { Check } from '../../../contract/conditions.ts';
import { type Caller, tenantOf } from '../../../kernel/caller.ts';
import { check } from '../../../kernel/conditions/match.ts';
import { fail } from '../../../kernel/fail.ts';
import { isRefused, type UnverifiedToken } from '../../../kernel/ports/external-tokens.ts';
import type { WorkloadIdentityDeps } from '../feature.ts';
import { checksOf } from '../policies/match.ts';
import { findPolicy } from '../policies/store.ts';
import type { PolicyResource, TrustPolicy, TrustTest } from '../schema.ts';
import { singleUseKeysOf } from './single-use-keys.ts';
import { isUsed } from './store.ts';

export type TestToken = (caller: Caller, policyId: string, token: string) => Promise<TrustTest>;

export function createTokenTest({
  db,
  clock,
  externalTokens,
  issuer: ownIssuer,
  findEligibility,
  findHeldScopes,
}: WorkloadIdentityDeps): TestToken {
  /** A JWT-SVID may name no issuer. */
  const readFor = ({ provider }: TrustPolicy, text: string) => {
    const read = externalTokens.read(text);
    return isRefused(read) && read.reason === 'missing_claim' && provider === 'spiffe'
      ? externalTokens.read(text, 'svid')
      : read;
  };

  const signatureCheck = async (policy: TrustPolicy, token: UnverifiedToken): Promise<Check> => {
    const verdict = await externalTokens.verify(token, policy);
    const expected = "valid now, signed by the issuer's key";
    return check(
      'signature',
      !isRefused(verdict),
      expected,
      isRefused(verdict) ? [verdict.reason] : ['as expected'],
    );
  };

  const agentCheck = async (policy: TrustPolicy): Promise<Check> => {
    const eligibility = await findEligibility(db, policy.agentId);
    const problem = eligibility ? eligibility.problem : 'the agent does not exist';
    return check('agent', problem === undefined, 'active', [problem ?? 'active']);
  };

  const useCheck = async (token: UnverifiedToken, policy: TrustPolicy): Promise<Check> => {
    const used = await isUsed(db, singleUseKeysOf(token, policy));
    return check('single use', !used, 'not used before', [used ? 'used before' : 'not used before']);
  };

  const givenResources = async ({ agentId, resources }: TrustPolicy): Promise<PolicyResource[]> => {
    const given: PolicyResource[] = [];
    for (const { identifier, scopes } of resources) {
      const held = await findHeldScopes(db, agentId, identifier);
      const both = scopes.filter((scope) => held.includes(scope));
      if (both.length > 0) given.push({ identifier, scopes: both });
    }
    return given;
  };

  return async (caller, policyId, text) => {
    const policy = (await findPolicy(db, tenantOf(caller), policyId)) ?? fail('TRUST_POLICY_NOT_FOUND');
    const token = readFor(policy, text);
    if (isRefused(token)) {
      const checks = [check('token', false, 'a signed JWT', [token.reason])];
      return { matched: false, checks, claims: {} };
    }
    const own = token.issuer === ownIssuer;
    const checks = [
      check('token', !own, 'a signed JWT of another issuer', [own ? 'own_token' : 'as expected']),
      await signatureCheck(policy, token),
      ...checksOf(policy, token.claims, clock.now(), ownIssuer),
      ...(policy.singleUse ? [await useCheck(token, policy)] : []),
      await agentCheck(policy),
    ];
    const matched = checks.every(({ ok }) => ok);
    const result = { matched, checks, claims: token.claims };
    if (policy.resources.length === 0) return result;
    return { ...result, resources: matched ? await givenResources(policy) : [] };
  };
}
