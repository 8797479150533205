/** "Sign in to the command line" in a browser: the command, a code that works once, its time, and failures. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import {
  assertAccessible,
  assertNoSidewaysScroll,
  browserTest,
  settle,
  startConsole,
  tabTo,
} from '../support/console.ts';
import { fromPage, sessionUrl } from '../support/scenarios/console.ts';

const server = await startConsole();
const dialogOf = (page: Page) => page.getByRole('dialog', { name: 'Sign in to the command line' });
const codeIn = (page: Page) => dialogOf(page).getByTestId('command-line-code');
const openDialog = async (page: Page) => {
  await page.getByRole('button', { name: /^Account/ }).click();
  await page.getByRole('menuitem', { name: 'Sign in to the command line' }).click();
  await dialogOf(page).waitFor();
};
const redeem = (code: string | null) =>
  server.call('POST', sessionUrl, { headers: fromPage, payload: { code } });
const codesRoute = '**/console/api/command-line-codes';

browserTest('201 shows the command and a code that works once, with its time', async (t) => {
  const page = await server.open(t);
  await openDialog(page);
  const dialog = dialogOf(page);
  await dialog.getByText(`countersign login --url ${server.url} --code`, { exact: true }).waitFor();
  await dialog.getByText('install no package of that name').waitFor();
  assert.equal(await codeIn(page).count(), 0);
  await dialog.getByRole('button', { name: 'Show a code' }).click();
  const code = await codeIn(page).textContent();
  assert.match(code ?? '', /^csc_[\w-]{43}$/);
  assert.match((await dialog.getByRole('timer').textContent()) ?? '', /^[12]:\d\d left$/);
  await dialog.getByRole('button', { name: 'Copy code' }).waitFor();
  await assertAccessible(page);
  await page.setViewportSize({ width: 360, height: 740 });
  await assertNoSidewaysScroll(page);
  const box = await dialog.boundingBox();
  assert.ok(box && box.x >= 0 && box.x + box.width <= 360, JSON.stringify(box));
  assert.deepEqual([(await redeem(code)).status, (await redeem(code)).status], [204, 401]);
  // The address, the history and the memory of the page have no code.
  assert.ok(!page.url().includes('csc_'));
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
  await openDialog(page);
  assert.equal(await codeIn(page).count(), 0);
});

browserTest('201 another code replaces the first', async (t) => {
  const page = await server.open(t);
  await openDialog(page);
  await dialogOf(page).getByRole('button', { name: 'Show a code' }).click();
  const first = await codeIn(page).textContent();
  await dialogOf(page).getByRole('button', { name: 'Show another code' }).click();
  await codeIn(page)
    .filter({ hasNotText: first ?? '' })
    .waitFor();
  assert.equal((await redeem(first)).status, 401);
  assert.equal((await redeem(await codeIn(page).textContent())).status, 204);
});

browserTest('an expired code is no longer shown', async (t) => {
  const page = await server.open(t);
  await page.route(codesRoute, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), expiresIn: 1 } });
  });
  await openDialog(page);
  await dialogOf(page).getByRole('button', { name: 'Show a code' }).click();
  await dialogOf(page).getByRole('status').getByText('The code has expired.').waitFor();
  assert.equal(await codeIn(page).count(), 0);
  await assertAccessible(page);
  await page.unroute(codesRoute);
  await dialogOf(page).getByRole('button', { name: 'Show another code' }).click();
  await codeIn(page).waitFor();
});

browserTest('500 a failure: the message with the request id, and another try', async (t) => {
  const page = await server.open(t);
  await page.route(codesRoute, (route) =>
    route.fulfill({
      status: 500,
      headers: { 'x-request-id': 'request-81' },
      json: { code: 'INTERNAL_SERVER_ERROR', message: 'An unexpected error occurred.' },
    }),
  );
  await openDialog(page);
  await dialogOf(page).getByRole('button', { name: 'Show a code' }).click();
  const alert = dialogOf(page).getByRole('alert');
  await alert.getByText('request-81').waitFor();
  await page.unroute(codesRoute);
  await dialogOf(page).getByRole('button', { name: 'Show a code' }).click();
  await codeIn(page).waitFor();
  assert.equal(await alert.count(), 0);
});

browserTest('401 an ended session: the sign-in opens', async (t) => {
  // This page asks the server for nothing by itself, which would open the sign-in before the click.
  const page = await server.open(t, '/settings');
  await settle(page);
  await openDialog(page);
  await page.context().clearCookies();
  await dialogOf(page).getByRole('button', { name: 'Show a code' }).click();
  await page.getByLabel('Client ID').waitFor();
});

browserTest('the palette and the keyboard reach it', async (t) => {
  const page = await server.open(t);
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('command line');
  await page.getByRole('option', { name: /Sign in to the command line/ }).waitFor();
  await page.keyboard.press('Enter');
  await dialogOf(page).waitFor();
  await tabTo(page, dialogOf(page).getByRole('button', { name: 'Show a code' }));
  await page.keyboard.press('Enter');
  await codeIn(page).waitFor();
  const another = dialogOf(page).getByRole('button', { name: 'Show another code' });
  assert.ok(await another.evaluate((element) => element.matches(':focus')));
});

const verifier = 'v'.repeat(43);
const state = 's'.repeat(43);
/** A command that waits on a port of this machine, as `countersign login` does, and the address that it opens. */
async function waitingCommand() {
  const answers: URLSearchParams[] = [];
  const listener = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (pathname === '/callback') answers.push(searchParams);
    response.end('<!doctype html><title>answer</title>');
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  after(() => listener.close());
  const path = (changes: Record<string, string> = {}) =>
    `/command-line?${new URLSearchParams({
      port: String((listener.address() as AddressInfo).port),
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...changes,
    })}`;
  return { answers, path };
}
const allow = (page: Page) => page.getByRole('button', { name: 'Sign in the command line' });

browserTest('login: the page asks, and brings a code that works with the verifier alone', async (t) => {
  const { answers, path } = await waitingCommand();
  const page = await server.open(t, path(), { allow: [/^foreign: http:\/\/127\.0\.0\.1:\d+\/callback\?/] });
  await page.getByText(`Allow it only if you have just run countersign login for ${server.url}`).waitFor();
  await page.getByText('Signing out here signs it out as well.').waitFor();
  await page.getByText('Manages this instance and all its organizations.').waitFor();
  await assertAccessible(page);
  await page.setViewportSize({ width: 360, height: 740 });
  await assertNoSidewaysScroll(page);
  const cancel = page.getByRole('button', { name: 'Cancel' });
  assert.ok(await cancel.evaluate((element) => element.matches(':focus')));
  await page.locator('button:not([aria-disabled])', { hasText: 'Sign in the command line' }).click();
  await page.waitForURL(/\/callback\?/);
  const [answer, ...others] = answers;
  assert.deepEqual([answer?.get('state'), answer?.get('iss'), others.length], [state, server.url, 0]);
  const code = answer?.get('code') ?? null;
  assert.equal((await redeem(code)).status, 401);
  const payload = { code, codeVerifier: verifier };
  assert.equal((await server.call('POST', sessionUrl, { headers: fromPage, payload })).status, 204);
});

browserTest(
  'login: cancelled, the command is told; without a session, the sign-in comes first',
  async (t) => {
    const { answers, path } = await waitingCommand();
    const page = await server.open(t, path(), { allow: [/^foreign: http:\/\/127\.0\.0\.1:\d+\/callback\?/] });
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.waitForURL(/\/callback\?/);
    assert.deepEqual(Object.fromEntries(answers[0] ?? []), {
      error: 'access_denied',
      state,
      iss: server.url,
    });
    await page.context().clearCookies();
    await page.goto(`${server.url}/console${path()}`);
    await page.getByLabel('Client ID').waitFor();
  },
);

browserTest('login: an address that no command made is refused, and leads nowhere', async (t) => {
  const { path } = await waitingCommand();
  const wrong: Record<string, string>[] = [
    { port: '80' },
    { port: '65536' },
    { port: '1@evil.example' },
    { state: '' },
    { code_challenge: 'x' },
    { code_challenge_method: 'plain' },
  ];
  const page = await server.open(t, path(wrong[0]));
  for (const changes of wrong) {
    await page.goto(`${server.url}/console${path(changes)}`);
    await page.getByRole('heading', { name: 'No command waits here' }).waitFor();
    assert.equal(await allow(page).count(), 0, JSON.stringify(changes));
  }
});
