/** The reference page in a browser: it fetches a token and sends the requests that it proposes, to this server only. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { fieldExamples } from '../../src/contract/examples.ts';
import { createBrowser } from '../support/browser.ts';
import { createDatabase, environment, skipWithout } from '../support/harness.ts';
import { type Client, findBrowser, makeOperator, startServe } from '../support/programs.ts';

const connect = createBrowser();

/** A page, and everything that went wrong on it. */
async function openPage(): Promise<{ page: Page; problems: string[] }> {
  const context: BrowserContext = await (await connect()).newContext();
  context.setDefaultTimeout(60_000);
  const problems: string[] = [];
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text());
  });
  context.on('weberror', (error) => problems.push(error.error().message));
  context.on('requestfailed', (request) => problems.push(`${request.url()} failed`));
  context.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (hostname !== '127.0.0.1' && !['data:', 'blob:'].includes(protocol)) problems.push(request.url());
  });
  return { page: await context.newPage(), problems };
}

/** Fills in the form at the top of the page, and returns the response of the token endpoint. */
async function fetchToken(page: Page, { clientId, clientSecret }: Client) {
  const form = page.getByRole('region', { name: 'Authentication' });
  const fill = (label: string, text: string) =>
    form
      .locator('tr', { has: page.getByText(label, { exact: true }) })
      .locator('input, [contenteditable=true]')
      .fill(text);
  await fill('Client ID', clientId);
  await fill('Client Secret', clientSecret);
  const response = page.waitForResponse('**/api/v1/token');
  await form.getByRole('button', { name: 'Authorize' }).click();
  return response;
}

/** Opens the proposal of an operation, sends it unchanged, and returns the response. */
async function sendProposal(page: Page, operation: string) {
  const [method = '', path = ''] = operation.split(' ');
  await page.getByRole('button', { name: `Test Request (${method} ${path})`, exact: true }).click();
  const client = page.getByRole('dialog', { name: 'API Client' });
  const response = page.waitForResponse((one) => one.request().method() === method.toUpperCase());
  await client.getByRole('button', { name: new RegExp(`^Send ${method} request`) }).click();
  const answer = await response;
  await client.getByRole('button', { name: 'Close Client' }).click();
  return answer;
}

test('200 /docs/api fetches a token in the page and sends the proposed requests', async (t) => {
  if (!findBrowser()) return skipWithout(t, 'Chromium');
  const env = environment(await createDatabase());
  const operator = await makeOperator(env);
  const { url } = await startServe(env);
  const { page, problems } = await openPage();
  await page.goto(`${url}/docs/api#tag/agents/GET/api/v1/agents`);

  assert.equal((await fetchToken(page, operator)).status(), 200);

  const list = await sendProposal(page, 'get /api/v1/agents');
  assert.deepEqual([list.status(), list.url()], [200, `${url}/api/v1/agents`]);
  assert.equal((await list.json()).total, 1);

  const creation = await sendProposal(page, 'post /api/v1/agents');
  assert.deepEqual([creation.status(), creation.url()], [201, `${url}/api/v1/agents`]);
  assert.equal(creation.request().headers()['idempotency-key'], undefined);
  assert.equal(creation.request().postDataJSON().email, fieldExamples.email);

  assert.deepEqual(problems, []);
});
