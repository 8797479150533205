/** Connections, people with their chains, clients and what people may lend, in a browser, as an administrator uses them. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { createOutbound } from '../../src/adapters/outbound/outbound.ts';
import { createBrowser } from '../support/clients/browser.ts';
import { assertAccessible, assertFits, browserTest, goTo, startConsole } from '../support/console.ts';
import { startReceiver, trustTestAuthority } from '../support/peers/receivers.ts';
import { startSignInProvider } from '../support/peers/sign-in-provider.ts';
import { challengeOf } from '../support/scenarios/authorization.ts';
import { newResource } from '../support/scenarios/resources/resources.ts';

trustTestAuthority();
const provider = await startSignInProvider([], '127.0.0.2');
const server = await startConsole(
  {},
  {
    outbound: createOutbound({
      allowPrivate: false,
      resolve: async () => ['127.0.0.1'],
      isPublic: (address) => address.startsWith('127.0.0.'),
      delay: (_, signal) => sleep(50, undefined, { signal }),
    }),
  },
);
provider.acceptRedirectsTo(server.url);
provider.accounts.ada = { name: 'Ada', email: 'ada@example.com', email_verified: true };
provider.accounts.eve = { name: 'Eve', email: 'eve@other.example', email_verified: true };
const { organizationId } = server.operator;
const token = await server.token();

const operate = async (method: 'GET' | 'POST', url: string, payload?: object) => {
  const answer = await server.call(method, `/api/v1${url}`, { token, ...(payload && { payload }) });
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`);
  return answer.json;
};

const redirectUri = 'https://app.example/callback';
const receiver = await startReceiver((_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ client_id: clientId, client_name: 'App', redirect_uris: [redirectUri] }));
});
const clientId = `https://receiver.test:${receiver.port}/client.json`;
const resource = await operate('POST', '/resources', newResource({ peopleScopes: ['orders:read'] }));

/** The person signs in through the connection and lets the client act, without a page. */
async function consent(connectionId: string, login: string) {
  const browser = createBrowser(server, server.url);
  const asked = await browser.visit(`/console/api/oidc/start?connectionId=${connectionId}`);
  await browser.visit(asked.url, { method: 'POST', form: { login, answer: 'yes' } });
  const parameters = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: challengeOf(randomBytes(32).toString('base64url')),
    code_challenge_method: 'S256',
    resource: resource.identifier,
  });
  const { location = '' } = await browser.request(`/api/v1/authorize?${parameters}`);
  const requestId = location.replace('/console/authorize/', '');
  const decided = await browser.change('POST', `/console/api/authorization-requests/${requestId}`, {
    decision: 'approve',
  });
  assert.equal(decided.status, 200, decided.text);
}

const row = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });
const dialog = (page: Page) => page.getByRole('dialog');
const details = (page: Page) => page.getByRole('complementary', { name: 'Details' });
const settled = (page: Page) => page.locator('[data-fetching]').waitFor({ state: 'detached' });

browserTest('an admin adds and tests a connection, invites by e-mail, ends chains, limits clients', async (t) => {
  const page = await server.open(t, '/organization?tab=connections', {
    allow: [new RegExp(`^foreign: ${provider.issuer}/`)],
  });
  await page.getByRole('heading', { name: 'No connections yet' }).waitFor();
  await page.getByRole('button', { name: 'Add connection' }).first().click();
  await dialog(page).getByText(`${server.url}/console/api/oidc/callback`, { exact: true }).waitFor();
  await dialog(page).getByLabel('Name').fill('Company <b>Login</b>');
  await dialog(page).getByLabel('Issuer').fill(provider.issuer);
  await dialog(page).getByLabel('Client ID').fill(provider.clientId);
  await dialog(page).getByRole('button', { name: 'Add connection' }).click();
  await dialog(page).getByText('Enter the client secret that the provider gave.').waitFor();
  await dialog(page).getByRole('textbox', { name: 'Client secret' }).fill(provider.clientSecret);
  await dialog(page).getByRole('button', { name: 'Add condition' }).click();
  await dialog(page).getByLabel('Claim of condition 1').fill('email');
  await dialog(page).getByRole('combobox', { name: 'Operator of condition 1' }).click();
  await page.getByRole('option', { name: 'matches the pattern' }).click();
  await dialog(page).getByRole('combobox', { name: 'Values of condition 1' }).fill('*@example.com');
  await page.keyboard.press('Enter');
  await assertAccessible(page);
  await dialog(page).getByRole('button', { name: 'Add connection' }).click();
  await row(page, 'Company <b>Login</b>').getByText('who meets 1 condition').waitFor();
  const [connection] = (await operate('GET', `/organizations/${organizationId}/connections`)).data;

  // The test signs in at the provider, and shows why eve would be refused.
  await row(page, 'Company <b>Login</b>').click();
  await details(page).getByText('email matches the pattern *@example.com').waitFor();
  await details(page).getByText(`oidc/start?connectionId=${connection.connectionId}`).waitFor();
  await details(page).getByRole('button', { name: 'Test' }).click();
  await page.getByLabel('Login').fill('eve');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { level: 1, name: 'Test of a connection' }).waitFor();
  await page.getByText('You would be refused').waitFor();
  await page.getByText('1 of 1 conditions do not hold.').waitFor();
  await row(page, 'email').getByText('failed').waitFor();
  await page.getByLabel('Claims of the ID token').getByText('"eve@other.example"').first().waitFor();
  await assertAccessible(page);
  assert.equal((await operate('GET', `/organizations/${organizationId}/people`)).total, 0);
  await goTo(page, '/connection-test?error=provider_unavailable');
  await page.getByRole('alert').getByText('does not answer').waitFor();

  // By e-mail, and without a subject.
  await goTo(page, '/organization?tab=people');
  await page.getByRole('button', { name: 'Invite person' }).first().click();
  await dialog(page).getByLabel('Name').fill('Ada Lovelace');
  await dialog(page).getByLabel('E-mail').fill('ada@example.com');
  assert.equal(await dialog(page).getByLabel('Subject').count(), 0);
  assert.equal(await dialog(page).getByRole('combobox', { name: 'Acts through' }).count(), 0);
  await dialog(page).getByRole('button', { name: 'Invite person' }).click();
  await row(page, 'ada@example.com').getByText('invited', { exact: true }).waitFor();
  await row(page, 'ada@example.com').getByText('through Company <b>Login</b>').waitFor();

  // The chains of the person; ending one; suspending ends the rest.
  await consent(connection.connectionId, 'ada');
  await page.getByRole('button', { name: 'Load people again' }).click();
  await row(page, 'ada@example.com').getByText('active', { exact: true }).waitFor();
  await row(page, 'ada@example.com').getByText('ada@example.com').click();
  const chains = details(page).getByRole('region', { name: 'Agents that act for this person' });
  await chains.getByText('orders:read').waitFor();
  await settled(page);
  await assertAccessible(page);
  await assertFits(page, [360, 1280]);
  await chains.getByRole('button', { name: 'End it' }).click();
  await dialog(page)
    .getByText(/This cannot be undone/)
    .waitFor();
  await dialog(page).getByRole('button', { name: 'Revoke' }).click();
  await chains.getByText('None.').waitFor();
  await consent(connection.connectionId, 'ada');
  await details(page).getByRole('button', { name: 'Suspend' }).click();
  await dialog(page)
    .getByText(/ends for good/)
    .waitFor();
  await dialog(page).getByRole('button', { name: 'Suspend person' }).click();
  await details(page).getByRole('button', { name: 'Activate' }).click();
  await row(page, 'ada@example.com').getByText('active', { exact: true }).waitFor();
  assert.equal((await operate('GET', '/delegations?subjectType=person&status=active')).total, 0);
  await row(page, 'ada@example.com')
    .getByRole('button', { name: /^Change/ })
    .click();
  await dialog(page).getByRole('radio', { name: 'viewer' }).check();
  await dialog(page).getByRole('button', { name: 'Save changes' }).click();
  await dialog(page).getByText('Choose an agent').waitFor();
  await dialog(page).getByRole('button', { name: 'Cancel' }).click();

  // Clients that came by a document, and the policy.
  await goTo(page, '/organization?tab=clients');
  await page.getByText('Every application is admitted').waitFor();
  await page.getByRole('button', { name: 'Change policy' }).click();
  await dialog(page).getByRole('radio', { name: 'Of these domains' }).check();
  await dialog(page).getByRole('combobox', { name: 'Domains' }).fill('receiver.test');
  await page.keyboard.press('Enter');
  await assertAccessible(page);
  await dialog(page).getByRole('button', { name: 'Save policy' }).click();
  await page.getByText('Applications of these domains are admitted: receiver.test').waitFor();
  await row(page, 'receiver.test')
    .getByRole('button', { name: /^Suspend/ })
    .click();
  await dialog(page)
    .getByText(/acts for nobody of the organization any more/)
    .waitFor();
  await dialog(page).getByRole('button', { name: 'Suspend client' }).click();
  await row(page, 'receiver.test').getByText('suspended').waitFor();
  await row(page, 'receiver.test')
    .getByRole('button', { name: /^Activate/ })
    .click();
  await row(page, 'receiver.test').getByText('active').waitFor();
  await row(page, 'receiver.test').getByRole('link', { name: 'receiver.test', exact: true }).click();
  await page.getByText('as the document at its client address says; public client').waitFor();
  await page.getByRole('list', { name: 'Redirect URIs' }).getByText(redirectUri).waitFor();

  // What ends with a connection.
  await goTo(page, `/organization?tab=connections&selected=${connection.connectionId}`);
  await details(page).getByRole('button', { name: 'Disable' }).click();
  await dialog(page)
    .getByText(/the sessions that began through it end/)
    .waitFor();
  await dialog(page).getByRole('button', { name: 'Disable connection' }).click();
  await details(page).getByRole('button', { name: 'Enable' }).click();
  await details(page).getByText('active', { exact: true }).waitFor();
  await details(page).getByRole('button', { name: 'Delete' }).click();
  await dialog(page)
    .getByText(/Invitations by e-mail that wait/)
    .waitFor();
  await dialog(page).getByRole('button', { name: 'Delete connection' }).click();
  await page.getByRole('heading', { name: 'No connections yet' }).waitFor();
});

browserTest('an agent as a client, and what people may lend at an API', async (t) => {
  const { agentId } = await server.agent();
  const [person] = (await operate('GET', `/organizations/${organizationId}/people`)).data;
  const page = await server.open(t, `/agents/${agentId}`);
  await page.getByText('no: it has no redirect URIs').waitFor();
  await page.getByRole('button', { name: 'Edit' }).click();
  const uris = dialog(page).getByRole('combobox', { name: 'Redirect URIs' });
  await uris.fill('http://app.example/callback');
  await page.keyboard.press('Enter');
  await dialog(page).getByRole('button', { name: 'Save changes' }).click();
  await dialog(page)
    .getByText(/must be an absolute https/)
    .first()
    .waitFor();
  await uris.press('Backspace');
  await uris.fill(redirectUri);
  await page.keyboard.press('Enter');
  await dialog(page).getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('after their consent, which goes to a redirect URI; it authenticates itself').waitFor();
  assert.deepEqual((await operate('GET', `/agents/${agentId}`)).redirectUris, [redirectUri]);

  await goTo(page, `/apis/${resource.resourceId}`);
  await page.getByText('none beside the admins of the organization').waitFor();
  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog(page).getByRole('checkbox', { name: 'orders:write' }).check();
  await dialog(page)
    .getByRole('checkbox', { name: /person_email/ })
    .check();
  await dialog(page).getByRole('combobox', { name: 'Approvers' }).click();
  await page.getByRole('option', { name: /ada@example.com/ }).click();
  await page.keyboard.press('Escape');
  await assertAccessible(page);
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await page.getByRole('link', { name: `person ${person.personId.slice(0, 8)}` }).waitFor();
  const { peopleScopes, approvers, claims } = await operate('GET', `/resources/${resource.resourceId}`);
  assert.deepEqual(
    [peopleScopes, approvers, claims],
    [['orders:read', 'orders:write'], [person.personId], ['personEmail']],
  );
});
