import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { type Answer, newAgent, startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import { createGrants } from '../../../test/support/scenarios/resources/grants.ts';

const t = await startApp();
const { register, grant, removeGrant, remove } = createGrants(t);
const { createDelegation, exchange } = createDelegationClient(t);

interface Client {
  readonly agentId: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const credentials = ({ clientId, clientSecret }: Client) => ({
  grant_type: 'client_credentials',
  client_id: clientId,
  client_secret: clientSecret,
});
const ask = (client: Client, resource?: string, scope?: string): Promise<Answer> =>
  t.askToken({
    ...credentials(client),
    ...(resource !== undefined && { resource }),
    ...(scope !== undefined && { scope }),
  });
const issued = async (client: Client, resource: string, scope?: string): Promise<string> => {
  const { status, json, text } = await ask(client, resource, scope);
  assert.equal(status, 200, text);
  return json.access_token;
};
const introspect = async (token: string, as?: string) =>
  (await t.form('/api/v1/token/introspect', { token }, as ?? (await t.token()))).json;
const isActive = async (token: string): Promise<boolean> => (await introspect(token)).active;
const assertRefused = ({ status, json }: Answer, error: string, code = 400) =>
  assert.deepEqual([status, json.error], [code, error], json.error_description);
const refusalReason = async (agentId: string): Promise<unknown> => {
  const rows = await t.sql<{ metadata: { reason: string } }>(
    `select metadata from audit_events
     where action = 'token.refused' and agent_id = $1 order by occurred_at desc, event_id desc limit 1`,
    [agentId],
  );
  return rows[0]?.metadata.reason;
};

/** An agent with a grant for a resource. */
async function granted(scopes: readonly string[] = ['read', 'write'], changes = {}) {
  const agent = await t.agent();
  const resource = await register(changes);
  await grant(agent.agentId, resource, scopes);
  // What a change has invalidated is cached again a minute later.
  t.clock.advance(61_000);
  return { agent, resource, identifier: resource.identifier };
}

describe('POST /token with a registered resource', () => {
  it('200 with the audience, the granted scopes, the lifetime and the chosen claims', async () => {
    const claims = ['agentType', 'capabilities', 'owner', 'deploymentEnv', 'version'];
    const { agent, identifier } = await granted(undefined, { tokenLifetimeSeconds: 120, claims });
    const { json } = await ask(agent, identifier);
    assert.deepEqual([json.scope, json.expires_in, json.token_type], ['read write', 120, 'Bearer']);
    const {
      iat = 0,
      exp = 0,
      jti,
      iss,
      organization_id,
      credential_id,
      epoch,
      ...rest
    } = decodeJwt(json.access_token);
    assert.equal(exp - iat, 120);
    assert.equal(epoch, 0);
    assert.equal(typeof credential_id, 'string');
    assert.deepEqual(rest, {
      aud: identifier,
      sub: agent.agentId,
      client_id: agent.agentId,
      scope: 'read write',
      agent_type: 'screener',
      capabilities: ['resume:read'],
      owner: 'talent-team',
      deployment_env: 'production',
      agent_version: '1.0.0',
    });
  });
  it('200 with the requested scopes only, each once, and no claim that was not chosen', async () => {
    const { agent, identifier } = await granted();
    const { json } = await ask(agent, identifier, 'write write');
    assert.equal(json.scope, 'write');
    assert.equal(decodeJwt(json.access_token).agent_type, undefined);
  });
  it('200 for a client of a batch in which others ask for our own API', async () => {
    const { agent, identifier } = await granted();
    const other = await t.agent();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        n % 2 ? ask(agent, identifier) : t.askToken(credentials(n % 4 ? other : agent)),
      ),
    );
    for (const [n, { status, json }] of answers.entries()) {
      assert.equal(status, 200);
      const { aud, scope } = decodeJwt(json.access_token) as { aud: string; scope: string };
      assert.equal(aud, n % 2 ? identifier : 'http://countersign.test');
      assert.equal(scope === 'read write', n % 2 === 1);
    }
  });
  it('400 invalid_target without a grant, or for a deleted resource', async () => {
    const { agent, resource, identifier } = await granted();
    const other = await t.agent();
    for (const scope of [undefined, 'read', 'unknown'])
      assertRefused(await ask(other, identifier, scope), 'invalid_target');
    assert.equal(await refusalReason(other.agentId), 'no grant for the API');
    await remove(resource);
    assertRefused(await ask(agent, identifier), 'invalid_target');
    assert.equal(await refusalReason(agent.agentId), 'the API was deleted');
  });
  it("400 invalid_scope for a scope outside the grant, and for our own API's scopes", async () => {
    const { agent, identifier } = await granted();
    for (const scope of ['delete', 'read delete', 'agents:read', 'constructor', '__proto__'])
      assertRefused(await ask(agent, identifier, scope), 'invalid_scope');
    assert.equal(await refusalReason(agent.agentId), 'scope not allowed');
  });
  it('400 invalid_target for more than one resource; the spec’s word for our own API twice', async () => {
    const { agent, identifier } = await granted();
    const askBoth = (...resources: string[]) =>
      t.call('POST', '/api/v1/token', {
        payload: new URLSearchParams([
          ...Object.entries(credentials(agent)),
          ...resources.map((resource) => ['resource', resource] as [string, string]),
        ]).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
    const ours = 'http://countersign.test';
    assertRefused(await askBoth(identifier, 'https://two.example/'), 'invalid_target');
    assertRefused(await askBoth(identifier, identifier), 'invalid_target');
    assertRefused(await askBoth(ours, identifier), 'invalid_target');
    assertRefused(await askBoth(ours, ours), 'unsupported_grant_type');
  });
  it('401 at our own API, /delegations and /oidc/id-token', async () => {
    const { agent, identifier } = await granted();
    const token = await issued(agent, identifier);
    assert.equal((await t.call('GET', '/api/v1/agents', { token })).status, 401);
    const payload = { delegateeId: agent.agentId, scopes: ['read'] };
    assert.equal((await t.call('POST', '/api/v1/delegations', { token, payload })).status, 401);
    assert.equal((await t.form('/api/v1/oidc/id-token', { audience: 'x' }, token)).status, 401);
  });
  it('200 with the same number of queries as for our own API', async () => {
    const { agent, identifier } = await granted();
    const queries = async () => {
      const text = await t.app.metrics.text();
      const counts = text.matchAll(
        /^service_db_query_duration_seconds_count\{operation="(tokens\.[^"]+)"\} (\d+)/gm,
      );
      return new Map(Array.from(counts, ([, name = '', count]) => [name, Number(count)]));
    };
    const during = async (work: () => Promise<unknown>) => {
      const before = await queries();
      await work();
      return [...(await queries())]
        .map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const)
        .filter(([, count]) => count > 0);
    };
    await issued(agent, identifier);
    const own = await during(() => t.token(undefined, agent));
    const ofResource = await during(() => issued(agent, identifier));
    assert.deepEqual(own, [['tokens.clients', 1]]);
    assert.deepEqual(ofResource, [['tokens.clientsForResources', 1]]);
  });
  it('counts its tokens under the scope `resource`, and records audience and scope', async () => {
    const count = async () =>
      Number(
        /^service_tokens_issued_total\{scope="resource"\} (\d+)/m.exec(await t.app.metrics.text())?.[1] ?? 0,
      );
    const before = await count();
    const { agent, identifier } = await granted();
    const { jti } = decodeJwt(await issued(agent, identifier));
    assert.equal(await count(), before + 1);
    const [row] = await t.sql<{ metadata: Record<string, unknown> }>(
      `select metadata from audit_events where action = 'token.issued' and metadata ->> 'tokenId' = $1`,
      [jti],
    );
    assert.deepEqual([row?.metadata.audience, row?.metadata.scope], [identifier, 'read write']);
  });
});

describe('a token of a resource at introspection', () => {
  it('200 with its own scopes, audience, issuer, id and organization', async () => {
    const { agent, identifier } = await granted();
    const token = await issued(agent, identifier);
    const { jti, organization_id, iat, exp } = decodeJwt(token);
    assert.deepEqual(await introspect(token), {
      active: true,
      sub: agent.agentId,
      client_id: agent.agentId,
      scope: 'read write',
      token_type: 'Bearer',
      iat,
      exp,
      aud: identifier,
      iss: 'http://countersign.test',
      jti,
      organization_id,
    });
  });
  it('200 for the organization of the agent and that of the resource, inactive for others', async () => {
    const organization = async () => {
      const payload = { name: 'Elsewhere', slug: `elsewhere-${crypto.randomUUID()}` };
      const { json } = await t.call('POST', '/api/v1/organizations', { token: await t.token(), payload });
      const agent = await t.agent({ organization_id: json.organizationId });
      return { organizationId: json.organizationId as string, agent, token: await t.token(undefined, agent) };
    };
    const [owner, home, other] = [await organization(), await organization(), await organization()];
    const resource = await register({ organizationId: owner.organizationId });
    await grant(home.agent.agentId, resource, ['read']);
    const token = await issued(home.agent, resource.identifier);
    for (const [as, active] of [
      [owner.token, true],
      [home.token, true],
      [other.token, false],
    ] as const)
      assert.equal((await introspect(token, as)).active, active);
    const revoke = await t.form('/api/v1/token/revoke', { token }, owner.token);
    assert.equal(revoke.status, 403, 'the owner of the resource cannot revoke the token');
  });

  const endings = {
    'its grant is removed': async ({ agent, resource }) => removeGrant(agent.agentId, resource),
    'its grant loses one of its scopes': async ({ agent, resource }) =>
      grant(agent.agentId, resource, ['read']),
    'its resource is deleted': async ({ resource }) => remove(resource),
  } satisfies Record<string, (of: Awaited<ReturnType<typeof granted>>) => Promise<unknown>>;
  for (const [what, end] of Object.entries(endings)) {
    it(`200 {active:false} at once when ${what}, and a minute later`, async () => {
      const of = await granted();
      const token = await issued(of.agent, of.identifier);
      for (let n = 0; n < 3; n++) assert.equal(await isActive(token), true);
      await end(of);
      assert.deepEqual(await introspect(token), { active: false });
      t.clock.advance(61_000);
      assert.deepEqual(await introspect(token), { active: false });
      assert.deepEqual(await introspect(token), { active: false });
    });
  }
  it('200 active when another scope is removed or added', async () => {
    const { agent, resource, identifier } = await granted(['read', 'write']);
    const token = await issued(agent, identifier, 'read');
    assert.equal(await isActive(token), true);
    await grant(agent.agentId, resource, ['read']);
    assert.equal(await isActive(token), true);
    await grant(agent.agentId, resource, ['read', 'delete']);
    assert.equal(await isActive(token), true);
  });
  it('200 {active:false} still when the scope is granted again, while a new token is active', async () => {
    const { agent, resource, identifier } = await granted();
    const token = await issued(agent, identifier);
    assert.equal(await isActive(token), true);
    await grant(agent.agentId, resource, ['read']);
    await grant(agent.agentId, resource, ['read', 'write']);
    const next = await issued(agent, identifier);
    assert.deepEqual([await isActive(token), await isActive(next)], [false, true]);
    await removeGrant(agent.agentId, resource);
    await grant(agent.agentId, resource, ['read', 'write']);
    assert.deepEqual([await isActive(next), await isActive(await issued(agent, identifier))], [false, true]);
  });
  it('200 active for a token issued in the millisecond of the grant, or by a node whose clock is behind', async () => {
    const { agent, resource, identifier } = await granted();
    await t.sql('update resource_grants set scopes = $2 where resource_id = $1', [
      resource.resourceId,
      JSON.stringify({ read: new Date(t.clock.now() + 5_000).toISOString() }),
    ]);
    assert.equal(await isActive(await issued(agent, identifier)), true);
  });
  it('200 {active:false} for a token of an audience that is registered later', async () => {
    const agent = await t.agent();
    const identifier = `https://later-${crypto.randomUUID()}.example.com`;
    const token = await issued(agent, identifier);
    for (let n = 0; n < 2; n++) assert.equal(await isActive(token), true);
    const resource = await register({ identifier });
    assert.equal(await isActive(token), false);
    await grant(agent.agentId, resource, ['read']);
    assert.equal(await isActive(token), false);
  });
  it('200 {active:false} for a token of a loopback audience that another organization registers later', async () => {
    const payload = { name: 'Other', slug: `other-${crypto.randomUUID()}` };
    const operator = await t.token();
    const { organizationId } = (await t.call('POST', '/api/v1/organizations', { token: operator, payload }))
      .json;
    const agent = await t.agent({ organization_id: organizationId });
    const identifier = `http://localhost:8080/${crypto.randomUUID()}`;
    const token = await issued(agent, identifier);
    for (let n = 0; n < 2; n++) assert.equal(await isActive(token), true);
    await register({ identifier });
    assert.equal(await isActive(token), false);
  });
  it('200 {active:false} when its agent is suspended', async () => {
    const { agent, identifier } = await granted();
    const token = await issued(agent, identifier);
    const path = `/api/v1/agents/${agent.agentId}`;
    await t.call('PATCH', path, { token: await t.token(), payload: { status: 'suspended' } });
    assert.equal(await isActive(token), false);
  });
});

describe('UNREGISTERED_RESOURCES', () => {
  const audience = 'https://unregistered.example.com/';
  it('400 invalid_target with refuse and with MULTI_TENANT=true; 200 with allow', async () => {
    for (const [environment, status] of [
      [{ UNREGISTERED_RESOURCES: 'refuse' }, 400],
      [{ MULTI_TENANT: 'true' }, 400],
      [{ MULTI_TENANT: 'true', UNREGISTERED_RESOURCES: 'allow' }, 200],
    ] as const) {
      const other = await startApp(environment);
      const { clientId, clientSecret } = other.operator;
      const fields = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret };
      const { status: answered, json } = await other.askToken({ ...fields, resource: audience });
      assert.deepEqual([answered, json.error], [status, status === 400 ? 'invalid_target' : undefined]);
      const ours = await other.askToken({ ...fields, resource: 'http://countersign.test/' });
      assert.equal(ours.status, 200, 'our own API is no resource');
    }
  });
});

describe('a delegated token of a resource', () => {
  /** A chain for the resource, as the delegations route stores it. */
  async function delegated(scopes = ['read', 'write']) {
    const { agent: subject, resource, identifier } = await granted(['read', 'write'], { claims: ['owner'] });
    const actor = await t.agent(newAgent({ owner: 'actors' }));
    const chain = await createDelegation(await t.token(undefined, subject), actor, ['agents:read']);
    await t.sql('update delegations set scopes = $2, resource = $3 where chain_id = $1', [
      chain.chainId,
      scopes,
      [identifier],
    ]);
    return { subject, actor, resource, identifier, token: chain.delegationToken };
  }
  it('200 within the grant of the subject, with claims of the actor', async () => {
    const { subject, actor, identifier, token } = await delegated(['read', 'delete']);
    const { status, json, text } = await exchange(actor, token);
    assert.equal(status, 200, text);
    const claims = decodeJwt(json.access_token);
    assert.deepEqual(
      [claims.aud, claims.sub, claims.client_id, claims.scope, claims.owner],
      [identifier, subject.agentId, actor.agentId, 'read', 'actors'],
    );
    assert.equal((await introspect(json.access_token)).scope, 'read');
  });
  it('400 invalid_scope for what the chain or the subject lacks; invalid_target without a grant', async () => {
    const { subject, actor, resource, token } = await delegated(['read', 'delete']);
    for (const scope of ['write', 'delete', 'read delete', 'agents:read'])
      assertRefused(await exchange(actor, token, { scope }), 'invalid_scope');
    await grant(subject.agentId, resource, ['write']);
    assertRefused(await exchange(actor, token), 'invalid_scope');
    await removeGrant(subject.agentId, resource);
    assertRefused(await exchange(actor, token), 'invalid_target');
  });
  it("200 {active:false} at once when the subject's grant is narrowed; the actor's does not count", async () => {
    const { subject, actor, resource, token } = await delegated();
    const { access_token } = (await exchange(actor, token)).json;
    assert.equal(await isActive(access_token), true);
    await grant(actor.agentId, resource, ['delete']);
    await removeGrant(actor.agentId, resource);
    assert.equal(await isActive(access_token), true);
    await grant(subject.agentId, resource, ['read']);
    assert.equal(await isActive(access_token), false);
  });
});

describe('requests of one client at once', () => {
  it('200 with the scopes of its own audience for each; 400 invalid_target where there is no grant', async () => {
    const agent = await t.agent();
    const [first, second, victim] = [
      await register({ scopes: ['alpha'] }),
      await register({ scopes: ['beta'] }),
      await register({ scopes: ['beta'] }),
    ];
    await grant(agent.agentId, first, ['alpha']);
    await grant(agent.agentId, second, ['beta']);
    await ask(agent, first.identifier);
    const asked = Array.from({ length: 10 }, () => [first, victim, second, undefined]).flat();
    const answers = await Promise.all(asked.map((resource) => ask(agent, resource?.identifier)));
    const seen = answers.map(({ json }) => json.error ?? [decodeJwt(json.access_token).aud, json.scope]);
    const own = answers[3]?.json.scope;
    assert.deepEqual(
      seen,
      asked.map((resource) => {
        if (resource === victim) return 'invalid_target';
        if (resource === undefined) return ['http://countersign.test', own];
        return [resource.identifier, resource.scopes.join(' ')];
      }),
    );
  });
});

describe('other spellings of a registered identifier', () => {
  it('400 invalid_target, though audiences that are not registered are allowed', async () => {
    const { agent, identifier } = await granted();
    const { host, pathname } = new URL(identifier);
    for (const spelling of [
      `${identifier}/`,
      `https://${host.toUpperCase()}${pathname}`,
      `https://${host}:443${pathname}`,
      `https://${host}.${pathname}`,
      `https://${host}/x/..${pathname}`,
      `${identifier}?`,
    ])
      assertRefused(await ask(agent, spelling), 'invalid_target');
    const { aud, scope } = decodeJwt(await issued(agent, `${identifier}/other`));
    assert.equal(aud, `${identifier}/other`);
    assert.doesNotMatch(String(scope), /(^| )(read|write)( |$)/);
  });
});

describe('a resource whose owner is suspended or deleted', () => {
  it('400 invalid_target and inactive at introspection for agents of other organizations, until it is active', async () => {
    const operator = await t.token();
    const { json: organization } = await t.call('POST', '/api/v1/organizations', {
      token: operator,
      payload: { name: 'Owner', slug: `owner-${Date.now()}` },
    });
    const { organizationId } = organization;
    const resource = await register({ organizationId });
    const agent = await t.agent();
    await grant(agent.agentId, resource, ['read']);
    const token = (await ask(agent, resource.identifier)).json.access_token;
    const isActive = async () => (await t.form('/api/v1/token/introspect', { token }, operator)).json.active;
    const set = (status: string) =>
      t.call('PATCH', `/api/v1/organizations/${organizationId}`, { token: operator, payload: { status } });
    assert.equal(await isActive(), true);
    await set('suspended');
    assert.equal(await isActive(), false);
    assertRefused(await ask(agent, resource.identifier), 'invalid_target');
    assert.equal(await refusalReason(agent.agentId), 'the organization that owns the API is not active');
    await set('active');
    assert.equal(await isActive(), true);
    assert.equal((await ask(agent, resource.identifier)).status, 200);
    await t.call('DELETE', `/api/v1/organizations/${organizationId}`, { token: operator });
    assert.equal(await isActive(), false);
    assertRefused(await ask(agent, resource.identifier), 'invalid_target');
  });
});
