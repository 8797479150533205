import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { type Answer, startApp, startOfMinute } from '../../../test/support/harness.ts';
import { createApprovalScenario } from '../../../test/support/scenarios/approvals.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import {
  clientForm,
  createProver,
  hashOfToken,
  type ProofParts,
  type Prover,
  proofMutations,
} from '../../../test/support/scenarios/dpop.ts';
import { createTenant } from '../../../test/support/scenarios/plans.ts';
import { createGrants } from '../../../test/support/scenarios/resources/grants.ts';
import { limits } from '../../contract/limits.ts';

const t = await startApp();
const { register, grant, removeGrant, narrow, unshare } = createGrants(t);
const { createDelegation, redeem } = createDelegationClient(t);

interface Client {
  readonly agentId: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const anonymousId = '00000000-0000-0000-0000-000000000000';
const path = '/api/v1/forward-auth';
const addressOf = (query: Record<string, string>): string => `${path}?${new URLSearchParams(query)}`;
const check = (query: Record<string, string>, token?: string, headers: Record<string, string> = {}) =>
  t.call('GET', addressOf(query), { headers, ...(token !== undefined && { token }) });

const tokenFor = async (client: Client, resource: string, scope?: string): Promise<string> => {
  const { status, json, text } = await t.askToken({
    grant_type: 'client_credentials',
    client_id: client.clientId,
    client_secret: client.clientSecret,
    resource,
    ...(scope !== undefined && { scope }),
  });
  assert.equal(status, 200, text);
  return json.access_token;
};

/** An agent with a grant for a resource, and its token. */
async function granted(changes: Parameters<typeof register>[0] = {}) {
  const agent = await t.agent();
  const resource = await register(changes);
  await grant(agent.agentId, resource, ['read', 'write']);
  // What a change has invalidated is cached again a minute later.
  t.clock.advance(61_000);
  return {
    agent,
    resource,
    identifier: resource.identifier,
    token: await tokenFor(agent, resource.identifier),
  };
}

const identityIn = ({ headers }: Answer) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('x-countersign-')));
const challengeOf = ({ headers }: Answer): string => String(headers['www-authenticate']);

/** Refused with this code, a challenge that matches, and no identity. */
function assertRefused(answer: Answer, status: 401 | 403, challenge: RegExp): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.json.code, status === 401 ? 'UNAUTHORIZED' : 'INSUFFICIENT_SCOPE');
  assert.match(challengeOf(answer), challenge);
  assert.deepEqual(identityIn(answer), {});
}

const refusals = () =>
  t.sql<{ agentId: string; organizationId: string; reason: string; resource: string; operation: string }>(
    `select agent_id as "agentId", organization_id as "organizationId", metadata::jsonb->>'reason' as reason,
       metadata::jsonb->>'resource' as resource, metadata::jsonb->>'operation' as operation
     from audit_events where action = 'authentication.refused' order by occurred_at, event_id`,
  );

/** The refusals that an action writes. */
async function refusalsOf(act: () => Promise<unknown>) {
  startOfMinute(t.clock);
  const { length } = await refusals();
  await act();
  return (await refusals()).slice(length);
}

describe('GET /forward-auth', () => {
  it('200 without a body: the agent, the subject, the organization and the scopes', async () => {
    const { agent, identifier, token } = await granted();
    const answer = await check({ resource: identifier, scope: 'read' }, token);
    assert.deepEqual([answer.status, answer.text, answer.headers['content-length']], [200, '', '0']);
    assert.deepEqual(identityIn(answer), {
      'x-countersign-agent': agent.agentId,
      'x-countersign-subject': agent.agentId,
      'x-countersign-subject-type': 'agent',
      'x-countersign-organization': t.operator.organizationId,
      'x-countersign-scopes': 'read write',
    });
    assert.equal(answer.headers['cache-control'], 'no-store');
  });
  it('200 with another spelling of host and scheme, and without a scope in the address', async () => {
    const { identifier, token } = await granted({
      identifier: `https://spelling-${t.app.ids.uuid()}.example.com`,
    });
    for (const resource of [identifier, `${identifier}/`, identifier.replace('spelling', 'Spelling')])
      assert.equal((await check({ resource }, token)).status, 200, resource);
    assertRefused(await check({ resource: `${identifier}/v2` }, token), 401, /another audience/);
  });
  it('200 for every method that a proxy may pass on; a body is not read', async () => {
    const { identifier, token } = await granted();
    const url = addressOf({ resource: identifier });
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
      assert.equal((await t.call(method, url, { token })).status, 200, method);
      assert.equal((await t.call(method, url)).status, 401, method);
    }
    assert.notEqual((await t.call('OPTIONS', url, { token })).status, 200);
    const headers = { 'content-type': 'text/plain', 'content-length': '0' };
    assert.equal((await t.call('POST', url, { token, headers })).status, 200);
  });
  it('200 for a delegated token, with the subject that lends and the agent that acts', async () => {
    const { agent, identifier } = await granted();
    const actor = await t.agent({ allowedScopes: [] });
    const own = await t.token(undefined, agent);
    const chain = await createDelegation(own, actor, ['read'], { resource: [identifier] });
    const token = await redeem(actor, chain);
    assert.deepEqual(identityIn(await check({ resource: identifier, scope: 'read' }, token)), {
      'x-countersign-agent': actor.agentId,
      'x-countersign-subject': agent.agentId,
      'x-countersign-subject-type': 'agent',
      'x-countersign-organization': t.operator.organizationId,
      'x-countersign-scopes': 'read',
    });
    await t.call('DELETE', `/api/v1/delegations/${chain.chainId}`, { token: own });
    assertRefused(await check({ resource: identifier }, token), 401, /delegation .* has ended/);
  });

  it('401 without a token: a challenge without an error, and no event', async () => {
    const { identifier } = await granted();
    const written = await refusalsOf(async () => {
      const answer = await check({ resource: identifier, scope: 'read write' });
      assertRefused(answer, 401, /^Bearer realm="countersign", scope="read write"$/);
    });
    assert.deepEqual(written, []);
  });
  it('401 invalid_token, recorded once: malformed, foreign, of another audience, changed', async () => {
    const { agent, identifier, token } = await granted();
    const other = await granted();
    const [head, body, signature = ''] = token.split('.');
    const changed = [
      head,
      body,
      `${signature.slice(0, 20)}${signature[20] === 'A' ? 'B' : 'A'}${signature.slice(21)}`,
    ];
    const cases: [string, string, string][] = [
      ['Basic YTpi', 'malformed', anonymousId],
      [`Bearer ${token} ${token}`, 'malformed', anonymousId],
      [`Bearer ${token},${token}`, 'not one of ours', anonymousId],
      ['Bearer x.y.z', 'not one of ours', anonymousId],
      [`Bearer ${changed.join('.')}`, 'not one of ours', anonymousId],
      [`Bearer ${head}.${body}.`, 'not one of ours', anonymousId],
      [`Bearer ${other.token}`, 'for another audience', other.agent.agentId],
      [`Bearer ${await t.token(undefined, agent)}`, 'for another audience', agent.agentId],
    ];
    for (const [authorization, reason, agentId] of cases) {
      const written = await refusalsOf(async () => {
        const answer = await check({ resource: identifier, scope: 'read' }, undefined, { authorization });
        assertRefused(answer, 401, /^Bearer realm="countersign", error="invalid_token", .*scope="read"$/);
      });
      assert.deepEqual(
        written.map(({ organizationId: _, ...event }) => event),
        [{ agentId, reason, resource: identifier, operation: 'forwardAuth' }],
        authorization,
      );
    }
  });

  const endings: Record<string, (made: Awaited<ReturnType<typeof granted>>) => Promise<unknown>> = {
    'is revoked': async ({ token }) => t.form('/api/v1/token/revoke', { token }, await t.token()),
    expires: async () => t.clock.advance(3_601_000),
    'loses its agent': async ({ agent }) =>
      t.call('PATCH', `/api/v1/agents/${agent.agentId}`, {
        token: await t.token(),
        payload: { status: 'suspended' },
      }),
    'loses its grant': ({ agent, resource }) => removeGrant(agent.agentId, resource),
    'loses a scope of its resource': ({ resource }) => narrow(resource, ['read']),
  };
  for (const [what, end] of Object.entries(endings))
    it(`401 at once when the token ${what}, recorded for the agent`, async () => {
      const made = await granted();
      const { agent, identifier: resource, token } = made;
      assert.equal((await check({ resource }, token)).status, 200);
      await end(made);
      const written = await refusalsOf(async () =>
        assertRefused(await check({ resource }, token), 401, /invalid_token/),
      );
      assert.deepEqual(
        written.map(({ agentId }) => agentId),
        [agent.agentId],
      );
    });

  it('403 insufficient_scope names the scopes that the proxy asks for; nothing is recorded', async () => {
    const { agent, identifier: resource } = await granted();
    const token = await tokenFor(agent, resource, 'read');
    const written = await refusalsOf(async () => {
      const answer = await check({ resource, scope: 'read write' }, token);
      assertRefused(answer, 403, /error="insufficient_scope".*scope="read write"$/);
      assert.deepEqual(answer.json.details, { required: ['read', 'write'], held: ['read'] });
    });
    assert.deepEqual(written, []);
    // A scope is a whole word.
    assertRefused(await check({ resource, scope: 'rea' }, token), 403, /insufficient_scope/);
  });
  it('403 insufficient_scope for a token without any scope', async () => {
    const token = await t.token(undefined, await t.agent({ allowedScopes: [] }));
    assertRefused(await check({ resource: 'http://countersign.test' }, token), 403, /has no scope/);
  });

  it('400 VALIDATION_ERROR for an address that a proxy should not have', async () => {
    const { identifier: resource, token } = await granted();
    const bad = [
      '',
      'resource=',
      `resource=${resource}&resource=${resource}`,
      `resource=${resource}&scope=`,
      `resource=${resource}&scope=read&scope=write`,
      `resource=${resource}&scope=%20read`,
      `resource=${resource}&scope=a%22b`,
      `resource=${resource}&scope=a%0d%0ab`,
      `resource=${resource}&organization_id=x`,
      `resource=${resource}&scopes=read`,
      'resource=orders',
      'resource=https%3A%2F%2Fa%00',
      `resource=https://${'a'.repeat(1_020)}`,
    ];
    for (const query of bad) {
      const answer = await t.call('GET', `${path}?${query}`, { token });
      assert.deepEqual([answer.status, answer.json.code], [400, 'VALIDATION_ERROR'], query);
    }
    for (const odd of ['https://[', 'https://%', 'http://a:b:c'])
      assert.equal((await check({ resource: odd }, token)).status, 401, odd);
  });
});

describe('GET /forward-auth between organizations', () => {
  it("200 for an agent of another organization that shares the resource; 401 with the owner's organization in the address", async () => {
    const { organizationId: owner } = await createTenant(t);
    const { resource, identifier, token } = await granted({ organizationId: owner });
    const answer = await check({ resource: identifier }, token);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers['x-countersign-organization'], t.operator.organizationId);
    const { organizationId } = t.operator;
    for (const id of [organizationId, organizationId.toUpperCase()])
      assert.equal((await check({ resource: identifier, organization_id: id }, token)).status, 200);
    const written = await refusalsOf(async () =>
      assertRefused(
        await check({ resource: identifier, organization_id: owner }, token),
        401,
        /another organization/,
      ),
    );
    assert.deepEqual(
      written.map(({ reason }) => reason),
      ['of another organization'],
    );
    await unshare(resource, organizationId);
    assertRefused(await check({ resource: identifier }, token), 401, /invalid_token/);
  });
  it('401 for agents of a suspended organization, and for a resource of one', async () => {
    const suspend = async (organizationId: string, status: string) =>
      assert.equal(
        (
          await t.call('PATCH', `/api/v1/organizations/${organizationId}`, {
            token: await t.token(),
            payload: { status },
          })
        ).status,
        200,
      );
    const { organizationId: owner } = await createTenant(t);
    const { identifier: resource, token } = await granted({ organizationId: owner });
    await suspend(owner, 'suspended');
    assertRefused(await check({ resource }, token), 401, /invalid_token/);

    const { organizationId: home } = await createTenant(t);
    const agent = await t.agent({ organization_id: home });
    const own = await register({ organizationId: home });
    await grant(agent.agentId, own, ['read']);
    const ownToken = await tokenFor(agent, own.identifier);
    assert.equal((await check({ resource: own.identifier }, ownToken)).status, 200);
    await suspend(home, 'suspended');
    const written = await refusalsOf(async () =>
      assertRefused(await check({ resource: own.identifier }, ownToken), 401, /organization .* is suspended/),
    );
    assert.deepEqual(
      written.map(({ reason }) => reason),
      ['organization suspended'],
    );
  });
  it('400 for an address of the own machine without an organization, where each organization has its own', async () => {
    const tenants = await startApp({ RESOURCE_IDENTIFIERS: 'verified' }, t);
    const ask = (query: Record<string, string>) => tenants.call('GET', addressOf(query), { token: 'x.y.z' });
    const local = 'http://localhost:4000';
    const refused = await ask({ resource: local });
    assert.deepEqual([refused.status, refused.json.code], [400, 'VALIDATION_ERROR']);
    assert.match(refused.json.message, /organization_id/);
    assert.equal((await ask({ resource: local, organization_id: t.operator.organizationId })).status, 401);
    assert.equal((await ask({ resource: 'https://orders.example.com' })).status, 401);
    assert.equal((await check({ resource: local }, 'x.y.z')).status, 401);
  });
});

describe('the rate limit of forward-auth', () => {
  it('429 beyond 6,000 a minute of an agent; the window of our own API stays unused, and the other way round', async () => {
    const limited = await startApp({ RATE_LIMIT_PER_MINUTE: '2' }, t);
    const { agent, identifier: resource, token } = await granted();
    const own = await t.token(undefined, agent);
    const prover = await createProver(t);
    const form = { ...clientForm(agent), resource };
    const bound = (await t.askToken(form, { dpop: await prover.proof() })).json.access_token;
    startOfMinute(t.clock);
    const ask = (bearer: string | undefined) =>
      limited.call('GET', addressOf({ resource }), bearer === undefined ? {} : { token: bearer });
    for (let count = 0; count < 2; count += 1) {
      assert.equal((await limited.call('GET', '/api/v1/agents', { token: own })).status, 200);
    }
    assert.equal((await limited.call('GET', '/api/v1/agents', { token: own })).status, 429);
    for (let used = 1; used <= 3; used += 1) {
      const { status, headers } = await ask(token);
      assert.equal(status, 200);
      assert.equal(headers['x-ratelimit-limit'], String(limits.forwardAuthPerMinute));
      assert.equal(headers['x-ratelimit-remaining'], String(limits.forwardAuthPerMinute - used));
    }
    for (let used = 3; used < limits.forwardAuthPerMinute; used += 1) await ask(token);
    const refused = await ask(token);
    assert.deepEqual([refused.status, refused.json.code], [429, 'RATE_LIMIT_EXCEEDED']);
    // Neither a good nor a wrong proof is verified or stored.
    const countProofs = () => t.sql('select count(*) from used_proofs');
    const before = await countProofs();
    for (const htu of [`${resource}/orders`, `${resource}/other`]) {
      const { dpop } = await prover.headers(bound, 'GET', '', { claims: { htu } });
      const described = { 'x-original-method': 'GET', 'x-original-url': `${resource}/orders` };
      const headers = { authorization: `DPoP ${bound}`, dpop, ...described };
      assert.equal((await limited.call('GET', addressOf({ resource }), { headers })).status, 429);
    }
    assert.deepEqual(await countProofs(), before);
    // Another method has the same window; requests that fail count against the address, in a window of their own.
    assert.equal((await limited.call('POST', addressOf({ resource }), { token })).status, 429);
    const anonymous = await ask(undefined);
    assert.deepEqual(
      [anonymous.status, anonymous.headers['x-ratelimit-remaining']],
      [401, String(limits.forwardAuthPerMinute - 1)],
    );
    const malformed = await limited.call('GET', path);
    assert.deepEqual(
      [malformed.status, malformed.headers['x-ratelimit-remaining']],
      [400, String(limits.forwardAuthPerMinute - 2)],
    );
  });
  it('an invalid token of an agent does not use up its window', async () => {
    const { identifier: resource, token } = await granted();
    const { token: foreign } = await granted();
    startOfMinute(t.clock);
    const before = (await check({ resource }, token)).headers['x-ratelimit-remaining'];
    await check({ resource }, foreign);
    const after = (await check({ resource }, token)).headers['x-ratelimit-remaining'];
    assert.equal(Number(before) - Number(after), 1);
  });
});

describe('GET /forward-auth with a token that is bound to a key', async () => {
  const prover = await createProver(t);
  const { agent, identifier: resource } = await granted();
  const askBound = async (by: Prover) =>
    (await t.askToken({ ...clientForm(agent), resource }, { dpop: await by.proof() })).json
      .access_token as string;
  const url = `${resource}/orders/5`;
  const asked = { 'x-original-method': 'POST', 'x-original-url': `${url}?all=1` };
  let token = '';
  // For each test: they move the clock.
  beforeEach(async () => {
    token = await askBound(prover);
  });
  const proofFor = async (parts: ProofParts = {}, by = prover) =>
    (await by.headers(token, 'POST', '', { ...parts, claims: { htu: url, ...parts.claims } })).dpop;
  const ask = (headers: Record<string, string>, query: Record<string, string> = {}) =>
    check({ resource, scope: 'read', ...query }, undefined, { authorization: `DPoP ${token}`, ...headers });

  it('200 once for a proof of the request that the proxy describes, in either way', async () => {
    const { host } = new URL(resource);
    const forwarded = {
      'x-forwarded-method': 'POST',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': host,
      'x-forwarded-uri': '/v1/orders/5?all=1',
    };
    for (const described of [asked, forwarded, { ...asked, ...forwarded }]) {
      const dpop = await proofFor();
      const answer = await ask({ ...described, dpop });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.headers['x-countersign-agent'], agent.agentId);
      assert.ok(answer.headers['dpop-nonce']);
      const written = await refusalsOf(async () => {
        const again = await ask({ ...described, dpop });
        assertRefused(
          again,
          401,
          /^DPoP realm="countersign", error="invalid_dpop_proof", .*algs="[^"]*ES256[^"]*"$/,
        );
      });
      assert.deepEqual(
        written.map(({ agentId, reason }) => [agentId, reason]),
        [[agent.agentId, 'the proof was used before']],
      );
    }
  });
  it('200 for one of ten that replay a proof at once, at two nodes', async () => {
    const other = await startApp({}, t);
    const headers = { ...asked, authorization: `DPoP ${token}`, dpop: await proofFor() };
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 ? t : other).call('GET', addressOf({ resource }), { headers }),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal(answers.filter(({ status }) => status === 401).length, 9);
  });

  const thief = await createProver(t);
  const seconds = () => Math.floor(t.clock.now() / 1_000);
  const changes: Record<string, () => Promise<Record<string, string>>> = {
    'no proof': async () => ({}),
    'two proofs': async () => ({ dpop: `${await proofFor()}, ${await proofFor()}` }),
    'another method': async () => ({ dpop: await proofFor({ claims: { htm: 'GET' } }) }),
    'another address': async () => ({ dpop: await proofFor({ claims: { htu: `${resource}/orders/6` } }) }),
    'the address of forward-auth': async () => ({
      dpop: await proofFor({ claims: { htm: 'GET', htu: `http://countersign.test${path}` } }),
    }),
    'another key': async () => ({ dpop: await proofFor({}, thief) }),
    'a signature by another key': async () => ({ dpop: await proofFor({ signedBy: thief.privateKey }) }),
    'no ath': async () => ({ dpop: await proofFor({ claims: { ath: undefined } }) }),
    'the ath of another token': async () => ({
      dpop: await proofFor({ claims: { ath: hashOfToken(await askBound(prover)) } }),
    }),
    'an old iat': async () => ({ dpop: await proofFor({ claims: { iat: seconds() - 400 } }) }),
    'a late iat': async () => ({ dpop: await proofFor({ claims: { iat: seconds() + 400 } }) }),
    'another typ': async () => ({ dpop: await proofFor({ header: { typ: 'JWT' } }) }),
    'a request outside the resource': async () => ({
      'x-original-url': 'https://other.example.com/orders',
      dpop: await proofFor({ claims: { htu: 'https://other.example.com/orders' } }),
    }),
    'a method that the client adds': async () => ({ dpop: await proofFor(), 'x-forwarded-method': 'GET' }),
    'an address that the client adds': async () => ({
      dpop: await proofFor(),
      'x-forwarded-uri': '/v1/other',
    }),
    'a method that the proxy leaves out': async () => ({ dpop: await proofFor(), 'x-original-method': '' }),
  };
  for (const [what, headersWith] of Object.entries(changes))
    it(`401 invalid_dpop_proof, recorded without the address: ${what}`, async () => {
      const written = await refusalsOf(async () =>
        assertRefused(
          await ask({ ...asked, ...(await headersWith()) }),
          401,
          /^DPoP realm="countersign", error="invalid_dpop_proof"/,
        ),
      );
      assert.deepEqual(
        written.map(({ agentId }) => agentId),
        [agent.agentId],
      );
      assert.doesNotMatch(String(written[0]?.reason), /orders/);
    });
  for (const { what, make, error = 'invalid_dpop_proof' } of proofMutations(t))
    it(`401 ${error}, recorded: a proof with ${what}`, async () => {
      const written = await refusalsOf(async () => {
        const dpop = await make(prover, { htm: 'POST', htu: url, ath: hashOfToken(token) });
        assertRefused(await ask({ ...asked, dpop }), 401, new RegExp(`^DPoP .*error="${error}"`));
      });
      assert.deepEqual(
        written.map(({ agentId }) => agentId),
        [agent.agentId],
      );
    });
  it('401 invalid_token for a bound token as Bearer, and for another one as DPoP', async () => {
    const bearer = await ask({ ...asked, dpop: await proofFor(), authorization: `Bearer ${token}` });
    assertRefused(bearer, 401, /^DPoP .*error="invalid_token".*bound to a key/);
    const unbound = await tokenFor(agent, resource);
    const dpop = await proofFor({ claims: { ath: hashOfToken(unbound) } });
    assertRefused(
      await ask({ ...asked, dpop, authorization: `DPoP ${unbound}` }),
      401,
      /^DPoP .*error="invalid_token".*bound to no key/,
    );
  });
  it('403 insufficient_scope by the scheme DPoP', async () => {
    assertRefused(
      await ask({ ...asked, dpop: await proofFor() }, { scope: 'delete' }),
      403,
      /^DPoP .*scope="delete"$/,
    );
  });
  it('401 use_dpop_nonce with a nonce, and 200 with it, where proofs need one', async () => {
    const strict = await startApp({ DPOP_REQUIRE_NONCE: 'true' }, t);
    const send = async (nonce?: string) =>
      strict.call('GET', addressOf({ resource }), {
        headers: { ...asked, authorization: `DPoP ${token}`, dpop: await proofFor({ claims: { nonce } }) },
      });
    const refused = await send();
    assertRefused(refused, 401, /^DPoP .*error="use_dpop_nonce"/);
    assert.equal((await send(String(refused.headers['dpop-nonce']))).status, 200);
  });
  it('a proof that is refused counts against the address, not the agent', async () => {
    startOfMinute(t.clock);
    const remaining = async (headers: Record<string, string>) =>
      Number((await ask({ ...asked, ...headers })).headers['x-ratelimit-remaining']);
    const before = await remaining({ dpop: await proofFor() });
    const dpop = await proofFor();
    await remaining({ dpop });
    await remaining({ dpop });
    assert.equal(await remaining({ dpop: await proofFor() }), before - 2);
  });
});

describe('GET /forward-auth with the token of a person', async () => {
  const { t: own, api, asker, request, poll, decide, member } = await createApprovalScenario();

  async function approved(more: Record<string, string> = {}) {
    const client = await asker();
    const { browser, personId } = await member();
    const { authReqId, approvalId } = await request(client, { login_hint: personId, ...more });
    assert.equal((await decide(browser, approvalId)).status, 200);
    const { access_token: token } = (await poll(client, authReqId)).json;
    const url = addressOf({ resource: api.identifier, scope: 'orders:write' });
    return { client, personId, answer: await own.call('GET', url, { token }) };
  }

  it('200 with the person as the subject', async () => {
    const { client, personId, answer } = await approved();
    assert.equal(answer.status, 200, answer.text);
    const { headers } = answer;
    assert.deepEqual(
      [
        headers['x-countersign-agent'],
        headers['x-countersign-subject'],
        headers['x-countersign-subject-type'],
      ],
      [client.agentId, personId, 'person'],
    );
  });
  it('401 when the person approved details: the proxy cannot compare the request with them', async () => {
    const payment = { type: 'payment', amount: 12.5, currency: 'EUR' };
    const { answer } = await approved({ authorization_details: JSON.stringify([payment]) });
    assertRefused(answer, 401, /approved details only/);
  });
});
