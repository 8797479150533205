/**
 * The grant jwt-bearer (RFC 7523 §2.1) for identity assertions. The person need not have signed in before: like a sign-in through the
 * connection, the first assertion makes a member. That locks the organization, so it is a transaction before the one that issues, and it
 * checks all that the assertion can be refused for: a refused assertion makes no member.
 */

import Type from '../../contract/json-schema.ts';
import { equivalentUris } from '../../kernel/audience.ts';
import { type Actor, actingPerson } from '../../kernel/caller.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { ApiError, failToken, TokenError } from '../../kernel/fail.ts';
import {
  describeProblem,
  narrowDetails,
  readNarrowing,
} from '../../kernel/http/input/authorization-details.ts';
import type { Agent } from '../agents/schema.ts';
import type { Person } from '../people/schema.ts';
import type { GrantRequest, UnbatchedGrant } from '../tokens/grant.ts';
import { loggedActors } from './asserted-actor.ts';
import type { AssertedIdentity } from './claims.ts';
import type { IdentityAssertionDeps } from './feature.ts';
import { grantedScopes } from './granted-scopes.ts';
import { createRegisterClient } from './register-client.ts';
import { createAssertionVerifier, recordedOf, refuseAssertion, type VerifiedAssertion } from './verify.ts';

type PreparedRequest = Parameters<NonNullable<UnbatchedGrant['prepare']>>[0];

const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

/** The same for an assertion of another client, and for a client that is not registered. */
const unknownClient = 'the assertion is not one that is accepted here';

export function createAssertionGrant(deps: IdentityAssertionDeps): UnbatchedGrant {
  const { db, externalTokens, people, consents, lockAgents, readAuthorizationDetails } = deps;
  const verifier = createAssertionVerifier(deps);

  /** Checks everything but the person. */
  const verify = async (
    queryable: Queryable,
    { client, form, audience, keyThumbprint }: PreparedRequest,
    agent: Agent | undefined,
  ): Promise<VerifiedAssertion> => {
    const verified = await verifier.verify(queryable, form, client.organizationId);
    const { identity, target } = verified;
    if (!agent || !isFor(identity, agent))
      return refuseAssertion('the assertion is for another client', identity);
    if (agent.publicClient && agent.clientUri === null)
      return failToken('unauthorized_client', 'this client must authenticate to use an assertion');
    requireKey(identity, keyThumbprint);
    if (audience !== undefined && !equivalentUris(audience).includes(target.identifier))
      return failToken('invalid_target', 'resource must be that of the assertion');
    return verified;
  };

  const findPerson = async (
    queryable: Queryable,
    { identity: { issuer, subjects }, target: { ownerId: organizationId } }: VerifiedAssertion,
  ): Promise<Person | undefined> => {
    for (const subject of subjects) {
      const person = await people.findByIdentity(queryable, { organizationId, issuer, subject });
      if (person) return person;
    }
    return undefined;
  };

  /** What the ID-JAG approves, as far as the types of the API allow it. */
  const readDetails = ({ identity, target }: VerifiedAssertion) => {
    if (identity.authorizationDetails === undefined) return null;
    const read = readAuthorizationDetails(identity.authorizationDetails, target.authorizationDetailTypes);
    return 'details' in read
      ? read.details
      : failToken('invalid_authorization_details', describeProblem(read.problem));
  };

  const lentBy = async (
    tx: Tx,
    { personId }: Person,
    verified: VerifiedAssertion,
    form: GrantRequest['form'],
  ) => {
    const approved = readDetails(verified);
    const lendable = await consents.lendable(tx, personId, verified.target.identifier);
    return {
      scopes: grantedScopes(form.scope, verified.identity.scopes, lendable, approved !== null),
      authorizationDetails: narrowDetails(approved, readNarrowing(form)),
    };
  };

  /** TokenError, and no change, when no token can be issued for the person. */
  const admit = async (request: PreparedRequest, verified: VerifiedAssertion): Promise<void> => {
    const { identity, connection } = verified;
    const { issuer, claims, subjects } = identity;
    await db.transaction(async (tx) => {
      const newcomer = { issuer, claims, subject: subjects[0] };
      const admission = await people.admit(tx, request.origin, connection, newcomer);
      if ('refused' in admission) return refuseAssertion(admission.refused, identity, admission.details);
      await lentBy(tx, admission.person, verified, request.form);
    });
  };

  return {
    grantType,
    fields: {
      assertion: Type.Optional(
        Type.String({
          description: `with grant_type=${grantType}: an identity assertion (ID-JAG) of the company's provider, or a workload's token, which needs no client authentication`,
        }),
      ),
    },
    errorCodes: {
      malformed: 'invalid_request',
      missingClient: 'invalid_client',
      invalidResource: 'invalid_target',
    },
    transaction: 'own',
    publicClients: { unknown: unknownClient, ...createRegisterClient(deps, verifier) },
    isWorkloadAssertion: ({ assertion }) =>
      assertion ? !externalTokens.isIdJag(assertion) : failToken('invalid_request', 'assertion is required'),
    /** The client is the only agent of the chain. */
    agentsToLock: async () => [],

    async prepare(request) {
      try {
        const agent = await deps.findAgent(request.client.agentId);
        const verified = await verify(db, request, agent);
        if (isRefusedAnyway(agent, request.keyThumbprint)) return undefined;
        if (!(await findPerson(db, verified))) await admit(request, verified);
        return undefined;
      } catch (error) {
        if (error instanceof TokenError) return error;
        throw error;
      }
    },

    async authorize(tx, request) {
      const { client, form, origin } = request;
      const agent = (await lockAgents(tx, [client.agentId])).get(client.agentId);
      const verified = await verify(tx, request, agent);
      const { identity, actor: assertedActor, target } = verified;
      const person = await findPerson(tx, verified);
      if (!person) return refuseAssertion('the person was removed', identity);
      const { personId } = person;
      if (person.status !== 'active') return refuseAssertion('person suspended', identity, { personId });
      const { scopes, authorizationDetails } = await lentBy(tx, person, verified, form);
      const actor: Actor = {
        ...origin,
        agentId: client.agentId,
        organizationId: client.organizationId,
        person: actingPerson(person),
      };
      const { link, insert } = await consents
        .prepare(tx, actor, {
          personId,
          agentId: client.agentId,
          audience: target.identifier,
          scopes,
          expiresIn: target.tokenLifetimeSeconds,
          allowRedelegation: false,
          origin: 'assertion',
          authorizationDetails,
        })
        .catch((error) => {
          // The person or the agent has changed since it was read.
          if (error instanceof ApiError) return refuseAssertion(error.message, identity);
          throw error;
        });
      return {
        scopes,
        audience: target.identifier,
        notAfter: Math.floor(Date.parse(link.expiresAt) / 1000),
        delegation: {
          subjectId: personId,
          subjectType: 'person',
          actorIds: [client.agentId],
          chainIds: [link.chainId],
        },
        ...(assertedActor && { assertedActor }),
        ...(agent?.clientUri && { clientUri: agent.clientUri }),
        ...(authorizationDetails && { authorizationDetails }),
        metadata: {
          ...client.auditMetadata,
          ...recordedOf(identity),
          ...(assertedActor && { assertedActors: loggedActors(assertedActor) }),
          grantType,
          chainId: link.chainId,
          subjectId: personId,
          subjectType: 'person',
          personId,
        },
        whenIssued: insert,
      };
    },
  };
}

/** By the endpoint: it locks the client first. */
const isRefusedAnyway = (agent: Agent | undefined, keyThumbprint: string | undefined): boolean =>
  agent?.status !== 'active' || (agent.dpopBoundAccessTokens && keyThumbprint === undefined);

/** A client that came by a document is named by its address, here as everywhere. */
const isFor = (
  { clientId }: AssertedIdentity,
  { agentId, clientUri }: Pick<Agent, 'agentId' | 'clientUri'>,
) => clientId === (clientUri ?? agentId);

/** The provider may have bound the assertion to a key, which the client then proves to have (RFC 9449). */
function requireKey(identity: AssertedIdentity, proven: string | undefined): void {
  if (identity.keyThumbprint !== undefined && identity.keyThumbprint !== proven)
    refuseAssertion('no DPoP proof by the key of the assertion', identity);
}
