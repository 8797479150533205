/** Workload identity: creates trust policies, signs matching tokens, and exchanges them. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Answer, TestApp } from '../harness.ts';
import { type Issuer, startIssuer } from '../peers/issuers.ts';

const url = '/api/v1/oidc';
export const ownAudience = 'http://countersign.test';

export interface Refusal {
  readonly agent_id: string;
  readonly organization_id: string;
  readonly reason: string;
}

export async function createTrustClient(t: TestApp) {
  const operator = await t.token();
  const issuer = await startIssuer(t.clock);

  /** A policy with a new agent and a new subject by default. */
  const createPolicy = async (changes: Record<string, unknown> = {}, from: Issuer = issuer) => {
    const subject = `workload-${randomUUID()}`;
    const agentId =
      changes.agentId ?? (await t.agent({ allowedScopes: ['agents:read', 'audit:read'] })).agentId;
    const payload = {
      ...{
        agentId,
        name: 'Pipeline',
        provider: 'custom',
        issuer: from.url,
        audiences: [ownAudience],
        subject,
      },
      scopes: ['agents:read', 'audit:read'],
      ...changes,
    };
    const { status, json } = await t.call('POST', `${url}/trust-policies`, { token: operator, payload });
    assert.equal(status, 201, JSON.stringify(json));
    const sign = (more: object = {}, options: Parameters<Issuer['sign']>[1] = {}) =>
      from.sign({ sub: json.subject, ...more }, options);
    return { ...json, sign };
  };

  const exchange = (subject_token: string, more: Record<string, string> = {}): Promise<Answer> =>
    t.form(`${url}/token`, {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      subject_token,
      ...more,
    });

  const lastRefusal = async (): Promise<Refusal> => {
    const [row] = await t.sql<Refusal>(
      "select agent_id, organization_id, metadata ->> 'reason' as reason from audit_events where action = 'token.refused' order by event_id desc limit 1",
    );
    return row as Refusal;
  };

  return {
    operator,
    issuer,
    createPolicy,
    exchange,
    lastRefusal,
    seconds: () => Math.floor(t.clock.now() / 1000),
    patch: (id: string, payload: object) =>
      t.call('PATCH', `${url}/trust-policies/${id}`, { token: operator, payload }),
    /** Asserts the refusal, which is always the same; resolves to its audit event. */
    async refused(token: string, more: Record<string, string> = {}): Promise<Refusal> {
      const { status, json } = await exchange(token, more);
      assert.deepEqual([status, json.error], [400, 'invalid_grant'], JSON.stringify(json));
      assert.equal(json.error_description, 'the token is not one that is trusted here');
      return lastRefusal();
    },
  };
}
