import { type RouteEntry, route, scope } from '../../kernel/route.ts';
import { CredentialParams, CredentialWithSecret, NewCredential } from './schema.ts';
import type { CredentialService } from './service.ts';

export const credentialRoutes = (credentials: CredentialService): RouteEntry[] => [
  route({
    id: 'generateCredential',
    summary: 'Generate a credential; its secret is shown this once',
    tag: 'Credentials',
    method: 'POST',
    url: '/agents/:agentId/credentials',
    access: scope('agents:write'),
    limit: 'caller',
    schema: { params: CredentialParams, body: NewCredential, response: { 201: CredentialWithSecret } },
    optionalBody: true,
    errors: ['VALIDATION_ERROR', 'INSUFFICIENT_SCOPE', 'FORBIDDEN', 'AGENT_NOT_ACTIVE', 'AGENT_NOT_FOUND'],
    handler({ caller, params, body, header }) {
      header('cache-control', 'no-store');
      return credentials.generate(caller, params.agentId, body);
    },
  }),
];
