/** Organizations with billing: checkout, pages, payment events and audit events. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type Answer, newAgent, type TestApp } from '../harness.ts';
import type { SignedEvent } from '../peers/payment-events.ts';

export const webhookUrl = '/api/v1/billing/webhooks/stripe';

export interface BillingOrganization {
  readonly organizationId: string;
  /** Access tokens of agents of the organization. */
  readonly admin: string;
  readonly member: string;
  readonly memberId: string;
}

export async function createBillingClient(t: TestApp) {
  const operator = await t.token();
  const asOperator = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
    const answer = await t.call(method, `/api/v1${url}`, { token: operator, ...(payload && { payload }) });
    assert.ok(answer.status < 300, answer.text);
    return answer.text === '' ? undefined : answer.json;
  };
  const agentIn = async (organizationId: string, role: 'member' | 'admin') => {
    const { agentId } = await asOperator('POST', '/agents', newAgent({ organization_id: organizationId }));
    await asOperator('POST', `/organizations/${organizationId}/members`, { agentId, role });
    const credential = await asOperator('POST', `/agents/${agentId}/credentials`);
    return { agentId, token: await t.token(undefined, credential) };
  };

  return {
    operator,
    asOperator,
    async createOrganization(changes: object = {}): Promise<BillingOrganization> {
      const slug = `payer-${randomUUID().slice(0, 18)}`;
      const { organizationId } = await asOperator('POST', '/organizations', {
        name: 'Payer',
        slug,
        ...changes,
      });
      const member = await agentIn(organizationId, 'member');
      const { token: admin } = await agentIn(organizationId, 'admin');
      return { organizationId, admin, member: member.token, memberId: member.agentId };
    },
    checkout: (token: string, target_tier: string, more: object = {}): Promise<Answer> =>
      t.call('POST', '/api/v1/billing/checkout', { token, payload: { target_tier, ...more } }),
    /** The embedded provider's page. */
    page: (checkoutUrl: string): Promise<Answer> => t.call('GET', new URL(checkoutUrl).pathname),
    confirm: (checkoutUrl: string): Promise<Answer> =>
      t.form(new URL(checkoutUrl).pathname, { confirm: 'yes' }),
    subscription: async (token: string) =>
      (await t.call('GET', '/api/v1/billing/subscription', { token })).json,
    cancel: (token: string): Promise<Answer> => t.call('DELETE', '/api/v1/billing/subscription', { token }),
    tier: async (organizationId: string): Promise<string> =>
      (await asOperator('GET', `/organizations/${organizationId}`)).planTier,
    sendEvent: ({ body, signature }: SignedEvent, changes: Record<string, string> = {}): Promise<Answer> =>
      t.call('POST', webhookUrl, {
        payload: body,
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'stripe-signature': signature,
          ...changes,
        },
      }),
    /** Audit events about plan and payment, in order. */
    auditEvents: (organizationId: string) =>
      t.sql<{ action: string; agent_id: string; metadata: Record<string, unknown> }>(
        `select action, agent_id, metadata from audit_events
         where organization_id = $1 and (action like 'billing.%' or action = 'organization.updated')
         order by occurred_at, event_id`,
        [organizationId],
      ),
  };
}
