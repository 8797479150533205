/** The changes that give an agent power which outlives a token, or that speak for the agent. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { exportJWK } from 'jose';
import type { Answer, TestApp } from '../harness.ts';
import { createResourceClient } from './resources/resources.ts';

export const policies = '/oidc/trust-policies';

export const newPolicy = (agentId: string, more: object = {}) => ({
  agentId,
  name: 'CI',
  provider: 'github',
  audiences: ['http://countersign.test'],
  subject: `repo:octo-org/${randomUUID()}:ref:refs/heads/main`,
  scopes: [],
  ...more,
});

/** Makes the change to the agent with this token. `policyId`: a trust policy of the agent. */
export type LastingChange = (token: string, policyId: string) => Promise<Answer>;

export function createLastingChanges(
  t: TestApp,
  owner: { readonly token: string; readonly organizationId: string },
  resourceId: string,
) {
  const { call, grant } = createResourceClient(t);

  return async (agentId: string): Promise<Record<string, LastingChange>> => {
    const path = `/agents/${agentId}`;
    const { data } = (await call('GET', `${path}/credentials`, owner.token)).json;
    const publicKey = await exportJWK(generateKeyPairSync('ed25519').publicKey);
    return {
      'a credential': (token) => call('POST', `${path}/credentials`, token),
      'a rotation': (token) => call('POST', `${path}/credentials/${data[0].credentialId}/rotate`, token),
      keys: (token) => call('PUT', `${path}/keys`, token, { keys: [publicKey] }),
      'no keys': (token) => call('PUT', `${path}/keys`, token, { keys: [] }),
      'a trust policy': (token) => call('POST', policies, token, newPolicy(agentId)),
      'a wider policy': (token, id) => call('PATCH', `${policies}/${id}`, token, { scopes: [] }),
      'another subject': (token, id) => call('PATCH', `${policies}/${id}`, token, { subject: randomUUID() }),
      'an unchanged policy': (token, id) => call('PATCH', `${policies}/${id}`, token, {}),
      'a disabled policy': (token, id) => call('PATCH', `${policies}/${id}`, token, { status: 'disabled' }),
      'a deleted policy': (token, id) => call('DELETE', `${policies}/${id}`, token),
      'a grant': (token) => grant({ token }, agentId, resourceId, ['refund']),
      'a listing': (token) =>
        call('POST', '/marketplace/listings', token, { agentId, title: 'A', summary: 'B' }),
      'a person': (token) =>
        call('POST', `/organizations/${owner.organizationId}/people`, token, {
          ...{ issuer: 'https://login.example.com', subject: randomUUID(), agentId },
          name: 'Grace',
          role: 'viewer',
        }),
      'a redirect URI': (token) =>
        call('PATCH', path, token, { redirectUris: [`https://${randomUUID()}.example/`] }),
      'other scopes': (token) => call('PATCH', path, token, { allowedScopes: ['agents:write'] }),
    };
  };
}
