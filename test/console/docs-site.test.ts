/** The documentation in a browser: its pages, the search, and the ways to console and reference. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { docsFolder } from '../../scripts/build-docs.ts';
import {
  assertAccessible,
  assertNoSidewaysScroll,
  browserTest,
  type OpenOptions,
  startConsole,
} from '../support/console.ts';

const server = await startConsole({}, { docsFolder });
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

async function openDocs(
  t: Parameters<typeof server.open>[0],
  path: string,
  options: OpenOptions = {},
): Promise<Page> {
  const page = await server.open(t, '/sign-in', { as: null, ...options });
  await page.goto(`/docs${path}`);
  await page.locator('h1').first().waitFor();
  return page;
}

browserTest('pages keep WCAG 2.2 AA, and fit a phone and a wide screen', async (t) => {
  const page = await openDocs(t, '');
  for (const path of ['', '/guides/give-an-agent-access', '/reference/configuration', '/decisions/']) {
    await page.goto(`/docs${path}`);
    await page.locator('h1').first().waitFor();
    await assertAccessible(page, { whole: true });
    for (const width of [360, 1280, 1920]) {
      await page.setViewportSize({ width, height: 800 });
      await assertNoSidewaysScroll(page);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  }
});

browserTest('the search finds a page, on this server alone', async (t) => {
  const page = await openDocs(t, '');
  await page.getByRole('button', { name: 'Search' }).first().click();
  await page.getByRole('combobox', { name: 'Search' }).fill('revoked credential');
  const result = page.getByRole('option').first();
  await result.waitFor();
  await assertAccessible(page, { whole: true });
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/docs\/[\w-]+\/[\w-]+#/);
  assert.match(await page.locator('main').innerText(), /revoke/i);
});

browserTest('an example is shown in the language of its tab', async (t) => {
  const page = await openDocs(t, '/guides/give-an-agent-access');
  const examples = page.locator('.vp-code-group').first();
  await examples.getByText('curl -s').first().waitFor();
  await examples.getByText('Python', { exact: true }).click();
  await examples.getByText('from countersign import').waitFor();
  assert.equal(await examples.getByText('curl -s').first().isVisible(), false);
});

browserTest('on a phone the menu has the tracks, and leads to the pages of one', async (t) => {
  const page = await openDocs(t, '/guides/webhooks', { width: 360 });
  await page.locator('.VPLocalNav').getByRole('button', { name: 'Menu' }).click();
  const menu = page.getByRole('navigation', { name: 'Sidebar Navigation' });
  await menu.getByRole('link', { name: 'Let a person approve', exact: true }).click();
  await page.waitForURL('**/docs/guides/approve-an-action');
  await page.getByRole('heading', { level: 1, name: 'Let a person approve an action' }).waitFor();
});

browserTest('it shows the version, and leads to the reference of the API and to the console', async (t) => {
  const page = await openDocs(t, '/concepts');
  await page.getByRole('link', { name: `Version ${version}` }).waitFor();
  assert.equal(
    await page.getByRole('link', { name: 'Console', exact: true }).getAttribute('href'),
    '/console',
  );
  await page.getByRole('link', { name: 'API reference' }).click();
  await page.waitForURL('**/docs/api');
  await page.getByRole('heading', { level: 1 }).first().waitFor();
});

browserTest('404 a page that does not exist says so', async (t) => {
  const page = await openDocs(t, '/guides/nothing');
  await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
  await assertAccessible(page, { whole: true });
});
