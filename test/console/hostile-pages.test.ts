/** The console in a browser whose other pages are hostile: keys that are held, clicks at a chosen moment, addresses, other tabs. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import type { BrowserContext, Page } from 'playwright-core';
import { assertAccessible, browserTest, goTo, startConsole } from '../support/console.ts';

const server = await startConsole();
const { operator } = server;

const account = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const ownAccount = (page: Page) => account(page, /^Account.*operator-/);
const linkButton = (page: Page) => page.getByRole('button', { name: 'Sign in with this link' });
const signInTitle = (page: Page) => page.getByRole('heading', { name: 'Sign in to Countersign' });

/** The address of a one-time link of another agent. */
async function attackersLink(): Promise<string> {
  const attacker = await server.agent({ email: `attacker-${randomUUID()}@example.com` });
  const token = await server.token(undefined, attacker);
  const { url } = (await server.call('POST', '/api/v1/console/links', { token })).json;
  return `/console${new URL(url).hash}`;
}

/** Clicks each button of these names, one after the other, at the moment at which it appears. The clicks are none of the person. */
const clickAtOnce = (context: BrowserContext, ...names: string[]) =>
  context.addInitScript(`(() => {
    const names = ${JSON.stringify(names)};
    const find = () => [...document.querySelectorAll('button, [role=menuitem]')].find((one) => one.textContent.trim() === names[0]);
    const click = () => {
      const button = find();
      if (!button) return;
      console.log('described ' + button.title);
      console.log('clicked ' + names.shift());
      button.click();
    };
    new MutationObserver(click).observe(document, { childList: true, subtree: true });
  })()`);

const clicked = (page: Page, name: string) =>
  page.waitForEvent('console', (message) => message.text() === `clicked ${name}`);

/** Holds a key for a while, as a keyboard repeats it. */
async function hold(page: Page, key: string, times = 30): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    await page.keyboard.down(key);
    await page.waitForTimeout(60);
  }
}

browserTest(
  'a key that is held down does not sign in by a link, not even with the focus on the button',
  async (t) => {
    const page = await server.open(t);
    await ownAccount(page).waitFor();
    const link = await attackersLink();
    await page.goto('about:blank');
    // From here on the keys are down: each event on the next page is a repetition.
    await page.keyboard.down('Enter');
    await page.keyboard.down('Space');
    await page.goto(link);
    const question = page.getByRole('dialog', { name: 'Sign in with this link?' });
    await question.waitFor();
    const focused = await page.evaluate<string>('document.activeElement?.textContent ?? ""');
    assert.equal(focused, 'Do not use it');
    await linkButton(page).focus();
    await hold(page, 'Enter');
    await linkButton(page).focus();
    await hold(page, 'Space', 5);
    await page.keyboard.up('Enter');
    await page.keyboard.up('Space');
    assert.equal(await question.isVisible(), true);
    await page.reload();
    await ownAccount(page).waitFor();
  },
);

browserTest('without a session, the choice that changes nothing has the focus, too', async (t) => {
  const page = await server.open(t, (await attackersLink()).slice('/console'.length), { as: null });
  await linkButton(page).waitFor();
  await page.locator(':focus', { hasText: 'Sign in another way' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByLabel('Client ID').waitFor();
  assert.deepEqual(await page.context().cookies(), []);
});

browserTest(
  'a click at the moment at which a sign-in button appears does nothing; later it works',
  async (t) => {
    const page = await server.open(t, '/', { as: null });
    await signInTitle(page).waitFor();
    await clickAtOnce(page.context(), 'Sign in with this link');
    const link = await attackersLink();
    await page.goto('about:blank');
    const [description] = await Promise.all([
      page.waitForEvent('console', (message) => message.text().startsWith('described ')),
      clicked(page, 'Sign in with this link'),
      page.goto(link),
    ]);
    assert.match(description.text(), /^described Works after .* a second$/);
    // It waits until the button is no longer disabled.
    await linkButton(page).hover();
    await page.locator('button:not([aria-disabled])', { hasText: 'Sign in with this link' }).waitFor();
    assert.deepEqual(await page.context().cookies(), []);
    await linkButton(page).click();
    await account(page, /^Account.*attacker-/).waitFor();
  },
);

browserTest('a click at the moment at which a destructive button appears does nothing', async (t) => {
  const { agentId } = await server.agent();
  const page = await server.open(t, `/agents/${agentId}`);
  await page.getByRole('button', { name: 'More actions' }).waitFor();
  await clickAtOnce(page.context(), 'Decommission agent', 'Decommission agent');
  await page.reload();
  await page.getByRole('button', { name: 'More actions' }).click();
  const dialog = page.getByRole('dialog', { name: 'Decommission this agent for good?' });
  await dialog.waitFor();
  const confirm = dialog.locator('button:not([aria-disabled])', { hasText: 'Decommission agent' });
  await confirm.waitFor();
  const status = async () =>
    (await server.call('GET', `/api/v1/agents/${agentId}`, { token: await server.token() })).json.status;
  assert.equal(await status(), 'active');
  await assertAccessible(page);
  await confirm.click();
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await status(), 'decommissioned');
});

browserTest('a destructive dialog opens by an action of the person only', async (t) => {
  const { agentId } = await server.agent();
  const page = await server.open(t, '/settings');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await clickAtOnce(page.context(), 'More actions', 'Suspend agent');
  // Playwright's own evaluations count as an action of the person, so nothing asks this page before the last click.
  const fresh = await page.context().newPage();
  await Promise.all([clicked(fresh, 'Suspend agent'), fresh.goto(`/console/agents/${agentId}`)]);
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal(await fresh.getByRole('dialog', { name: 'Suspend this agent?' }).count(), 0);
  await fresh.getByRole('button', { name: 'More actions' }).click();
  await fresh.getByRole('menuitem', { name: 'Suspend agent' }).click();
  await fresh.getByRole('dialog', { name: 'Suspend this agent?' }).waitFor();
});

browserTest('no address opens a destructive dialog', async (t) => {
  const token = await server.token();
  const send = async (method: 'GET' | 'POST', path: string, payload?: object) =>
    (await server.call(method, `/api/v1${path}`, { token, ...(payload && { payload }) })).json;
  const { organizationId } = await send('GET', `/agents/${operator.clientId}`);
  const agent = await server.agent();
  await send('POST', `/organizations/${organizationId}/members`, { agentId: agent.agentId, role: 'member' });
  const person = await send('POST', `/organizations/${organizationId}/people`, {
    issuer: 'https://login.example.com',
    subject: '1',
    name: 'Ada',
    role: 'viewer',
    agentId: agent.agentId,
  });
  const other = await send('POST', '/organizations', { name: 'Other', slug: `other-${randomUUID()}` });
  const page = await server.open(t);
  await ownAccount(page).waitFor();
  const addresses: [path: string, loaded: string][] = [
    [`/organizations?suspend=${other.organizationId}`, 'Other'],
    [`/organization?remove=${agent.agentId}`, 'Change role'],
    [`/organization?tab=people&remove=${person.personId}`, 'Ada'],
    ['/usage?cancel=1', 'Current plan'],
  ];
  for (const [path, loaded] of addresses) {
    await goTo(page, `${path}`);
    await page.getByText(loaded).first().waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0, path);
  }
});

/** A page that shows the secret of a new credential. */
async function showSecret(page: Page, agentId: string): Promise<void> {
  await page.goto(`/console/agents/${agentId}?tab=credentials`);
  await page.getByRole('button', { name: 'New credential' }).first().click();
  await page.getByRole('button', { name: 'Create credential' }).click();
  await page.getByTestId('secret').waitFor();
}

browserTest('signing out in one tab: a secret in another tab goes away, with the page', async (t) => {
  const { agentId } = await server.agent();
  const page = await server.open(t);
  await showSecret(page, agentId);
  const other = await page.context().newPage();
  await other.goto('/console');
  await ownAccount(other).click();
  await other.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.getByTestId('secret').waitFor({ state: 'detached' });
  await signInTitle(page).waitFor();
});

browserTest('the end of a session: a secret goes away in every tab, and the page stays', async (t) => {
  const { agentId } = await server.agent();
  const page = await server.open(t);
  await showSecret(page, agentId);
  const other = await page.context().newPage();
  await other.goto('/console');
  await ownAccount(other).waitFor();
  await page.context().clearCookies();
  // The tab without the secret notices the end.
  await other.evaluate("dispatchEvent(new Event('focus'))");
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
  assert.equal(await page.getByTestId('secret').count(), 0);
  await page.getByLabel('Client ID').fill(operator.clientId);
  await page.getByLabel('Client secret').fill(operator.clientSecret);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('button', { name: 'New credential' }).first().waitFor();
  assert.equal(await page.getByTestId('secret').count(), 0);
});

browserTest('the sign-in page shows no text of its address', async (t) => {
  const page = await server.open(t, '/sign-in?error=not_configured&requestId=Call+555-0100', { as: null });
  await page.getByText('No OpenID provider is configured on this instance.').waitFor();
  assert.doesNotMatch(await page.locator('body').innerText(), /555|Request id/);
  const requestId = randomUUID();
  await page.goto(`/console/sign-in?error=not_configured&requestId=${requestId}`);
  await page.getByText(requestId).waitFor();
  for (const error of ['__proto__', 'constructor', 'toString', 'Pay+now', '']) {
    await page.goto(`/console/sign-in?error=${error}&requestId=${requestId}`);
    await page.getByLabel('Client ID').waitFor();
    assert.equal(await page.getByRole('alert').count(), 0, error);
  }
});

browserTest('a cookie of another instance on this host: the sign-in page names the cause', async (t) => {
  const page = await server.open(t, '/', { as: null });
  await signInTitle(page).waitFor();
  const value = randomBytes(32).toString('base64url');
  await page.context().addCookies([{ name: 'countersign', value, url: server.url }]);
  await page.reload();
  await page.getByText(/If another instance of Countersign runs on this host at another port/).waitFor();
  await assertAccessible(page);
});

browserTest('429 at the start: the console says that it waits, and starts', async (t) => {
  const page = await server.open(t, '/settings', { width: 360 });
  await page.getByRole('heading', { level: 1 }).waitFor();
  let answers = 0;
  await page.route('**/console/api/session', (route) => {
    answers += 1;
    const json = { code: 'RATE_LIMIT_EXCEEDED', message: 'Slow' };
    return answers === 1
      ? route.fulfill({ status: 429, headers: { 'retry-after': '3' }, json })
      : route.continue();
  });
  await page.goto('/console/agents');
  await page.getByText(/The console tries again in \d s/).waitFor();
  await page.getByRole('heading', { name: 'Agents', level: 1 }).waitFor();
  await page.getByText('Too many requests').waitFor({ state: 'detached' });
  assert.ok(answers >= 2);
});
