import Type from '../../contract/json-schema.ts';
import { type RouteEntry, route, scope } from '../../kernel/http/route.ts';
import {
  AgentParams,
  CredentialPage,
  CredentialParams,
  CredentialQuery,
  CredentialRotation,
  CredentialWithSecret,
  NewCredential,
} from './schema.ts';
import type { CredentialService } from './service.ts';

export const credentialRoutes = (credentials: CredentialService): RouteEntry[] => [
  route({
    id: 'generateCredential',
    summary: 'Generate a credential; its secret is shown this once',
    links: [
      {
        to: 'issueToken',
        description: 'Get a token with the new secret',
        requestBody: {
          grant_type: 'client_credentials',
          client_id: '$response.body#/clientId',
          client_secret: '$response.body#/clientSecret',
        },
      },
    ],
    tag: 'Credentials',
    method: 'POST',
    url: '/agents/:agentId/credentials',
    access: scope('agents:write'),
    limit: 'caller',
    idempotent: { event: 'credential.generated', idField: 'credentialId', secret: true },
    schema: { params: AgentParams, body: NewCredential, response: { 201: CredentialWithSecret } },
    optionalBody: true,
    errors: ['FORBIDDEN', 'AGENT_NOT_ACTIVE', 'AGENT_NOT_FOUND'],
    handler: ({ caller, params, body }) => credentials.generate(caller, params.agentId, body),
  }),
  route({
    id: 'listCredentials',
    summary: "List an agent's credentials, newest first, without their secrets",
    tag: 'Credentials',
    method: 'GET',
    url: '/agents/:agentId/credentials',
    access: scope('agents:read'),
    limit: 'caller',
    schema: { params: AgentParams, query: CredentialQuery, response: { 200: CredentialPage } },
    errors: ['AGENT_NOT_FOUND'],
    handler: ({ caller, params, query }) => credentials.list(caller, params.agentId, query),
  }),
  route({
    id: 'rotateCredential',
    summary: 'Replace the secret of a credential; the old one ends at once, tokens stay valid',
    tag: 'Credentials',
    method: 'POST',
    url: '/agents/:agentId/credentials/:credentialId/rotate',
    access: scope('agents:write'),
    limit: 'caller',
    schema: { params: CredentialParams, body: CredentialRotation, response: { 200: CredentialWithSecret } },
    optionalBody: true,
    errors: ['FORBIDDEN', 'AGENT_NOT_FOUND', 'CREDENTIAL_NOT_FOUND', 'CREDENTIAL_ALREADY_REVOKED'],
    handler: ({ caller, params, body }) => credentials.rotate(caller, params, body),
  }),
  route({
    id: 'revokeCredential',
    summary:
      'Revoke a credential for good; the tokens that were issued with it end at once for introspection',
    tag: 'Credentials',
    method: 'DELETE',
    url: '/agents/:agentId/credentials/:credentialId',
    access: scope('agents:write'),
    limit: 'caller',
    quota: 'free',
    schema: { params: CredentialParams, response: { 204: Type.Null() } },
    errors: ['AGENT_NOT_FOUND', 'CREDENTIAL_NOT_FOUND', 'CREDENTIAL_ALREADY_REVOKED'],
    handler: ({ caller, params }) => credentials.revoke(caller, params),
  }),
];
