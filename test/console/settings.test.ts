/** The settings page in a browser: keys, versions and settings for the operator, and for no other caller. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { assertAccessible, assertNoSidewaysScroll, browserTest, startConsole } from '../support/console.ts';

const server = await startConsole({ MULTI_TENANT: 'true', METRICS_TOKEN: 'secret-of-metrics' });
const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

browserTest('keys, versions, signatures of the log and settings, without secrets', async (t) => {
  await server.app.audit.linkAll();
  const page = await server.open(t, '/settings');
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  const [key] = (await server.call('GET', '/.well-known/jwks.json')).json.keys;
  const keys = section(page, 'Signing keys').getByRole('row');
  await keys.filter({ hasText: key.kid }).getByText('active').waitFor();
  await section(page, 'Versions').getByText(process.version).waitFor();
  await section(page, 'Audit log').getByText('linked within seconds').waitFor();
  const search = page.getByRole('searchbox', { name: 'Search settings' });
  await search.fill('metrics token');
  await page.waitForURL(/q=metrics/);
  await page.getByRole('row').filter({ hasText: 'METRICS_TOKEN' }).getByText('set, hidden').waitFor();
  assert.ok(!(await page.content()).includes('secret-of-metrics'));
  await page.getByRole('link', { name: 'Settings', exact: true }).click();
  await section(page, 'Versions').waitFor();
  assert.equal(await search.inputValue(), '', 'the words of the address');
  await page.goBack();
  await page.getByRole('row').filter({ hasText: 'METRICS_TOKEN' }).waitFor();
  assert.equal(await search.inputValue(), 'metrics token');
  await search.fill('no such words');
  await page.getByText('No setting has these words').waitFor();
  await search.fill('');
  const sections = page.getByRole('navigation', { name: 'Sections of the settings' });
  await sections.getByRole('link', { name: 'Webhooks and streams' }).click();
  const settings = section(page, 'Webhooks and streams');
  await settings.waitFor();
  assert.equal(await settings.getByText('KAFKA_BROKERS').count(), 0);
  await settings.getByRole('switch', { name: 'Show variables that are not set' }).click();
  await settings.getByText('KAFKA_BROKERS', { exact: true }).waitFor();
  await page.waitForURL(/all=1/);
  await assertAccessible(page);
  await page.setViewportSize({ width: 360, height: 800 });
  await assertNoSidewaysScroll(page);
  await sections.getByRole('link', { name: 'This instance' }).click();
  await page.getByRole('link', { name: 'checkpoints' }).click();
  await page.getByRole('heading', { name: 'Audit log', level: 1 }).waitFor();
});

browserTest('a failing API: the message with the request id, and another try', async (t) => {
  const page = await server.open(t, '/');
  await page.route('**/api/v1/instance', (route) =>
    route.fulfill({
      status: 500,
      headers: { 'x-request-id': 'request-80' },
      json: { code: 'INTERNAL_SERVER_ERROR', message: 'An unexpected error occurred.' },
    }),
  );
  await page.goto('/console/settings');
  await page.getByText('request-80').waitFor();
  await page.unroute('**/api/v1/instance');
  await page.getByRole('button', { name: 'Try again' }).click();
  await section(page, 'Versions').waitFor();
});

browserTest('an admin of a tenant sees no settings of the instance', async (t) => {
  const token = await server.token();
  const payload = { name: 'Team', slug: `team-${crypto.randomUUID().slice(0, 13)}` };
  const { organizationId } = (await server.call('POST', '/api/v1/organizations', { token, payload })).json;
  const member = await server.agent({
    organization_id: organizationId,
    allowedScopes: ['agents:read', 'audit:read'],
  });
  const page = await server.open(t, '/settings', { as: member });
  await page.getByText('You have no permission to see this').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Settings' }).count(), 0);
  const answer = await page.request.get('/console/api/v1/instance');
  assert.equal(answer.status(), 403);
});
