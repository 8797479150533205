/** The time range of every list in a browser: chosen, in the URL, kept by a reload. */
import assert from 'node:assert/strict';
import { browserTest, startConsole } from '../support/console.ts';
import { newAgent } from '../support/harness.ts';
import { createDelegationClient } from '../support/scenarios/delegations.ts';
import { createTrustClient } from '../support/scenarios/trust.ts';

const server = await startConsole({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const token = await server.token();
const post = async (path: string, payload: object) => {
  const { status, text } = await server.call('POST', `/api/v1${path}`, { token, payload });
  assert.equal(status, 201, text);
};
await post('/agents', newAgent());
await post('/resources', { identifier: 'https://api.example', name: 'Orders', scopes: [{ name: 'read' }] });
await post('/webhooks', {
  name: 'Inventory',
  url: 'https://receiver.example/hook',
  events: ['token.revoked'],
});
await (await createTrustClient(server)).createPolicy();
await createDelegationClient(server).createDelegation(token, await server.agent(), ['agents:read']);

const lists = {
  '/agents': 'agents',
  '/apis': 'APIs',
  '/trust': 'trust policies',
  '/delegations?view=table': 'delegations',
  '/organizations': 'organizations',
  '/webhooks': 'webhooks',
};

browserTest('each list: the range of its address, also a chosen one, which survives a reload', async (t) => {
  const page = await server.open(t, '/agents');
  const firstRow = page.locator('tbody').getByRole('row').first();
  await firstRow.waitFor();
  await page.getByRole('button', { name: 'More filters' }).click();
  await page.getByRole('button', { name: 'Any time' }).click();
  await page.getByRole('button', { name: 'Last hour' }).click();
  await page.waitForURL(/from=/);
  await page.reload();
  await page.getByRole('button', { name: 'Remove filter From' }).waitFor();
  await firstRow.waitFor();
  for (const [path, noun] of Object.entries(lists)) {
    await page.goto(`/console${path}${path.includes('?') ? '&' : '?'}to=2020-01-02T00:00:00Z`);
    await page.getByRole('heading', { name: `No ${noun} match` }).waitFor();
    await page.getByRole('button', { name: 'Remove filter To' }).click();
    await firstRow.waitFor();
  }
});

browserTest('webhooks: by a part of the name or URL, and by status', async (t) => {
  const page = await server.open(t, '/webhooks');
  const row = page.getByRole('link', { name: 'Inventory' });
  const none = page.getByRole('heading', { name: 'No webhooks match' });
  await row.waitFor();
  await page.getByRole('textbox', { name: 'Part of name or URL' }).fill('RECEIVER.example');
  await page.waitForURL(/q=RECEIVER/);
  await row.waitFor();
  await page.getByRole('combobox', { name: 'Status' }).click();
  await page.getByRole('option', { name: 'paused' }).click();
  await none.waitFor();
  await page.getByRole('button', { name: 'Clear all' }).click();
  await row.waitFor();
});

browserTest('a page beyond the end says so, and leads back', async (t) => {
  const page = await server.open(t, '/agents?page=99');
  await page.getByRole('heading', { name: 'This page has no agents' }).waitFor();
  await page.getByRole('button', { name: 'First page' }).click();
  await page.locator('tbody').getByRole('row').first().waitFor();
});
