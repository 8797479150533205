/** Usage and plan in a browser: charts and their tables, grouping by agent, export, limits, upgrade and cancellation. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import {
  assertAccessible,
  assertNoSidewaysScroll,
  browserTest,
  contentOf,
  startConsole,
} from '../support/console.ts';
import { createTenant, type Tenant } from '../support/scenarios/plans.ts';

const server = await startConsole({ MULTI_TENANT: 'true', BILLING_ALLOW_EMBEDDED: 'true' });

const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

/** Usage of the last days, as a counter writes it. */
const addUsage = ({ organizationId, agentId }: Tenant, metric: string, daysAgo: number, quantity: number) =>
  server.sql(
    `insert into usage_days (organization_id, day, metric, agent_id, shard, quantity)
     values ($1, (now() at time zone 'UTC')::date - $2::int, $3, $4, 99, $5)`,
    [organizationId, daysAgo, metric, agentId, quantity],
  );

async function createAdmin(): Promise<Tenant> {
  const tenant = await createTenant(server);
  const { organizationId, agentId } = tenant;
  const { status, text } = await server.call('POST', `/api/v1/organizations/${organizationId}/members`, {
    token: await server.token(),
    payload: { agentId, role: 'admin' },
  });
  assert.equal(status, 201, text);
  return tenant;
}

const cellsOf = async (page: Page, label: string): Promise<string[][]> => {
  const rows = page.getByRole('table', { name: label }).getByRole('row');
  const texts = await Promise.all((await rows.all()).map((row) => row.getByRole('cell').allInnerTexts()));
  return texts.slice(1);
};

browserTest('by day: the table has the figures of the API; period and grouping are in the URL', async (t) => {
  const tenant = await createTenant(server, { planTier: 'pro' });
  await addUsage(tenant, 'webhook_deliveries', 2, 1_234);
  await addUsage(tenant, 'webhook_deliveries', 20, 7);
  const page = await server.open(t, '/usage', { as: tenant, width: 1440 });
  const deliveries = section(page, 'Webhook deliveries');
  await deliveries.getByRole('img', { name: 'Webhook deliveries, chart' }).waitFor();
  await assertAccessible(page);
  await assertNoSidewaysScroll(page);
  await deliveries.getByText('Table', { exact: true }).click();
  const shown = await cellsOf(page, 'Webhook deliveries');
  assert.equal(shown.length, 30);
  const { json } = await server.call('GET', '/api/v1/usage?metric=webhook_deliveries', {
    token: tenant.token,
  });
  assert.deepEqual(
    shown.filter(([, count]) => count !== '0'),
    json.data.map(({ date, quantity }: { date: string; quantity: number }) => [
      date,
      quantity.toLocaleString('en'),
    ]),
  );

  await page.getByText('7 days', { exact: true }).click();
  await page.waitForURL(/days=7/);
  assert.equal((await cellsOf(page, 'Webhook deliveries')).length, 7);
  await page.getByLabel('First day (UTC)').fill(json.data[0].date);
  await page.waitForURL(/from=/);
  await page.reload();
  await deliveries.getByText('Table', { exact: true }).click();
  const [first] = await cellsOf(page, 'Webhook deliveries');
  assert.deepEqual(first, [json.data[0].date, '7']);
});

browserTest('by agent: sums with names, of the own organization only; narrow; hostile names', async (t) => {
  const [tenant, other] = [await createTenant(server), await createTenant(server)];
  await addUsage(tenant, 'tokens_issued', 1, 40);
  await addUsage(tenant, 'tokens_issued', 2, 2);
  await addUsage(other, 'tokens_issued', 1, 99_999);
  const page = await server.open(t, '/usage?group=agent', { as: tenant, width: 360 });
  const table = page.getByRole('table', { name: 'Usage by agent' });
  await table.getByRole('link', { name: /@example\.com/ }).waitFor();
  const rows = await cellsOf(page, 'Usage by agent');
  assert.equal(rows.length, 1);
  assert.match(rows[0]?.[0] ?? '', /^agent-.*@example\.com$/);
  assert.equal(Number(rows[0]?.[2]), 43);
  await assertAccessible(page);
  await assertNoSidewaysScroll(page);

  const hostile = `<img src=x onerror=alert(1)>${'x'.repeat(10_000)}`;
  await page.route('**/console/api/v1/agents?*', (route) =>
    route.fulfill({
      json: { data: [{ agentId: tenant.agentId, email: hostile }], total: 1, page: 1, limit: 100 },
    }),
  );
  await page.reload();
  await table.getByText('<img src=x onerror=alert(1)>').waitFor();
  assert.equal(await page.locator('img').count(), 0);
  await assertNoSidewaysScroll(page);
});

browserTest('by agent: pages of the server, for any number of agents and days', async (t) => {
  const tenant = await createTenant(server, { planTier: 'pro' });
  await server.sql(
    `insert into usage_days (organization_id, day, metric, agent_id, shard, quantity)
     select $1, (now() at time zone 'UTC')::date - day, 'webhook_deliveries', agent, 99, 1
     from (select gen_random_uuid() as agent from generate_series(1, 520)) agents, generate_series(1, 20) day`,
    [tenant.organizationId],
  );
  const page = await server.open(t, '/usage?group=agent', { as: tenant });
  await page.getByText('521 agents with usage').first().waitFor();
  assert.equal((await cellsOf(page, 'Usage by agent')).length, 50);
  await page.goto('/console/usage?group=agent&page=11');
  await page
    .getByRole('table', { name: 'Usage by agent' })
    .getByRole('cell', { name: '20' })
    .first()
    .waitFor();
  assert.equal((await cellsOf(page, 'Usage by agent')).length, 21);
});

browserTest('exports the period as CSV and JSON lines', async (t) => {
  const tenant = await createTenant(server);
  await addUsage(tenant, 'webhook_deliveries', 3, 5);
  const page = await server.open(t, '/usage?days=7', { as: tenant });
  await page.getByRole('button', { name: 'Copy export as…' }).waitFor();
  for (const [button, pattern] of [
    ['Export CSV', /^date,agentId,metric,quantity\r\n/],
    ['Export JSONL', /^\{"date":/],
  ] as const) {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: button }).click(),
    ]);
    const text = (await contentOf(download)).toString();
    assert.match(text, pattern);
    assert.match(text, /webhook_deliveries/);
    assert.match(download.suggestedFilename(), /^usage-\d{4}-\d{2}-\d{2}-\d{4}-\d{2}-\d{2}\.(csv|jsonl)$/);
  }
});

browserTest('a new organization: limits as bars, and no figures yet', async (t) => {
  const tenant = await createTenant(server);
  const page = await server.open(t, '/usage', { as: tenant });
  const limits = section(page, 'Limits');
  await limits.getByText('1 of 25').waitFor();
  await limits.getByRole('progressbar', { name: 'Agents: 4 percent used' }).waitFor();
  assert.equal(await limits.getByText(/^Resets in/).count(), 3);
  await page.getByText('No webhook deliveries in this time').waitFor();
  await section(page, 'Plan').getByText('none', { exact: true }).waitFor();
});

browserTest('upgrade through the embedded checkout, portal, and cancellation', async (t) => {
  const tenant = await createAdmin();
  const page = await server.open(t, '/usage', { as: tenant });
  const plan = section(page, 'Plan');
  await plan.getByRole('button', { name: 'Upgrade to pro' }).click();
  const dialog = page.getByRole('dialog', { name: 'Upgrade to pro' });
  const limits = await dialog.getByRole('row').allInnerTexts();
  assert.ok(
    limits.some((row) => /Agents\s+25\s+1,000/.test(row)),
    limits.join('\n'),
  );
  await assertAccessible(page);
  await dialog.getByRole('button', { name: 'Continue to the checkout' }).click();
  const [checkout] = await Promise.all([
    page.context().waitForEvent('page'),
    dialog.getByRole('link', { name: 'Open the checkout' }).click(),
  ]);
  await checkout.getByRole('button', { name: 'Confirm the order' }).click();
  await checkout.getByRole('heading', { name: 'The order is confirmed' }).waitFor();
  await checkout.close();
  await dialog.getByText('Your organization has the plan pro.').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await plan.getByText('pro', { exact: true }).waitFor();
  await section(page, 'Limits').getByText('1 of 1,000', { exact: true }).waitFor();

  await plan.getByRole('button', { name: 'Billing portal' }).click();
  const link = page.getByRole('link', { name: 'Open the portal' });
  assert.match((await link.getAttribute('href')) ?? '', /\/billing\/portal\//);
  await page.keyboard.press('Escape');
  await link.waitFor({ state: 'detached' });

  await plan.getByRole('button', { name: 'Cancel the subscription' }).click();
  const confirmation = page.getByRole('dialog', { name: 'Cancel the subscription?' });
  await confirmation.getByText('ends at once').waitFor();
  await confirmation.getByText('Agents, credentials and the audit log stay.').waitFor();
  await confirmation.getByRole('button', { name: 'Cancel the subscription' }).click();
  await plan.getByText('free', { exact: true }).waitFor();
  await plan.getByText('canceled').waitFor();
  await plan.getByRole('button', { name: 'Upgrade to pro' }).waitFor();
});

browserTest('an agent that may not manage billing sees the message of the API', async (t) => {
  const { organizationId } = await createAdmin();
  const member = await server.agent({ organization_id: organizationId });
  const page = await server.open(t, '/usage', { as: member });
  await page.route('**/console/api/v1/billing/checkout', (route) =>
    route.fulfill({
      status: 403,
      headers: { 'x-request-id': 'req-billing' },
      json: { code: 'FORBIDDEN', message: 'Only callers with billing:manage can order.' },
    }),
  );
  await page.getByRole('button', { name: 'Upgrade to pro' }).click();
  await page.getByRole('button', { name: 'Continue to the checkout' }).click();
  await page.getByText('Only callers with billing:manage can order.').waitFor();
  await page.getByText('req-billing').waitFor();
});

browserTest('an agent that may not manage billing sees no actions of a subscription', async (t) => {
  const { organizationId } = await createAdmin();
  const member = await server.agent({ organization_id: organizationId });
  const page = await server.open(t, '/usage', { as: member });
  const plan = section(page, 'Plan');
  await plan.getByRole('button', { name: 'Upgrade to pro' }).waitFor();
  await page.route('**/console/api/v1/billing/subscription', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), tier: 'pro', status: 'active' } });
  });
  await page.reload();
  await plan.getByText('An admin of the organization changes the plan.').waitFor();
  assert.equal(await plan.getByRole('button').count(), 0);
});

browserTest('failed requests show the message and the request id, and can be repeated', async (t) => {
  const tenant = await createTenant(server);
  const page = await server.open(t, '/marketplace', { as: tenant });
  for (const path of ['usage?*', 'usage/limits', 'billing/subscription'])
    await page.route(`**/console/api/v1/${path}`, (route) =>
      route.fulfill({
        status: 500,
        headers: { 'x-request-id': 'req-usage' },
        json: { code: 'INTERNAL_SERVER_ERROR', message: `No ${path}.` },
      }),
    );
  await page.getByRole('link', { name: 'Usage and plan' }).click();
  await page.getByText('No usage/limits.').waitFor();
  await page.getByText('No billing/subscription.').waitFor();
  await page.getByText('No usage?*.').waitFor();
  assert.equal(await page.getByText('req-usage').count(), 3);
  await page.unrouteAll();
  for (const name of ['Limits', 'Plan'])
    await section(page, name).getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('button', { name: 'Try again' }).click();
  await section(page, 'API calls').waitFor();
  await section(page, 'Limits').getByText('1 of 25').waitFor();
});
