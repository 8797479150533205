/** The session of a tab in a browser: its end while a person types, and sign-ins in other tabs. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { assertAccessible, browserTest, startConsole } from '../support/console.ts';
import type { Client } from '../support/programs.ts';

const server = await startConsole();
const { operator } = server;

const overview = (page: Page) => page.getByRole('heading', { name: 'Overview', level: 1 });
const endedDialog = (page: Page) => page.getByRole('dialog', { name: 'Your session has ended' });
const signIn = async (page: Page, { clientId, clientSecret }: Client) => {
  await page.getByLabel('Client ID').fill(clientId);
  await page.getByLabel('Client secret').fill(clientSecret);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
};
/** Types into the palette, as an example of a form. */
const type = async (page: Page, text: string) => {
  await overview(page).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill(text);
};
const typed = (page: Page) => page.getByRole('combobox', { includeHidden: true }).inputValue();

browserTest(
  '401 the end of an unused session: sign-in over the page, which keeps what was typed',
  async (t) => {
    const page = await server.open(t);
    await page.clock.install();
    await page.reload();
    await type(page, 'typed');
    // The page asks for its session when the idle time is over. No other request tells it of the end.
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));
    await page.route('**/console/api/v1/**', (route) => route.abort());
    await page.context().clearCookies();
    await page.clock.fastForward(31 * 60_000);
    await endedDialog(page).waitFor();
    assert.ok(requests.includes('/console/api/session'));
    assert.equal(await typed(page), 'typed');
    await page.unroute('**/console/api/v1/**');
    await signIn(page, operator);
    await endedDialog(page).waitFor({ state: 'hidden' });
    assert.equal(await typed(page), 'typed');
  },
);

browserTest('another tab signs in as another agent: the page of the first begins anew', async (t) => {
  const other = await server.agent({ email: 'other-tab@example.com' });
  const page = await server.open(t);
  await type(page, 'typed');
  const second = await page.context().newPage();
  await second.goto('/console');
  await overview(second).waitFor();
  await second.getByRole('button', { name: /^Account/ }).click();
  await second.getByRole('menuitem', { name: 'Sign out' }).click();
  await signIn(second, other);
  await second.getByRole('button', { name: /^Account.*other-tab@example.com/ }).waitFor();
  // A headless browser never takes the focus away.
  await page.evaluate("dispatchEvent(new Event('focus'))");
  await page.getByRole('button', { name: /^Account.*other-tab@example.com/ }).waitFor();
  assert.equal(await page.getByRole('combobox').count(), 0);
});

browserTest(
  'a one-time link in a browser with a session: asked, used or not, and never in the address',
  async (t) => {
    const other = await server.agent({ email: 'linked@example.com' });
    const { hash } = new URL(
      (await server.call('POST', '/api/v1/console/links', { token: await server.token(undefined, other) }))
        .json.url,
    );
    const question = (tab: Page) => tab.getByRole('dialog', { name: 'Sign in with this link?' });
    const page = await server.open(t, `/${hash}`);
    await question(page)
      .getByText(/^You are signed in as operator-/)
      .waitFor();
    assert.doesNotMatch(page.url(), /code/);
    await assertAccessible(page);
    await question(page).getByRole('button', { name: 'Do not use it' }).click();
    await question(page).waitFor({ state: 'hidden' });
    // Pasted into the address bar of the open page, which does not load again.
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    await question(page).getByRole('button', { name: 'Sign in with this link' }).click();
    await page.getByRole('button', { name: /^Account.*linked@example.com/ }).waitFor();
    assert.doesNotMatch(page.url(), /code/);
  },
);
