/**
 * The first five minutes in the console, with the default rate limit: from the link that `npm start` prints to the proof that the log is
 * intact. SCREENSHOTS=1 writes the pictures of docs/guides/console.md.
 */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { browserTest, openSection, settle, startConsole } from '../support/console.ts';

const pictures = fileURLToPath(new URL('../../docs/images/console', import.meta.url));
const takesPictures = process.env.SCREENSHOTS === '1';
if (takesPictures) mkdirSync(pictures, { recursive: true });

const picture = async (page: Page, name: string) => {
  if (!takesPictures) return;
  await settle(page);
  // Messages of the step before would cover the page.
  const showMessages = (visibility: string) =>
    page.locator('.mantine-Notifications-root').evaluateAll((elements, value) => {
      for (const element of elements)
        (element as unknown as { style: { visibility: string } }).style.visibility = value;
    }, visibility);
  await showMessages('hidden');
  await page.screenshot({ path: `${pictures}/${name}.png` });
  await showMessages('');
};

const server = await startConsole({ RATE_LIMIT_PER_MINUTE: '100' });
const { operator } = server;

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const dialog = (page: Page) => page.getByRole('dialog');
const go = async (page: Page, name: string, title = name) => {
  await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { name: title, level: 1 }).waitFor();
};

browserTest('a newcomer registers, grants, delegates, suspends and verifies', async (t) => {
  const link = await server.app.webConsole.linkFor(operator.clientId, operator.clientSecret);
  const page = await server.open(t, `/${new URL(link?.url ?? assert.fail()).hash}`, { as: null });
  const limited: string[] = [];
  page.on('response', (response) => {
    if (response.status() === 429) limited.push(response.url());
  });
  await button(page, 'Sign in with this link').click();
  await page.getByRole('heading', { name: 'Start in three steps' }).waitFor();
  await picture(page, 'overview-start');

  await page.getByRole('link', { name: 'Register an agent' }).click();
  await dialog(page).getByRole('textbox', { name: 'E-mail address' }).fill('invoice-reader@acme.example');
  await dialog(page).getByRole('textbox', { name: 'Owner' }).fill('Finance');
  await dialog(page).getByRole('combobox', { name: 'Capabilities' }).fill('invoice:read');
  await page.keyboard.press('Enter');
  await openSection(dialog(page), 'Choose');
  await dialog(page).getByRole('checkbox', { name: 'agents:read' }).check();
  await picture(page, 'register-agent');
  await dialog(page).getByRole('button', { name: 'Register agent' }).click();
  await page.getByRole('heading', { name: 'invoice-reader@acme.example', level: 1 }).waitFor();
  const agentPage = page.url().replace(/\?.*$/, '');

  await button(page, 'New credential').first().click();
  await dialog(page).getByRole('button', { name: 'Create credential' }).click();
  const clientSecret = (await page.getByTestId('secret').textContent()) ?? '';
  await picture(page, 'secret');
  await button(page, 'I have stored it').click();

  await go(page, 'Overview');
  await page.getByRole('button', { name: 'Copy command' }).waitFor();
  await server.token(undefined, { clientId: agentPage.split('/').at(-1) ?? '', clientSecret });
  await page.getByRole('heading', { name: 'Your first agent has its first token' }).waitFor();
  await picture(page, 'overview');

  await go(page, 'APIs');
  await button(page, 'Register an API').first().click();
  await dialog(page).getByRole('textbox', { name: 'Name', exact: true }).fill('Invoices');
  await dialog(page).getByRole('textbox', { name: 'Identifier' }).fill('https://api.acme.example/invoices');
  await dialog(page).getByRole('textbox', { name: 'Name of scope 1' }).fill('invoices:read');
  await dialog(page).getByRole('button', { name: 'Register API', exact: true }).click();
  await page.getByRole('heading', { name: 'Invoices', level: 1 }).waitFor();

  await page.goto(`${agentPage}?tab=access`);
  await button(page, 'Grant scopes').first().click();
  await dialog(page).getByRole('combobox', { name: 'API' }).click();
  await page.getByRole('option', { name: /Invoices/ }).click();
  await dialog(page).getByRole('checkbox', { name: 'invoices:read' }).check();
  await dialog(page).getByRole('button', { name: 'Grant scopes' }).click();
  const grants = page.getByRole('table', { name: 'Grants' });
  await grants.getByRole('link', { name: 'https://api.acme.example/invoices' }).waitFor();
  await picture(page, 'access');

  await go(page, 'Delegations');
  await button(page, 'Delegate').first().click();
  await dialog(page).getByRole('combobox', { name: 'Delegatee' }).fill('invoice-');
  await page.getByRole('option', { name: 'invoice-reader@acme.example' }).click();
  await openSection(dialog(page), 'Choose');
  await dialog(page).getByRole('checkbox', { name: 'audit:read' }).check();
  await dialog(page).getByRole('button', { name: 'Delegate' }).click();
  await button(page, 'I have stored it').click();
  await page.locator('.react-flow__edge').first().waitFor({ state: 'attached' });
  await picture(page, 'delegations');

  await page.goto(agentPage);
  await button(page, 'More actions').click();
  await page.getByRole('menuitem', { name: 'Suspend agent' }).click();
  await page.getByRole('list', { name: 'What ends' }).getByText('1 active credential').waitFor();
  await picture(page, 'suspend');
  await dialog(page).getByRole('button', { name: 'Suspend agent' }).click();
  await page.getByText('This agent is suspended').waitFor();

  await go(page, 'Audit log');
  await button(page, 'Verify in this browser').click();
  await page.getByText(/events: each hash computed again/).waitFor();
  await page.getByRole('heading', { name: 'Intact' }).waitFor();
  await picture(page, 'audit');
  assert.deepEqual(limited, [], 'a person at work stays below the rate limit');
});
