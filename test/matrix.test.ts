import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { organizationScopes } from '../src/contract/scopes.ts';
import { newAgent, startApp } from './harness.ts';
import { type Principal, principals, type Row, rows, type Target } from './matrix-rows.ts';

const t = await startApp({ MULTI_TENANT: 'true' });
const operatorToken = await t.token();

const asOperator = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
  const answer = await t.call(method, `/api/v1${url}`, { token: operatorToken, ...(payload && { payload }) });
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.status} ${answer.text}`);
  return answer.text === '' ? undefined : answer.json;
};

const makeOrganization = async (): Promise<string> =>
  (
    await asOperator('POST', '/organizations', {
      name: 'Some team',
      slug: `team-${randomUUID().slice(0, 18)}`,
      planTier: 'pro',
    })
  ).organizationId;

const makeAgent = async (organizationId: string, allowedScopes: readonly string[]): Promise<string> =>
  (await asOperator('POST', '/agents', newAgent({ organization_id: organizationId, allowedScopes }))).agentId;

async function makeToken(agentId: string): Promise<string> {
  return t.token(undefined, await asOperator('POST', `/agents/${agentId}/credentials`));
}

/** In the same organization as the target, so that only the principal differs; the end of the world comes last. */
async function tokenOf(who: Principal, home: string): Promise<string | undefined> {
  const inHome = async (scopes: readonly string[], role?: 'member' | 'admin') => {
    const agentId = await makeAgent(home, scopes);
    if (role) await asOperator('POST', `/organizations/${home}/members`, { agentId, role });
    return { agentId, token: await makeToken(agentId) };
  };
  switch (who) {
    case 'nobody':
      return undefined;
    case 'garbage':
      return 'not.a.token';
    case 'operator':
      return operatorToken;
    case 'expired': {
      const hour = 3_601_000;
      t.clock.advance(-hour);
      const { token } = await inHome(organizationScopes);
      t.clock.advance(hour);
      return token;
    }
    case 'revoked': {
      const { token } = await inHome(organizationScopes);
      const answer = await t.form('/api/v1/token/revoke', { token }, token);
      assert.equal(answer.status, 200);
      return token;
    }
    case 'wrongScope':
      return (await inHome([])).token;
    case 'member':
    case 'admin':
      return (await inHome(organizationScopes, who)).token;
    case 'decommissioned': {
      const { agentId, token } = await inHome(organizationScopes);
      await asOperator('DELETE', `/agents/${agentId}`);
      return token;
    }
    case 'otherOrganization':
    case 'suspendedOrganization': {
      const elsewhere = await makeOrganization();
      const agentId = await makeAgent(elsewhere, organizationScopes);
      await asOperator('POST', `/organizations/${elsewhere}/members`, { agentId, role: 'admin' });
      const token = await makeToken(agentId);
      if (who === 'suspendedOrganization')
        await asOperator('PATCH', `/organizations/${elsewhere}`, { status: 'suspended' });
      return token;
    }
  }
}

async function makeTarget(): Promise<Target> {
  const organizationId = await makeOrganization();
  const agentId = await makeAgent(organizationId, ['agents:read']);
  const credential = await asOperator('POST', `/agents/${agentId}/credentials`);
  const { credentialId } = credential;
  const token = await t.token(undefined, credential);
  return { organizationId, agentId, credentialId, token, outsiderId: await makeAgent(organizationId, []) };
}

async function answerTo(
  row: Row,
  target: Target,
  token: string | undefined,
): Promise<{ answer: string; text: string }> {
  const { method, url, payload, form } = row.request(target);
  const { status, text } = form
    ? await t.form(url, form, token)
    : await t.call(method, url, { ...(token !== undefined && { token }), ...(payload && { payload }) });
  if (status < 400) return { answer: String(status), text };
  const { code, error } = JSON.parse(text);
  return { answer: `${status} ${code ?? error}`, text };
}

describe('every operation against everyone', () => {
  it('has a row for every route', () => {
    assert.deepEqual(Object.keys(rows).sort(), t.app.routes.map(({ id }) => id).sort());
  });

  const matrix: Record<string, Record<string, string>> = {};
  for (const [id, row] of Object.entries(rows)) {
    it(`${id} answers each as it should`, async () => {
      for (const who of principals) {
        const target = await makeTarget();
        const { answer } = await answerTo(row, target, await tokenOf(who, target.organizationId));
        matrix[id] = { ...matrix[id], [who]: answer };
      }
      assert.deepEqual(matrix[id], row.answers);
    });

    it(`${id} does not show that a foreign id exists`, async () => {
      const real = await makeTarget();
      const invented: Target = {
        organizationId: randomUUID(),
        agentId: randomUUID(),
        credentialId: randomUUID(),
        token: 'e30.e30.e30',
        outsiderId: randomUUID(),
      };
      // Whoever holds a token already knows that it exists.
      if (id === 'revokeToken') return;
      const token = await tokenOf('otherOrganization', real.organizationId);
      const [toReal, toInvented] = [await answerTo(row, real, token), await answerTo(row, invented, token)];
      assert.equal(toReal.answer, toInvented.answer);
      if (!toReal.answer.startsWith('2')) assert.equal(toReal.text, toInvented.text);
    });
  }

  it('prints the matrix', () => console.table(matrix, [...principals]));
});
