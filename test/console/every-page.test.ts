/** What holds for every page and tab: states, widths, keyboard, few requests, "Copy as…". The files of the pages run axe. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { assertNoSidewaysScroll, browserTest, goTo, settle, startConsole } from '../support/console.ts';
import { fillConsole } from '../support/scenarios/console-pages.ts';
import { tabOrder } from '../support/tab-order.ts';

const server = await startConsole({ MULTI_TENANT: 'true' });
const { organizationId, pages } = await fillConsole(server);
const api = '**/console/api/v1/**';

/** Each control with its problem: no place in the tab order, or no sign of the focus. */
const findKeyboardProblems = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const stops = ${tabOrder};
    const controls = [...document.querySelectorAll('a[href], button, input, select, textarea, [tabindex="0"]')].filter(
      (element) =>
        element.tabIndex >= 0 && !element.disabled && element.checkVisibility({ visibilityProperty: true, opacityProperty: false }) &&
        !(element.type === 'radio' && !element.checked) && !element.closest('[aria-hidden="true"], [inert]'));
    const unreached = controls.filter((element) => !stops.includes(element)).map((element) => ['no stop', element]);
    const unseen = stops.flatMap((element) => {
      element.focus({ focusVisible: true, preventScroll: true });
      if (!element.isConnected) return [];
      if (document.activeElement !== element) return [['takes no focus', element]];
      const shown = [element, element.parentElement].some((one) => {
        const { outlineStyle, boxShadow } = getComputedStyle(one ?? document.body);
        return outlineStyle !== 'none' || boxShadow !== 'none';
      });
      // A field has another border, a link of the graph a thicker line.
      return shown || element.matches('input, textarea, g') ? [] : [['no visible focus', element]];
    });
    document.activeElement?.blur();
    return [...unreached, ...unseen].map(([problem, element]) => problem + ': ' + element.outerHTML.slice(0, 300));
  })()`);

browserTest('loaded: no sideways scrolling, no request per row, all controls by keyboard', async (t) => {
  const page = await server.open(t, '/settings', { width: 1440, height: 900 });
  await settle(page);
  for (const [name, path] of Object.entries(pages)) {
    const requests: string[] = [];
    const note = (request: { url(): string }) =>
      request.url().includes('/api/v1/') && requests.push(request.url());
    page.on('request', note);
    await page.goto(`/console${path}`);
    await settle(page);
    page.off('request', note);
    // Lists show 20 to 50 rows.
    assert.ok(requests.length <= 10, `${name}: ${requests.join('\n')}`);
    assert.equal(await page.getByText('could not be loaded').count(), 0, name);
    assert.deepEqual(await findKeyboardProblems(page), [], name);
    for (const width of [360, 3840, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      await settle(page);
      await assertNoSidewaysScroll(page).catch((error) => assert.fail(`${name}: ${error.message}`));
    }
  }
});

browserTest(
  'slow and then failing: every page says that it loads, and shows the message and the request id',
  async (t) => {
    // Without answers of an earlier page in its cache.
    const page = await server.open(t, '/no/such/page');
    await settle(page);
    let fail = () => {};
    let failing = Promise.resolve();
    await page.route(api, async (route) => {
      if (new URL(route.request().url()).pathname.endsWith('/events')) return route.continue();
      await failing;
      await route
        .fulfill({
          status: 500,
          headers: { 'x-request-id': 'req-everywhere' },
          json: { code: 'INTERNAL_SERVER_ERROR', message: 'Something failed.' },
        })
        // The page that asked is gone.
        .catch(() => {});
    });
    for (const [name, path] of Object.entries(pages)) {
      await goTo(page, '/no/such/page');
      await page.getByRole('heading', { name: 'Page not found' }).waitFor();
      failing = new Promise((resolve) => (fail = resolve));
      await goTo(page, path);
      await page
        .getByRole('status', { name: /^Loading/ })
        .first()
        .waitFor()
        .catch(() => assert.fail(`${name}: no loading state`));
      fail();
      const alert = page.getByRole('alert').filter({ hasText: 'Something failed.' }).first();
      await alert
        .getByText('req-everywhere')
        .waitFor()
        .catch(() => assert.fail(`${name}: no error state`));
      await alert.getByRole('button', { name: 'Try again' }).waitFor();
    }
  },
);

browserTest('without any scope: no permission, or what is public to each agent; nothing fails', async (t) => {
  const none = await server.agent({ organization_id: organizationId, allowedScopes: [] });
  const page = await server.open(t, '/marketplace', { as: none });
  await settle(page);
  // The list has the own delegations, and the one of others does not exist. Only people decide, says the page of approvals.
  const open = [
    'approval',
    'approvals of the organization',
    'compliance',
    'delegations',
    'marketplace',
    'usage',
    'usage by agent',
  ];
  for (const [name, path] of Object.entries(pages)) {
    await goTo(page, '/no/such/page');
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    await goTo(page, path);
    await page.getByRole('heading', { name: 'Page not found' }).waitFor({ state: 'detached' });
    await settle(page);
    const refusal = page.getByRole('heading', { name: 'You have no permission to see this' }).first();
    if (name === 'delegation') await page.getByText('This delegation could not be loaded').waitFor();
    else if (open.includes(name)) assert.equal(await page.getByText('could not be loaded').count(), 0, name);
    else await refusal.waitFor().catch(() => assert.fail(`${name}: no refusal`));
  }
});

browserTest('charts and the graph load with the pages that show them', async (t) => {
  const page = await server.open(t, '/settings');
  const scripts: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('.js')) scripts.push(request.url());
  });
  await page.goto('/console/agents');
  await settle(page);
  const bytesOf = async (url: string) => (await (await page.request.get(url)).text()).length;
  const before = new Set(scripts);
  for (const [path, selector] of [
    ['/usage', '.recharts-surface'],
    ['/delegations', '.react-flow__edge'],
  ] as const) {
    await page.goto(`/console${path}`);
    await page.locator(selector).first().waitFor({ state: 'attached' });
    const added = [...new Set(scripts)].filter((url) => !before.has(url));
    const bytes = await Promise.all(added.map(bytesOf));
    // The library of either is more than 100 KB.
    assert.ok(Math.max(...bytes) > 100_000, `${path}: ${added.join('\n')}`);
  }
});

/** Parts of another request: the descendants of a delegation, and the keys and witnesses for a verification. */
const withoutButton = ['listAuditKeys', 'listAuditWitnesses', 'listDelegationDescendants'];

test('"Copy as…": each list and each action of the pages has it', () => {
  const root = new URL('../../console/src/pages/', import.meta.url);
  const code = globSync('**/*.{ts,tsx}', { cwd: root })
    .map((file) => readFileSync(new URL(file, root), 'utf8'))
    .join('\n');
  const found = (pattern: RegExp) => new Set([...code.matchAll(pattern)].map(([, id = '']) => id));
  // Dialogs have it by themselves: their `operation` is the request and the command.
  const used = new Set([
    ...found(/useAction\(\s*'(\w+)'/g),
    ...found(
      /(?:useApi|call|download)\(\s*'((?:list|search|create|delete|update|put|export|revoke|rotate)\w+)'/g,
    ),
  ]);
  const offered = new Set([
    ...found(/(?<=operation(?:=|: )(?:\{[^}]*)?)["'](\w+)["']/g),
    ...found(/copyable\('[^']+', '(\w+)'/g),
  ]);
  assert.ok(used.size > 30, [...used].join(' '));
  assert.ok(offered.size > 80, [...offered].join(' '));
  assert.deepEqual([...used].filter((id) => !offered.has(id) && !withoutButton.includes(id)).sort(), []);
});
