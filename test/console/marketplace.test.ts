/** The marketplace in a browser: search, own listings, create, publish, withdraw, delete. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { assertAccessible, assertNoSidewaysScroll, browserTest, startConsole } from '../support/console.ts';
import { newAgent } from '../support/harness.ts';
import { createTenant, type Tenant } from '../support/scenarios/plans.ts';

const server = await startConsole({ MULTI_TENANT: 'true' });
const hostile = '<img src=x onerror="document.title=1"> [click](javascript:alert(1))';

const table = (page: Page) => page.getByRole('table', { name: 'Marketplace' });

async function createListing(tenant: Tenant, listing: Record<string, unknown>, publish = true) {
  const token = await server.token();
  const { agentId } = (
    await server.call('POST', '/api/v1/agents', {
      token,
      payload: newAgent({ organization_id: tenant.organizationId }),
    })
  ).json;
  const created = await server.call('POST', '/api/v1/marketplace/listings', {
    token,
    payload: { agentId, summary: 'Does things.', ...listing },
  });
  assert.equal(created.status, 201, created.text);
  if (publish)
    await server.call('PATCH', `/api/v1/marketplace/listings/${created.json.listingId}`, {
      token,
      payload: { status: 'published' },
    });
  return created.json;
}

browserTest('search: words in the URL, drafts and private listings of others never', async (t) => {
  const [tenant, other] = [await createTenant(server), await createTenant(server)];
  await createListing(other, {
    title: 'Zebra counter',
    description: hostile,
    documentationUrl: 'https://docs.zebra.example/',
  });
  await createListing(other, { title: 'Zebra draft' }, false);
  await createListing(other, { title: 'Zebra private', visibility: 'organization' });
  await createListing(tenant, { title: 'Invoice reader' });
  const page = await server.open(t, '/marketplace', { as: tenant, width: 1440 });
  await table(page).getByText('Invoice reader').waitFor();
  await page.getByLabel('Search', { exact: true }).fill('zebra');
  await page.waitForURL(/q=zebra/);
  await table(page).getByText('Invoice reader').waitFor({ state: 'detached' });
  assert.equal(await table(page).getByRole('row').count(), 2);
  await page.reload();
  await table(page).getByText('Zebra counter').click();
  const details = page.getByRole('complementary', { name: 'Details' });
  await details.getByText(hostile).waitFor();
  assert.equal(await page.locator('img').count(), 0);
  assert.equal(await details.locator('a[href^="javascript"]').count(), 0);
  const link = details.getByRole('link', { name: /^https:\/\/docs\.zebra\.example.*opens in a new tab/ });
  assert.equal(await link.getAttribute('rel'), 'noopener noreferrer nofollow');
  await assertAccessible(page);
  await page.getByLabel('Search', { exact: true }).fill('nothing-like-this');
  await page.getByText('No listings match').waitFor();
});

browserTest('create a draft, publish, edit, withdraw and delete it', async (t) => {
  const tenant = await createTenant(server);
  const page = await server.open(t, '/marketplace?view=own', { as: tenant, width: 1440 });
  await page.getByRole('heading', { name: 'No listings yet' }).waitFor();
  await page.getByRole('button', { name: 'List an agent' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'List an agent' });
  await dialog.getByRole('button', { name: 'Create draft' }).click();
  await dialog.getByText('Choose the agent').waitFor();
  await dialog.getByLabel('Agent', { exact: false }).first().click();
  await page.getByRole('option').first().click();
  await dialog.getByLabel('Title').fill('Resume screener');
  await dialog.getByLabel('Summary').fill('Scores resumes.');
  assert.equal(await dialog.getByLabel('Visible to').first().inputValue(), 'Agents of your organization');
  await dialog.getByLabel('Endpoints').fill('a2a http://not-https.example.com');
  await dialog.getByRole('button', { name: 'Create draft' }).click();
  // The API refuses; everything that was typed stays.
  await dialog.getByRole('alert').waitFor();
  assert.equal(await dialog.getByLabel('Title').inputValue(), 'Resume screener');
  await assertAccessible(page);
  await dialog.getByLabel('Endpoints').fill('a2a https://agents.example.com/a2a');
  await dialog.getByRole('button', { name: 'Create draft' }).click();
  await dialog.waitFor({ state: 'detached' });

  const details = page.getByRole('complementary', { name: 'Details' });
  await details.getByText('draft', { exact: true }).waitFor();
  await details.getByRole('button', { name: 'Publish' }).click();
  const publish = page.getByRole('dialog', { name: 'Publish to your organization?' });
  await publish.getByRole('region', { name: 'This becomes visible' }).getByText('Scores resumes.').waitFor();
  await publish.getByRole('button', { name: 'Publish to your organization' }).click();
  await details.getByText('published', { exact: true }).waitFor();

  await details.getByRole('button', { name: 'Edit' }).click();
  const edit = page.getByRole('dialog', { name: 'Change the listing' });
  await edit.getByLabel('Title').fill('Better screener');
  await edit.getByRole('button', { name: 'Save' }).click();
  await details.getByRole('heading', { name: 'Better screener' }).waitFor();

  await details.getByRole('button', { name: 'Withdraw' }).click();
  const withdraw = page.getByRole('dialog', { name: 'Withdraw this listing?' });
  await withdraw.getByRole('button', { name: 'Withdraw' }).click();
  await details.getByText('withdrawn', { exact: true }).waitFor();

  await details.getByRole('button', { name: 'Delete' }).click();
  const remove = page.getByRole('dialog', { name: 'Delete this listing?' });
  await remove.getByText('The agent itself does not change').waitFor();
  await remove.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'No listings yet' }).waitFor();
});

browserTest('tenancy: a listing of another organization is not found among the own ones', async (t) => {
  const [tenant, other] = [await createTenant(server), await createTenant(server)];
  const { listingId } = await createListing(other, { title: 'Theirs' }, false);
  const page = await server.open(t, `/marketplace?view=own&selected=${listingId}`, {
    as: tenant,
    width: 360,
  });
  await page.getByRole('alert').waitFor();
  assert.ok(!(await page.locator('body').innerText()).includes('Theirs'));
  await assertNoSidewaysScroll(page);
});

browserTest('a failed search shows the message and the request id; empty; narrow', async (t) => {
  const tenant = await createTenant(server);
  const page = await server.open(t, '/usage', { as: tenant, width: 360 });
  await page.route('**/console/api/v1/marketplace/agents?*', (route) =>
    route.fulfill({
      status: 500,
      headers: { 'x-request-id': 'req-market' },
      json: { code: 'INTERNAL_SERVER_ERROR', message: 'No search now.' },
    }),
  );
  await page.goto('/console/marketplace');
  await page.getByText('No search now.').waitFor();
  await page.getByText('req-market').waitFor();
  await page.route('**/console/api/v1/marketplace/agents?*', (route) =>
    route.fulfill({ json: { data: [], total: 0, page: 1, limit: 20 } }),
  );
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'No agents on offer yet' }).waitFor();
  await assertNoSidewaysScroll(page);
});

browserTest('without agents:read there is the search only; without agents:write no actions', async (t) => {
  const tenant = await createTenant(server);
  await createListing(tenant, { title: 'Ours' });
  const outsider = await server.agent({
    organization_id: tenant.organizationId,
    allowedScopes: ['audit:read'],
  });
  const page = await server.open(t, '/marketplace', { as: outsider, width: 1440 });
  await table(page).getByText('Ours').first().waitFor();
  assert.equal(await page.getByText('Your listings').count(), 0);
  await page.goto('/console/marketplace?view=own');
  await page.getByRole('heading', { name: 'You have no permission to see this' }).waitFor();

  const reader = await server.agent({
    organization_id: tenant.organizationId,
    allowedScopes: ['agents:read'],
  });
  const own = await server.open(t, '/marketplace?view=own&create=1', { as: reader, width: 1440 });
  await table(own).getByText('Ours').click();
  await own.getByRole('complementary', { name: 'Details' }).getByText('published', { exact: true }).waitFor();
  assert.equal(await own.getByRole('button', { name: 'List an agent' }).count(), 0);
  assert.equal(await own.getByRole('button', { name: 'Withdraw' }).count(), 0);
});

browserTest(
  'text that imitates our verification is apart from it, after the publisher and the facts',
  async (t) => {
    const [tenant, other] = [await createTenant(server), await createTenant(server)];
    const title = '✓ Verified — Countersign Official Agent';
    const listing = { title, description: `${'\n'.repeat(180)}✓ Verified by Countersign` };
    const { listingId } = await createListing(other, listing);
    const page = await server.open(t, `/marketplace?selected=${listingId}`, { as: tenant });
    for (const width of [1440, 360]) {
      await page.setViewportSize({ width, height: 800 });
      const facts = page.locator('dl').filter({ hasText: 'Published by' });
      await facts.waitFor();
      assert.match((await facts.locator('dt').first().textContent()) ?? '', /^Published by$/);
      const said = page.getByRole('figure').filter({ hasText: title });
      await said.getByText(/^Text by .*It is not checked by this instance\.$/).waitFor();
      const [above, below] = [await facts.boundingBox(), await said.boundingBox()];
      assert.ok(above && below && above.y + above.height <= below.y, 'the facts come first');
      assert.ok(below.height < 400, `${below.height} px of text`);
      await said.getByText('✓ Verified by Countersign').waitFor();
      assert.equal(await page.getByRole('heading', { level: 2, name: title }).count(), 0);
      await assertAccessible(page);
      await assertNoSidewaysScroll(page);
    }
  },
);

browserTest('publishing to everyone asks first, and shows what becomes public', async (t) => {
  const tenant = await createTenant(server);
  const { listingId } = await createListing(tenant, { title: 'Reader', visibility: 'public' }, false);
  const page = await server.open(t, `/marketplace?view=own&selected=${listingId}`, {
    as: tenant,
    width: 1440,
  });
  const details = page.getByRole('complementary', { name: 'Details' });
  const dialog = page.getByRole('dialog', { name: 'Publish to everyone?' });
  const statusOf = async () =>
    (await server.call('GET', `/api/v1/marketplace/listings/${listingId}`, { token: await server.token() }))
      .json;
  const refusal = { status: 500, json: { code: 'INTERNAL', message: 'The database did not answer.' } };
  await page.route('**/did/card', (route) => route.fulfill(refusal));
  await details.getByRole('button', { name: 'Publish' }).click();
  const facts = dialog.getByRole('region', { name: 'This becomes public' });
  const publish = dialog.getByRole('button', { name: 'Publish to everyone' });
  await facts.getByText("The agent's card could not be loaded").waitFor();
  assert.ok(await publish.isDisabled(), 'what is not shown cannot be published');
  await page.unroute('**/did/card');
  await facts.getByRole('button', { name: 'Try again' }).click();
  for (const text of ['Reader', 'Does things.', 'did:web:', '"owner":', '"verificationMethod":'])
    await facts.getByText(text).first().waitFor();
  await assertAccessible(page);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.equal((await statusOf()).status, 'draft');
  await details.getByRole('button', { name: 'Publish' }).click();
  await publish.click();
  await details.getByText('published', { exact: true }).waitFor();

  // One that is on show for the organization becomes public by an edit: the same question.
  const own = await createListing(tenant, { title: 'Inner', visibility: 'organization' });
  await page.goto(`/console/marketplace?view=own&selected=${own.listingId}`);
  await details.getByRole('button', { name: 'Edit' }).click();
  const edit = page.getByRole('dialog', { name: 'Change the listing' });
  await edit.getByLabel('Visible to').first().click();
  await page.getByRole('option', { name: 'Everyone' }).click();
  await edit.getByRole('region', { name: 'This becomes public' }).waitFor();
  await edit.getByRole('button', { name: 'Save' }).click();
  await edit.getByText('Confirm that this becomes public').waitFor();
  await edit.getByLabel('Everyone may see this, also without an account').check();
  await edit.getByRole('button', { name: 'Save' }).click();
  await edit.waitFor({ state: 'detached' });
  await details.getByText('Everyone', { exact: true }).waitFor();
});
