import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newAgent, startApp } from '../../../test/support/harness.ts';

const t = await startApp();
const operator = await t.token();

const { organizationId: otherHome } = await t.app.db.transaction((tx) =>
  t.app.organizations.register(
    tx,
    { requestId: 'test', ipAddress: '', userAgent: '', agentId: t.operator.agentId },
    { name: 'Other', slug: 'other', planTier: 'pro' },
  ),
);
const [ours, theirs] = [await t.agent(), await t.agent({ organization_id: otherHome })];
const [ourToken, theirToken] = [await t.token(undefined, ours), await t.token(undefined, theirs)];

const create = (changes: Record<string, unknown> = {}, token = operator) =>
  t.call('POST', '/api/v1/agents', { token, payload: newAgent(changes) });
const read = (agentId: string, token = operator) => t.call('GET', `/api/v1/agents/${agentId}`, { token });
const agentsRegistered = async () =>
  Number(
    /^service_agents_registered_total\{deployment_env="staging"\} (\d+)/m.exec(
      await t.app.metrics.text(),
    )?.[1] ?? 0,
  );

describe('POST /agents', () => {
  it('201 with the whole agent, active, as GET shows it', async () => {
    const before = await agentsRegistered();
    const wanted = newAgent({
      version: '2.10.0-rc.1+build.5',
      capabilities: ['resume:read', 'e-mail:*'],
      deploymentEnv: 'staging',
    });
    const { status, json, headers } = await t.call('POST', '/api/v1/agents', {
      token: operator,
      payload: wanted,
    });
    assert.equal(status, 201);
    const { agentId, createdAt } = json;
    assert.match(agentId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(json, {
      ...wanted,
      agentId,
      organizationId: t.operator.organizationId,
      displayName: null,
      labels: {},
      status: 'active',
      allowedScopes: json.allowedScopes,
      rateLimitPerMinute: null,
      redirectUris: [],
      publicClient: false,
      clientUri: null,
      notificationUri: null,
      dpopBoundAccessTokens: false,
      createdAt,
      updatedAt: createdAt,
    });
    assert.match(String(headers['content-type']), /^application\/json/);
    assert.deepEqual((await read(agentId)).json, json);
    assert.equal(await agentsRegistered(), before + 1);
  });

  const required = ['email', 'agentType', 'version', 'capabilities', 'owner', 'deploymentEnv'];
  const invalid: [string, unknown][] = [
    ...required.flatMap((field): [string, unknown][] =>
      [undefined, null, 7, {}].map((value) => [field, value]),
    ),
    ...['', 'no-at-sign', 'a@', '@b.example', 'a b@c.example', `${'a'.repeat(250)}@b.example`].map(
      (value): [string, unknown] => ['email', value],
    ),
    ...['robot', 'Screener', ''].map((value): [string, unknown] => ['agentType', value]),
    ...[
      '1',
      '1.0',
      'v1.0.0',
      '01.0.0',
      '1.0.0-',
      '1.0.0+',
      '1.0.0 ',
      'latest',
      `1.0.0-${'a'.repeat(70)}`,
    ].map((value): [string, unknown] => ['version', value]),
    ...[[], 'a:b'].map((value): [string, unknown] => ['capabilities', value]),
    ...['read', ':read', 'resume:', 'a:b:c', 'a b:c', 'a:b\n', '', 7, null].map(
      (value): [string, unknown] => ['capabilities[0]', [value]],
    ),
    ['owner', ''],
    ['owner', 'x'.repeat(129)],
    ['deploymentEnv', 'test'],
    ['organization_id', 'mine'],
    ['organization_id', `urn:uuid:${t.operator.organizationId}`],
    ['allowedScopes', 'agents:read'],
    ['allowedScopes[0]', ['make:coffee']],
    ...['agentId', 'status', 'createdAt', 'updatedAt', 'organizationId', 'colour'].map(
      (field): [string, unknown] => [field, 'active'],
    ),
  ];
  for (const [field, value] of invalid) {
    it(`400 VALIDATION_ERROR when ${field} is ${JSON.stringify(value)?.slice(0, 40) ?? 'missing'}`, async () => {
      const { status, json } = await create({ [field.replace('[0]', '')]: value });
      assert.equal(status, 400);
      assert.equal(json.code, 'VALIDATION_ERROR');
      const [problem, ...others] = json.details.fields;
      assert.deepEqual([problem.in, problem.field, others], ['body', field, []]);
    });
  }
  it('400 VALIDATION_ERROR names every field at once', async () => {
    const { json } = await t.call('POST', '/api/v1/agents', { token: operator, payload: { colour: 'blue' } });
    const named = json.details.fields.map(({ field }: { field: string }) => field);
    assert.deepEqual(named.sort(), [...required, 'colour'].sort());
  });
  it('201 at the limits: 1 and 128 characters of owner, counted as code points', async () => {
    for (const owner of ['x', 'x'.repeat(128), '😀'.repeat(128)])
      assert.equal((await create({ owner })).json.owner, owner);
  });

  it('409 AGENT_ALREADY_EXISTS for the same e-mail, also in another case or another organization', async () => {
    const { email } = (await create({ email: `Mixed-${crypto.randomUUID()}@Example.com` })).json;
    assert.ok(email.startsWith('Mixed-'));
    for (const changes of [{}, { email: email.toUpperCase() }, { organization_id: otherHome }]) {
      const { status, json } = await create({ email, ...changes });
      assert.deepEqual([status, json.code], [409, 'AGENT_ALREADY_EXISTS']);
    }
    assert.equal((await create({ email: email.toLowerCase() }, theirToken)).status, 409);
  });
  it('201 for exactly one of 50 concurrent requests', async () => {
    const email = `race-${crypto.randomUUID()}@example.com`;
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => create({ email: i % 2 ? email : email.toUpperCase() })),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [201, ...Array.from({ length: 49 }, () => 409)]);
    const { agentId } = answers.find(({ status }) => status === 201)?.json ?? {};
    const events = await t.sql(
      "select agent_id from audit_events where action = 'agent.created' and agent_id = $1",
      [agentId],
    );
    assert.equal(events.length, 1);
    assert.equal((await t.sql('select from agents where lower(email) = $1', [email])).length, 1);
  });

  it('500 INTERNAL_SERVER_ERROR and nothing changed when the audit row cannot be written', async () => {
    const wanted = { email: `unlucky-${crypto.randomUUID()}@example.com`, deploymentEnv: 'staging' };
    const before = await agentsRegistered();
    await t.sql(
      "create function refuse() returns trigger language plpgsql as $$ begin raise 'disk on fire'; end $$",
    );
    await t.sql('create trigger refuse before insert on audit_events for each row execute function refuse()');
    try {
      const { status, json, text } = await create(wanted);
      assert.deepEqual([status, json.code], [500, 'INTERNAL_SERVER_ERROR']);
      assert.doesNotMatch(text, /fire/);
    } finally {
      await t.sql('drop function refuse cascade');
    }
    assert.equal((await t.sql('select from agents where email = $1', [wanted.email])).length, 0);
    assert.equal(await agentsRegistered(), before);
    assert.equal((await create(wanted)).status, 201);
  });
});

describe('allowedScopes', () => {
  const organizationScopes = 'agents:read agents:write tokens:read audit:read webhooks:read webhooks:write';
  const defaults: [string | undefined, string][] = [
    [undefined, organizationScopes],
    ['agents:write', 'agents:write'],
    ['agents:write admin:orgs', 'agents:write'],
    ['audit:read agents:write', 'agents:write audit:read'],
  ];
  for (const [held, expected] of defaults) {
    it(`default to the organization scopes that the token (${held ?? 'every scope'}) holds`, async () => {
      const { json } = await create({}, await t.token(held));
      assert.deepEqual(json.allowedScopes, expected.split(' '));
    });
  }
  const grants: [string, string[], number][] = [
    ['agents:write', ['agents:write'], 201],
    ['agents:write', [], 201],
    ['agents:write', ['agents:read'], 403],
    ['agents:write', ['agents:write', 'admin:orgs'], 403],
    [organizationScopes, ['admin:orgs'], 403],
    [organizationScopes, organizationScopes.split(' '), 201],
    ['agents:write admin:orgs', ['admin:orgs', 'audit:read'], 201],
  ];
  for (const [held, allowedScopes, expected] of grants) {
    it(`${expected === 403 ? '403 FORBIDDEN' : expected} when ${held} grants ${allowedScopes.join(' ') || 'nothing'}`, async () => {
      const { status, json } = await create({ allowedScopes }, await t.token(held));
      assert.equal(status, expected);
      if (status === 403) return assert.equal(json.code, 'FORBIDDEN');
      assert.deepEqual(json.allowedScopes.sort(), allowedScopes.sort());
    });
  }
  it('a caller with agents:write only cannot create an agent with more, in any way', async () => {
    const narrow = await t.token('agents:write', ours);
    const { agentId } = (await create({}, narrow)).json;
    const credential = await t.call('POST', `/api/v1/agents/${agentId}/credentials`, { token: narrow });
    const { scope } = (
      await t.askToken({
        grant_type: 'client_credentials',
        client_id: agentId,
        client_secret: credential.json.clientSecret,
      })
    ).json;
    assert.equal(scope, 'agents:write');
  });
});

describe('organization_id', () => {
  it("201 in the caller's organization, with an id in either case; operators create agents in any organization", async () => {
    const home = t.operator.organizationId;
    for (const organization_id of [home, home.toUpperCase()])
      assert.equal((await create({ organization_id }, ourToken)).json.organizationId, home);
    assert.equal((await create({ organization_id: otherHome })).json.organizationId, otherHome);
    assert.equal((await create({}, theirToken)).json.organizationId, otherHome);
  });
  it('403 FORBIDDEN in another organization, whether it exists or not', async () => {
    const [foreign, missing] = [
      await create({ organization_id: otherHome }, ourToken),
      await create({ organization_id: crypto.randomUUID() }, ourToken),
    ];
    assert.deepEqual([foreign.status, foreign.json.code], [403, 'FORBIDDEN']);
    assert.match(foreign.json.message, /scope admin:orgs/);
    assert.deepEqual([missing.status, missing.json], [foreign.status, foreign.json]);
  });
  it('404 ORG_NOT_FOUND for operators when it does not exist or is deleted', async () => {
    const [{ organization_id } = {}] = await t.sql(
      `insert into organizations (organization_id, name, slug, plan_tier, status, created_at, updated_at)
       values (gen_random_uuid(), 'Gone', 'gone', 'free', 'deleted', now(), now()) returning organization_id`,
    );
    for (const id of [crypto.randomUUID(), organization_id]) {
      const { status, json } = await create({ organization_id: id });
      assert.deepEqual([status, json.code], [404, 'ORG_NOT_FOUND']);
    }
  });
  it('400 VALIDATION_ERROR when it is missing on a multi-tenant instance', async () => {
    const many = await startApp({ MULTI_TENANT: 'true' });
    const token = await many.token();
    const { status, json } = await many.call('POST', '/api/v1/agents', { token, payload: newAgent() });
    assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
    assert.equal(json.details.fields[0].field, 'organization_id');
    const payload = newAgent({ organization_id: many.operator.organizationId });
    assert.equal((await many.call('POST', '/api/v1/agents', { token, payload })).status, 201);
  });
});
