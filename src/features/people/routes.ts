import Type from '../../contract/json-schema.ts';
import { policy, type RouteEntry, route } from '../../kernel/http/route.ts';
import { organization } from '../../kernel/policy.ts';
import {
  NewPerson,
  PeopleParams,
  PeopleQuery,
  Person,
  PersonChange,
  PersonPage,
  PersonParams,
} from './schema.ts';
import type { PeopleService } from './service.ts';

const tag = 'Organizations';
const access = policy(
  'organizations:managePeople',
  (_, { orgId = '' }) => organization(orgId),
  'ORG_NOT_FOUND',
);
const limit = 'caller';

export const peopleRoutes = (people: PeopleService): RouteEntry[] => [
  route({
    id: 'invitePerson',
    summary: 'Invite a person to sign in to the console through an OpenID provider',
    description:
      'The provider identifies the person by `issuer` and `subject`. An invitation with `email` and `connectionId` instead waits until a person with that address, verified by the provider, signs in through that connection; from then on issuer and subject identify the person. The person acts through the agent: as `admin` with its scopes and the role admin, as `viewer` with its `:read` scopes only; a `member` through none. The caller must be able to give that agent a credential.',
    tag,
    method: 'POST',
    url: '/organizations/:orgId/people',
    access,
    limit,
    schema: { params: PeopleParams, body: NewPerson, response: { 201: Person } },
    errors: [
      'ORG_NOT_FOUND',
      'AGENT_NOT_FOUND',
      'AGENT_NOT_ACTIVE',
      'CONNECTION_NOT_FOUND',
      'PERSON_ALREADY_EXISTS',
      'FREE_TIER_LIMIT_EXCEEDED',
    ],
    handler: ({ caller, params, body }) => people.invite(caller, params.orgId, body),
  }),
  route({
    id: 'listPeople',
    summary: 'List the people who may sign in to the console, newest first',
    tag,
    method: 'GET',
    url: '/organizations/:orgId/people',
    access,
    limit,
    schema: { params: PeopleParams, query: PeopleQuery, response: { 200: PersonPage } },
    errors: ['ORG_NOT_FOUND'],
    handler: ({ caller, params, query }) => people.list(caller, params.orgId, query),
  }),
  route({
    id: 'updatePerson',
    summary: "Change a person's name, role, agent or status; a new role or agent ends the person's sessions",
    description:
      'A new role or agent needs the right to give that agent a credential. With the role `member` the agent is null. Suspending ends the sessions at once, and for good all that the person has let agents do.',
    tag,
    method: 'PATCH',
    url: '/organizations/:orgId/people/:personId',
    access,
    limit,
    optionalBody: true,
    immutable: ['personId', 'organizationId', 'issuer', 'subject'],
    schema: { params: PersonParams, body: PersonChange, response: { 200: Person } },
    errors: ['ORG_NOT_FOUND', 'PERSON_NOT_FOUND', 'AGENT_NOT_FOUND', 'AGENT_NOT_ACTIVE', 'LAST_ADMIN'],
    handler: ({ caller, params, body }) => people.update(caller, params, body),
  }),
  route({
    id: 'removePerson',
    summary: "Remove a person; the person's sessions end at once",
    tag,
    method: 'DELETE',
    url: '/organizations/:orgId/people/:personId',
    access,
    limit,
    quota: 'free',
    schema: { params: PersonParams, response: { 204: Type.Null() } },
    errors: ['ORG_NOT_FOUND', 'PERSON_NOT_FOUND', 'LAST_ADMIN'],
    handler: ({ caller, params }) => people.remove(caller, params),
  }),
];
