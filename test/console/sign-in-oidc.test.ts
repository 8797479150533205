/** Signing in to the console through a real OpenID provider on another site, in a browser. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { assertAccessible, assertNoSidewaysScroll, browserTest, startConsole } from '../support/console.ts';
import { newAgent } from '../support/harness.ts';
import { startSignInProvider } from '../support/peers/sign-in-provider.ts';

const provider = await startSignInProvider([], '127.0.0.2');
const server = await startConsole(provider.variables);
provider.acceptRedirectsTo(server.url);
const token = await server.token();
const allow = [new RegExp(`^foreign: ${provider.issuer}/`)];

const asOperator = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
  const answer = await server.call(method, `/api/v1${url}`, { token, ...(payload && { payload }) });
  assert.ok(answer.status < 300, answer.text);
  return answer.text === '' ? undefined : answer.json;
};

/** A person who has signed in before, unless the invitation is new. */
async function invite(changes: Record<string, unknown> = {}, name = 'Talent', { isNew = false } = {}) {
  const slug = `team-${randomUUID().slice(0, 18)}`;
  const { organizationId } = await asOperator('POST', '/organizations', { name, slug });
  const { agentId } = await asOperator('POST', '/agents', newAgent({ organization_id: organizationId }));
  const person = await asOperator('POST', `/organizations/${organizationId}/people`, {
    issuer: provider.issuer,
    subject: randomUUID(),
    name: 'Ada Lovelace',
    role: 'admin',
    agentId,
    ...changes,
  });
  if (!isNew)
    await server.sql('update people set last_sign_in_at = created_at where person_id = $1', [
      person.personId,
    ]);
  return { organizationId, slug, agentId, person };
}

const open = (t: TestContext, path?: string) => server.open(t, path, { as: null, allow });

async function logIn(page: Page, login: string) {
  await page.getByRole('link', { name: 'Sign in with Example Login' }).click();
  await page.getByLabel('Login').fill(login);
  await page.getByRole('button', { name: 'Continue' }).click();
}

browserTest('a person signs in at the provider and comes back to the page that was asked for', async (t) => {
  const { person } = await invite();
  const page = await open(t, '/agents?status=active');
  await assertAccessible(page);
  await logIn(page, person.subject);
  await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
  assert.equal(page.url(), `${server.url}/console/agents?status=active`);
  await page.getByText('Ada Lovelace').first().waitFor();
  const [session] = (await page.context().cookies(server.url)).filter(({ name }) => name === 'countersign');
  assert.deepEqual([session?.httpOnly, session?.sameSite], [true, 'Strict']);
  // A reload keeps the session.
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
});

browserTest('the audit log shows the name of the person who acted', async (t) => {
  const { person, agentId } = await invite({ name: 'Grace <b>Hopper</b>' });
  const page = await open(t, '/audit?action=session.created');
  await logIn(page, person.subject);
  const row = page.getByRole('table', { name: 'Audit log' }).locator('tbody tr').first();
  await row.getByText('Grace <b>Hopper</b>').waitFor();
  await row.locator('td').nth(1).click();
  const details = page.getByRole('complementary', { name: 'Details' });
  await details.getByRole('definition').getByText('Grace <b>Hopper</b>').waitFor();
  await assertAccessible(page);
  await page.goto(`/console/agents/${agentId}?tab=activity`);
  await page
    .getByRole('row')
    .filter({ hasText: 'session.created' })
    .getByText('Grace <b>Hopper</b>')
    .waitFor();
});

browserTest('a person of two organizations chooses one', async (t) => {
  const { person } = await invite({}, 'Alpha');
  await invite({ subject: person.subject, role: 'viewer' }, 'Beta <img src=x onerror=alert(1)>');
  const page = await open(t, '/audit');
  await logIn(page, person.subject);
  const choice = page.getByRole('main');
  await choice
    .getByRole('region', { name: /^Beta <img/ })
    .getByText('viewer')
    .waitFor();
  assert.equal(await choice.getByText('First visit.').count(), 0);
  await assertAccessible(page);
  await choice.getByRole('button', { name: /^Sign in to Alpha/ }).click();
  await page.getByText('Ada Lovelace').first().waitFor();
  assert.equal(page.url(), `${server.url}/console/audit`);
});

browserTest('two organizations of one name: the slug, the first visit, and a way to decline', async (t) => {
  const own = await invite();
  const subject = own.person.subject;
  const imitation = await invite({ subject }, 'Talent', { isNew: true });
  const page = await open(t, '/audit');
  await logIn(page, subject);
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    await page.getByRole('region', { name: `Talent (${own.slug})` }).waitFor();
    const theirs = page.getByRole('region', { name: `Talent (${imitation.slug})` });
    await theirs.getByText('You have never signed in to this organization.').waitFor();
    await page.getByText(imitation.slug, { exact: true }).waitFor();
    assert.equal(await page.getByText('First visit.').count(), 1);
    await assertAccessible(page);
    await assertNoSidewaysScroll(page);
    if (width === 1280) continue;
    assert.equal(await page.getByRole('button', { name: /^Decline/ }).count(), 1);
    await theirs.getByRole('button', { name: 'Decline the invitation' }).click();
    await theirs.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: `Sign in to Talent (${own.slug})` }).click();
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menu').getByText(own.slug).waitFor();
  }
  const { data } = await asOperator('GET', `/organizations/${imitation.organizationId}/people`);
  assert.deepEqual(data, []);
});

browserTest('the only invitation, never used: asked before the first session', async (t) => {
  const { person, slug } = await invite({}, 'Talent', { isNew: true });
  const page = await open(t, '/audit');
  await logIn(page, person.subject);
  await page.getByRole('region', { name: `Talent (${slug})` }).waitFor();
  const names = async () => (await page.context().cookies(server.url)).map(({ name }) => name);
  assert.ok(!(await names()).includes('countersign'));
  await page.getByRole('button', { name: /^Sign in to Talent/ }).click();
  await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor();
});

browserTest('a person without an invitation sees why, and the own subject for the admin', async (t) => {
  const page = await open(t);
  const subject = `unknown-${randomUUID()}`;
  await logIn(page, subject);
  const alert = page.getByRole('alert');
  await alert.getByText('You were not invited to an organization of this instance.').waitFor();
  await alert.getByText(subject).waitFor();
  await alert
    .getByText(/[Rr]equest/)
    .first()
    .waitFor();
  await assertAccessible(page);
  // Once invited, the person tries again.
  const { person } = await invite({ subject });
  await page.getByRole('link', { name: 'Sign in with Example Login' }).click();
  await page.getByText(person.name).first().waitFor();
});

browserTest(
  'a refusal, an outage and a forged answer are explained, and the form is still there',
  async (t) => {
    const page = await open(t);
    await page.getByRole('link', { name: 'Sign in with Example Login' }).click();
    await page.getByRole('button', { name: 'Refuse' }).click();
    await page
      .getByRole('alert')
      .getByText(/refused the sign-in, or it was cancelled/)
      .waitFor();
    await page.goto('/console/api/oidc/callback?state=forged&code=forged');
    await page
      .getByRole('alert')
      .getByText(/took too long, or was used already/)
      .waitFor();
    await page.goto('/console/sign-in?error=%3Cimg%20src%3Dx%3E&returnTo=https://evil.example');
    await page.getByLabel('Client ID').waitFor();
    assert.equal(await page.getByRole('alert').count(), 0);
    await page.getByLabel('Client ID').fill(server.operator.clientId);
    await page.getByLabel('Client secret').fill(server.operator.clientSecret);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.waitForURL(/\/console\/?$/);
  },
);

browserTest('an outage of the provider is explained', async (t) => {
  const { person } = await invite();
  const page = await open(t);
  // The login works, and then the token endpoint does not.
  provider.failingPath = '/token';
  t.after(() => {
    provider.failingPath = undefined;
  });
  await logIn(page, person.subject);
  await page
    .getByRole('alert')
    .getByText('The OpenID provider does not answer. Try again in a moment.')
    .waitFor();
  provider.failingPath = undefined;
  // The person is still known at the provider.
  await page.getByRole('link', { name: 'Sign in with Example Login' }).click();
  await page.getByText('Ada Lovelace').first().waitFor();
});

browserTest('a removed person is signed out; a viewer cannot change anything', async (t) => {
  const { person, organizationId } = await invite({ role: 'viewer' });
  const page = await open(t, '/organization');
  await logIn(page, person.subject);
  await page.getByRole('heading', { name: 'You have no permission to see this' }).waitFor();
  await page.goto('/console/agents');
  await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Register agent' }).count(), 0);
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: /Revoked delegations/ }).waitFor();
  for (const name of [/Add a member/, /Invite a person/, /Delegate to an agent/])
    assert.equal(await page.getByRole('option', { name }).count(), 0);
  await page.keyboard.press('Escape');
  await asOperator('DELETE', `/organizations/${organizationId}/people/${person.personId}`);
  await page.reload();
  await page.getByRole('heading', { name: 'Sign in to Countersign' }).waitFor();
});

browserTest(
  '401 an ended session: the provider opens in a new tab, and the page keeps what was typed',
  async (t) => {
    const { person } = await invite();
    const page = await open(t, '/agents');
    await logIn(page, person.subject);
    await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
    await page.keyboard.press('Control+k');
    const typed = page.getByRole('combobox', {
      name: 'Search agents, APIs, people, pages and actions',
      includeHidden: true,
    });
    await typed.fill('typed');
    await page.context().clearCookies({ name: 'countersign' });
    await page.evaluate("dispatchEvent(new Event('focus'))");
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    await dialog.getByRole('link', { name: 'Sign in with Example Login' }).waitFor();
    await assertAccessible(page);
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      dialog.getByRole('link', { name: 'Sign in with Example Login' }).click(),
    ]);
    // The person is still known at the provider.
    await tab.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
    await tab.close();
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await dialog.waitFor({ state: 'hidden' });
    assert.equal(await typed.inputValue(), 'typed');
  },
);

browserTest('the sign-in page fits a narrow screen', async (t) => {
  const page = await server.open(t, '/', { as: null, width: 360, allow });
  await page.getByRole('link', { name: 'Sign in with Example Login' }).waitFor();
  await assertNoSidewaysScroll(page);
});
