/** A server that is unavailable, or refuses for the rate limit: pages stay, say so once, and go on by themselves. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Page } from 'playwright-core';
import { assertAccessible, assertFits, browserTest, goTo, startConsole } from '../support/console.ts';

const server = await startConsole();
const email = 'steady@example.com';
await server.agent({ email });

const lostTitle = 'No connection to the server';
const lost = (page: Page) => page.getByText(lostTitle, { exact: true });
const limited = (page: Page) => page.getByText('Too many requests', { exact: true });
const row = (page: Page) => page.getByRole('row', { name: new RegExp(email) });
const allow = [/net::ERR/, /preload/];

/** Answers with 429 so many times. Returns the times of all requests. */
async function limit(page: Page, url: string, times: number, seconds = 1): Promise<number[]> {
  const requests: number[] = [];
  await page.route(url, (route) => {
    // The names of agents are asked for apart from the list.
    if (route.request().url().includes('ids=')) return route.continue();
    requests.push(Date.now());
    return requests.length > times
      ? route.continue()
      : route.fulfill({
          status: 429,
          headers: { 'retry-after': String(seconds) },
          json: { code: 'RATE_LIMIT_EXCEEDED', message: 'Too many requests.' },
        });
  });
  return requests;
}

/** The listening socket closes, and all connections with it. */
async function stopServer() {
  const raw = server.app.http.server.server as Server;
  const closed = once(raw, 'close');
  raw.close();
  raw.closeAllConnections();
  await closed;
}
async function startServer() {
  const raw = server.app.http.server.server as Server;
  raw.listen({ host: '127.0.0.1', port: Number(new URL(server.url).port) });
  await once(raw, 'listening');
}

browserTest('429 a list keeps its rows, with one notice, and loads when the time is over', async (t) => {
  const page = await server.open(t, '/agents');
  await row(page).waitFor();
  const requests = await limit(page, '**/console/api/v1/agents?*', 3);
  await page.getByRole('search', { name: 'Filters' }).getByRole('textbox').first().fill('steady');
  await limited(page).waitFor();
  assert.equal(await limited(page).count(), 1);
  assert.equal(await row(page).count(), 1);
  assert.equal(await page.getByRole('alert').count(), 0);
  await page.locator('[data-fetching]').waitFor({ state: 'detached' });
  await limited(page).waitFor({ state: 'detached' });
  await row(page).waitFor();
  const pauses = requests.slice(1).map((at, index) => at - (requests[index] ?? 0));
  assert.ok(
    requests.length >= 4 && pauses.every((pause) => pause >= 900),
    `Retry-After: 1, but ${pauses} ms`,
  );
});

browserTest('429 at a first load, several times: a waiting state, then the page', async (t) => {
  const page = await server.open(t, '/settings', { width: 360 });
  await page.getByRole('heading', { level: 1 }).waitFor();
  await limit(page, '**/console/api/session', 3);
  await limit(page, '**/console/api/v1/agents?*', 3);
  await page.goto('/console/agents');
  await limited(page).waitFor();
  await page.getByRole('status', { name: 'Loading the console' }).waitFor();
  await row(page).waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
});

browserTest('429 until midnight is an error, with its reason', async (t) => {
  const page = await server.open(t, '/settings');
  await page.route('**/console/api/v1/agents?*', (route) =>
    route.fulfill({
      status: 429,
      headers: { 'retry-after': '40000' },
      json: { code: 'tier_limit_exceeded', message: 'The calls of the day are used up.' },
    }),
  );
  await goTo(page, '/agents');
  await page.getByRole('alert').getByText('The calls of the day are used up.').waitFor();
});

browserTest('502 of a proxy: the notice, then the page', async (t) => {
  const page = await server.open(t, '/settings');
  await page.route('**/console/api/v1/agents?*', (route) =>
    route.fulfill({ status: 502, body: 'Bad gateway' }),
  );
  await goTo(page, '/agents');
  await page.getByText('The server cannot answer now').waitFor();
  await page.getByRole('button', { name: 'Try now' }).waitFor();
  await page.unroute('**/console/api/v1/agents?*');
  await row(page).waitFor();
});

browserTest(
  'a server that stops and starts again: pages stay, forms keep their text, all goes on',
  async (t) => {
    // The files of both pages are here before the server stops.
    const page = await server.open(t, '/webhooks', { allow });
    await page.getByText('No webhooks yet').waitFor();
    await goTo(page, '/agents');
    await row(page).waitFor();
    await page.getByRole('button', { name: 'Live: about live updates' }).waitFor();
    await stopServer();
    try {
      // The lost stream of events tells it, without a click.
      await lost(page).waitFor();
      assert.equal(await row(page).count(), 1);
      await assertAccessible(page);
      await assertFits(page, [360, 1280]);

      await goTo(page, '/webhooks?create=1');
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill('Typed during the outage');
      assert.equal(await lost(page).count(), 1);
      assert.equal(await page.getByRole('alert').count(), 0);
    } finally {
      await startServer();
    }
    await lost(page).waitFor({ state: 'detached' });
    const dialog = page.getByRole('dialog');
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'Typed during the outage');
    await page.keyboard.press('Escape');
    await page.getByText('No webhooks yet').waitFor();
  },
);

browserTest('the files of a page do not arrive at first: a waiting state, then the page', async (t) => {
  const page = await server.open(t, '/settings', { allow });
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  const files = '**/console/assets/**';
  let refused = 0;
  await page.context().route(files, (route) => {
    refused += 1;
    return route.abort('connectionrefused');
  });
  await goTo(page, '/trust');
  await lost(page).waitFor();
  assert.ok(refused > 0);
  await page.context().unroute(files);
  await page.getByRole('heading', { name: 'Trust', level: 1 }).waitFor();
  await lost(page).waitFor({ state: 'detached' });
});
