/** A real server with a protected API "Orders", and agents that hold grants for it. */
import assert from 'node:assert/strict';
import { listen } from '../../../test/support/clients/listening.ts';
import { newResource } from '../../../test/support/scenarios/resources/resources.ts';
import { type Client, createClient } from '../src/sdk.ts';

export { refusedWith } from './refused-with.ts';

export interface Agent {
  readonly agentId: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

export async function startOrders(changes: Record<string, string> = {}) {
  const t = await listen(changes);
  const { issuer } = t;
  const { organizationId } = t.operator;
  const operator = await t.token();

  const succeed = async (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, payload?: object) => {
    const answer = await t.call(method, `/api/v1${path}`, { token: operator, ...(payload && { payload }) });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
    return answer.text === '' ? undefined : answer.json;
  };
  const register = async (identifier: string): Promise<string> =>
    (await succeed('POST', '/resources', newResource({ identifier }))).resourceId;
  const grant = ({ agentId }: Agent, resourceId: string, scopes: readonly string[]) =>
    succeed('PUT', `/agents/${agentId}/grants/${resourceId}`, { scopes });
  const clientOf = ({ clientId, clientSecret }: Agent, resources: readonly string[] = []): Client =>
    createClient({ issuer, clientId, auth: clientSecret, resources });
  /** An agent with a grant for the resource. */
  const buyerOf = async (resourceId: string, scopes: readonly string[] = ['orders:read']) => {
    const agent = await t.agent({ allowedScopes: ['agents:read'] });
    await grant(agent, resourceId, scopes);
    return agent;
  };
  return { t, issuer, organizationId, succeed, register, grant, clientOf, buyerOf };
}
