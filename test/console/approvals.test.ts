/** Approvals in a browser: what waits for a person, the page that decides, the organization's list and its policy. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { createOutbound } from '../../src/adapters/outbound/outbound.ts';
import { createBrowser, type TestBrowser } from '../support/clients/browser.ts';
import {
  assertAccessible,
  assertFits,
  assertNoSidewaysScroll,
  browserTest,
  goTo,
  type OpenOptions,
  openSection,
  pressTo,
  settle,
  startConsole,
} from '../support/console.ts';
import { trustTestAuthority } from '../support/peers/receivers.ts';
import { startSignInProvider } from '../support/peers/sign-in-provider.ts';
import { until } from '../support/programs.ts';

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
for (const name of ['Ada', 'Grace', 'Linus'])
  provider.accounts[name.toLowerCase()] = {
    name,
    email: `${name.toLowerCase()}@example.com`,
    email_verified: true,
  };
const { organizationId } = server.operator;
const token = await server.token();

const operate = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH', url: string, payload?: object) => {
  const answer = await server.call(method, `/api/v1${url}`, { token, ...(payload && { payload }) });
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`);
  return answer.json;
};

const connection = await operate('POST', `/organizations/${organizationId}/connections`, {
  name: 'Company',
  issuer: provider.issuer,
  clientId: provider.clientId,
  clientSecret: provider.clientSecret,
});

interface Person {
  readonly personId: string;
  readonly browser: TestBrowser;
}

/** A member, with a session in a browser of their own. */
async function member(login: string): Promise<Person> {
  const browser = createBrowser(server, server.url);
  const asked = await browser.visit(`/console/api/oidc/start?connectionId=${connection.connectionId}`);
  await browser.visit(asked.url, { method: 'POST', form: { login, answer: 'yes' } });
  const session = await browser.request('/console/api/session');
  assert.equal(session.status, 200, session.text);
  return { personId: (session.json as { person: { personId: string } }).person.personId, browser };
}

const [ada, grace, linus] = [await member('ada'), await member('grace'), await member('linus')];

const refunds = {
  scopes: [
    { name: 'orders:read', description: 'Read orders' },
    { name: 'orders:refund', description: 'Refund <i>one</i> order' },
  ],
  peopleScopes: ['orders:read', 'orders:refund'],
  authorizationDetailTypes: [
    {
      type: 'payment',
      description: 'A payment',
      schema: { type: 'object', required: ['amount'], properties: { amount: { type: 'number' } } },
    },
  ],
};
const register = (changes: object = {}) =>
  operate('POST', '/resources', {
    identifier: `https://${randomUUID()}.example/orders`,
    name: 'Orders API',
    ...refunds,
    ...changes,
  });
const orders = await register();
const shared = await register({ name: 'Shared API', approvers: [ada.personId, grace.personId] });
const agent = await server.agent({ email: `refunds-${randomUUID().slice(0, 8)}@example.com` });
const { email } = await operate('GET', `/agents/${agent.agentId}`);

/** The agent asks a person. */
async function ask(login: Person | 'approvers', changes: Record<string, string> = {}, as = agent) {
  const answer = await server.form('/api/v1/bc-authorize', {
    client_id: as.clientId,
    client_secret: as.clientSecret,
    scope: 'orders:read orders:refund',
    resource: login === 'approvers' ? shared.identifier : orders.identifier,
    login_hint: login === 'approvers' ? login : login.personId,
    binding_message: 'Refund order 7',
    ...changes,
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.json as { approval_id: string; auth_req_id: string };
}

const decide = (person: Person, approvalId: string, body: object) =>
  person.browser.change('POST', `/console/api/me/approvals/${approvalId}`, body);
const stateOf = (approvalId: string) => operate('GET', `/approvals/${approvalId}`);

/** Ends what earlier tests have left. */
const clear = () => server.sql(`update approvals set status = 'canceled' where status = 'pending'`);

/** A page with the session of a person. */
async function openAs(
  t: TestContext,
  person: Person,
  path: string,
  options: OpenOptions = {},
): Promise<Page> {
  const page = await server.open(t, '/sign-in', { as: null, ...options });
  const cookies = person.browser.cookies(server.url);
  await page
    .context()
    .addCookies(cookies.map(({ name, value, path: at }) => ({ name, value, path: at, domain: '127.0.0.1' })));
  await page.goto(`/console${path}`);
  return page;
}

const row = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });
const dialog = (page: Page) => page.getByRole('dialog');
const navigation = (page: Page) => page.getByRole('navigation', { name: 'Pages' });
const badge = (page: Page) => navigation(page).getByRole('link', { name: /^Approvals/ });
const title = (page: Page, wanted: RegExp) =>
  until(`title ${wanted}`, async () => wanted.test(await page.title()) || undefined, undefined, 20_000).catch(
    async () => assert.fail(`the title is ${await page.title()}`),
  );
/** The button of the dialog works when it has been seen for a second. */
const confirm = async (page: Page, name: string) => {
  await dialog(page).locator('button:not([aria-disabled])', { hasText: name }).waitFor();
  await dialog(page).getByRole('button', { name, exact: true }).click();
};

browserTest('a person sees what waits, narrows it and approves, by keyboard', async (t) => {
  await clear();
  const { approval_id, auth_req_id } = await ask(ada);
  const page = await openAs(t, ada, '/approvals');
  const sentence = `${email} asks for orders:read, orders:refund at Orders API for 1 hour: “Refund order 7”`;
  await row(page, sentence).getByText('in 9 minutes').waitFor();
  await badge(page).getByText('1', { exact: true }).waitFor();
  await title(page, /^\(1\) Approvals · Countersign$/);
  assert.deepEqual(
    (await navigation(page).getByRole('link').allTextContents()).map((text) => text.replace(/1.*/, '')),
    ['My agents', 'Approvals'],
  );
  await settle(page);
  await assertAccessible(page, { whole: true });
  await assertFits(page, [360, 1280]);

  const link = row(page, sentence).getByRole('link', { name: /^Decide/ });
  await pressTo(page, link);
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/console/approvals/${approval_id}`);
  await page.getByText(sentence).waitFor();
  await page.getByText('Waiting for a decision').waitFor();
  const [read, refund] = [
    page.getByRole('checkbox', { name: 'Read orders' }),
    page.getByRole('checkbox', { name: 'Refund <i>one</i> order' }),
  ];
  assert.deepEqual([await read.isChecked(), await refund.isChecked()], [true, true]);
  assert.equal(await page.getByRole('checkbox', { name: /^It may pass this on/ }).isChecked(), false);
  assert.deepEqual(
    await page
      .getByRole('radio')
      .evaluateAll((all) => all.map((one) => Number((one as { value?: string }).value))),
    [300, 900, 3_600],
  );
  await assertAccessible(page, { whole: true });
  await assertFits(page, [360, 1280]);

  // Nothing ticked cannot be approved.
  const approve = page.getByRole('button', { name: 'Approve', exact: true });
  await pressTo(page, read);
  await page.keyboard.press('Space');
  await pressTo(page, refund);
  await page.keyboard.press('Space');
  await page.getByText('Choose at least one, or deny.').waitFor();
  assert.equal(await approve.isDisabled(), true);
  await page.keyboard.press('Space');
  await pressTo(page, page.getByRole('radio', { name: '1 hour, as asked' }));
  await page.keyboard.press('ArrowUp');
  assert.equal(await page.getByRole('radio', { name: '15 minutes' }).isChecked(), true);
  await pressTo(page, approve);
  await page.keyboard.press('Enter');
  await dialog(page)
    .getByText(`${email} may act for you at Orders API for 15 minutes with orders:refund.`)
    .waitFor();
  await assertAccessible(page);
  await pressTo(page, dialog(page).getByRole('button', { name: 'Approve', exact: true }));
  await dialog(page).locator('button:not([aria-disabled])', { hasText: 'Approve' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByText('By you,').waitFor();
  await page.getByText(`${email} got orders:refund at Orders API for 15 minutes`).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Deny' }).count(), 0);
  await title(page, /^Approval · Countersign$/);
  await assertAccessible(page);

  const { status, scopes, accessExpiresIn, decidedBy, chainId } = await stateOf(approval_id);
  assert.deepEqual(
    [status, scopes, accessExpiresIn, decidedBy],
    ['approved', ['orders:refund'], 900, ada.personId],
  );
  assert.equal((await operate('GET', `/delegations/${chainId}`)).allowRedelegation, false);
  const tokens = await server.askToken({
    grant_type: 'urn:openid:params:grant-type:ciba',
    auth_req_id,
    client_id: agent.clientId,
    client_secret: agent.clientSecret,
  });
  assert.deepEqual([tokens.status, tokens.json.scope], [200, 'orders:refund'], tokens.text);

  await page.getByRole('link', { name: 'All approvals' }).click();
  await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
  await page.getByText('Approved', { exact: true }).click();
  await row(page, `${email} got orders:refund`).waitFor();
  assert.match(page.url(), /show=approved/);
  await page.reload();
  await row(page, `${email} got orders:refund`).getByRole('link', { name: /^Show/ }).waitFor();
});

browserTest('deny; lapsed, canceled and foreign ones say so', async (t) => {
  await clear();
  const { approval_id } = await ask(grace);
  const page = await openAs(t, grace, `/approvals/${approval_id}`, { width: 360 });
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  await dialog(page).getByText('The agent learns that it was denied.').waitFor();
  await dialog(page).getByRole('button', { name: 'Cancel' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  assert.equal((await stateOf(approval_id)).status, 'pending');
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  await confirm(page, 'Deny');
  await page.getByText('By you,').waitFor();
  assert.equal((await stateOf(approval_id)).status, 'denied');
  await assertNoSidewaysScroll(page);
  await assertAccessible(page, { whole: true });

  const lapsed = await ask(grace);
  const canceled = await ask(grace);
  const foreign = await ask(ada);
  await server.sql('update approvals set expires_at = created_at where approval_id = $1', [
    lapsed.approval_id,
  ]);
  await server.sql(`update approvals set status = 'canceled' where approval_id = $1`, [canceled.approval_id]);
  for (const [approvalId, text] of [
    [lapsed.approval_id, 'Lapsed: no decision in time'],
    [canceled.approval_id, 'Canceled before a decision'],
    [foreign.approval_id, 'There is no such approval for you'],
    [randomUUID(), 'There is no such approval for you'],
    ['nonsense', 'There is no such approval for you'],
  ] as const) {
    await goTo(page, `/approvals/${approvalId}`);
    await page.getByText(text).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Approve', exact: true }).count(), 0, text);
    await assertNoSidewaysScroll(page);
  }
  await assertAccessible(page);
});

browserTest('an open page learns of new and decided ones without a reload', async (t) => {
  await clear();
  const page = await openAs(t, linus, '/approvals');
  await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
  await title(page, /^Approvals · Countersign$/);
  const opened = page.waitForEvent('framenavigated', { timeout: 1 }).catch(() => undefined);
  const first = await ask(linus, { binding_message: 'The first' });
  await row(page, 'The first').waitFor();
  await title(page, /^\(1\) Approvals/);
  const second = await ask(linus, { binding_message: 'The second' });
  await row(page, 'The second').waitFor();
  await badge(page).getByText('2', { exact: true }).waitFor();

  // On a narrow screen the navigation is folded, and the number in the header.
  await page.setViewportSize({ width: 360, height: 800 });
  await page.getByRole('link', { name: '2 approvals wait for you' }).waitFor();
  await assertAccessible(page, { whole: true });
  await assertNoSidewaysScroll(page);
  await goTo(page, '/my-agents');
  await title(page, /^\(2\) My agents · Countersign$/);
  await page.getByRole('link', { name: '2 approvals wait for you' }).click();
  await page.setViewportSize({ width: 1280, height: 800 });

  // Decided elsewhere: the page that decides shows it, too.
  await row(page, 'The first')
    .getByRole('link', { name: /^Decide/ })
    .click();
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
  assert.equal((await decide(linus, first.approval_id, { decision: 'deny' })).status, 200);
  await page.getByText('By you,').waitFor();
  await title(page, /^\(1\) Approval/);
  assert.equal((await decide(linus, second.approval_id, { decision: 'approve' })).status, 200);
  await title(page, /^Approval · Countersign$/);
  assert.equal(await badge(page).getByText('1', { exact: true }).count(), 0);
  assert.equal(await opened, undefined);
});

browserTest(
  'without the stream number and list come by polling, and a refused stream is asked for again',
  async (t) => {
    await clear();
    const page = await openAs(t, linus, '/approvals');
    let streams = 0;
    await page.route('**/console/api/me/approvals/events', (route) => {
      streams += 1;
      return route.fulfill({ status: 503, json: { code: 'SERVICE_UNAVAILABLE', message: 'Later.' } });
    });
    await page.clock.install();
    await page.reload();
    await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
    await until('a stream', async () => streams > 0 || undefined);
    await ask(linus);
    await page.clock.runFor(31_000);
    await title(page, /^\(1\) Approvals/);
    await row(page, 'Refund order 7').waitFor();
    assert.ok(streams > 1 && streams < 12, `${streams} streams in 31 seconds`);
  },
);

/** As if another tab were in front, or this one again. */
const hide = (page: Page, hidden: boolean) =>
  page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'))`);

browserTest('a hidden tab counts in its title, one of several, and sends no request', async (t) => {
  await clear();
  const page = await openAs(t, linus, '/approvals');
  await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
  const other = await page.context().newPage();
  await other.goto('/console/approvals');
  await other.getByRole('heading', { name: 'Nothing waits for you' }).waitFor();
  const streams = () =>
    Promise.all(
      [page, other].map((one) => one.evaluate('navigator.locks.query().then(({ held }) => held.length)')),
    );
  await Promise.all([hide(page, true), hide(other, true)]);
  await until('a tab that keeps its stream', async () => ((await streams())[0] === 1 ? true : undefined));
  const requests: string[] = [];
  page.context().on('request', (request) => requests.push(request.url()));
  const { approval_id } = await ask(linus);
  const titles = () => Promise.all([page.title(), other.title()]);
  await until('a number in one title', async () => {
    const counted = (await titles()).filter((text) => text.startsWith('(1) '));
    return counted.length === 1 || undefined;
  });
  assert.deepEqual(requests, []);
  assert.equal((await decide(linus, approval_id, { decision: 'deny' })).status, 200);
  await until('no number', async () => (await titles()).every((text) => !text.startsWith('(')) || undefined);
  assert.deepEqual(requests, []);

  // Back in front, both know everything.
  await ask(linus, { binding_message: 'While it was hidden' });
  await Promise.all([hide(page, false), hide(other, false)]);
  await Promise.all([page, other].map((one) => row(one, 'While it was hidden').waitFor()));
  await Promise.all([page, other].map((one) => title(one, /^\(1\) Approvals/)));
});

browserTest('of two people one wins; the other sees the newest state', async (t) => {
  await clear();
  const { approval_id } = await ask('approvers');
  const page = await openAs(t, ada, '/my-agents');
  // Ada does not hear of it before she decides.
  await page.route('**/console/api/me/approvals/events', (route) => route.abort());
  await page.goto(`/console/approvals/${approval_id}`);
  await page.getByText('the approvers: the first decision counts').waitFor();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await dialog(page).waitFor();
  assert.equal((await decide(grace, approval_id, { decision: 'deny' })).status, 200);
  await confirm(page, 'Approve');
  await page.getByRole('alert').getByText('Your decision came too late').waitFor();
  await page.getByText('Denied', { exact: true }).waitFor();
  await page.getByText(`By person ${grace.personId.slice(0, 8)}`).waitFor();
  await dialog(page).waitFor({ state: 'detached' });
  assert.equal((await stateOf(approval_id)).decidedBy, grace.personId);
  await assertAccessible(page);
});

browserTest('the policy: longest access, own agents, and two people', async (t) => {
  await clear();
  const page = await server.open(t, '/organization?tab=approvals');
  await page.getByText('86,400 seconds').waitFor();
  await page.getByRole('button', { name: 'Change policy' }).click();
  const longest = dialog(page).getByLabel('Longest access in seconds');
  await longest.fill('59');
  await dialog(page).getByRole('button', { name: 'Save policy' }).click();
  await dialog(page).getByText('From 60 to 86,400 seconds.', { exact: true }).waitFor();
  await longest.fill('7200');
  await dialog(page).getByRole('combobox', { name: 'APIs that need two people' }).fill('Shared');
  await page.getByRole('option', { name: /Shared API/ }).click();
  await page.keyboard.press('Escape');
  await assertAccessible(page);
  await dialog(page).getByRole('button', { name: 'Save policy' }).click();
  await page.getByText('7,200 seconds').waitFor();
  await page.getByText(shared.identifier).waitFor();
  await assertFits(page, [360, 1280]);
  await assertAccessible(page);
  assert.deepEqual(await operate('GET', `/organizations/${organizationId}/approval-policy`), {
    maxAccessSeconds: 7_200,
    selfApproval: false,
    requireTwo: [shared.identifier],
  });

  // Two people: the first waits, the second decides.
  const { approval_id } = await ask('approvers');
  const first = await openAs(t, ada, `/approvals/${approval_id}`);
  await first.getByText('Two different people must approve this. No person has yet.').waitFor();
  await first.getByRole('button', { name: 'Approve', exact: true }).click();
  await confirm(first, 'Approve');
  await first.getByText('You have approved this').waitFor();
  assert.equal(await first.getByRole('button', { name: 'Approve', exact: true }).count(), 0);
  await assertAccessible(first);
  assert.equal((await stateOf(approval_id)).status, 'pending');
  const second = await openAs(t, grace, `/approvals/${approval_id}`);
  await second.getByText(`person ${ada.personId.slice(0, 8)} did`).waitFor();
  await second.getByRole('button', { name: 'Approve', exact: true }).click();
  await confirm(second, 'Approve');
  await second.getByText('By you,').waitFor();
  await first.getByText('Approved', { exact: true }).waitFor();

  // Her own agent: the API's message.
  const own = await server.agent({ owner: 'ada@example.com' });
  const asked = await ask(ada, {}, own);
  await first.goto(`/console/approvals/${asked.approval_id}`);
  await first.getByRole('button', { name: 'Approve', exact: true }).click();
  await confirm(first, 'Approve');
  await first.getByRole('alert').getByText('You may not decide this').waitFor();
  await first.getByText(/You registered this agent or own it/).waitFor();
  await first.getByText('Request id').waitFor();
  await assertAccessible(first);
  assert.equal((await stateOf(asked.approval_id)).status, 'pending');
  await operate('PUT', `/organizations/${organizationId}/approval-policy`, {});
});

const details = [
  {
    type: 'payment',
    amount: 120.5,
    payee: { name: '<img src=x onerror="document.title=\'owned\'">', iban: 'AB\u202E21\u0007' },
    note: `line one\nline two ${'x'.repeat(2_000)}`,
    items: [{ sku: 'A-1' }, []],
    ['k'.repeat(300)]: true,
  },
];

browserTest('the details of an action are a table of text, also of hostile text', async (t) => {
  await clear();
  const { approval_id } = await ask(ada, { authorization_details: JSON.stringify(details) });
  const page = await openAs(t, ada, '/approvals', { width: 360 });
  // The server takes no such message and no such name.
  await page.route(/\/console\/api\/me\/approvals(\?|\/[0-9a-f-]{36})/, async (route) => {
    const response = await route.fetch();
    const json = (await response.json()) as { data?: object[] };
    const hostile = (one: object) => ({
      ...one,
      bindingMessage: `<b>now</b> \u202Egnp ${'m'.repeat(5_000)}`,
      agentName: `<script>alert(1)</script> ${'a'.repeat(500)}`,
      agentOwner: '\u2066owner',
      resource: { identifier: 'https://x.example', name: `<u>${'r'.repeat(500)}` },
    });
    await route.fulfill({
      response,
      json: json.data ? { ...json, data: json.data.map(hostile) } : hostile(json),
    });
  });
  await page.reload();
  await row(page, '<b>now</b> ␣gnp').waitFor();
  await assertNoSidewaysScroll(page);
  await goTo(page, `/approvals/${approval_id}`);
  const table = page.getByRole('table', { name: 'payment' });
  for (const text of ['amount 120.5', 'payee › iban AB␣21␣', 'items › 1 › sku A-1', 'items › 2 empty list'])
    await table.getByRole('row', { name: text }).waitFor();
  await table.getByText('<img src=x onerror="document.title=\'owned\'">').waitFor();
  await table.getByText('line one↵').waitFor();
  assert.equal(await page.locator('main :is(img, script, b, u, i:not([class]))').count(), 0);
  assert.doesNotMatch(await page.title(), /owned/);
  for (const width of [360, 1440]) {
    await page.setViewportSize({ width, height: 800 });
    await assertNoSidewaysScroll(page);
  }
  await assertAccessible(page);
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await dialog(page)
    .getByText(/for exactly the action that the page shows/)
    .waitFor();
  await assertNoSidewaysScroll(page);
  await confirm(page, 'Approve');
  await page.getByText('By you,').waitFor();
  assert.deepEqual((await stateOf(approval_id)).authorizationDetails, details);
});

browserTest('1,000 waiting approvals: pages of the server, and no request per row', async (t) => {
  await clear();
  await server.sql(
    `insert into approvals (approval_id, auth_req_hash, organization_id, agent_id, audience, resource_id, scopes, binding_message,
                            person_id, access_seconds, status, poll_seconds, created_at, expires_at)
     select gen_random_uuid(), sha256(n::text::bytea), $1, $2, $3, $4, array['orders:read'], 'Number ' || n, $5, 600, 'pending', 5,
            now() - n * interval '1 second', now() + interval '1 hour'
     from generate_series(1, 1000) n`,
    [organizationId, agent.agentId, orders.identifier, orders.resourceId, linus.personId],
  );
  const page = await openAs(t, linus, '/my-agents');
  await title(page, /^\(1000\) My agents/);
  await badge(page).getByText('999+', { exact: true }).waitFor();
  const requests: string[] = [];
  page.on('request', (request) => {
    if (/\/console\/api\/(v1|me)\//.test(request.url())) requests.push(request.url());
  });
  await page.goto('/console/approvals');
  await page.getByText('1,000 approvals', { exact: true }).first().waitFor();
  await row(page, 'Number 1').first().waitFor();
  assert.equal(await page.getByRole('row').count(), 21);
  // The session's delegations, the list, the number and the stream.
  assert.ok(requests.length <= 6, requests.join('\n'));
  await page.getByRole('button', { name: 'Page 50' }).click();
  await row(page, 'Number 1000').waitFor();
  assert.match(page.url(), /page=50/);
  await settle(page);
  await assertFits(page, [360, 1280]);
  await clear();
});

browserTest('an agent decides nothing; the organization list is to read, and an admin cancels', async (t) => {
  await clear();
  const { approval_id } = await ask(ada, { binding_message: 'Waits for Ada' });
  const page = await server.open(t, '/approvals');
  await page.getByRole('heading', { name: 'Only a person decides' }).waitFor();
  await assertAccessible(page);
  await title(page, /^Approvals · Countersign$/);
  await page.getByRole('tab', { name: 'Organization' }).click();
  await row(page, 'Waits for Ada').getByText('waiting').waitFor();
  await page.getByRole('combobox', { name: 'Status' }).click();
  await page.getByRole('option', { name: 'waiting' }).click();
  await until('one row', async () => (await page.getByRole('row').count()) === 2 || undefined);
  assert.match(page.url(), /tab=organization&status=pending|status=pending/);
  await settle(page);
  await assertAccessible(page);
  await assertFits(page, [360, 1280]);
  await page.goto(`/console/approvals?tab=organization&agentId=${server.operator.clientId}`);
  await page.getByRole('heading', { name: 'No approvals match' }).waitFor();
  await page.goto(`/console/approvals?tab=organization&agentId=${agent.agentId}&status=pending`);
  await row(page, 'Waits for Ada').getByText('Waits for Ada').click();
  await page.getByText('Only a person decides, and this session acts as an agent.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Approve', exact: true }).count(), 0);
  await assertAccessible(page);
  await page.getByRole('button', { name: 'Cancel request' }).click();
  await confirm(page, 'Cancel request');
  await page.getByText('Canceled before a decision').waitFor();
  assert.equal((await stateOf(approval_id)).status, 'canceled');

  const none = await server.agent({ allowedScopes: [] });
  const plain = await server.open(t, `/approvals/${approval_id}`, { as: none });
  await plain.getByRole('heading', { name: 'Only a person decides' }).waitFor();
  await goTo(plain, '/approvals');
  await plain.getByRole('heading', { name: 'Only a person decides' }).waitFor();
  assert.equal(await plain.getByRole('tab').count(), 0);
});

const failure = {
  status: 500,
  headers: { 'x-request-id': 'failed-request' },
  json: { code: 'INTERNAL_SERVER_ERROR', message: 'Something failed.' },
};

browserTest('loading, errors and a lost session', async (t) => {
  await clear();
  const { approval_id } = await ask(ada);
  const page = await openAs(t, ada, '/my-agents');
  let answer: object | undefined = failure;
  let proceed = () => {};
  let waiting = new Promise<void>((resolve) => (proceed = resolve));
  await page.route(/\/console\/api\/me\/approvals(\?|\/[0-9a-f-]{36})/, async (route) => {
    await waiting;
    if (answer === undefined) return route.fallback();
    await route.fulfill(answer);
  });
  for (const path of ['/approvals', `/approvals/${approval_id}`]) {
    answer = failure;
    waiting = new Promise<void>((resolve) => (proceed = resolve));
    await goTo(page, path);
    await page
      .getByRole('status', { name: /^Loading/ })
      .first()
      .waitFor();
    proceed();
    await page.getByRole('alert').getByText('failed-request').waitFor();
    // Until the click, no later request of the page may succeed.
    waiting = new Promise<void>((resolve) => (proceed = resolve));
    answer = undefined;
    await page.getByRole('button', { name: 'Try again' }).click();
    proceed();
    await page.getByText('“Refund order 7”').first().waitFor();
  }
  // A failed decision keeps the choice.
  await page.getByRole('radio', { name: '5 minutes', exact: true }).check();
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  answer = failure;
  await confirm(page, 'Approve');
  await dialog(page).getByText('failed-request').waitFor();
  await dialog(page).getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await page.getByRole('radio', { name: '5 minutes', exact: true }).isChecked(), true);
  answer = { status: 401, json: { code: 'UNAUTHORIZED', message: 'Sign in.' } };
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
  await confirm(page, 'Deny');
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
});

browserTest('the actions of an API, and the notification address of an agent', async (t) => {
  const api = await register({ authorizationDetailTypes: [] });
  const page = await server.open(t, `/apis/${api.resourceId}?tab=actions`);
  await page.getByRole('heading', { name: 'No actions described' }).waitFor();
  await page.getByRole('button', { name: 'Edit' }).click();
  await openSection(dialog(page), 'Actions');
  await dialog(page).getByRole('button', { name: 'Add an action' }).click();
  await dialog(page).getByLabel('Type of action 1').fill('Pay ment');
  const schema = dialog(page).getByLabel('JSON Schema of action 1');
  await schema.fill('{');
  const save = dialog(page).getByRole('button', { name: 'Save' });
  await save.click();
  await dialog(page).getByText('This is no JSON object.').waitFor();
  await dialog(page).getByText('1 to 64 of a-z, 0-9, _ . -').waitFor();
  await dialog(page).getByLabel('Type of action 1').fill('payment');
  await dialog(page).getByLabel('Description of action 1').fill('One <b>payment</b>');
  // The server's own rule, at its field.
  await schema.fill('{"$ref": "https://schemas.example/payment.json"}');
  await save.click();
  await dialog(page).locator('.mantine-Textarea-error').getByText(/ref/).waitFor();
  await assertAccessible(page);
  await schema.fill(
    '{"type": "object", "required": ["amount"], "properties": {"amount": {"type": "number"}}}',
  );
  await save.click();
  await page.getByRole('heading', { level: 2, name: 'payment' }).waitFor();
  await page.getByText('One <b>payment</b>').waitFor();
  await page.getByLabel('JSON Schema of payment').getByText('"amount"').first().waitFor();
  await assertAccessible(page);
  await assertFits(page, [360, 1280]);
  const { authorizationDetailTypes } = await operate('GET', `/resources/${api.resourceId}`);
  assert.deepEqual(authorizationDetailTypes, [
    {
      type: 'payment',
      description: 'One <b>payment</b>',
      schema: { type: 'object', required: ['amount'], properties: { amount: { type: 'number' } } },
    },
  ]);

  await goTo(page, `/agents/${agent.agentId}?tab=identity`);
  await page.getByText('by asking: it has no notification address').waitFor();
  await page.getByRole('button', { name: 'Edit' }).click();
  await openSection(dialog(page), 'Acting for people');
  const address = dialog(page).getByLabel('Notification address');
  await address.fill('http://agent.example/approvals');
  await dialog(page).getByRole('button', { name: 'Save changes' }).click();
  await dialog(page).locator('.mantine-TextInput-error').getByText(/https/).waitFor();
  await address.fill('https://agent.example/approvals');
  await dialog(page).getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('https://agent.example/approvals').waitFor();
  assert.equal(
    (await operate('GET', `/agents/${agent.agentId}`)).notificationUri,
    'https://agent.example/approvals',
  );
  await page.getByRole('button', { name: 'Edit' }).click();
  await openSection(dialog(page), 'Acting for people');
  await address.fill('');
  await dialog(page).getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('by asking: it has no notification address').waitFor();
});
