/** Resources and grants over HTTP, made by the operator or by an agent of the owner. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { resourceScopes } from '../../../../src/contract/scopes.ts';
import type { TestApp } from '../../harness.ts';

export interface TestResource {
  readonly resourceId: string;
  readonly organizationId: string;
  readonly identifier: string;
  readonly scopes: readonly string[];
  /** A token that may change the resource. */
  readonly ownerToken: string;
}

interface NewResource {
  readonly identifier: string;
  readonly organizationId: string;
  readonly scopes: readonly string[];
  readonly tokenLifetimeSeconds: number;
  readonly claims: readonly string[];
}

export function createGrants(t: TestApp) {
  const succeed = async (
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    token: string,
    payload?: object,
  ) => {
    const answer = await t.call(method, `/api/v1${path}`, { token, ...(payload && { payload }) });
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  };

  const organizationOf = async (agentId: string): Promise<string> => {
    const [row] = await t.sql<{ id: string }>(
      'select organization_id as id from agents where agent_id = $1',
      [agentId],
    );
    assert.ok(row, `no agent ${agentId}`);
    return row.id;
  };

  return {
    /** Owned by the operator's organization unless told otherwise. */
    async register(changes: Partial<NewResource> = {}): Promise<TestResource> {
      const {
        identifier = `https://api-${randomUUID()}.example.com/v1`,
        organizationId = t.operator.organizationId,
        scopes = ['read', 'write', 'delete'],
        ...others
      } = changes;
      const ownerToken =
        organizationId === t.operator.organizationId
          ? await t.token()
          : await t.token(
              undefined,
              await t.agent({ organization_id: organizationId, allowedScopes: resourceScopes }),
            );
      const { json } = await succeed('POST', '/resources', ownerToken, {
        identifier,
        name: 'API',
        scopes: scopes.map((name) => ({ name })),
        ...others,
      });
      return { resourceId: json.resourceId, organizationId, identifier, scopes, ownerToken };
    },

    /** An agent of another organization gets it by a share of all scopes. */
    async grant(agentId: string, resource: TestResource, scopes: readonly string[]): Promise<void> {
      const { resourceId } = resource;
      const organizationId = await organizationOf(agentId);
      if (organizationId !== resource.organizationId)
        await succeed('PUT', `/resources/${resourceId}/shares/${organizationId}`, await t.token(), {
          scopes: resource.scopes,
        });
      await succeed('PUT', `/agents/${agentId}/grants/${resourceId}`, await t.token(), { scopes });
    },

    removeGrant: async (agentId: string, { resourceId }: TestResource) =>
      succeed('DELETE', `/agents/${agentId}/grants/${resourceId}`, await t.token()),

    /** Sets the scopes of the resource. */
    narrow: ({ resourceId, ownerToken }: TestResource, scopes: readonly string[]) =>
      succeed('PATCH', `/resources/${resourceId}`, ownerToken, { scopes: scopes.map((name) => ({ name })) }),
    /** By the operator, whose shares need no acceptance. */
    share: async ({ resourceId }: TestResource, organizationId: string, scopes: readonly string[]) =>
      succeed('PUT', `/resources/${resourceId}/shares/${organizationId}`, await t.token(), { scopes }),
    unshare: ({ resourceId, ownerToken }: TestResource, organizationId: string) =>
      succeed('DELETE', `/resources/${resourceId}/shares/${organizationId}`, ownerToken),

    remove: ({ resourceId, ownerToken }: TestResource) =>
      succeed('DELETE', `/resources/${resourceId}`, ownerToken),
  };
}
