/** "My agents": the consents of the person in the session. */

import Type from '../../contract/json-schema.ts';
import { type RouteEntry, rootRoute, session } from '../../kernel/http/route.ts';
import type { Consents } from './consents.ts';
import { ConsentPage, ConsentQuery, DelegationParams } from './schema.ts';

const url = '/console/api/me/delegations';
const common = { tag: 'Console', access: session(), limit: 'caller', quota: 'free', hidden: true } as const;

export const ownConsentRoutes = (consents: Consents): RouteEntry[] => [
  rootRoute({
    ...common,
    id: 'listOwnConsents',
    summary: 'List the agents that act for you, newest first',
    method: 'GET',
    url,
    schema: { query: ConsentQuery, response: { 200: ConsentPage } },
    errors: ['FORBIDDEN'],
    handler: ({ caller, query }) => consents.listOwn(caller, query),
  }),
  rootRoute({
    ...common,
    id: 'revokeOwnConsent',
    summary: 'End what an agent may do for you, and all that it passed on',
    method: 'DELETE',
    url: `${url}/:chainId`,
    schema: { params: DelegationParams, response: { 204: Type.Null() } },
    errors: ['FORBIDDEN', 'DELEGATION_NOT_FOUND'],
    async handler({ caller, params }) {
      await consents.revokeOwn(caller, params.chainId);
    },
  }),
];
