/** The page "Organization", and the operator's list of organizations, in a browser. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import {
  assertAccessible,
  assertNoSidewaysScroll,
  browserTest,
  goTo,
  startConsole,
} from '../support/console.ts';
import { newAgent } from '../support/harness.ts';
import type { Client } from '../support/programs.ts';

const server = await startConsole();
const token = await server.token();
const hostile = '<img src=x onerror=alert(1)> ‮evil';

const asOperator = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
  const answer = await server.call(method, `/api/v1${url}`, { token, ...(payload && { payload }) });
  assert.ok(answer.status < 300, answer.text);
  return answer.text === '' ? undefined : answer.json;
};

const makeOrganization = async (name: string): Promise<string> =>
  (await asOperator('POST', '/organizations', { name, slug: `team-${randomUUID().slice(0, 18)}` }))
    .organizationId;

/** An agent with a credential and, if given, a role. */
async function agentOf(
  organization_id: string,
  role?: 'admin' | 'member',
  changes: object = {},
): Promise<Client & { agentId: string; email: string }> {
  const { agentId, email } = await asOperator('POST', '/agents', newAgent({ organization_id, ...changes }));
  if (role) await asOperator('POST', `/organizations/${organization_id}/members`, { agentId, role });
  const { clientId, clientSecret } = await asOperator('POST', `/agents/${agentId}/credentials`);
  return { agentId, email, clientId, clientSecret };
}

const invite = (organizationId: string, agentId: string, changes: object = {}) =>
  asOperator('POST', `/organizations/${organizationId}/people`, {
    issuer: 'https://login.example.com',
    subject: randomUUID(),
    name: 'Ada Lovelace',
    role: 'viewer',
    agentId,
    ...changes,
  });

const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });
/** A list that loads again is dimmed for that time. */
const settled = (page: Page) => page.locator('[data-fetching]').waitFor({ state: 'detached' });
const dialog = (page: Page) => page.getByRole('dialog');

async function chooseAgent(page: Page, label: string, email: string) {
  const field = dialog(page).getByRole('combobox', { name: label });
  await field.fill(email.slice(0, 12));
  await page.getByRole('option', { name: email }).click();
}

browserTest('an admin adds, changes and removes a member', async (t) => {
  const id = await makeOrganization('Talent');
  const admin = await agentOf(id, 'admin');
  const other = await agentOf(id);
  const page = await server.open(t, '/organization', { as: admin });
  await rowOf(page, admin.email).waitFor();
  await settled(page);
  await assertAccessible(page);
  await page.getByRole('button', { name: 'Add member' }).click();
  await dialog(page).getByRole('button', { name: 'Add member' }).click();
  await dialog(page).getByText('Choose an agent').waitFor();
  await chooseAgent(page, 'Agent', other.email);
  await settled(page);
  await assertAccessible(page);
  await dialog(page).getByRole('button', { name: 'Add member' }).click();
  await rowOf(page, other.email).getByRole('cell', { name: 'Member', exact: true }).waitFor();
  await rowOf(page, other.email)
    .getByRole('button', { name: /^Change role/ })
    .click();
  await dialog(page).getByRole('radio', { name: 'admin' }).check();
  await dialog(page).getByRole('button', { name: 'Save role' }).click();
  await rowOf(page, other.email).getByRole('cell', { name: 'Admin', exact: true }).waitFor();
  await rowOf(page, other.email)
    .getByRole('button', { name: /^Remove/ })
    .click();
  await dialog(page)
    .getByText(/loses the role Admin/)
    .waitFor();
  await settled(page);
  await dialog(page).getByRole('button', { name: 'Remove member' }).click();
  await rowOf(page, other.email).waitFor({ state: 'detached' });
  const { total } = await asOperator('GET', `/organizations/${id}/members`);
  assert.equal(total, 1);
});

browserTest(
  'an admin invites, changes and removes a person; what was typed stays after a failure',
  async (t) => {
    const id = await makeOrganization('Talent');
    const admin = await agentOf(id, 'admin');
    const page = await server.open(t, '/organization?tab=people', { as: admin });
    await page.getByRole('heading', { name: 'No people yet' }).waitFor();
    await page.getByText('No OpenID provider is set up').waitFor();
    await settled(page);
    await page.getByRole('button', { name: 'Invite person' }).first().click();
    await dialog(page).getByLabel('Name').fill('Grace Hopper');
    await dialog(page).getByLabel('Issuer').fill('http://login.example.com');
    await dialog(page).getByLabel('Subject').fill('248289761001');
    await dialog(page).getByRole('radio', { name: 'admin' }).check();
    await chooseAgent(page, 'Acts through', admin.email);
    await settled(page);
    await assertAccessible(page);
    await dialog(page).getByRole('button', { name: 'Invite person' }).click();
    await dialog(page)
      .getByRole('alert')
      .getByText(/issuer must be/)
      .waitFor();
    assert.equal(await dialog(page).getByLabel('Name').inputValue(), 'Grace Hopper');
    await dialog(page).getByLabel('Issuer').fill('https://login.example.com');
    await dialog(page).getByRole('button', { name: 'Invite person' }).click();
    await rowOf(page, 'Grace Hopper').getByText('248289761001').waitFor();
    await rowOf(page, 'Grace Hopper')
      .getByRole('button', { name: /^Change/ })
      .click();
    await dialog(page).getByLabel('Name').fill('Rear Admiral Hopper');
    await dialog(page).getByRole('radio', { name: 'viewer' }).check();
    await dialog(page).getByRole('button', { name: 'Save changes' }).click();
    await rowOf(page, 'Rear Admiral Hopper').getByRole('cell', { name: 'Viewer', exact: true }).waitFor();
    await rowOf(page, 'Rear Admiral Hopper')
      .getByRole('button', { name: /^Remove/ })
      .click();
    await dialog(page)
      .getByText(/Open sessions of this person end at once/)
      .waitFor();
    await dialog(page).getByRole('button', { name: 'Remove person' }).click();
    await page.getByRole('heading', { name: 'No people yet' }).waitFor();
  },
);

browserTest('filters and tabs are in the address; hostile names are text; 360 px are enough', async (t) => {
  const id = await makeOrganization('Talent');
  const admin = await agentOf(id, 'admin');
  await invite(id, admin.agentId, { name: '<img src=x onerror=alert(1)>', role: 'admin' });
  await invite(id, admin.agentId, { name: 'a'.repeat(100), subject: '"><script>alert(1)</script>' });
  const page = await server.open(t, '/organization?tab=people&role=admin', { as: admin, width: 360 });
  await page.getByText('<img src=x onerror=alert(1)>').first().waitFor();
  assert.equal(await page.getByText('a'.repeat(100)).count(), 0);
  await assertNoSidewaysScroll(page);
  await page.getByRole('button', { name: 'Remove filter Role' }).click();
  await page.getByText('a'.repeat(100)).first().waitFor();
  await page.getByText('"><script>alert(1)</script>').first().waitFor();
  await assertNoSidewaysScroll(page);
  assert.equal(new URL(page.url()).search, '?tab=people');
  await settled(page);
  await assertAccessible(page);
});

browserTest('an admin renames the organization, and never sees another one', async (t) => {
  const [id, foreign] = [await makeOrganization('Talent'), await makeOrganization('Foreign secret')];
  const admin = await agentOf(id, 'admin');
  const foreignAgent = await agentOf(foreign, 'admin');
  const page = await server.open(t, '/organization', { as: admin });
  await page.getByRole('button', { name: 'Rename' }).click();
  await dialog(page).getByLabel('Name').fill('Talent & Co');
  await dialog(page).getByRole('button', { name: 'Save name' }).click();
  await page.getByRole('region', { name: 'Name and plan' }).getByText('Talent & Co').waitFor();
  assert.equal((await asOperator('GET', `/organizations/${id}`)).name, 'Talent & Co');
  await goTo(page, `/organization?id=${foreign}`);
  await page.getByText('There is no organization with this id.').waitFor();
  for (const text of ['Foreign secret', foreignAgent.email])
    assert.equal(await page.getByText(text).count(), 0);
  await goTo(page, '/organizations');
  await page.getByRole('heading', { name: 'You have no permission to see this' }).waitFor();
  await settled(page);
});

browserTest('a change by another admin neither closes a dialog nor replaces what is typed', async (t) => {
  const id = await makeOrganization('Talent');
  const admin = await agentOf(id, 'admin');
  const other = await agentOf(id, 'admin');
  const page = await server.open(t, '/organization', { as: admin });
  await page.getByRole('button', { name: 'Rename' }).click();
  await dialog(page).getByLabel('Name').fill('Typed');
  await asOperator('PATCH', `/organizations/${id}`, { name: 'Changed by another' });
  await page.getByText('Changed by another').first().waitFor({ state: 'attached' });
  assert.equal(await dialog(page).getByLabel('Name').inputValue(), 'Typed');
  await dialog(page).getByRole('button', { name: 'Cancel' }).click();

  // Its row leaves the list.
  await goTo(page, '/organization?role=admin');
  await rowOf(page, other.email)
    .getByRole('button', { name: /^Change role/ })
    .click();
  await dialog(page).getByRole('radio', { name: 'member' }).check();
  await asOperator('PATCH', `/organizations/${id}/members/${other.agentId}`, { role: 'member' });
  await page.getByRole('row').filter({ hasText: other.email }).waitFor({ state: 'detached' });
  assert.equal(await dialog(page).getByRole('radio', { name: 'member' }).isChecked(), true);
});

browserTest('a member without a role sees no permission', async (t) => {
  const member = await agentOf(await makeOrganization('Talent'), 'member');
  const page = await server.open(t, '/organization', { as: member });
  await page.getByRole('heading', { name: 'You have no permission to see this' }).waitFor();
  await page.getByText(/Needs the role admin in the organization/).waitFor();
  await settled(page);
});

browserTest('an error shows the message and the request id, and a retry helps', async (t) => {
  const id = await makeOrganization('Talent');
  const admin = await agentOf(id, 'admin');
  const page = await server.open(t, '/', { as: admin });
  await page.route(`**/organizations/${id}/members?*`, (route) =>
    route.fulfill({
      status: 500,
      headers: { 'x-request-id': 'failed-request' },
      json: { code: 'INTERNAL_SERVER_ERROR', message: 'Something failed on our side.' },
    }),
  );
  await page.goto('/console/organization');
  await page.getByRole('alert').getByText('Something failed on our side.').waitFor();
  await page.getByText('failed-request').waitFor();
  await settled(page);
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Try again' }).click();
  await rowOf(page, admin.email).waitFor();
});

browserTest('the operator creates, suspends and reactivates an organization', async (t) => {
  await makeOrganization(hostile.replace('‮', ''));
  const page = await server.open(t, '/organizations');
  await page.getByText('<img src=x onerror=alert(1)>').first().waitFor();
  await settled(page);
  await assertAccessible(page);
  await page.getByRole('button', { name: 'Create organization' }).click();
  await dialog(page).getByRole('textbox', { name: 'Name', exact: true }).fill('Fresh');
  await dialog(page).getByLabel('Short name').fill('Not A Slug');
  await dialog(page).getByRole('button', { name: 'Create organization' }).click();
  await dialog(page)
    .getByText(/Enter lowercase letters/)
    .waitFor();
  const slug = `fresh-${randomUUID().slice(0, 8)}`;
  await dialog(page).getByLabel('Short name').fill(slug);
  await dialog(page).getByRole('button', { name: 'Create organization' }).click();
  await page.getByRole('heading', { level: 1, name: 'Organization', exact: true }).waitFor();
  await page.getByRole('heading', { name: 'No members yet' }).waitFor();
  await settled(page);
  await page.getByRole('link', { name: 'All organizations' }).click();
  await rowOf(page, slug).click();
  await page.getByRole('button', { name: 'Suspend' }).click();
  await dialog(page)
    .getByText(/All agents of/)
    .waitFor();
  await dialog(page).getByRole('button', { name: 'Suspend organization' }).click();
  await rowOf(page, slug).getByText('suspended').waitFor();
  await page.getByRole('button', { name: 'Copy reactivation as…' }).waitFor();
  await page.getByRole('button', { name: 'Reactivate', exact: true }).click();
  await rowOf(page, slug).getByText('active').waitFor();
  await page.getByRole('button', { name: 'Change plan' }).click();
  await dialog(page).getByRole('combobox', { name: 'Plan' }).click();
  await page.getByRole('option', { name: 'enterprise' }).click();
  await dialog(page).getByRole('button', { name: 'Save plan' }).click();
  await rowOf(page, slug).getByText('enterprise').waitFor();
  await settled(page);
  await assertAccessible(page);
});

browserTest('the operator finds an agent of any organization among many others', async (t) => {
  const id = await makeOrganization('Small');
  const { email } = await agentOf(id);
  const crowd = await makeOrganization('Crowd');
  await server.sql('update organizations set max_agents = 1000 where organization_id = $1', [crowd]);
  for (let made = 0; made < 51; made += 1)
    await asOperator('POST', '/agents', newAgent({ organization_id: crowd }));
  const page = await server.open(t, `/organization?id=${id}&add=1`);
  await dialog(page).getByRole('combobox', { name: 'Agent' }).click();
  await page.getByRole('option', { name: email }).waitFor();
  assert.equal(await page.getByRole('option').count(), 1);
});

browserTest('the operator sees the members and people of any organization', async (t) => {
  const id = await makeOrganization('Somewhere');
  const agent = await agentOf(id, 'admin');
  await invite(id, agent.agentId);
  const page = await server.open(t, `/organization?id=${id}`);
  await rowOf(page, agent.email).waitFor();
  await page.getByRole('tab', { name: 'People' }).click();
  await rowOf(page, 'Ada Lovelace').waitFor();
  await page.getByRole('button', { name: 'Invite person' }).click();
  await chooseAgent(page, 'Acts through', agent.email);
});
