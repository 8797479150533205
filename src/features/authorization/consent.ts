/** The consent page's requests: what the person is asked, and the decision. Both belong to one browser, one session and one request. */

import { limits } from '../../contract/limits.ts';
import { actingPerson, type Caller, type Origin } from '../../kernel/caller.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { ApiError, fail } from '../../kernel/fail.ts';
import type { Cookies } from '../../kernel/http/input/secret-cookie.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import { nilUuid } from '../../kernel/ids.ts';
import type { Client } from '../clients/service.ts';
import type { Person as StoredPerson } from '../people/schema.ts';
import { AuthorizationError, UnusableRequest } from './authorization-error.ts';
import { sentence } from './endpoint.ts';
import type { AuthorizationDeps } from './feature.ts';
import { type Consenter, type Flow, type OwnRequest, offeredScopes } from './flow.ts';
import { errorAddress, hostOf } from './redirect.ts';
import {
  type AuthorizationRequest,
  findOrganization,
  updateOrganization,
  updatePerson,
} from './requests-store.ts';
import type { ConsentDecision, ConsentQuestion } from './schema.ts';
import { type RequestSignIn, requestPage } from './sign-in.ts';

export interface ConsentService {
  describe(caller: Caller, requestId: string, cookies: Cookies): Promise<ConsentQuestion>;
  /** Returns the address that answers the client. */
  decide(caller: Caller, requestId: string, cookies: Cookies, decision: ConsentDecision): Promise<string>;
  /** The next address of a browser whose person has just signed in for the request. */
  continueRequest(signIn: {
    readonly requestId: string;
    readonly personId: string;
    readonly cookies: Cookies;
    readonly origin: Origin;
  }): Promise<string>;
}

export function createConsentService(
  deps: AuthorizationDeps,
  flow: Flow,
  signIn: RequestSignIn,
): ConsentService {
  const { db, ledger, issuer, people, consents, findLendingTarget, findClientAgent } = deps;

  /** FORBIDDEN unless people of this organization are asked. A request without an organization takes the person's. */
  const withOrganization = async (
    request: AuthorizationRequest,
    { organizationId }: StoredPerson,
  ): Promise<AuthorizationRequest> => {
    if (request.organizationId === organizationId) return request;
    if (request.organizationId === null && (await mayLend(request.resource, organizationId))) {
      await updateOrganization(db, request.requestId, organizationId);
      return { ...request, organizationId };
    }
    return refuseOrganization(request.organizationId);
  };

  const mayLend = async (resource: string, organizationId: string): Promise<boolean> =>
    resource === issuer ||
    ((await findLendingTarget(db, resource, organizationId))?.organizationIds.includes(organizationId) ??
      false);

  const refuseOrganization = async (organizationId: string | null): Promise<never> => {
    const wanted = organizationId === null ? undefined : await findOrganization(db, organizationId);
    return fail('FORBIDDEN', {
      message: wanted
        ? `This request is for people of ${wanted.name}, and you have signed in to another organization.`
        : 'People of your organization cannot give access to this API.',
    });
  };

  const findActive = async (queryable: Queryable, personId: string): Promise<StoredPerson> => {
    const person = await people.findPerson(queryable, personId);
    return person?.status === 'active'
      ? person
      : fail('FORBIDDEN', { message: 'You were suspended or removed.' });
  };

  const consenterOf = ({ personId, organizationId }: StoredPerson, actor: Consenter['actor']): Consenter => ({
    personId,
    organizationId,
    actor,
  });

  /** The request, its client and the person of the session, as far as they belong together. */
  const open = async (caller: Caller, requestId: string, cookies: Cookies) => {
    const personId =
      caller.person?.personId ??
      fail('FORBIDDEN', { message: 'Only a person can decide this: sign in as a person.' });
    const { request: found, browserHash } = await signIn.find(requestId, cookies);
    const person = await findActive(db, personId);
    const request = await withOrganization(found, person);
    if (request.prompt.includes('login') && request.personId !== personId)
      fail('UNAUTHORIZED', { message: 'The application wants you to sign in again for this request.' });
    const own: OwnRequest = { request, browserHash };
    return { own, request, person, client: await clientOf(request) };
  };

  const clientOf = (request: AuthorizationRequest): Promise<Client> =>
    flow.clientOf(request).catch((error) => {
      if (error instanceof UnusableRequest) return fail('AUTHORIZATION_REQUEST_NOT_FOUND');
      throw error;
    });

  /** FORBIDDEN with the way back: nothing is redirected before the person has decided. */
  const refuseQuestion = (request: AuthorizationRequest, error: unknown): never => {
    if (!(error instanceof AuthorizationError)) throw error;
    const redirectTo = errorAddress(request, error, issuer);
    return fail('FORBIDDEN', {
      message: sentence(error.message),
      details: { error: error.code, redirectTo },
    });
  };

  const deny = (own: OwnRequest, client: Client, { personId, organizationId, actor }: Consenter) =>
    db.transaction(async (tx) => {
      const request = await flow.decide(tx, own);
      const agent =
        client.kind === 'registered' ? client : await findClientAgent(tx, organizationId, client.clientUri);
      const clientUri = client.kind === 'document' ? { clientUri: client.clientUri } : {};
      const { resource, scopes, authorizationDetails } = request;
      await ledger.record(tx, actor, 'consent.denied', {
        organizationId,
        agentId: agent?.agentId ?? nilUuid,
        metadata: {
          personId,
          resource,
          scopes,
          ...(authorizationDetails && { authorizationDetails }),
          ...clientUri,
        },
      });
      return errorAddress(request, new AuthorizationError('access_denied', 'the person refused'), issuer);
    });

  const approve = (own: OwnRequest, client: Client, person: Consenter, decision: ConsentDecision) =>
    db.transaction(async (tx) => {
      const request = await flow.decide(tx, own);
      const { personId } = await findActive(tx, person.personId);
      const { resource, authorizationDetails } = request;
      if (decision.scopes?.length === 0 && !authorizationDetails)
        throw validationError('body', [{ in: 'body', field: 'scopes', message: 'must not be empty' }]);
      const lendable = await consents.lendable(tx, personId, resource);
      try {
        await flow.requireDetails(request, person.organizationId);
        const offered = offeredScopes(request, lendable);
        const scopes = decision.scopes ?? offered;
        requireOffered(scopes, offered);
        const agentId = await flow.agentOf(tx, client, person);
        const { chainId } = await consents.grant(tx, person.actor, {
          personId,
          agentId,
          audience: request.resource,
          scopes,
          expiresIn: decision.expiresIn ?? limits.consent.defaultSeconds,
          allowRedelegation: decision.allowRedelegation ?? false,
          origin: 'consent',
          authorizationDetails,
        });
        return await flow.answerWithCode(tx, request, { chainId, agentId, scopes });
      } catch (error) {
        // The decision stands: it cannot be repeated, and the client is told.
        if (error instanceof AuthorizationError) return errorAddress(request, error, issuer);
        throw error;
      }
    });

  return {
    async describe(caller, requestId, cookies) {
      const { request, person, client } = await open(caller, requestId, cookies);
      const offer = await flow
        .offer(request, client, consenterOf(person, caller))
        .catch((error) => refuseQuestion(request, error));
      const target = await flow.targetOf(request.resource, person.organizationId);
      return {
        requestId: request.requestId,
        client: {
          agentId: offer.agentId,
          clientId: request.clientUri ?? String(request.clientAgentId),
          name: client.name,
          host: client.kind === 'document' ? client.host : null,
          redirectHost: hostOf(request.redirectUri),
          registered: client.kind === 'registered',
        },
        resource: { identifier: target.identifier, name: target.name },
        person: { personId: person.personId, name: person.name, email: person.email },
        scopes: offer.scopes.map((name) => ({
          name,
          description: target.scopes.find((scope) => scope.name === name)?.description ?? null,
        })),
        authorizationDetails: request.authorizationDetails,
        ...(request.authorizationDetails && {
          authorizationDetailTypes: target.authorizationDetailTypes
            .filter(({ type }) => request.authorizationDetails?.some((detail) => detail.type === type))
            .map(({ type, description }) => ({ type, description })),
        }),
        expiresAt: request.expiresAt,
      };
    },

    async decide(caller, requestId, cookies, decision) {
      const { own, person, client } = await open(caller, requestId, cookies);
      const consenter = consenterOf(person, caller);
      return decision.decision === 'deny'
        ? deny(own, client, consenter)
        : approve(own, client, consenter, decision);
    },

    async continueRequest({ requestId, personId, cookies, origin }) {
      const page = requestPage(requestId);
      const own = await signIn.find(requestId, cookies).catch(() => undefined);
      const person = await people.findPerson(db, personId);
      if (!own || person?.status !== 'active') return page;
      await updatePerson(db, requestId, personId);
      const { organizationId } = person;
      const consenter = consenterOf(person, { ...origin, organizationId, person: actingPerson(person) });
      try {
        const request = await withOrganization(own.request, person);
        const client = await flow.clientOf(request);
        const offer = await flow.offer(request, client, consenter);
        return (await flow.reuse({ ...own, request }, client, consenter, offer)) ?? page;
      } catch (error) {
        // The page explains the problem.
        if (error instanceof ApiError || error instanceof UnusableRequest) return page;
        if (!(error instanceof AuthorizationError)) throw error;
        if (own.request.clientUri !== null) return page;
        return db.transaction(async (tx) => errorAddress(await flow.decide(tx, own), error, issuer));
      }
    },
  };
}

/** VALIDATION_ERROR. */
function requireOffered(scopes: readonly string[], offered: readonly string[]): void {
  if (scopes.every((scope) => offered.includes(scope))) return;
  throw validationError('body', [
    {
      in: 'body',
      field: 'scopes',
      message: 'may name only scopes that were requested and that you may lend',
    },
  ]);
}
