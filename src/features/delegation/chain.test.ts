/** Chains of several links: their scopes, and the ways they end. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { type Answer, startApp, startOfMinute } from '../../../test/support/harness.ts';
import {
  type Client,
  createDelegationClient,
  type IssuedDelegation,
} from '../../../test/support/scenarios/delegations.ts';
import { type Link, statusOf } from './chain.ts';
import { createPurgeLoop } from './loops.ts';

const t = await startApp();
const { delegate, exchange, createDelegation, redeem, revoke, verify, listAgents } =
  createDelegationClient(t);
const operator = await t.token();
const agents = (count: number) => Promise.all(Array.from({ length: count }, () => t.agent()));
const patch = (agentId: string, payload: object) =>
  t.call('PATCH', `/api/v1/agents/${agentId}`, { token: operator, payload });
const introspect = async (token: string) =>
  (await t.form('/api/v1/token/introspect', { token }, operator)).json;

function assertFailed({ status, json, text }: Answer, expected: number, code: string) {
  assert.equal(status, expected, text);
  assert.equal(json.code, code, text);
}

interface Linked extends IssuedDelegation {
  readonly client: Client;
  readonly token: string;
}

/** Each agent delegates the listed scopes to the next, which redeems them. */
async function chainOf(
  cast: readonly Client[],
  scopes: readonly (readonly string[])[],
  more: object = {},
): Promise<Linked[]> {
  const links: Linked[] = [];
  let token = await t.token(undefined, cast[0]);
  for (const [index, given] of scopes.entries()) {
    const client = cast[index + 1] as Client;
    const lent = await createDelegation(token, client, given, { allowRedelegation: true, ...more });
    token = await redeem(client, lent);
    links.push({ ...lent, client, token });
  }
  return links;
}

const narrowing = [
  ['agents:read', 'agents:write', 'tokens:read', 'audit:read', 'webhooks:read'],
  ['agents:read', 'agents:write', 'tokens:read', 'audit:read'],
  ['agents:read', 'tokens:read', 'audit:read'],
  ['agents:read', 'tokens:read'],
  ['agents:read'],
];

/** Something that each scope allows, and nothing else does. */
const needs: Record<string, (token: string) => Promise<Answer>> = {
  'agents:read': (token) => t.call('GET', '/api/v1/agents', { token }),
  'agents:write': (token) => t.call('PATCH', `/api/v1/agents/${t.operator.agentId}`, { token, payload: {} }),
  'tokens:read': (token) => t.form('/api/v1/token/introspect', { token }, token),
  'audit:read': (token) => t.call('GET', '/api/v1/audit', { token }),
};

describe('a chain of five agents beyond the first', () => {
  it('each can do exactly what its link allows; sub is the first, act names all since', async () => {
    const cast = await agents(6);
    const links = await chainOf(cast, narrowing);
    for (const [index, { token, chainId, client }] of links.entries()) {
      for (const [scope, ask] of Object.entries(needs)) {
        const { status, text } = await ask(token);
        const refusedForScope = status === 403 && text.includes('INSUFFICIENT_SCOPE');
        assert.equal(
          refusedForScope,
          !narrowing[index]?.includes(scope),
          `${index} ${scope}: ${status} ${text}`,
        );
      }
      const { sub, client_id, act, chain_id, chain_path, scope } = decodeJwt(token);
      const actors = cast.slice(1, index + 2).map(({ agentId }) => agentId);
      const nested = actors.reduce<object | undefined>(
        (earlier, actor) => ({ sub: actor, ...(earlier && { act: earlier }) }),
        undefined,
      );
      assert.deepEqual(
        { sub, client_id, act, chain_id, chain_path, scope },
        {
          sub: cast[0]?.agentId,
          client_id: client.agentId,
          act: nested,
          chain_id: chainId,
          chain_path: links.slice(0, index + 1).map((link) => link.chainId),
          scope: narrowing[index]?.join(' '),
        },
      );
    }
    const last = links.at(-1) as Linked;
    const { json } = await t.call('GET', `/api/v1/delegations/${last.chainId}`, {
      token: await t.token(undefined, cast[0]),
    });
    assert.equal(json.depth, 5);
    assert.equal(json.rootChainId, links[0]?.chainId);
    assert.equal(json.parentChainId, links[3]?.chainId);
    assert.equal(json.subjectId, cast[0]?.agentId);
    assert.deepEqual(
      json.chain.map(({ chainId, depth }: { chainId: string; depth: number }) => [chainId, depth]),
      links.map(({ chainId }, index) => [chainId, index + 1]),
    );
    const verified = (await verify(operator, last.delegationToken)).json;
    assert.equal(verified.depth, 5);
    assert.equal(verified.actorId, cast[5]?.agentId);
    assert.equal(verified.chain.length, 5);
  });

  it('revoking the second link stops the third, fourth and fifth within one request, and not the first', async () => {
    const cast = await agents(6);
    const links = await chainOf(cast, narrowing);
    for (const { token } of links) assert.equal(await listAgents(token), '200');
    assert.equal((await revoke(await t.token(undefined, cast[1]), String(links[1]?.chainId))).status, 204);
    const answers = await Promise.all(links.map(({ token }) => listAgents(token)));
    assert.deepEqual(answers, ['200', ...Array.from({ length: 4 }, () => '403 DELEGATION_REVOKED')]);
    for (const { token, client, delegationToken, chainId } of links.slice(1)) {
      assert.deepEqual(await introspect(token), { active: false });
      assert.equal((await exchange(client, delegationToken)).json.error, 'invalid_grant');
      assertFailed(await verify(operator, delegationToken), 403, 'DELEGATION_REVOKED');
      const { json } = await t.call('GET', `/api/v1/delegations/${chainId}`, { token: operator });
      assert.equal(json.status, 'revoked');
      assertFailed(
        await delegate(token, { delegateeId: cast[0]?.agentId, scopes: ['agents:read'] }),
        403,
        'DELEGATION_REVOKED',
      );
    }
    assert.equal((await introspect(String(links[0]?.token))).active, true);
    const [event] = await t.sql<{ metadata: { descendants: number } }>(
      `select metadata from audit_events where action = 'delegation.revoked' and metadata->>'chainId' = $1`,
      [links[1]?.chainId],
    );
    assert.equal(event?.metadata.descendants, 3);
  });

  it('403 FORBIDDEN for a sixth link', async () => {
    const cast = await agents(7);
    const links = await chainOf(cast, narrowing);
    const answer = await delegate(String(links[4]?.token), {
      delegateeId: cast[6]?.agentId,
      scopes: ['agents:read'],
    });
    assertFailed(answer, 403, 'FORBIDDEN');
    assert.deepEqual(answer.json.details, { depth: 5, maxDepth: 5 });
  });

  it('204 by an ancestor’s delegator, 403 FORBIDDEN by those below', async () => {
    const cast = await agents(4);
    const links = await chainOf(cast, narrowing.slice(0, 3));
    const own = await Promise.all(cast.map((client) => t.token(undefined, client)));
    assertFailed(await revoke(String(own[3]), String(links[2]?.chainId)), 403, 'FORBIDDEN');
    assertFailed(await revoke(String(own[2]), String(links[1]?.chainId)), 403, 'FORBIDDEN');
    assert.equal((await revoke(String(own[0]), String(links[2]?.chainId))).status, 204);
    assert.deepEqual(await Promise.all(links.map(({ token }) => listAgents(token))), [
      '200',
      '200',
      '403 DELEGATION_REVOKED',
    ]);
  });
});

describe('passing on', () => {
  it('403 FORBIDDEN unless the delegation allows it; the actor’s own token starts a chain of its own', async () => {
    const cast = await agents(3);
    const [only] = await chainOf(cast, [['agents:read']], { allowRedelegation: false });
    const payload = { delegateeId: cast[2]?.agentId, scopes: ['agents:read'] };
    assertFailed(await delegate(String(only?.token), payload), 403, 'FORBIDDEN');
    const { json } = await delegate(await t.token(undefined, cast[1]), payload);
    assert.equal(json.depth, 1);
    assert.equal(json.subjectId, cast[1]?.agentId);
  });

  it('403 DELEGATION_SCOPE_EXCEEDED beyond the link, and beyond the token that was redeemed with it', async () => {
    const cast = await agents(3);
    const lent = await createDelegation(
      await t.token(undefined, cast[0]),
      cast[1] as Client,
      ['agents:read', 'audit:read'],
      {
        allowRedelegation: true,
      },
    );
    const wide = await redeem(cast[1] as Client, lent);
    const narrow = await redeem(cast[1] as Client, lent, { scope: 'audit:read' });
    const pass = (token: string, scopes: string[]) =>
      delegate(token, { delegateeId: cast[2]?.agentId, scopes });
    const beyondLink = await pass(wide, ['agents:read', 'agents:write']);
    assertFailed(beyondLink, 403, 'DELEGATION_SCOPE_EXCEEDED');
    assert.deepEqual(beyondLink.json.details.exceeded, ['agents:write']);
    assert.deepEqual(beyondLink.json.details.allowed, ['agents:read', 'audit:read']);
    assertFailed(await pass(narrow, ['agents:read']), 403, 'DELEGATION_SCOPE_EXCEEDED');
    assert.equal((await pass(narrow, ['audit:read'])).status, 201);
  });

  it('never past the parent’s end, nor beyond its resources', async () => {
    const cast = await agents(3);
    const ours = 'http://countersign.test';
    const [link] = await chainOf(cast, [['agents:read']], {
      expiresIn: 120,
      resource: [ours, 'https://one.example/'],
    });
    const pass = (more: object) =>
      delegate(String(link?.token), { delegateeId: cast[2]?.agentId, scopes: ['agents:read'], ...more });
    const all = [ours, 'https://one.example/'];
    const same = (await pass({ expiresIn: 86_400, resource: all })).json;
    assert.equal(same.expiresAt, link?.expiresAt);
    assert.deepEqual(same.resource, all);
    assert.equal((await pass({})).json.resource, null);
    assert.deepEqual((await pass({ resource: ['https://one.example/'] })).json.resource, [
      'https://one.example/',
    ]);
    const beyond = await pass({ resource: ['https://two.example/'] });
    assertFailed(beyond, 403, 'DELEGATION_SCOPE_EXCEEDED');
    assert.deepEqual(beyond.json.details, {
      requested: ['https://two.example/'],
      allowed: [ours, 'https://one.example/'],
      exceeded: ['https://two.example/'],
    });
  });

  it('403 DELEGATION_EXPIRED when the chain has, 401 UNAUTHORIZED when only the token has', async () => {
    const cast = await agents(2);
    const [short] = await chainOf(cast, [['agents:read']], { expiresIn: 60 });
    const [long] = await chainOf(cast, [['agents:read']], { expiresIn: 7_200 });
    t.clock.advance(61_000);
    assert.equal(await listAgents(String(short?.token)), '403 DELEGATION_EXPIRED');
    assert.deepEqual(
      (await t.form('/api/v1/token/introspect', { token: String(short?.token) }, await t.token())).json,
      {
        active: false,
      },
    );
    t.clock.advance(3_600_000);
    assert.equal(await listAgents(String(long?.token)), '401 UNAUTHORIZED');
    assert.equal(await listAgents(await redeem(cast[1] as Client, long as Linked)), '200');
    t.clock.advance(3_600_000);
    assert.equal(await listAgents(String(long?.token)), '403 DELEGATION_EXPIRED');
    t.clock.advance(-7_261_000);
  });
});

describe('agents of a chain', () => {
  const ends: [string, (client: Client) => Promise<unknown>][] = [
    ['suspended', ({ agentId }) => patch(agentId, { status: 'suspended' })],
    [
      'suspended and back at once',
      async ({ agentId }) => {
        await patch(agentId, { status: 'suspended' });
        await patch(agentId, { status: 'active' });
      },
    ],
    ['decommissioned', ({ agentId }) => t.call('DELETE', `/api/v1/agents/${agentId}`, { token: operator })],
  ];
  for (const [what, end] of ends) {
    for (const position of [0, 1, 2]) {
      it(`one ${what}, the ${['first', 'second', 'third'][position]}: the links below end and stay ended`, async () => {
        const cast = await agents(4);
        const links = await chainOf(cast, narrowing.slice(0, 3));
        for (const { token } of links) assert.equal(await listAgents(token), '200');
        await end(cast[position] as Client);
        const answers = await Promise.all(links.map(({ token }) => listAgents(token)));
        // Link n is between agents n and n + 1: it ends with the one that holds its token, too.
        assert.deepEqual(
          answers,
          links.map((_, index) => (index + 1 < position ? '200' : '403 DELEGATION_REVOKED')),
        );
        const statuses = await Promise.all(
          links.map(
            async ({ chainId }) =>
              (await t.call('GET', `/api/v1/delegations/${chainId}`, { token: operator })).json.status,
          ),
        );
        assert.deepEqual(
          statuses,
          links.map((_, index) => (index + 1 < position ? 'active' : 'revoked')),
        );
        for (const { client, delegationToken } of links.slice(Math.max(0, position - 1)))
          assert.notEqual((await exchange(client, delegationToken)).status, 200);
      });
    }
  }

  it('200 the subject loses a scope: it is gone from every token of the chain at once; other agents’ scopes do not count', async () => {
    const cast = await agents(4);
    const links = await chainOf(cast, narrowing.slice(0, 3));
    const scopesOf = () =>
      Promise.all(links.map(async ({ token }) => (await introspect(token)).scope.split(' ')));
    await patch(String(cast[2]?.agentId), { allowedScopes: [] });
    assert.deepEqual(await scopesOf(), narrowing.slice(0, 3));
    assert.equal(await listAgents(await redeem(cast[2] as Client, links[1] as Linked)), '200');
    await patch(String(cast[0]?.agentId), { allowedScopes: ['agents:read', 'audit:read'] });
    assert.deepEqual(await scopesOf(), Array(3).fill(['agents:read', 'audit:read']));
    const { scope } = (await exchange(cast[3] as Client, String(links[2]?.delegationToken))).json;
    assert.equal(scope, 'agents:read audit:read');
    const refused = await exchange(cast[3] as Client, String(links[2]?.delegationToken), {
      scope: 'tokens:read',
    });
    assert.equal(refused.json.error, 'invalid_scope');
    assert.deepEqual((await verify(operator, String(links[2]?.delegationToken))).json.scopes, [
      'agents:read',
      'audit:read',
    ]);
    await patch(String(cast[0]?.agentId), { allowedScopes: [] });
    assert.equal(await listAgents(String(links[2]?.token)), '403 INSUFFICIENT_SCOPE');
    assert.equal(
      (await exchange(cast[3] as Client, String(links[2]?.delegationToken))).json.error,
      'invalid_scope',
    );
  });

  it('a call on behalf of another is recorded as the actor’s, with chain and subject', async () => {
    const cast = await agents(2);
    const [link] = await chainOf(cast, [['agents:read', 'agents:write']]);
    const { agentId } = await t.agent({ allowedScopes: [] });
    const answer = await t.call('PATCH', `/api/v1/agents/${agentId}`, {
      token: String(link?.token),
      payload: { owner: 'another team' },
    });
    assert.equal(answer.status, 200);
    const [event] = await t.sql<{ metadata: Record<string, unknown> }>(
      `select metadata from audit_events where action = 'agent.updated' and agent_id = $1`,
      [agentId],
    );
    assert.equal(event?.metadata.actorId, cast[1]?.agentId);
    assert.deepEqual(event?.metadata.delegation, { chainId: link?.chainId, subjectId: cast[0]?.agentId });
  });

  it('an administrator has no role when it acts on behalf of another', async () => {
    const cast = await agents(2);
    const path = `/api/v1/organizations/${t.operator.organizationId}`;
    await t.call('POST', `${path}/members`, {
      token: operator,
      payload: { agentId: cast[1]?.agentId, role: 'admin' },
    });
    const [link] = await chainOf(cast, [
      ['agents:read', 'agents:write', 'tokens:read', 'audit:read', 'webhooks:read', 'webhooks:write'],
    ]);
    assert.equal((await t.call('GET', path, { token: await t.token(undefined, cast[1]) })).status, 200);
    assertFailed(await t.call('GET', path, { token: String(link?.token) }), 403, 'FORBIDDEN');
    const admin = await t.agent();
    await t.call('POST', `${path}/members`, {
      token: operator,
      payload: { agentId: admin.agentId, role: 'admin' },
    });
    assertFailed(
      await t.call('POST', `/api/v1/agents/${admin.agentId}/credentials`, { token: String(link?.token) }),
      403,
      'FORBIDDEN',
    );
  });

  it('403 FORBIDDEN for a delegated caller that grants scopes beyond its link', async () => {
    const cast = await agents(2);
    const [link] = await chainOf(cast, [['agents:read', 'agents:write']]);
    const strong = await t.agent();
    assertFailed(
      await t.call('POST', `/api/v1/agents/${strong.agentId}/credentials`, { token: String(link?.token) }),
      403,
      'FORBIDDEN',
    );
  });

  it('200 its token is revoked like any other, and the chain goes on', async () => {
    const cast = await agents(2);
    const [link] = await chainOf(cast, [['agents:read']]);
    const token = String(link?.token);
    assert.equal((await t.form('/api/v1/token/revoke', { token }, token)).status, 200);
    assert.equal(await listAgents(token), '401 UNAUTHORIZED');
    assert.deepEqual(await introspect(token), { active: false });
    assert.equal(await listAgents(await redeem(cast[1] as Client, link as Linked)), '200');
  });

  it('403 ORG_SUSPENDED while the organization is; the chain outlives it', async () => {
    const payload = { name: 'Paused', slug: 'paused' };
    const { organizationId } = (await t.call('POST', '/api/v1/organizations', { token: operator, payload }))
      .json;
    const cast = [
      await t.agent({ organization_id: organizationId }),
      await t.agent({ organization_id: organizationId }),
    ];
    const [link] = await chainOf(cast, [['agents:read']]);
    const set = (status: string) =>
      t.call('PATCH', `/api/v1/organizations/${organizationId}`, { token: operator, payload: { status } });
    await set('suspended');
    assert.equal(await listAgents(String(link?.token)), '403 ORG_SUSPENDED');
    assert.deepEqual(await introspect(String(link?.token)), { active: false });
    assert.equal(
      (await exchange(cast[1] as Client, String(link?.delegationToken))).json.error,
      'unauthorized_client',
    );
    await set('active');
    assert.equal(await listAgents(String(link?.token)), '401 UNAUTHORIZED');
    const { json } = await exchange(cast[1] as Client, String(link?.delegationToken));
    assert.equal(await listAgents(json.access_token), '200');
  });

  it('back to where it came from: the subject acts on its own behalf by way of another, and that ends too', async () => {
    const [one, two] = (await agents(2)) as [Client, Client];
    const links = await chainOf([one, two, one], [['agents:read'], ['agents:read']]);
    const { sub, client_id } = decodeJwt(String(links[1]?.token));
    assert.equal(sub, client_id);
    assert.equal(await listAgents(String(links[1]?.token)), '200');
    await revoke(await t.token(undefined, one), String(links[0]?.chainId));
    assert.equal(await listAgents(String(links[1]?.token)), '403 DELEGATION_REVOKED');
  });

  it('its calls are counted in the window of the actor', async () => {
    const cast = await agents(2);
    const [link] = await chainOf(cast, [['agents:read']]);
    const remaining = async (token: string) =>
      Number((await t.call('GET', '/api/v1/delegations', { token })).headers['x-ratelimit-remaining']);
    const own = await t.token(undefined, cast[1]);
    startOfMinute(t.clock);
    const before = await remaining(own);
    assert.equal(await remaining(String(link?.token)), before - 1);
    assert.equal(await remaining(own), before - 2);
  });

  it('introspection reads the cache once and runs no SQL while nothing changes', async () => {
    const cast = await agents(6);
    const links = await chainOf(cast, narrowing);
    const token = String(links[4]?.token);
    const counts = async () => {
      const text = await t.app.metrics.text();
      const queries = [
        ...text.matchAll(
          /^service_db_query_duration_seconds_count\{operation="(?:tokens|delegations)[^"]*"\} (\d+)/gm,
        ),
      ];
      const looks = /^service_redis_command_duration_seconds_count\{command="mget"\} (\d+)/m.exec(text);
      return { sql: queries.reduce((sum, [, count]) => sum + Number(count), 0), looks: Number(looks?.[1]) };
    };
    assert.equal(await listAgents(token), '200');
    const before = await counts();
    for (let time = 0; time < 5; time += 1) assert.equal(await listAgents(token), '200');
    const after = await counts();
    assert.equal(after.sql, before.sql);
    assert.equal(after.looks, before.looks + 5);
  });
});

describe('links that expired long ago', () => {
  it('are purged with their audit events, whole chains at a time', async () => {
    const links = await chainOf(await agents(4), narrowing.slice(0, 3));
    const left = async () =>
      (
        await t.sql('select 1 from delegations where chain_id = any($1)', [
          links.map(({ chainId }) => chainId),
        ])
      ).length;
    const prune = async (days: number) => {
      const clock = { now: () => t.clock.now() + days * 86_400_000 };
      await createPurgeLoop({ db: t.app.db, clock }).run(new AbortController().signal);
    };
    await prune(90);
    assert.equal(await left(), 3);
    await prune(91);
    assert.equal(await left(), 0);
    assert.equal(await listAgents(String(links[2]?.token)), '401 UNAUTHORIZED');
  });
});

describe('the status of a link', () => {
  it('is expired from the millisecond of its expiry on', () => {
    const expiresAt = '2026-01-01T00:00:00.000Z';
    const link = { revokedAt: null, expiresAt } as Link;
    const end = Date.parse(expiresAt);
    assert.deepEqual([statusOf(link, end - 1), statusOf(link, end)], ['active', 'expired']);
  });
});
