/** Agents that ask people: an API with details of payments, people who decide, and the requests of both. */
import assert from 'node:assert/strict';
import type { TestBrowser } from '../clients/browser.ts';
import type { Answer } from '../harness.ts';
import { createAuthorizationScenario, type TestClient } from './authorization.ts';

export const cibaGrant = 'urn:openid:params:grant-type:ciba';
export const ownApprovals = '/console/api/me/approvals';

export const paymentType = {
  type: 'payment',
  description: 'Pay an invoice',
  schema: {
    type: 'object',
    properties: {
      type: { const: 'payment' },
      amount: { type: 'number', minimum: 0 },
      currency: { type: 'string', minLength: 3, maxLength: 3 },
    },
    required: ['amount', 'currency'],
    additionalProperties: false,
  },
};

export async function createApprovalScenario(changes: Record<string, string> = {}) {
  const scenario = await createAuthorizationScenario(changes);
  const { t, operate, organizationId, makeResource, member, confidential } = scenario;
  const api = await makeResource({
    peopleScopes: ['orders:read', 'orders:write'],
    authorizationDetailTypes: [paymentType],
  });

  /** An agent without scopes of its own. */
  const asker = (more: object = {}) => confidential({ redirectUris: [], ...more });

  const bcAuthorize = (
    client: Pick<TestClient, 'credentials'>,
    fields: Record<string, string | undefined> = {},
  ): Promise<Answer> => {
    const all: Record<string, string | undefined> = {
      resource: api.identifier,
      scope: 'orders:write',
      ...client.credentials,
      ...fields,
    };
    const form = Object.fromEntries(
      Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
    );
    return t.form('/api/v1/bc-authorize', form);
  };

  /** A request that must succeed. */
  const request = async (
    client: Pick<TestClient, 'credentials'>,
    fields: Record<string, string | undefined>,
  ): Promise<{ authReqId: string; approvalId: string }> => {
    const { status, json, text } = await bcAuthorize(client, fields);
    assert.equal(status, 200, text);
    return { authReqId: json.auth_req_id, approvalId: json.approval_id };
  };

  const poll = (client: Pick<TestClient, 'credentials'>, authReqId: string, more: object = {}) =>
    t.askToken({ grant_type: cibaGrant, auth_req_id: authReqId, ...client.credentials, ...more });

  const decide = (browser: TestBrowser, approvalId: string, decision: object = { decision: 'approve' }) =>
    browser.change('POST', `${ownApprovals}/${approvalId}`, decision);

  const read = async (approvalId: string) => operate('GET', `/approvals/${approvalId}`);

  const setPolicy = (policy: object) =>
    operate('PUT', `/organizations/${organizationId}/approval-policy`, policy);

  /** An admin with an agent of the operator's organization, who signs in through the connection. */
  const admin = async () => {
    const person = await member();
    const agent = await t.agent();
    await operate('PATCH', `/organizations/${organizationId}/people/${person.personId}`, {
      role: 'admin',
      agentId: agent.agentId,
    });
    const { browser } = await member(person.login);
    return { ...person, browser, agentId: agent.agentId };
  };

  return { ...scenario, api, asker, bcAuthorize, request, poll, decide, read, setPolicy, admin };
}
