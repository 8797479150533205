/** The delegations of a whole organization, and those that end together with one. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { type Answer, startApp } from '../../../test/support/harness.ts';
import {
  createDelegationClient,
  type IssuedDelegation,
} from '../../../test/support/scenarios/delegations.ts';

const t = await startApp();
const { createDelegation, revoke } = createDelegationClient(t);
const operator = await t.token();

const newTeam = async () => {
  const { json } = await t.call('POST', '/api/v1/organizations', {
    token: operator,
    payload: { name: 'Team', slug: `team-${randomUUID().slice(0, 12)}`, planTier: 'pro' },
  });
  const organization_id: string = json.organizationId;
  const agent = (allowedScopes: string[] = []) => t.agent({ organization_id, allowedScopes });
  return { organizationId: organization_id, agent };
};

type Team = Awaited<ReturnType<typeof newTeam>>;

/** root → a → b → c, and a second branch a → d. */
async function tree({ agent }: Team) {
  const [root, a, b, c, d] = await Promise.all([
    agent(['agents:read']),
    agent(),
    agent(),
    agent(),
    agent(),
  ] as const);
  const allowRedelegation = true;
  const scopes = ['agents:read'];
  const toA = await createDelegation(await t.token(undefined, root), a, scopes, { allowRedelegation });
  const pass = async (from: typeof a, to: typeof a, { delegationToken }: IssuedDelegation) =>
    createDelegation(await t.token(undefined, from), to, scopes, {
      allowRedelegation,
      parentToken: delegationToken,
    });
  const toB = await pass(a, b, toA);
  const toC = await pass(b, c, toB);
  const toD = await pass(a, d, toA);
  return { agents: { root, a, b, c, d }, toA, toB, toC, toD };
}

const list = (token: string, query: string) => t.call('GET', `/api/v1/delegations?${query}`, { token });
const descendants = (token: string, { chainId }: { chainId: string }, query = '') =>
  t.call('GET', `/api/v1/delegations/${chainId}/descendants${query}`, { token });

const idsOf = ({ status, json, text }: Answer): string[] => {
  assert.equal(status, 200, text);
  return json.data.map(({ chainId }: { chainId: string }) => chainId);
};
const ids = (...links: { chainId: string }[]) => links.map(({ chainId }) => chainId);

function assertFailed({ status, json, text }: Answer, expected: number, code: string) {
  assert.equal(status, expected, text);
  assert.equal(json.code, code, text);
}

describe('GET /delegations with organizationId', () => {
  it('200 every link of the organization, newest first, by status, agent and page', async () => {
    const team = await newTeam();
    const { organizationId } = team;
    const { agents, toA, toB, toC, toD } = await tree(team);
    await revoke(operator, toB.chainId);
    const auditor = await t.token(undefined, await team.agent(['audit:read']));
    const read = async (query: string, token = auditor) =>
      idsOf(await list(token, `organizationId=${organizationId}${query}`));
    assert.deepEqual(await read(''), ids(toD, toC, toB, toA));
    assert.deepEqual(await read('', operator), ids(toD, toC, toB, toA));
    assert.deepEqual(await read('&status=active'), ids(toD, toA));
    assert.deepEqual(await read('&status=revoked'), ids(toC, toB));
    assert.deepEqual(await read(`&agentId=${agents.b.agentId}`), ids(toC, toB));
    assert.deepEqual(await read(`&agentId=${agents.b.agentId}&role=delegatee`), ids(toB));
    const page = (await list(auditor, `organizationId=${organizationId}&limit=3&page=2`)).json;
    assert.deepEqual([page.total, page.data.length, page.data[0].chainId], [4, 1, toA.chainId]);
  });

  it("200 and nothing for another organization's id; the operator's own list does not change", async () => {
    const [team, other] = [await newTeam(), await newTeam()];
    const { toA } = await tree(team);
    const foreign = await t.token(undefined, await other.agent(['audit:read']));
    const { json } = await list(foreign, `organizationId=${team.organizationId}`);
    assert.deepEqual([json.data, json.total], [[], 0]);
    assert.deepEqual(idsOf(await list(foreign, `organizationId=${other.organizationId}`)), []);
    const unknown = idsOf(await list(operator, `organizationId=${randomUUID()}`));
    assert.deepEqual(unknown, []);
    assert.equal(idsOf(await list(operator, 'limit=100')).includes(toA.chainId), false);
  });

  it('403 INSUFFICIENT_SCOPE without audit:read; 400 for a malformed id', async () => {
    const team = await newTeam();
    const token = await t.token(undefined, await team.agent(['agents:read']));
    assertFailed(await list(token, `organizationId=${team.organizationId}`), 403, 'INSUFFICIENT_SCOPE');
    assertFailed(await list(operator, 'organizationId=x'), 400, 'VALIDATION_ERROR');
  });
});

describe('GET /delegations/{chainId}/descendants', () => {
  it('200 the active links below, nearest first: exactly those that a revocation ends', async () => {
    const team = await newTeam();
    const { toA, toB, toC, toD } = await tree(team);
    const { json } = await descendants(operator, toA);
    assert.deepEqual(
      json.data.map(({ chainId, status }: { chainId: string; status: string }) => [chainId, status]),
      [toB, toD, toC].map(({ chainId }) => [chainId, 'active']),
    );
    assert.deepEqual([json.total, json.page, json.limit], [3, 1, 20]);
    assert.deepEqual(idsOf(await descendants(operator, toA, '?limit=2&page=2')), ids(toC));
    assert.deepEqual(idsOf(await descendants(operator, toB)), ids(toC));
    assert.deepEqual(idsOf(await descendants(operator, toC)), []);

    await revoke(operator, toB.chainId);
    assert.deepEqual(idsOf(await descendants(operator, toA)), ids(toD));
    assert.deepEqual(idsOf(await descendants(operator, toA, '?status=revoked')), ids(toB, toC));
    await revoke(operator, toA.chainId);
    assert.deepEqual(idsOf(await descendants(operator, toA)), []);
    const [event] = await t.sql<{ descendants: number }>(
      `select (metadata->>'descendants')::int as descendants from audit_events
       where action = 'delegation.revoked' and metadata->>'chainId' = $1`,
      [toA.chainId],
    );
    assert.equal(event?.descendants, 1);
  });

  it('200 to the agents of the chain and to readers of the audit log; 404 to other agents and organizations', async () => {
    const [team, other] = [await newTeam(), await newTeam()];
    const { agents, toB, toC } = await tree(team);
    const asked = async (client: { clientId: string; clientSecret: string }) =>
      descendants(await t.token(undefined, client), toB);
    for (const client of [agents.root, agents.a, agents.b, await team.agent(['audit:read'])])
      assert.deepEqual(idsOf(await asked(client)), ids(toC));
    for (const client of [agents.d, await team.agent(), await other.agent(['audit:read'])])
      assertFailed(await asked(client), 404, 'DELEGATION_NOT_FOUND');
    assertFailed(await descendants(operator, { chainId: randomUUID() }), 404, 'DELEGATION_NOT_FOUND');
  });

  it('400 VALIDATION_ERROR for a malformed id, limit or status', async () => {
    const { toA } = await tree(await newTeam());
    assertFailed(await descendants(operator, { chainId: 'x' }), 400, 'VALIDATION_ERROR');
    for (const query of ['?limit=101', '?page=0', '?status=ended'])
      assertFailed(await descendants(operator, toA, query), 400, 'VALIDATION_ERROR');
  });
});
