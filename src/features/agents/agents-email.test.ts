/** E-mail addresses: unique in the whole instance, or with many tenants within an organization. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/support/harness.ts';
import { dropGlobalEmailIndex } from './email-index-store.ts';

type App = Awaited<ReturnType<typeof startApp>>;

async function organization(t: App, slug: string): Promise<string> {
  const payload = { name: slug, slug, planTier: 'enterprise' };
  const { json, text, status } = await t.call('POST', '/api/v1/organizations', {
    token: await t.token(),
    payload,
  });
  assert.equal(status, 201, text);
  return json.organizationId;
}

const create = async (t: App, organizationId: string, email: string) =>
  t.call('POST', '/api/v1/agents', {
    token: await t.token(),
    payload: newAgent({ email, organization_id: organizationId }),
  });

describe('on a multi-tenant instance', () => {
  it('201 for an address of another organization, 409 AGENT_ALREADY_EXISTS within one, in any case', async () => {
    const t = await startApp({ MULTI_TENANT: 'true' });
    const [one, two] = [await organization(t, 'one'), await organization(t, 'two')];
    assert.equal((await create(t, one, 'bot@example.com')).status, 201);
    assert.equal((await create(t, two, 'BOT@example.com')).status, 201);
    const again = await create(t, two, 'Bot@Example.com');
    assert.deepEqual([again.status, again.json.code], [409, 'AGENT_ALREADY_EXISTS']);
  });

  it('200 by e-mail address finds the agent of the own organization only', async () => {
    const t = await startApp({ MULTI_TENANT: 'true' });
    const [one, two] = [await organization(t, 'one'), await organization(t, 'two')];
    await create(t, one, 'bot@example.com');
    const { agentId } = (await create(t, two, 'bot@example.com')).json;
    const reader = await t.agent({ organization_id: two, allowedScopes: ['agents:read'] });
    const { json } = await t.call('GET', '/api/v1/agents?email=bot%40example.com', {
      token: await t.token(undefined, reader),
    });
    assert.deepEqual(
      json.data.map((agent: { agentId: string }) => agent.agentId),
      [agentId],
    );
  });

  it('201 exactly once for 50 concurrent requests with one address', async () => {
    const t = await startApp({ MULTI_TENANT: 'true', RATE_LIMIT_PER_MINUTE: '1000' });
    const one = await organization(t, 'one');
    const answers = await Promise.all(Array.from({ length: 50 }, () => create(t, one, 'race@example.com')));
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    assert.equal(answers.filter(({ status }) => status === 409).length, 49);
  });

  it('keeps the index of earlier versions for an hour after an upgrade', async () => {
    const t = await startApp({ MULTI_TENANT: 'true' });
    const exists = async () =>
      (await t.sql<{ found: boolean }>("select to_regclass('agents_email') is not null as found"))[0]?.found;
    assert.equal(await exists(), false);
    // As after an upgrade: the database is older than the migration.
    await t.sql('create unique index agents_email on agents (lower(email))');
    await t.sql(
      "update schema_migrations set applied_at = applied_at - interval '30 days' where version = 1",
    );
    assert.equal(await dropGlobalEmailIndex(t.app.db, t.clock), false);
    assert.equal(await exists(), true);
    t.clock.advance(3_600_001);
    assert.equal(await dropGlobalEmailIndex(t.app.db, t.clock), true);
    assert.equal(await exists(), false);
  });
});

describe('on a single-tenant instance', () => {
  it('409 AGENT_ALREADY_EXISTS for an address of any organization; exactly one of 50 at once is created', async () => {
    const t = await startApp({ RATE_LIMIT_PER_MINUTE: '1000' });
    const homes = await Promise.all(['one', 'two', 'three'].map((slug) => organization(t, slug)));
    // Also where a multi-tenant instance has dropped it.
    await t.sql('drop index agents_email');
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        create(t, homes[index % 3] as string, index % 2 ? 'race@example.com' : 'Race@example.com'),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    assert.equal(answers.filter(({ status }) => status === 409).length, 49);
  });

  it('works on the tables of the previous version: its insert names the index', async () => {
    const t = await startApp();
    const [{ organization_id: home } = { organization_id: '' }] = await t.sql<{ organization_id: string }>(
      'select organization_id from organizations limit 1',
    );
    const insert = (email: string) =>
      t.sql(
        `insert into agents (agent_id, organization_id, email, agent_type, version, capabilities, owner, deployment_env, status,
           allowed_scopes, created_at, updated_at)
         values (gen_random_uuid(), $1, $2, 'custom', '1.0.0', '{a:b}', 'x', 'development', 'active', '{}', now(), now())
         on conflict ((lower(email))) do nothing returning agent_id`,
        [home, email],
      );
    assert.equal((await insert('old@example.com')).length, 1);
    assert.equal((await insert('OLD@example.com')).length, 0);
  });
});
