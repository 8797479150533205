/** The overview in a browser: the guide for the start, charts and their tables, lists that need attention, the badge of the audit log. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import {
  assertAccessible,
  assertFits,
  assertNoSidewaysScroll,
  browserTest,
  goTo,
  startConsole,
} from '../support/console.ts';
import { execute, newAgent } from '../support/harness.ts';
import { insertApprovalRow } from '../support/scenarios/approval-rows.ts';
import { createTenant, requestToken, type Tenant } from '../support/scenarios/plans.ts';

const server = await startConsole({ MULTI_TENANT: 'true' });
const hostile = '<img src=x onerror="document.title=\'owned\'">\u202Egnp.exe';
const longName = 'x'.repeat(64);

const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
/** One of the figures at the head of the page, a link. */
const figure = (page: Page, label: string) =>
  section(page, 'Headline figures').getByRole('link', { name: new RegExp(`^${label} `) });
const post = async (url: string, payload: object = {}) => {
  const answer = await server.call('POST', url, { token: await server.token(), payload });
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
};

const registerAgent = async (tenant: Tenant, changes: Record<string, unknown> = {}): Promise<string> =>
  (await post('/api/v1/agents', newAgent({ organization_id: tenant.organizationId, ...changes }))).agentId;

const createCredential = (agentId: string, body: object = {}) =>
  post(`/api/v1/agents/${agentId}/credentials`, body);

const inDays = (days: number) => new Date(server.clock.now() + days * 86_400_000).toISOString();

/** A webhook with failed deliveries. */
async function createFailingWebhook({ organizationId }: Tenant, name: string): Promise<void> {
  const id = randomUUID();
  await server.sql(
    `insert into webhook_subscriptions
       (subscription_id, organization_id, name, url, events, active, halted, signing_secret, created_at, updated_at)
     values ($1, $2, $3, 'https://hooks.example.com/' || $4, '{agent.created}', false, true, 'x', now(), now())`,
    [id, organizationId, name, encodeURIComponent(name).slice(0, 300)],
  );
  await server.sql(
    `insert into webhook_deliveries
       (delivery_id, subscription_id, event_id, event_type, payload, status, attempts, created_at, updated_at)
     select gen_random_uuid(), $1, gen_random_uuid(), 'agent.created', '{}', status, '[{"error": "connection refused"}]', now(), now()
     from unnest(array['failed', 'failed', 'dead_letter']) as status`,
    [id],
  );
}

/** Tokens, refusals, an expiring credential and a failing webhook. */
async function createBusyTenant(names: { credential: string; webhook: string }): Promise<Tenant> {
  const tenant = await createTenant(server, { planTier: 'enterprise' });
  const agentId = await registerAgent(tenant);
  const credential = await createCredential(agentId, { name: names.credential, expiresAt: inDays(3) });
  for (let round = 0; round < 3; round += 1) await requestToken(server, credential);
  await requestToken(server, { clientId: agentId, clientSecret: 'cs_wrong' });
  await server.call('GET', '/api/v1/agents', { token: 'no-token' });
  await createFailingWebhook(tenant, names.webhook);
  const asked = server.clock.now() - 600_000;
  const approval = { organizationId: tenant.organizationId, agentId, createdAt: asked };
  for (const status of ['pending', 'pending'] as const)
    await insertApprovalRow(server.sql, { ...approval, status });
  const denied = {
    ...approval,
    status: 'denied',
    decidedBy: randomUUID(),
    decidedAt: asked + 90_000,
  } as const;
  await insertApprovalRow(server.sql, denied);
  return tenant;
}

let busy: Promise<Tenant> | undefined;
const busyTenant = () => (busy ??= createBusyTenant({ credential: 'nightly', webhook: 'orders' }));

const overviewOf = async (tenant: Tenant) =>
  (await server.call('GET', '/api/v1/overview', { token: tenant.token })).json;

/** The cells of a table, row by row. */
const cellsOf = async (page: Page, label: string): Promise<string[][]> => {
  const rows = page.getByRole('table', { name: label }).getByRole('row');
  const texts = await Promise.all((await rows.all()).map((row) => row.getByRole('cell').allInnerTexts()));
  return texts.slice(1);
};

browserTest(
  'a new organization: the three steps tick themselves off; agents that write; a changed log',
  async (t) => {
    const tenant = await createTenant(server);
    const page = await server.open(t, '/', { as: tenant });
    const guide = section(page, 'Start');
    const step = (name: string) => guide.getByRole('listitem').filter({ hasText: name });
    await guide.getByRole('heading', { name: 'Start in three steps' }).waitFor();
    await guide.getByRole('link', { name: 'Register an agent' }).waitFor();
    await page.getByText('No tokens in the last 60 minutes').waitFor({ state: 'detached' });
    assert.equal(await guide.getByText('(done)').count(), 0);

    const agentId = await registerAgent(tenant, {
      email: 'reader@talent.example',
      allowedScopes: ['audit:read'],
    });
    await step('Register an agent').getByText('(done)').waitFor();
    const link = guide.getByRole('link', { name: 'Create a credential' });
    assert.equal(await link.getAttribute('href'), `/console/agents/${agentId}?tab=credentials`);

    const credential = await createCredential(agentId);
    await step('Create a credential').getByText('(done)').waitFor();
    await guide.getByText(`client_id=${agentId}`).waitFor();
    await guide.getByRole('button', { name: 'Copy command' }).waitFor();
    await assertAccessible(page);

    await requestToken(server, credential);
    await guide.getByRole('heading', { name: 'Your first agent has its first token' }).waitFor();
    assert.equal(await guide.getByText('(done)').count(), 3);
    const next = guide.getByRole('link', { name: 'Verify the audit log' });
    assert.equal(await next.getAttribute('href'), '/console/audit');
    await guide.getByRole('button', { name: 'Close' }).click();
    await guide.waitFor({ state: 'detached' });

    const writer = await registerAgent(tenant, {
      email: 'writer@talent.example',
      allowedScopes: ['agents:read', 'webhooks:write'],
    });
    await page.reload();
    await section(page, 'Tokens per minute').waitFor();
    assert.equal(await guide.count(), 0);
    const label = 'Agents with writing scopes';
    await page.getByRole('table', { name: label }).waitFor();
    const cells = await cellsOf(page, label);
    assert.deepEqual(
      cells.find(([email]) => email === 'writer@talent.example'),
      ['writer@talent.example', 'webhooks:write'],
    );
    assert.ok(!cells.flat().includes('reader@talent.example'));
    await section(page, label).getByRole('link', { name: 'writer@talent.example' }).click();
    await page.waitForURL(new RegExp(`/console/agents/${writer}\\?tab=access$`));

    await server.sql(
      "update agents set allowed_scopes = '{agents:read,audit:read}' where organization_id = $1",
      [tenant.organizationId],
    );
    await execute(
      server.databaseUrl,
      `set session_replication_role = replica;
     update audit_events set user_agent = 'edited' where organization_id = '${tenant.organizationId}'`,
    );
    for (let round = 0; round < 3; round += 1) await server.app.audit.watch();
    await page.goto('/console');
    await page.getByText('No agent can change things here').waitFor();
    assert.equal(await section(page, label).count(), 0);
    await figure(page, 'Audit log').getByText('Not intact').waitFor();
    await assertAccessible(page);
  },
);

browserTest(
  'with agents:read alone: says which scopes are missing, and the guide asks from time to time',
  async (t) => {
    const tenant = await createTenant(server);
    const reader = await server.agent({
      organization_id: tenant.organizationId,
      allowedScopes: ['agents:read'],
    });
    await server.sql('delete from token_months where organization_id = $1', [tenant.organizationId]);
    const page = await server.open(t, '/', { as: reader });
    await page.getByText('need the scope audit:read').waitFor();
    await page.getByText('need the scope webhooks:read').waitFor();
    const guide = section(page, 'Start');
    await guide.getByRole('button', { name: 'Copy command' }).waitFor();
    // A forgotten tab asks for nothing, so that its session ends.
    await page.clock.install();
    await page.reload();
    await guide.getByRole('button', { name: 'Copy command' }).waitFor();
    await page.clock.pauseAt(Date.now() + 600_000);
    await page.clock.runFor(11 * 60_000);
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.clock.runFor(5 * 60_000);
    assert.deepEqual(requests, []);
    await page.clock.resume();
    await page.mouse.move(10, 10);
    await requestToken(server, tenant);
    await guide.getByRole('heading', { name: 'Your first agent has its first token' }).waitFor();
  },
);

browserTest('the guide and a burst of events: the page loads at most every five seconds', async (t) => {
  const tenant = await createTenant(server);
  const page = await server.open(t, '/', { as: tenant });
  await section(page, 'Start').waitFor();
  await page.getByRole('button', { name: 'Live: about live updates' }).waitFor();
  const before = await overviewOf(tenant);
  let requests = 0;
  // The step stays undone, so that each event concerns the guide.
  await page.route('**/console/api/v1/overview?*', async (route) => {
    requests += 1;
    await route.fulfill({ json: before });
  });
  const started = Date.now();
  for (let count = 0; count < 12; count += 1) await registerAgent(tenant);
  await page.waitForTimeout(2_000);
  // One of the guide and one of the stream in five seconds.
  const most = 2 * Math.ceil((Date.now() - started) / 5_000);
  assert.ok(requests >= 1 && requests <= most, `${requests} requests, at most ${most}`);
});

browserTest(
  'a busy organization: the figures of the API, at 360 and 1440 px, and where they lead',
  async (t) => {
    const tenant = await busyTenant();
    await server.app.audit.watch();
    const page = await server.open(t, '/', { as: tenant, width: 1440 });
    await page.getByRole('img', { name: 'Tokens per minute, chart' }).waitFor();
    await assertAccessible(page);
    await assertNoSidewaysScroll(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertNoSidewaysScroll(page);
    for (const control of await page.getByText('Table', { exact: true }).all()) await control.click();
    await page.getByRole('table', { name: 'Tokens per minute' }).waitFor();
    await assertAccessible(page);
    await assertNoSidewaysScroll(page);
    await page.setViewportSize({ width: 1280, height: 800 });

    const overview = await overviewOf(tenant);
    const minutes: { minute: string; issued: number; refused: number }[] = overview.tokens.data;
    const shown = await cellsOf(page, 'Tokens per minute');
    assert.equal(shown.length, 60);
    const busy = minutes.filter(({ issued, refused }) => issued + refused > 0);
    assert.deepEqual(
      shown.filter(([, issued, refused]) => issued !== '0' || refused !== '0'),
      busy.map(({ minute, issued, refused }) => [minute.slice(11, 16), String(issued), String(refused)]),
    );
    // Each bar has its label and its number.
    const bars = section(page, 'Refusals by reason').getByRole('listitem');
    const refusals = (await bars.allInnerTexts()).map((text) => text.split('\n'));
    assert.deepEqual(
      refusals.map((lines) => Number(lines.at(-1))),
      overview.refusals.data.map(({ count }: { count: number }) => count),
    );
    assert.match(refusals[0]?.[0] ?? '', /^Token: /);

    const headline = await section(page, 'Headline figures').getByRole('link').allInnerTexts();
    assert.deepEqual(
      headline.map((text) => text.split('\n').slice(0, 2)),
      [
        ['Agents', String(overview.agents.active)],
        ['Tokens today', String(overview.tokensToday.issued)],
        ['Refusals', String(overview.refusals.total)],
        ['Waiting approvals', '2'],
        ['Audit log', 'Intact'],
      ],
    );

    const [credential] = await cellsOf(page, 'Expiring credentials');
    assert.equal(credential?.[1], 'nightly');
    assert.match(credential?.[2] ?? '', /in 2 days|in 3 days/);
    const [webhook] = await cellsOf(page, 'Failing deliveries');
    assert.match(webhook?.[0] ?? '', /orders/);
    assert.match(webhook?.[1] ?? '', /^2 failed\s+1 dead letter$/);
    assert.match(webhook?.[2] ?? '', /connection refused/);

    const approvals = figure(page, 'Waiting approvals');
    await approvals.getByText('decided in 90 s (median)').waitFor();
    await approvals.click();
    await page.waitForURL(/\/console\/approvals\?tab=organization&status=pending$/);
    await page.getByText('2 approvals', { exact: true }).first().waitFor();

    await goTo(page, '/');
    await bars.first().getByRole('button').click();
    await page.waitForURL(/\/console\/audit\?/);
    const refused = new URL(page.url()).searchParams;
    assert.deepEqual([refused.get('action'), refused.get('outcome')], ['token.refused', 'failure']);
    assert.ok(refused.get('from'));

    await goTo(page, '/');
    await figure(page, 'Audit log')
      .getByText(/checked/)
      .waitFor();
    await figure(page, 'Audit log').click();
    await page.waitForURL(/\/console\/audit$/);

    for (const [label, address] of [
      ['Agents', /\/console\/agents$/],
      ['Tokens today', /\/console\/usage$/],
      ['Refusals', /\/console\/audit\?outcome=failure&from=/],
    ] as const) {
      await goTo(page, '/');
      await figure(page, label).click();
      await page.waitForURL(address);
    }

    // A bar opens its minute.
    await goTo(page, '/');
    await section(page, 'Tokens per minute').locator('.recharts-bar-rectangle path').last().click();
    await page.waitForURL(/\/console\/audit\?/);
    const { searchParams } = new URL(page.url());
    assert.equal(searchParams.get('action'), 'token.*');
    const [from, to] = [searchParams.get('from') ?? '', searchParams.get('to') ?? ''];
    assert.equal(Date.parse(to) - Date.parse(from), 59_999);
  },
);

browserTest(
  'failed requests can be repeated; a cut answer says from when the events are counted',
  async (t) => {
    const tenant = await busyTenant();
    const page = await server.open(t, '/usage', { as: tenant });
    const answers = '**/console/api/v1/overview*';
    await page.route(answers, (route) =>
      route.fulfill({
        status: 500,
        headers: { 'x-request-id': 'req-overview' },
        json: { code: 'INTERNAL_SERVER_ERROR', message: 'Something failed.' },
      }),
    );
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    const alert = page.getByRole('alert');
    await alert.getByText('Something failed.').waitFor();
    await alert.getByText('req-overview').waitFor();
    await assertAccessible(page);
    await page.unroute(answers);

    // A lost connection is no error of the page, which goes on by itself.
    await page.route(answers, (route) => route.abort());
    await alert.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('No connection to the server').waitFor();
    assert.equal(await alert.count(), 0);

    const overview = await overviewOf(tenant);
    overview.tokens.truncatedBefore = '2030-01-31T12:00:00.000Z';
    overview.expiringCredentials.total = 1_000;
    await page.route(answers, (route) => route.fulfill({ json: overview }));
    await section(page, 'Expiring credentials').waitFor();
    assert.equal(await alert.count(), 0);
    await page.getByText('those since 2030-01-31 12:00:00 UTC').waitFor();
    await page.getByText('1,000 or more').waitFor();
  },
);

browserTest('no permission without agents:read', async (t) => {
  const tenant = await createTenant(server);
  const agent = await server.agent({ organization_id: tenant.organizationId, allowedScopes: ['audit:read'] });
  const page = await server.open(t, '/', { as: agent });
  await page.getByRole('heading', { name: 'You have no permission to see this' }).waitFor();
  await assertAccessible(page);
});

browserTest('nothing of another organization, also by the URL; hostile text is shown as text', async (t) => {
  const other = await busyTenant();
  const tenant = await createBusyTenant({ credential: longName, webhook: hostile });
  const page = await server.open(t, `/?organizationId=${other.organizationId}`, { as: tenant });
  const webhooks = section(page, 'Failing deliveries');
  await webhooks.getByText('<img src=x onerror=').first().waitFor();
  const text = await page.locator('body').innerText();
  assert.ok(!text.includes('nightly') && !text.includes('orders'), text);
  assert.ok((await webhooks.innerText()).includes('␣gnp.exe'));
  assert.equal(await page.locator('img').count(), 0);
  assert.match(await page.title(), /Overview/);
  await assertFits(page, [360, 1440]);
});

browserTest('the operator sees the controls of the instance that fail', async (t) => {
  const page = await server.open(t);
  const hints = page.getByRole('region', { name: 'Instance hints' });
  await hints.getByText('Webhook signing secrets are encrypted at rest').waitFor();
  // A development instance on a loopback address needs no TLS.
  assert.equal(await hints.getByText('TLS').count(), 0);
  await assertAccessible(page);
  await hints.getByRole('link', { name: 'All controls' }).click();
  await page.waitForURL(/\/console\/compliance$/);
  const admin = await server.open(t, '/', { as: await createTenant(server) });
  await section(admin, 'Start').waitFor();
  assert.equal(await admin.getByRole('region', { name: 'Instance hints' }).count(), 0);
});
