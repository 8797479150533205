/**
 * The steps of a request once a person has signed in: whether the client and the person may do this, whether an earlier consent is used
 * again, and the code that answers the request.
 */

import { limits } from '../../contract/limits.ts';
import { scopeDescriptions, scopes } from '../../contract/scopes.ts';
import type { Actor } from '../../kernel/caller.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { ApiError, fail } from '../../kernel/fail.ts';
import { describeProblem } from '../../kernel/http/input/authorization-details.ts';
import { isLoopbackRedirect } from '../../kernel/redirect-uri.ts';
import { hashSecret } from '../../kernel/secrets.ts';
import type { Client } from '../clients/service.ts';
import type { LendingTarget } from '../resources/lending-store.ts';
import { refuse, UnusableRequest } from './authorization-error.ts';
import type { AuthorizationDeps } from './feature.ts';
import { insertCode } from './grants-store.ts';
import { unknownResource } from './parameters.ts';
import { codeAddress } from './redirect.ts';
import { type AuthorizationRequest, lockRequest, markDecided } from './requests-store.ts';

/** The same for an id that no agent has, a redirect URI that is not registered, and an agent of another organization. */
export const unknownClient =
  'This application is not known here, or it asked to return to an address that is not registered for it.';

/** A request in the browser that began it. */
export interface OwnRequest {
  readonly request: AuthorizationRequest;
  readonly browserHash: Buffer;
}

export interface Consenter {
  readonly personId: string;
  readonly organizationId: string;
  /** The session of the person. */
  readonly actor: Actor;
}

/** What the person can be asked. */
export interface Offer {
  /** The client's agent; null when it will be made with the consent. */
  readonly agentId: string | null;
  readonly scopes: readonly string[];
}

interface GrantedCode {
  readonly chainId: string;
  readonly agentId: string;
  readonly scopes: readonly string[];
}

export interface Flow {
  /** The API that the request names. AuthorizationError `invalid_target` when it is not usable. */
  targetOf(
    resource: string,
    organizationId?: string,
  ): Promise<Pick<LendingTarget, 'identifier' | 'name' | 'scopes' | 'authorizationDetailTypes'>>;
  /** AuthorizationError `invalid_authorization_details` unless they are valid by the types that the API has now. */
  requireDetails(
    request: Pick<AuthorizationRequest, 'authorizationDetails' | 'resource'>,
    organizationId?: string,
  ): Promise<void>;
  /** The client of a stored request. UnusableRequest when it has changed since. */
  clientOf(request: AuthorizationRequest): Promise<Client>;
  /** AuthorizationError when there is nothing to ask: the client is refused, or the person may lend nothing. */
  offer(request: AuthorizationRequest, client: Client, person: Consenter): Promise<Offer>;
  /** The agent of the client, in the transaction of a consent. AuthorizationError when it may not act. */
  agentOf(tx: Tx, client: Client, person: Consenter): Promise<string>;
  /** The address of the answer when an earlier consent covers the request; undefined when the person has to be asked. */
  reuse(own: OwnRequest, client: Client, person: Consenter, offer: Offer): Promise<string | undefined>;
  /** Locks a request that is not decided, and decides it. AUTHORIZATION_REQUEST_DECIDED, AUTHORIZATION_REQUEST_NOT_FOUND. */
  decide(tx: Tx, own: OwnRequest): Promise<AuthorizationRequest>;
  /** Returns the client's redirect URI with a code. */
  answerWithCode(tx: Tx, request: AuthorizationRequest, granted: GrantedCode): Promise<string>;
}

const ownScopes = scopes.map((name) => ({ name, description: scopeDescriptions[name] }));

export function createFlow(deps: AuthorizationDeps): Flow {
  const { db, clock, ids, issuer, clients, consents, findLendingTarget, findClientAgent, detailsProblem } =
    deps;

  const decide: Flow['decide'] = async (tx, { request: { requestId }, browserHash }) => {
    const now = new Date(clock.now());
    const locked = await lockRequest(tx, requestId, browserHash, now);
    if (!locked) return fail('AUTHORIZATION_REQUEST_NOT_FOUND');
    if (locked.decidedAt !== null) fail('AUTHORIZATION_REQUEST_DECIDED');
    await markDecided(tx, requestId, now);
    return locked;
  };

  const answerWithCode: Flow['answerWithCode'] = async (tx, request, granted) => {
    const code = ids.secret('');
    const { redirectUri, redirectUriNamed, codeChallenge, dpopJkt, resource } = request;
    const expiresAt = new Date(clock.now() + limits.authorizationCodeSeconds * 1_000).toISOString();
    const stored = { ...granted, redirectUri, redirectUriNamed, codeChallenge, dpopJkt, resource, expiresAt };
    await insertCode(tx, hashSecret(code), stored);
    return codeAddress(request, code, issuer);
  };

  const agentOf: Flow['agentOf'] = async (tx, client, { actor, organizationId }) => {
    const agent = await clients.agentOf(tx, actor, organizationId, client).catch(refuseWithoutRoom);
    if (!agent) return refuseClient(client);
    if (agent.status !== 'active') refuseInactive(client);
    return agent.agentId;
  };

  /** A client that waits for an administrator needs an agent that the administrator can see. */
  const registerSuspended = (client: Client, { actor, organizationId }: Consenter) =>
    db.transaction((tx) => clients.agentOf(tx, actor, organizationId, client)).catch(refuseWithoutRoom);

  const findAgent = async (client: Client, person: Consenter): Promise<string | null> => {
    if (client.kind === 'registered') {
      if (client.organizationId !== person.organizationId) throw new UnusableRequest(unknownClient);
      return client.status === 'active' ? client.agentId : refuseInactive(client);
    }
    const admission = await clients.admission(db, person.organizationId, client);
    if (admission === 'refused') return refuseClient(client);
    if (admission === 'approval') await registerSuspended(client, person);
    const agent = await findClientAgent(db, person.organizationId, client.clientUri);
    if (agent && agent.status !== 'active') refuseInactive(client);
    return agent?.agentId ?? null;
  };

  const targetOf: Flow['targetOf'] = async (resource, organizationId) => {
    if (resource === issuer)
      return { identifier: issuer, name: 'Countersign', scopes: ownScopes, authorizationDetailTypes: [] };
    const target = await findLendingTarget(db, resource, organizationId);
    return target ?? refuse('invalid_target', unknownResource);
  };

  const requireDetails: Flow['requireDetails'] = async (
    { authorizationDetails, resource },
    organizationId,
  ) => {
    if (!authorizationDetails) return;
    const { authorizationDetailTypes } = await targetOf(resource, organizationId);
    const problem = detailsProblem(authorizationDetails, authorizationDetailTypes);
    if (problem) refuse('invalid_authorization_details', describeProblem(problem));
  };

  return {
    decide,
    answerWithCode,
    agentOf,
    targetOf,
    requireDetails,

    async clientOf({ clientAgentId, clientUri, clientDocument, redirectUri }) {
      const client =
        clientUri !== null && clientDocument
          ? clients.ofDocument(clientUri, clientDocument)
          : await clients.resolve(String(clientAgentId));
      if ('problem' in client || !clients.matchesRedirectUri(client, redirectUri))
        throw new UnusableRequest(unknownClient);
      return client;
    },

    async offer(request, client, person) {
      const agentId = await findAgent(client, person);
      await requireDetails(request, person.organizationId);
      const lendable = await consents.lendable(db, person.personId, request.resource);
      return { agentId, scopes: offeredScopes(request, lendable) };
    },

    async reuse(own, client, person, { agentId, scopes: wanted }) {
      const { resource, prompt, redirectUri, authorizationDetails } = own.request;
      // Another program on the computer may listen there, and names itself as it likes.
      const isAnyone = client.publicClient && isLoopbackRedirect(redirectUri);
      // An action is approved each time.
      if (agentId === null || isAnyone || prompt.includes('consent') || authorizationDetails)
        return undefined;
      const { personId } = person;
      const link = await consents.findCovering(db, { personId, agentId, audience: resource, scopes: wanted });
      if (!link) return undefined;
      return db.transaction(async (tx) => {
        const request = await decide(tx, own);
        // The document may have changed since the consent: the token endpoint needs its keys.
        const current = await agentOf(tx, client, person);
        return answerWithCode(tx, request, { chainId: link.chainId, agentId: current, scopes: wanted });
      });
    },
  };
}

/** AuthorizationError `access_denied` when nothing is left. Details may say it all; the person must still be able to lend there. */
export function offeredScopes(
  { scopes: requested }: Pick<AuthorizationRequest, 'scopes'>,
  lendable: readonly string[],
): readonly string[] {
  const offered = requested ? requested.filter((scope) => lendable.includes(scope)) : lendable;
  const isAll = requested?.length === 0 && lendable.length > 0;
  return offered.length > 0 || isAll
    ? offered
    : refuse('access_denied', 'you may not lend any of the requested scopes of this API');
}

const refuseWithoutRoom = (error: unknown): never => {
  if (error instanceof ApiError && error.code === 'FREE_TIER_LIMIT_EXCEEDED')
    refuse('access_denied', "the organization's plan has no room for another client");
  throw error;
};

const refuseClient = (client: Client): never =>
  refuse(
    'unauthorized_client',
    client.kind === 'document'
      ? `the organization does not admit clients of ${client.host}`
      : 'the client is not registered in this organization',
  );

/** A registered client is told; a person is told about the others. */
const refuseInactive = (client: Client): never =>
  client.kind === 'registered'
    ? refuse('unauthorized_client', 'the client is not active')
    : refuse('access_denied', 'an administrator of the organization must activate this client first');
