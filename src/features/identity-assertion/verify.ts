/**
 * Verifies an identity assertion: signed by the provider of an active connection of the organization that owns the resource, for us, and by
 * the conditions of the connection. The client gets one uniform answer for every problem of the assertion; the audit log says more.
 */

import { audienceOf, equivalentUris } from '../../kernel/audience.ts';
import { failedChecks, personChecks } from '../../kernel/conditions/match.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { failToken, TokenError } from '../../kernel/fail.ts';
import { type ExternalTokens, isRefused, type UnverifiedToken } from '../../kernel/ports/external-tokens.ts';
import { loggedSubject } from '../../kernel/ports/openid-provider.ts';
import type { Connection } from '../connections/schema.ts';
import type { LendingTarget } from '../resources/lending-store.ts';
import type { AssertedActor, GrantRequest } from '../tokens/grant.ts';
import { readAssertedActor } from './asserted-actor.ts';
import { type AssertedIdentity, readIdentity, readResource } from './claims.ts';
import type { IdentityAssertionDeps } from './feature.ts';

export interface VerifiedAssertion {
  readonly identity: AssertedIdentity;
  readonly actor: AssertedActor | undefined;
  readonly target: LendingTarget;
  /** The first whose conditions hold. */
  readonly connection: Connection;
}

const uniformMessage = 'the assertion is not one that is accepted here';
const tooManyActors = 'more than ten actors are nested in the assertion';
const unknownResource = 'the assertion must name, as resource, one registered API of the organization';

const maxRecordedLength = 256;

/** TokenError `invalid_grant`; what is known of the assertion joins the audit event. */
export const refuseAssertion = (reason: string, identity?: AssertedIdentity, more: object = {}): never => {
  throw new TokenError('invalid_grant', uniformMessage, reason, { ...recordedOf(identity), ...more });
};

/** For the audit log. Long values are truncated, and subjects that are e-mail addresses are cut. */
export const recordedOf = (identity: AssertedIdentity | undefined): Record<string, unknown> =>
  identity
    ? {
        issuer: identity.issuer.slice(0, maxRecordedLength).toWellFormed(),
        subject: loggedSubject(identity.subjects[0]),
        assertionId: identity.assertionId.slice(0, maxRecordedLength).toWellFormed(),
      }
    : {};

type Form = GrantRequest['form'];

export interface AssertionVerifier {
  /** TokenError for every problem. The organization is that of the client; undefined while the client is not known. */
  verify(db: Queryable, form: Form, organizationId: string | undefined): Promise<VerifiedAssertion>;
  /** The organization whose API an assertion names, without any verification: only for looking up the agent. */
  findOwner(db: Queryable, assertion: string): Promise<string | undefined>;
}

export function createAssertionVerifier(deps: IdentityAssertionDeps): AssertionVerifier {
  const { issuer, externalTokens, connections, findLendingTarget } = deps;

  /** A request verifies before its transaction and in it, by the same form: the second time only what may have changed. */
  const signatures = new WeakMap<Form, ReturnType<ExternalTokens['verify']>>();

  const verifySignature = (form: Form, token: UnverifiedToken) => {
    const verified =
      signatures.get(form) ?? externalTokens.verify(token, { issuer: token.issuer, jwksUri: null });
    signatures.set(form, verified);
    return verified;
  };

  const read = (assertion: string): UnverifiedToken => {
    const token = externalTokens.read(assertion, 'id-jag');
    if (isRefused(token))
      return token.reason === 'too_many_actors'
        ? failToken('invalid_request', tooManyActors, token.reason)
        : refuseAssertion(token.reason);
    return token.issuer === issuer ? refuseAssertion('own_token') : token;
  };

  /** Only of the client's own organization: which identifiers others have registered is not the client's to know. */
  const findTarget = async (
    db: Queryable,
    resource: string | undefined,
    organizationId: string | undefined,
  ): Promise<LendingTarget | undefined> => {
    const audience = resource === undefined ? undefined : audienceOf(resource, issuer);
    for (const spelling of audience === undefined ? [] : equivalentUris(audience)) {
      const target = await findLendingTarget(db, spelling, organizationId);
      if (target && (organizationId === undefined || target.ownerId === organizationId)) return target;
    }
    return undefined;
  };

  const verify: AssertionVerifier['verify'] = async (db, form, organizationId) => {
    const token = read(form.assertion ?? '');
    const identity = readIdentity(token, issuer);
    if ('problem' in identity) return refuseAssertion(identity.problem);
    const actor = readAssertedActor(token);
    if (actor && 'problem' in actor)
      throw new TokenError('invalid_request', actor.problem, actor.problem, recordedOf(identity));
    const target =
      (await findTarget(db, identity.resource, organizationId)) ??
      failToken('invalid_target', unknownResource);
    const accepting = await connections.findAsserting(db, target.ownerId, identity.issuer);
    if (accepting.length === 0)
      return refuseAssertion('no active connection with idJag for this issuer', identity);
    const verified = await verifySignature(form, token);
    if (isRefused(verified)) return refuseAssertion(verified.reason, identity);
    const failed = accepting.map(({ conditions }) => failedChecks(personChecks(conditions, token.claims)));
    const connection = accepting[failed.findIndex((checks) => checks.length === 0)];
    return connection
      ? { identity, actor, target, connection }
      : refuseAssertion('conditions not met', identity, { failed: failed[0]?.map(({ name }) => name) });
  };

  return {
    verify,
    findOwner: async (db, assertion) => (await findTarget(db, resourceIn(assertion), undefined))?.ownerId,
  };
}

function resourceIn(assertion: string): string | undefined {
  try {
    const claims = JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString('utf8'));
    return readResource(claims?.resource);
  } catch {
    return undefined;
  }
}
