/** Every page and tab with hostile text in each field of each answer. */
import assert from 'node:assert/strict';
import { assertNoSidewaysScroll, browserTest, settle, startConsole } from '../support/console.ts';
import { fillConsole } from '../support/scenarios/console-pages.ts';

const server = await startConsole({ MULTI_TENANT: 'true' });
const { pages } = await fillConsole(server);

const hostile = `<img src=x onerror="document.title='owned'">\u202Egnp.exe ${'x'.repeat(10_000)}`;
/** Fields whose text tenants choose. */
const tenantFields = new Set(
  'name displayName email owner description purpose title summary userAgent subject issuer url clientName clientUri redirectUris label reason bindingMessage'.split(
    ' ',
  ),
);
const makeHostile = (value: unknown, key = ''): unknown => {
  if (Array.isArray(value)) return value.map((one) => makeHostile(one, key));
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, makeHostile(one, name)]));
  return typeof value === 'string' && tenantFields.has(key) ? `${hostile}${value}` : value;
};

browserTest('10,000 characters of hostile text are text, at 1440 and 360 px', async (t) => {
  const page = await server.open(t, '/settings', { width: 1440 });
  await settle(page);
  let changed = 0;
  await page.route('**/console/api/v1/**', async (route) => {
    const request = route.request();
    if (request.url().includes('/api/v1/events') || request.method() !== 'GET') return route.continue();
    const response = await route.fetch();
    if (!/json/.test(response.headers()['content-type'] ?? '')) return route.fulfill({ response });
    const json = makeHostile(await response.json());
    changed += 1;
    await route.fulfill({ response, json });
  });
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(`/console${path}`);
    for (const width of [1440, 360]) {
      await page.setViewportSize({ width, height: 800 });
      await settle(page);
      assert.equal(await page.locator('img').count(), 0, name);
      assert.notEqual(await page.title(), 'owned', name);
      assert.equal(await page.getByText('This page cannot be shown').count(), 0, name);
      await assertNoSidewaysScroll(page).catch((error) =>
        assert.fail(`${name} at ${width} px: ${error.message}`),
      );
    }
    await page.setViewportSize({ width: 1440, height: 800 });
  }
  assert.ok(changed > Object.keys(pages).length, `${changed} answers`);
});
