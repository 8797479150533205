import Type from '../../contract/json-schema.ts';
import { bearer, policy, type RouteEntry, route } from '../../kernel/http/route.ts';
import { instance } from '../../kernel/policy.ts';
import {
  NewPartner,
  Partner,
  PartnerChange,
  PartnerParams,
  Partners,
  PartnerToken,
  Verification,
} from './schema.ts';
import type { FederationService } from './service.ts';

const tag = 'Federation';
const reading = policy('federation:read', () => instance);
const managing = policy('federation:manage', () => instance);

export const federationRoutes = (federation: FederationService): RouteEntry[] => [
  route({
    id: 'trustPartner',
    summary: 'Trust a partner identity provider',
    links: [
      {
        to: 'getPartner',
        description: 'Read the partner',
        parameters: { id: '$response.body#/id' },
      },
    ],
    tag,
    method: 'POST',
    url: '/federation/trust',
    access: managing,
    limit: 'caller',
    errors: ['PARTNER_ALREADY_EXISTS'],
    schema: { body: NewPartner, response: { 201: Partner } },
    handler: ({ caller, body }) => federation.trust(caller, body),
  }),
  route({
    id: 'listPartners',
    summary: 'List the partners, oldest first',
    tag,
    method: 'GET',
    url: '/federation/partners',
    access: reading,
    limit: 'caller',
    schema: { response: { 200: Partners } },
    handler: () => federation.list(),
  }),
  route({
    id: 'getPartner',
    summary: 'Read a partner',
    tag,
    method: 'GET',
    url: '/federation/partners/:id',
    access: reading,
    limit: 'caller',
    errors: ['PARTNER_NOT_FOUND'],
    schema: { params: PartnerParams, response: { 200: Partner } },
    handler: ({ params }) => federation.get(params.id),
  }),
  route({
    id: 'updatePartner',
    summary: 'Change a partner; takes effect at once',
    tag,
    method: 'PATCH',
    url: '/federation/partners/:id',
    access: managing,
    limit: 'caller',
    errors: ['PARTNER_NOT_FOUND', 'PARTNER_ALREADY_EXISTS', 'IMMUTABLE_FIELD'],
    immutable: ['id', 'createdAt'],
    optionalBody: true,
    schema: { params: PartnerParams, body: PartnerChange, response: { 200: Partner } },
    handler: ({ caller, params, body }) => federation.update(caller, params.id, body),
  }),
  route({
    id: 'removePartner',
    summary: 'Trust a partner no longer; its tokens are refused at once',
    tag,
    method: 'DELETE',
    url: '/federation/partners/:id',
    access: managing,
    limit: 'caller',
    errors: ['PARTNER_NOT_FOUND'],
    schema: { params: PartnerParams, response: { 204: Type.Null() } },
    handler: ({ caller, params }) => federation.remove(caller, params.id),
  }),
  route({
    id: 'verifyPartnerToken',
    summary: "Ask whether a token is a partner's, and what it says",
    tag,
    method: 'POST',
    url: '/federation/verify',
    access: bearer(),
    readOnly: true,
    limit: 'caller',
    schema: { body: PartnerToken, response: { 200: Verification } },
    handler: ({ body }) => federation.verify(body),
  }),
];
