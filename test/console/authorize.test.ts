/** The consent page and "My agents" in a browser: the way of a person through a real provider, and every other state of the page. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page, Route } from 'playwright-core';
import { createOutbound } from '../../src/adapters/outbound/outbound.ts';
import {
  assertAccessible,
  assertFits,
  assertNoSidewaysScroll,
  browserTest,
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
const { organizationId } = server.operator;

const operate = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH', url: string, payload?: object) => {
  const answer = await server.call(method, `/api/v1${url}`, {
    token: await server.token(),
    ...(payload && { payload }),
  });
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`);
  return answer.json;
};

await operate('POST', `/organizations/${organizationId}/connections`, {
  name: 'Company <b>Login</b>',
  issuer: provider.issuer,
  clientId: provider.clientId,
  clientSecret: provider.clientSecret,
});
const resource = await operate(
  'POST',
  '/resources',
  newResource({ peopleScopes: ['orders:read', 'orders:write'] }),
);

/** The client of a document, with a name that would like to be more than a name. */
const hostileName = `<img src=x onerror=alert(1)> \u202Enimda yb dekcehc ${'long'.repeat(120)}`;
const documents = new Map<string, object>();
const receiver = await startReceiver(({ url }, response) => {
  response.writeHead(documents.has(url) ? 200 : 404, { 'content-type': 'application/json' });
  response.end(JSON.stringify(documents.get(url) ?? {}));
});
const clientId = `https://receiver.test:${receiver.port}/client.json`;
const redirectUri = 'https://app.example/callback';
documents.set('/client.json', {
  client_id: clientId,
  client_name: hostileName.slice(0, 100),
  redirect_uris: [redirectUri],
});

const allow = [new RegExp(`^foreign: ${provider.issuer}/`), /^foreign: https:\/\/app\.example\//];
const shownName = '<img src=x onerror=alert(1)>';
const allowButton = (page: Page) => page.getByRole('button', { name: 'Allow', exact: true });
const title = (page: Page) => page.getByRole('heading', { level: 1, name: 'Let an application act for you?' });
/** The button works when it has been seen for a second. */
const allowWorks = (page: Page) => page.locator('button:not([aria-disabled])', { hasText: 'Allow' }).waitFor();

browserTest('a person signs in, allows a part, sees it under My agents and revokes it', async (t) => {
  provider.accounts.ada = { name: 'Ada Lovelace', email: 'ada@example.com', email_verified: true };
  const page = await server.open(t, '/sign-in', { as: null, allow });
  const verifier = randomBytes(32).toString('base64url');
  const address = `${server.url}/api/v1/authorize?${new URLSearchParams({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: challengeOf(verifier),
    code_challenge_method: 'S256',
    resource: resource.identifier,
    state: 'own state',
  })}`;
  await page.route('https://app.example/**', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<title>App</title><a href="${address.replaceAll('&', '&amp;')}">Connect</a>`,
    }),
  );
  // From the client's own site: the page comes without a session, and goes on to the only provider by itself.
  await page.goto('https://app.example/');
  await page.getByRole('link', { name: 'Connect' }).click();
  await page.getByLabel('Login').fill('ada');
  await page.getByRole('button', { name: 'Continue' }).click();

  await title(page).waitFor();
  const application = page.getByRole('region', { name: 'The application' });
  await application.getByText('receiver.test', { exact: true }).waitFor();
  await application.getByText('app.example', { exact: true }).waitFor();
  await application.getByText(/no administrator of your organization has registered it/).waitFor();
  await application.getByText(resource.identifier).waitFor();
  await application.getByText(shownName).first().waitFor();
  assert.equal(await page.locator('img').count(), 0);
  await page.getByText('Ada Lovelace').waitFor();
  await page.getByText('ada@example.com').waitFor();
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
  const [chain] = (await operate('GET', '/delegations?subjectType=person')).data;
  assert.equal(Date.parse(chain.expiresAt) - Date.parse(chain.createdAt), 86_400_000);
  assert.equal(chain.allowRedelegation, false);

  // A member: one page, and no other.
  await page.goto('/console');
  await page.getByRole('heading', { level: 1, name: 'My agents' }).waitFor();
  assert.match(page.url(), /\/console\/my-agents$/);
  const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
  assert.deepEqual(await links.allTextContents(), ['My agents']);
  const row = page.getByRole('row').filter({ hasText: shownName });
  await row.getByText('receiver.test').waitFor();
  await row.getByText('orders:read').waitFor();
  await assertAccessible(page, { whole: true });
  await assertFits(page, [360, 1280]);
  await page.keyboard.press('Control+k');
  await page.getByRole('option').first().waitFor();
  const options = await page.getByRole('option').allTextContents();
  assert.deepEqual(options, ['My agentsPage']);
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
  await assertAccessible(page, { whole: true });
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
  await page.getByRole('heading', { name: 'Nobody can sign in here' }).waitFor();

  // Another person, without a sign-in that begins by itself.
  asked = { json: question };
  signIn = { json: { ...choice, connections: connections.slice(0, 1) } };
  await open();
  await page.getByText('an administrator of your organization', { exact: true }).waitFor();
  await page.getByText('The answer goes to a program on this computer').waitFor();
  await page.getByRole('checkbox', { name: '</label><b>Read</b> ␣' }).waitFor();
  await assertAccessible(page, { whole: true });
  await assertNoSidewaysScroll(page);
  await page.getByRole('button', { name: 'Sign in as somebody else' }).click();
  await page.getByRole('link', { name: 'Sign in with Staff' }).waitFor();
  assert.deepEqual(starts, []);

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
  await page.getByRole('button', { name: 'Sign in as somebody else' }).waitFor();
  asked = error(404, 'AUTHORIZATION_REQUEST_NOT_FOUND', 'Not found.');
  await open();
  await page.getByRole('heading', { name: 'This request is over' }).waitFor();
  await assertAccessible(page, { whole: true });
  asked = error(500, 'INTERNAL_SERVER_ERROR', 'Something failed on our side.');
  await open();
  await page.getByRole('alert').getByText('failed-request').waitFor();
  asked = { json: question };
  await page.getByRole('button', { name: 'Try again' }).click();
  await allowButton(page).waitFor();

  // Somebody else has signed in in another tab: the page follows, and nothing of the choice stays.
  await page.getByRole('checkbox', { name: /^It may pass this on/ }).check();
  asked = { json: { ...question, person: { ...question.person, personId: randomUUID(), name: 'Grace' } } };
  await page.evaluate("dispatchEvent(new Event('focus'))");
  await page.getByText('Grace').waitFor();
  await until('the choice is new', async () =>
    (await page.getByRole('checkbox', { name: /^It may pass this on/ }).isChecked()) ? undefined : true,
  );
});
