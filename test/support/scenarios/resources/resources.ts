/** Resources, shares and grants, and organizations that use them. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { organizationScopes, resourceScopes } from '../../../../src/contract/scopes.ts';
import type { Resource } from '../../../../src/features/resources/schema.ts';
import type { Answer, TestApp } from '../../harness.ts';

export interface TestAgent {
  readonly agentId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly organizationId: string;
  readonly token: string;
}

export const allTenantScopes = [...organizationScopes, ...resourceScopes];

export const newResource = (changes: Record<string, unknown> = {}) => ({
  identifier: `https://${randomUUID()}.example/orders`,
  name: 'Orders',
  scopes: [{ name: 'orders:read', description: 'Read orders' }, { name: 'orders:write' }, { name: 'refund' }],
  ...changes,
});

export function createResourceClient(t: TestApp) {
  const call = (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    token: string,
    payload?: object,
  ) => t.call(method, `/api/v1${path}`, { token, ...(payload && { payload }) });

  const agentIn = async (
    organizationId: string,
    allowedScopes: readonly string[] = allTenantScopes,
    role?: 'admin' | 'member',
  ): Promise<TestAgent> => {
    const agent = await t.agent({ organization_id: organizationId, allowedScopes });
    if (role) {
      const payload = { agentId: agent.agentId, role };
      const added = await call('POST', `/organizations/${organizationId}/members`, await t.token(), payload);
      assert.equal(added.status, 201, added.text);
    }
    return { ...agent, organizationId, token: await t.token(undefined, agent) };
  };

  const offer = (
    owner: { token: string },
    resourceId: string,
    organizationId: string,
    scopes: readonly string[],
  ) => call('PUT', `/resources/${resourceId}/shares/${organizationId}`, owner.token, { scopes });

  const admins = new Map<string, Promise<TestAgent>>();
  /** The same agent for each call, with a new token: the test may have moved its clock. */
  const adminOf = async (organizationId: string): Promise<TestAgent> => {
    const made = admins.get(organizationId) ?? agentIn(organizationId, allTenantScopes, 'admin');
    admins.set(organizationId, made);
    const admin = await made;
    return { ...admin, token: await t.token(undefined, admin) };
  };

  return {
    call,
    agentIn,
    /** A new organization with one agent that holds every scope of a tenant. */
    async tenant(): Promise<TestAgent> {
      const answer = await call('POST', '/organizations', await t.token(), {
        name: 'Tenant',
        slug: `tenant-${randomUUID()}`,
        planTier: 'enterprise',
      });
      assert.equal(answer.status, 201, answer.text);
      return agentIn(answer.json.organizationId);
    },
    async resource(owner: { token: string }, changes: Record<string, unknown> = {}): Promise<Resource> {
      const answer = await call('POST', '/resources', owner.token, newResource(changes));
      assert.equal(answer.status, 201, answer.text);
      return answer.json;
    },
    /** Without the acceptance of the other organization. */
    offer,
    /** With it: as the share is afterwards, or the refusal of the offer. */
    async share(
      owner: { token: string },
      resourceId: string,
      organizationId: string,
      scopes: readonly string[],
    ): Promise<Answer> {
      const offered = await offer(owner, resourceId, organizationId, scopes);
      if (offered.status !== 200 || offered.json.offeredScopes.length === 0) return offered;
      const { token } = await adminOf(organizationId.toLowerCase());
      const accepted = await call('POST', `/shares/${resourceId}/accept`, token);
      // 404 when a concurrent change of the resource has ended the offer.
      assert.ok([200, 404].includes(accepted.status), accepted.text);
      return offer(owner, resourceId, organizationId, scopes);
    },
    accept: ({ token }: { token: string }, resourceId: string) =>
      call('POST', `/shares/${resourceId}/accept`, token),
    decline: ({ token }: { token: string }, resourceId: string) =>
      call('DELETE', `/shares/${resourceId}`, token),
    adminOf,
    unshare: (owner: { token: string }, resourceId: string, organizationId: string) =>
      call('DELETE', `/resources/${resourceId}/shares/${organizationId}`, owner.token),
    grant: (by: { token: string }, agentId: string, resourceId: string, scopes: readonly string[]) =>
      call('PUT', `/agents/${agentId}/grants/${resourceId}`, by.token, { scopes }),
    revoke: (by: { token: string }, agentId: string, resourceId: string) =>
      call('DELETE', `/agents/${agentId}/grants/${resourceId}`, by.token),
    async grantsOf(by: { token: string }, agentId: string): Promise<Record<string, string[]>> {
      const { json } = await call('GET', `/agents/${agentId}/grants?limit=100`, by.token);
      return Object.fromEntries(
        json.data.map(({ identifier, scopes }: { identifier: string; scopes: string[] }) => [
          identifier,
          scopes,
        ]),
      );
    },
    /** The organization's events of resources and grants, oldest first; those of one request by their names. */
    events: (organizationId: string) =>
      t.sql<{
        action: string;
        agentId: string;
        ipAddress: string;
        userAgent: string;
        metadata: Record<string, unknown>;
      }>(
        `select action, agent_id as "agentId", ip_address as "ipAddress", user_agent as "userAgent", metadata
         from audit_events where organization_id = $1 and (action like 'resource.%' or action like 'share.%' or action like 'grant.%')
         order by occurred_at, action`,
        [organizationId],
      ),
  };
}

/** `200`, or the status and code of a refusal. */
export const outcome = (answer: Answer): string =>
  answer.status < 400 ? String(answer.status) : `${answer.status} ${answer.text ? answer.json.code : ''}`;
