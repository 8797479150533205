/** Connections, people, clients, consent and "My agents" in a browser, with a real provider and a client that came by a document. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page, Route } from 'playwright-core';
import { createOutbound } from '../../src/adapters/outbound/outbound.ts';
import { createBrowser } from '../support/clients/browser.ts';
import {
  assertAccessible,
  assertFits,
  assertNoSidewaysScroll,
  browserTest,
  goTo,
  openSection,
  pressTo,
  startConsole,
} from '../support/console.ts';
import { startReceiver, trustTestAuthority } from '../support/peers/receivers.ts';
import { startSignInProvider } from '../support/peers/sign-in-provider.ts';
import { until } from '../support/programs.ts';
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
provider.accounts.grace = { name: 'Grace Hopper', email: 'grace@example.com', email_verified: true };
const { organizationId } = server.operator;
const token = await server.token();

const operate = async (method: 'GET' | 'POST', url: string, payload?: object) => {
  const answer = await server.call(method, `/api/v1${url}`, { token, ...(payload && { payload }) });
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`);
  return answer.json;
};

/** The client of a document, with a name that would like to be more than a name. */
const hostileName = `<img src=x onerror=alert(1)> \u202Enimda yb dekcehc ${'long'.repeat(120)}`;
const shownName = '<img src=x onerror=alert(1)>';
const redirectUri = 'https://app.example/callback';
const receiver = await startReceiver((_, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(
    JSON.stringify({
      client_id: clientId,
      client_name: hostileName.slice(0, 100),
      redirect_uris: [redirectUri],
    }),
  );
});
const clientId = `https://receiver.test:${receiver.port}/client.json`;
const resource = await operate(
  'POST',
  '/resources',
  newResource({ peopleScopes: ['orders:read', 'orders:write'] }),
);

const newRequest = () => {
  const verifier = randomBytes(32).toString('base64url');
  const parameters = new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
    resource: resource.identifier,
    state: 'own state',
  });
  return { verifier, path: `/api/v1/authorize?${parameters}` };
};

/** The person signs in through the connection and lets the client act, without a page. */
async function consent(connectionId: string, login: string) {
  const browser = createBrowser(server, server.url);
  const asked = await browser.visit(`/console/api/oidc/start?connectionId=${connectionId}`);
  await browser.visit(asked.url, { method: 'POST', form: { login, answer: 'yes' } });
  const { location = '' } = await browser.request(newRequest().path);
  const requestId = location.replace('/console/authorize/', '');
  const decided = await browser.change('POST', `/console/api/authorization-requests/${requestId}`, {
    decision: 'approve',
  });
  assert.equal(decided.status, 200, decided.text);
}

const allow = [new RegExp(`^foreign: ${provider.issuer}/`), /^foreign: https:\/\/app\.example\//];
const row = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });
const dialog = (page: Page) => page.getByRole('dialog');
const details = (page: Page) => page.getByRole('complementary', { name: 'Details' });
const settled = (page: Page) => page.locator('[data-fetching]').waitFor({ state: 'detached' });

browserTest(
  'an admin adds and tests a connection, invites by e-mail, ends chains, limits clients',
  async (t) => {
    const page = await server.open(t, '/organization?tab=connections', { allow });
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
    await dialog(page).getByLabel('Accept identity assertions (ID-JAG)').check();
    await assertAccessible(page);
    await dialog(page).getByRole('button', { name: 'Add connection' }).click();
    await row(page, 'Company <b>Login</b>').getByText('who meets 1 condition').waitFor();
    const [connection] = (await operate('GET', `/organizations/${organizationId}/connections`)).data;

    // The test signs in at the provider, and shows why eve would be refused.
    await row(page, 'Company <b>Login</b>').click();
    assert.equal(connection.idJag, true);
    await details(page).getByText('email matches the pattern *@example.com').waitFor();
    await details(page).getByText('accepted: the provider can vouch').waitFor();
    await details(page).getByText(`/console/sign-in?connectionId=${connection.connectionId}`).waitFor();
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
    await page.getByRole('button', { name: 'Close details' }).click();
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
      .getByText(/acts for no person of the organization any more/)
      .waitFor();
    await dialog(page).getByRole('button', { name: 'Suspend client' }).click();
    await row(page, 'receiver.test').getByText('suspended').waitFor();
    await row(page, 'receiver.test')
      .getByRole('button', { name: /^Activate/ })
      .click();
    await row(page, 'receiver.test').getByText('active').waitFor();
    await row(page, 'receiver.test').getByRole('link', { name: 'receiver.test', exact: true }).click();
    await page.getByRole('tab', { name: 'Identity' }).click();
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
  },
);

browserTest('an agent as a client, and what people may lend at an API', async (t) => {
  const { agentId } = await server.agent();
  const api = await operate('POST', '/resources', newResource({ peopleScopes: ['orders:read'] }));
  const person = await operate('POST', `/organizations/${organizationId}/people`, {
    issuer: provider.issuer,
    subject: randomUUID(),
    name: 'Barbara',
    role: 'member',
  });
  const page = await server.open(t, `/agents/${agentId}?tab=identity`);
  await page.getByText('no: it has no redirect URIs').waitFor();
  await page.getByRole('button', { name: 'Edit' }).click();
  await openSection(dialog(page), 'Acting for people');
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
  await page
    .getByText('after their consent, which goes to a redirect URI; it authenticates itself')
    .waitFor();
  assert.deepEqual((await operate('GET', `/agents/${agentId}`)).redirectUris, [redirectUri]);

  await goTo(page, `/apis/${api.resourceId}`);
  await page.getByText('none beside the admins of the organization').waitFor();
  await page.getByRole('button', { name: 'Edit' }).click();
  await openSection(dialog(page), 'People');
  await dialog(page).getByRole('checkbox', { name: 'orders:write' }).check();
  await openSection(dialog(page), 'Facts about the agent');
  await dialog(page)
    .getByRole('checkbox', { name: /person_email/ })
    .check();
  await dialog(page).getByRole('combobox', { name: 'Approvers' }).click();
  await page.getByRole('option', { name: 'Barbara' }).click();
  await page.keyboard.press('Escape');
  // What is scrolled out of the dialog would be too near to the controls of the page behind it.
  await dialog(page).getByRole('checkbox', { name: 'orders:read' }).scrollIntoViewIfNeeded();
  await assertAccessible(page);
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await page.getByRole('link', { name: person.name }).waitFor();
  const { peopleScopes, approvers, claims } = await operate('GET', `/resources/${api.resourceId}`);
  assert.deepEqual(
    [peopleScopes, approvers, claims],
    [['orders:read', 'orders:write'], [person.personId], ['personEmail']],
  );
});

const allowButton = (page: Page) => page.getByRole('button', { name: 'Allow', exact: true });
const title = (page: Page) =>
  page.getByRole('heading', { level: 1, name: 'Let an application act for you?' });
/** The button works when it has been seen for a second. */
const allowWorks = (page: Page) =>
  page.locator('button:not([aria-disabled])', { hasText: 'Allow' }).waitFor();

browserTest('a person signs in, allows a part, sees it under My agents and revokes it', async (t) => {
  const path = `/organizations/${organizationId}/connections`;
  const { issuer, clientId: ownId, clientSecret } = provider;
  // The test before deletes its own.
  if ((await operate('GET', path)).total === 0)
    await operate('POST', path, { name: 'Company', issuer, clientId: ownId, clientSecret });
  const page = await server.open(t, '/sign-in', { as: null, allow });
  const { verifier, path: request } = newRequest();
  await page.route('https://app.example/**', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<title>App</title><a href="${server.url}${request.replaceAll('&', '&amp;')}">Connect</a>`,
    }),
  );
  // From the client's own site: the page comes without a session, and goes on to the only provider by itself.
  await page.goto('https://app.example/');
  await page.getByRole('link', { name: 'Connect' }).click();
  await page.getByLabel('Login').fill('grace');
  await page.getByRole('button', { name: 'Continue' }).click();

  await title(page).waitFor();
  const application = page.getByRole('region', { name: 'The application' });
  await application.getByText('receiver.test', { exact: true }).waitFor();
  await application.getByText('app.example', { exact: true }).waitFor();
  await application
    .getByText(/no administrator of your organization\. An application can give itself any name/)
    .waitFor();
  await application.getByText(resource.identifier).waitFor();
  await application.getByText(shownName).first().waitFor();
  assert.equal(await page.locator('img').count(), 0);
  await page.getByText('Grace Hopper').waitFor();
  await page.getByText('grace@example.com').waitFor();
  assert.equal(await page.getByText('The answer goes to a program on this computer').count(), 0);
  assert.equal(await page.getByRole('navigation').count(), 0);
  await assertAccessible(page, { whole: true });
  await assertFits(page, [360, 1280]);

  // By keyboard alone: nothing ticked cannot be allowed.
  const read = page.getByRole('checkbox', { name: 'Read orders' });
  const write = page.getByRole('checkbox', { name: 'orders:write' });
  assert.deepEqual([await read.isChecked(), await write.isChecked()], [true, true]);
  assert.equal(await page.getByRole('radio', { name: '30 days' }).isChecked(), true);
  for (const box of [read, write]) {
    await pressTo(page, box);
    await page.keyboard.press('Space');
  }
  await page.getByText('Choose at least one, or deny.').waitFor();
  assert.equal(await allowButton(page).isDisabled(), true);
  await pressTo(page, read);
  await page.keyboard.press('Space');
  await pressTo(page, page.getByRole('radio', { name: '30 days' }));
  await page.keyboard.press('ArrowLeft');
  assert.equal(await page.getByRole('radio', { name: '1 day' }).isChecked(), true);
  await pressTo(page, allowButton(page));
  // The focus has gone round, out of the page and back.
  await allowWorks(page);
  await page.keyboard.press('Enter');
  await page.waitForURL(`${redirectUri}?**`);
  const { code, state, iss } = Object.fromEntries(new URL(page.url()).searchParams);
  assert.deepEqual([state, iss], ['own state', server.url]);

  const tokens = await server.askToken({
    grant_type: 'authorization_code',
    code: String(code),
    code_verifier: verifier,
    redirect_uri: redirectUri,
    client_id: clientId,
  });
  assert.deepEqual([tokens.status, tokens.json.scope], [200, 'orders:read'], tokens.text);
  const isActive = async () =>
    (await server.form('/api/v1/token/introspect', { token: tokens.json.access_token }, await server.token()))
      .json.active;
  assert.equal(await isActive(), true);
  const [chain] = (await operate('GET', '/delegations?subjectType=person&status=active')).data;
  assert.equal(Date.parse(chain.expiresAt) - Date.parse(chain.createdAt), 86_400_000);
  assert.equal(chain.allowRedelegation, false);

  // A member: two pages, and no other.
  await page.goto('/console');
  await page.getByRole('heading', { level: 1, name: 'My agents' }).waitFor();
  assert.match(page.url(), /\/console\/my-agents$/);
  const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
  assert.deepEqual(await links.allTextContents(), ['My agents', 'Approvals']);
  const row = page.getByRole('row').filter({ hasText: shownName });
  await row.getByText('receiver.test').waitFor();
  await row.getByText('orders:read').waitFor();
  await assertAccessible(page, { whole: true });
  await assertFits(page, [360, 1280]);
  await page.keyboard.press('Control+k');
  await page.getByRole('option').first().waitFor();
  const options = await page.getByRole('option').allTextContents();
  assert.deepEqual(options, ['Approvals', 'My agents', 'Sign in to the command line']);
  await page.keyboard.press('Escape');
  await page.goto('/console/agents');
  await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
  await page.getByRole('link', { name: 'Go to my agents' }).click();

  await row.getByRole('button', { name: /^Revoke/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Revoke this access?' });
  await dialog.getByText(/no longer acts for you/).waitFor();
  await assertAccessible(page);
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('heading', { name: 'No agent acts for you' }).waitFor();
  assert.equal(await isActive(), false);
  await page.getByText('Revoked', { exact: true }).click();
  await row.getByText('orders:read').waitFor();

  // The browser knows the way back in.
  await page.getByRole('button', { name: /^Account/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByRole('link', { name: 'Sign in through your organization' }).click();
  await page.getByRole('heading', { level: 1, name: 'My agents' }).waitFor();
});

const question = {
  requestId: randomUUID(),
  client: {
    agentId: randomUUID(),
    clientId: randomUUID(),
    name: 'screener@example.com',
    host: null,
    redirectHost: '127.0.0.1',
    registered: true,
  },
  resource: { identifier: 'https://orders.example', name: 'Orders' },
  person: { personId: randomUUID(), name: 'Ada', email: null },
  scopes: [{ name: 'orders:read', description: '</label><b>Read</b> \u202E' }],
  authorizationDetails: null,
  expiresAt: new Date(Date.now() + 600_000).toISOString(),
};
const choice = {
  requestId: question.requestId,
  organizationNeeded: false,
  connections: [] as { connectionId: string; name: string }[],
  instance: false,
  client: { name: hostileName, host: 'client.example' },
  resource: { name: 'Orders' },
};
const error = (status: number, code: string, message: string, details: object = {}) => ({
  status,
  headers: { 'x-request-id': 'failed-request' },
  json: { code, message, details },
});
const unauthorized = error(401, 'UNAUTHORIZED', 'Sign in.');

browserTest('the other states: sign-in, refusals, the end of a request, errors', async (t) => {
  const page = await server.open(t, '/sign-in?error=conditions_not_met', { as: null, width: 360 });
  await page
    .getByRole('alert')
    .getByText(/does not meet the conditions of the organization/)
    .waitFor();
  type Fulfil = Parameters<Route['fulfill']>[0];
  let [asked, signIn, posted, chosen]: Fulfil[] = [];
  const sent: unknown[] = [];
  await page.route('**/console/api/authorization-requests/**', (route) => {
    const request = route.request();
    const isSignIn = request.url().endsWith('/sign-in');
    if (request.method() === 'POST') sent.push(request.postDataJSON());
    if (request.method() === 'GET') return route.fulfill(isSignIn ? signIn : asked);
    return route.fulfill(isSignIn ? chosen : posted);
  });
  await page.route('**/console/api/session', (route) => route.fulfill({ status: 204 }));
  const starts: string[] = [];
  await page.route('**/console/api/oidc/start?*', (route) => {
    starts.push(new URL(route.request().url()).search);
    return route.fulfill({ contentType: 'text/html', body: '<h1>Provider</h1>' });
  });
  const address = `/console/authorize/${question.requestId}`;
  const open = async () => {
    await page.goto(address);
    await title(page).waitFor();
  };

  // The organization by its slug, and then a choice of two.
  const connections = [
    { connectionId: randomUUID(), name: 'Staff' },
    { connectionId: randomUUID(), name: `<img src=x> ${'name'.repeat(20)}` },
  ];
  asked = unauthorized;
  signIn = { json: { ...choice, organizationNeeded: true } };
  chosen = error(404, 'ORG_NOT_FOUND', 'There is no such organization, or its people cannot give access.');
  await open();
  await page.getByText('client.example').waitFor();
  await page.getByText('␣nimda yb dekcehc').waitFor();
  await page.getByLabel('Short name of your organization').fill(' Acme ');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('There is no such organization').waitFor();
  await assertAccessible(page, { whole: true });
  await assertNoSidewaysScroll(page);
  chosen = { json: { ...choice, connections } };
  await page.getByRole('button', { name: 'Continue' }).click();
  const second = page.getByRole('link', { name: /^Sign in with <img src=x>/ });
  await second.waitFor();
  assert.deepEqual(sent.splice(0), [{ organization: 'acme' }, { organization: 'acme' }]);
  await assertNoSidewaysScroll(page);
  assert.deepEqual(starts, []);
  await second.click();
  await page.getByRole('heading', { name: 'Provider' }).waitFor();
  const connectionId = String(connections[1]?.connectionId);
  assert.deepEqual(starts.splice(0), [
    `?${new URLSearchParams({ connectionId, requestId: question.requestId })}`,
  ]);

  // One way: the browser takes it once, and then asks.
  signIn = { json: { ...choice, connections: connections.slice(0, 1) } };
  await page.goto(address);
  await page.getByRole('heading', { name: 'Provider' }).waitFor();
  await page.goto(address);
  await page.getByRole('link', { name: 'Sign in with Staff' }).waitFor();
  assert.equal(starts.splice(0).length, 1);
  signIn = { json: choice };
  await open();
  await page.getByRole('heading', { name: 'There is no way to sign in here' }).waitFor();

  // Another person, without a sign-in that begins by itself.
  const authorizationDetails = [
    { type: 'payment', amount: 120, payee: { name: '<img src=x>\u202E', note: 'n'.repeat(2_000) } },
  ];
  asked = { json: { ...question, authorizationDetails } };
  signIn = { json: { ...choice, connections: connections.slice(0, 1) } };
  await open();
  const action = page.getByRole('table', { name: 'payment' });
  await action.getByRole('row', { name: 'amount 120' }).waitFor();
  await action.getByRole('row', { name: 'payee › name <img src=x>␣' }).waitFor();
  assert.equal(await page.locator('img').count(), 0);
  await page.getByText('an administrator of your organization', { exact: true }).waitFor();
  await page.getByText('The answer goes to a program on this computer').waitFor();
  await page.getByRole('checkbox', { name: '</label><b>Read</b> ␣' }).waitFor();
  await assertAccessible(page, { whole: true });
  await assertNoSidewaysScroll(page);
  await page.getByRole('button', { name: 'Sign in as another person' }).click();
  const staff = page.getByRole('link', { name: 'Sign in with Staff' });
  await staff.waitFor();
  assert.deepEqual(starts, []);
  await staff.click();
  await page.getByRole('heading', { name: 'Provider' }).waitFor();
  assert.equal(new URLSearchParams(starts.splice(0)[0]).get('prompt'), 'select_account');

  // Decisions: an address that is no client's is not opened; a failure keeps the choice; a second decision is too late.
  await open();
  posted = { json: { redirectTo: 'javascript:alert(document.domain)//' } };
  await page.getByRole('checkbox', { name: /^It may pass this on/ }).check();
  await page.getByRole('radio', { name: '90 days' }).check();
  await allowWorks(page);
  await allowButton(page).click();
  await page.getByText('The answer cannot be delivered').waitFor();
  assert.deepEqual(sent.splice(0), [
    { decision: 'approve', scopes: ['orders:read'], expiresIn: 7_776_000, allowRedelegation: true },
  ]);
  await open();
  posted = error(500, 'INTERNAL_SERVER_ERROR', 'Something failed on our side.');
  await page.getByRole('radio', { name: '1 hour' }).check();
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByRole('alert').getByText('failed-request').waitFor();
  assert.equal(await page.getByRole('radio', { name: '1 hour' }).isChecked(), true);
  posted = error(409, 'AUTHORIZATION_REQUEST_DECIDED', 'Decided.');
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByRole('heading', { name: 'This request is over' }).waitFor();
  assert.deepEqual(sent.splice(0), [{ decision: 'deny' }, { decision: 'deny' }]);

  // No permission, with and without a way back; over; an error that passes.
  const back = 'https://client.example/callback?error=access_denied';
  asked = error(403, 'FORBIDDEN', 'An administrator must activate it.', { redirectTo: back });
  await open();
  await page.getByText('An administrator must activate it.').waitFor();
  const way = page.getByRole('link', { name: 'Return to client.example' });
  assert.equal(await way.getAttribute('href'), back);
  await assertAccessible(page, { whole: true });
  asked = error(403, 'FORBIDDEN', 'Another organization.', { redirectTo: 'javascript:alert(1)' });
  await open();
  await page.getByText('Another organization.').waitFor();
  assert.equal(await page.getByRole('link').count(), 0);
  await page.getByRole('button', { name: 'Sign in as another person' }).waitFor();
  asked = error(404, 'AUTHORIZATION_REQUEST_NOT_FOUND', 'Not found.');
  await open();
  await page.getByRole('heading', { name: 'This request is over' }).waitFor();
  asked = error(500, 'INTERNAL_SERVER_ERROR', 'Something failed on our side.');
  await open();
  await page.getByRole('alert').getByText('failed-request').waitFor();
  asked = { json: question };
  await page.getByRole('button', { name: 'Try again' }).click();
  await allowButton(page).waitFor();

  // Another person has signed in in another tab: the page follows, and nothing of the choice stays.
  await page.getByRole('checkbox', { name: /^It may pass this on/ }).check();
  asked = { json: { ...question, person: { ...question.person, personId: randomUUID(), name: 'Grace' } } };
  await page.evaluate("dispatchEvent(new Event('focus'))");
  await page.getByText('Grace').waitFor();
  await until('the choice is new', async () =>
    (await page.getByRole('checkbox', { name: /^It may pass this on/ }).isChecked()) ? undefined : true,
  );
});
