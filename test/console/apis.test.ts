/** The APIs pages in a browser. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Locator, Page } from 'playwright-core';
import {
  assertAccessible,
  assertFits,
  browserTest,
  goTo,
  openSection,
  startConsole,
  tabTo,
} from '../support/console.ts';
import { allTenantScopes, createResourceClient } from '../support/scenarios/resources/resources.ts';

const server = await startConsole();
const { call, agentIn, adminOf, tenant, resource, offer, share, grant, grantsOf } =
  createResourceClient(server);
const hostile = '<img src=x onerror="window.hacked=1">';

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 });
const identifierOf = () => `https://${randomUUID()}.example/api`;
const button = (place: Page | Locator, name: string) => place.getByRole('button', { name, exact: true });
const emailOf = async (agentId: string) =>
  (await call('GET', `/agents/${agentId}`, await server.token())).json.email as string;

browserTest('an empty list; an API is registered; what was typed stays after a failure', async (t) => {
  const owner = await tenant();
  const taken = identifierOf();
  await resource(await tenant(), { identifier: taken });
  const page = await server.open(t, '/apis', { as: owner });
  await heading(page, 'APIs').waitFor();
  await page.getByText('No APIs yet').waitFor();
  await assertAccessible(page);

  await button(page, 'Register an API').first().click();
  const dialog = page.getByRole('dialog', { name: 'Register an API' });
  await button(dialog, 'Register API').click();
  await dialog.getByText('Give it a name.').waitFor();
  await dialog.getByText(/printable ASCII/).waitFor();
  await assertAccessible(page);
  await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('Orders');
  await dialog.getByRole('textbox', { name: 'Identifier' }).fill(taken);
  await dialog.getByRole('textbox', { name: 'Name of scope 1' }).fill('orders:read');
  await dialog.getByRole('textbox', { name: 'Description of scope 1' }).fill('Read orders');
  await button(dialog, 'Add a scope').click();
  await dialog.getByRole('textbox', { name: 'Name of scope 2' }).fill('agents:read');
  await dialog.getByRole('textbox', { name: 'Token lifetime in seconds' }).fill('900');
  await openSection(dialog, 'Facts about the agent');
  await dialog.getByRole('checkbox', { name: /agent_type/ }).check();
  // At its field: the name of a scope of the server's own API.
  await button(dialog, 'Register API').click();
  await dialog
    .getByText(/is the name of a scope of this server/)
    .first()
    .waitFor();
  await dialog.getByText(/Request id/).waitFor();
  await dialog.getByRole('textbox', { name: 'Name of scope 2' }).fill('refund');
  await button(dialog, 'Register API').click();
  await dialog
    .getByRole('alert')
    .getByText(/already|exists|registered/i)
    .first()
    .waitFor();
  await page.route('**/api/v1/resources', (route) =>
    route.request().method() === 'POST' ? route.abort() : route.continue(),
  );
  const identifier = identifierOf();
  await dialog.getByRole('textbox', { name: 'Identifier' }).fill(identifier);
  await button(dialog, 'Register API').click();
  await dialog.getByText(/did not answer/).waitFor();
  await page.unroute('**/api/v1/resources');
  await button(dialog, 'Register API').click();

  await heading(page, 'Orders').waitFor();
  await page.getByText(identifier).waitFor();
  await page.getByText('900 seconds').waitFor();
  await page.getByRole('cell', { name: 'Read orders' }).waitFor();
  await assertAccessible(page);
  const { data } = (await call('GET', '/resources', owner.token)).json;
  assert.deepEqual(
    [data[0].identifier, data[0].scopes.map(({ name }: { name: string }) => name), data[0].claims],
    [identifier, ['orders:read', 'refund'], ['agentType']],
  );
});

browserTest('edit says which scopes end; delete says which holders and shares end', async (t) => {
  const [owner, other] = [await tenant(), await tenant()];
  const admin = await agentIn(other.organizationId, allTenantScopes, 'admin');
  const { resourceId } = await resource(owner);
  await grant(owner, owner.agentId, resourceId, ['refund', 'orders:read']);
  await share(owner, resourceId, other.organizationId, ['refund']);
  await grant(admin, other.agentId, resourceId, ['refund']);
  const page = await server.open(t, '/apis', { as: owner });
  await page.getByRole('link', { name: 'Orders' }).click();
  await button(page, 'Edit').click();
  const edit = page.getByRole('dialog', { name: 'Edit API' });
  assert.equal(await edit.getByRole('textbox', { name: 'Identifier' }).getAttribute('readonly'), '');
  await button(edit, 'Remove scope 1').click();
  await edit.getByText('Ends with this change: orders:read').waitFor();
  await assertAccessible(page);
  await edit.getByRole('textbox', { name: 'Name', exact: true }).fill('Orders 2');
  await button(edit, 'Save API').click();
  await heading(page, 'Orders 2').waitFor();
  assert.deepEqual(Object.values(await grantsOf(owner, owner.agentId)), [['refund']]);

  await button(page, 'Delete').click();
  const dialog = page.getByRole('dialog', { name: 'Delete this API?' });
  await dialog.getByText('The grants of 1 agent, and their tokens').waitFor();
  await dialog.getByText('The shares with 1 organization, with the grants of 1 agent there.').waitFor();
  await assertAccessible(page);
  await button(dialog, 'Delete API').click();
  await page.getByText('No APIs yet').waitFor();
  assert.deepEqual(await grantsOf(admin, other.agentId), {});
});

browserTest(
  'a scope is granted to an agent that is found by its name, changed, and taken back',
  async (t) => {
    const owner = await tenant();
    const { agentId } = await agentIn(owner.organizationId, []);
    const email = await emailOf(agentId);
    const { resourceId, identifier } = await resource(owner);
    const page = await server.open(t, `/apis/${resourceId}?tab=holders`, { as: owner });
    await page.getByText('No agent holds a scope of this API').waitFor();
    await button(page, 'Grant to an agent').first().click();
    const dialog = page.getByRole('dialog', { name: 'Grant scopes to an agent' });
    await button(dialog, 'Grant scopes').click();
    await dialog.getByText('Choose an agent.').waitFor();
    await dialog.getByRole('combobox', { name: 'Agent' }).fill(email.slice(0, 12));
    await page.getByRole('option', { name: email }).click();
    await dialog.getByRole('checkbox', { name: 'orders:read' }).check();
    await dialog.getByRole('checkbox', { name: 'refund' }).check();
    await assertAccessible(page);
    await button(dialog, 'Grant scopes').click();
    const row = page.getByRole('row', { name: new RegExp(email) });
    await row.waitFor();
    assert.deepEqual(await grantsOf(owner, agentId), { [identifier]: ['orders:read', 'refund'] });
    await assertAccessible(page);

    // Granting again starts from the scopes that the agent has.
    await button(page, 'Grant to an agent').first().click();
    await dialog.getByRole('combobox', { name: 'Agent' }).fill(email);
    await page.getByRole('option', { name: email }).click();
    await dialog.getByText(/holds a grant already/).waitFor();
    await dialog.getByRole('checkbox', { name: 'refund', checked: true }).waitFor();
    await button(dialog, 'Cancel').click();

    await button(row, 'Change').click();
    const change = page.getByRole('dialog', { name: 'Change the grant' });
    await change.getByRole('checkbox', { name: 'refund' }).uncheck();
    await change.getByText('Ends at once: refund').waitFor();
    await button(change, 'Save grant').click();
    await change.waitFor({ state: 'detached' });
    assert.deepEqual(await grantsOf(owner, agentId), { [identifier]: ['orders:read'] });

    // Who holds a scope: a filter in the URL.
    await page.getByRole('tab', { name: 'Scopes' }).click();
    await button(page, 'Who holds it: refund').click();
    await page.waitForURL(/tab=holders&scope=refund/);
    await page.getByText('No holders match').waitFor();
    await page.reload();
    await page.getByText('No holders match').waitFor();
    await button(page, 'Remove filter Scope').click();
    await button(row, 'Remove').click();
    await page.getByText('Its tokens for this API, at once for introspection.').waitFor();
    await button(page.getByRole('dialog'), 'Remove grant').click();
    await page.getByText('No agent holds a scope of this API').waitFor();
    assert.deepEqual(await grantsOf(owner, agentId), {});
  },
);

browserTest('a grant starts from the scopes of the chosen agent, once they are known', async (t) => {
  const owner = await tenant();
  const { resourceId, identifier } = await resource(owner);
  const [first, second] = [await agentIn(owner.organizationId, []), await agentIn(owner.organizationId, [])];
  await grant(owner, first.agentId, resourceId, ['refund']);
  const page = await server.open(t, `/apis/${resourceId}?tab=holders`, { as: owner });
  await button(page, 'Grant to an agent').first().click();
  const dialog = page.getByRole('dialog', { name: 'Grant scopes to an agent' });
  const choose = async (agentId: string) => {
    const email = await emailOf(agentId);
    await dialog.getByRole('combobox', { name: 'Agent' }).fill(email);
    await page.getByRole('option', { name: email }).click();
  };
  const box = (name: string) => dialog.getByRole('checkbox', { name });
  await choose(first.agentId);
  await box('refund').waitFor();
  assert.equal(await box('refund').isChecked(), true);
  // No scope of the agent before.
  await choose(second.agentId);
  await box('refund')
    .and(page.getByRole('checkbox', { checked: false }))
    .waitFor();
  await box('orders:read').check();
  await choose(first.agentId);
  await dialog.getByText(/holds a grant already/).waitFor();
  assert.deepEqual([await box('refund').isChecked(), await box('orders:read').isChecked()], [true, false]);

  // A failed or slow answer is not the same as no grant.
  await page.route('**/api/v1/agents/*/grants?*', (route) => route.fulfill({ status: 500, json: {} }));
  await choose(second.agentId);
  await button(dialog, 'Try again').waitFor();
  assert.equal(await box('refund').count(), 0);
  await page.unroute('**/api/v1/agents/*/grants?*');
  await button(dialog, 'Try again').click();
  await box('orders:read').check();
  await button(dialog, 'Grant scopes').click();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(await grantsOf(owner, second.agentId), { [identifier]: ['orders:read'] });
  assert.deepEqual(await grantsOf(owner, first.agentId), { [identifier]: ['refund'] });
});

browserTest('an offer is declined, and a share is left; the text of the owner stays text', async (t) => {
  const [owner, other] = [await tenant(), await tenant()];
  const admin = await adminOf(other.organizationId);
  const [first, second] = [await resource(owner, { name: hostile }), await resource(owner)];
  await offer(owner, first.resourceId, other.organizationId, ['refund']);
  await share(owner, second.resourceId, other.organizationId, ['refund']);
  const page = await server.open(t, '/apis', { as: admin });
  await page.getByText(hostile).waitFor();
  await button(page, 'Decline').click();
  await button(page.getByRole('dialog'), 'Decline offer').click();
  await page.getByText('Offered by other organizations').waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Orders' }).click();
  await button(page, 'Leave share').click();
  await button(page.getByRole('dialog'), 'Leave share').click();
  await page.getByText('No APIs yet').waitFor();
  assert.equal((await call('GET', '/shares', other.token)).json.total, 0);
});

browserTest('a pending API shows the text that its host publishes, and verifies', async (t) => {
  const { json } = await call('POST', '/resources', (await tenant()).token, {
    ...{ identifier: `${identifierOf()}`, name: 'Pending', scopes: [{ name: 'read' }] },
  });
  await server.sql(
    `update resources set pending_identifier = identifier, identifier = 'pending:' || resource_id,
       verification_token = 'token-of-the-resource' where resource_id = $1`,
    [json.resourceId],
  );
  const page = await server.open(t, `/apis/${json.resourceId}`);
  await page.getByText('Prove that you control the host').waitFor();
  await page.getByText('countersign-verification=token-of-the-resource', { exact: true }).waitFor();
  await page.getByText(`_countersign.${new URL(json.identifier).hostname}`).waitFor();
  await assertAccessible(page);
  await button(page, 'Approve without proof').click();
  await page.getByText('approved by an operator').waitFor();
  assert.equal(await page.getByText('Prove that you control the host').count(), 0);
});

browserTest('an API is shared; the other organization sees and grants it, and no more', async (t) => {
  const [owner, other] = [await tenant(), await tenant()];
  const admin = await agentIn(other.organizationId, allTenantScopes, 'admin');
  const { resourceId } = await resource(owner);
  const page = await server.open(t, `/apis/${resourceId}?tab=shares`, { as: owner });
  await page.getByText('Not shared').waitFor();
  await button(page, 'Share with an organization').click();
  const dialog = page.getByRole('dialog', { name: 'Share with an organization' });
  await dialog.getByLabel('Organization id').fill('partner');
  await dialog.getByRole('checkbox', { name: 'refund' }).check();
  await button(dialog, 'Share API').click();
  await dialog.getByText('The id of an organization is a UUID.').waitFor();
  await dialog.getByLabel('Organization id').fill(randomUUID());
  await button(dialog, 'Share API').click();
  await dialog.getByText(/Request id/).waitFor();
  assert.equal(await dialog.getByRole('checkbox', { name: 'refund' }).isChecked(), true);
  await dialog.getByLabel('Organization id').fill(other.organizationId);
  await button(dialog, 'Share API').click();
  await page.getByRole('cell', { name: other.organizationId }).waitFor();
  await assertAccessible(page);

  await page.getByRole('cell', { name: 'offered' }).waitFor();

  // Only an admin decides.
  const reader = await server.open(t, '/apis', { as: other });
  await reader.getByText('Offered by other organizations').waitFor();
  assert.equal(await button(reader, 'Accept').count(), 0);
  const theirs = await server.open(t, '/apis', { as: admin });
  await theirs.getByText('Offered by other organizations').waitFor();
  assert.equal(await theirs.getByText('shared with you', { exact: true }).count(), 0);
  await assertAccessible(theirs);
  await button(theirs, 'Accept').click();
  await theirs.getByText('shared with you', { exact: true }).waitFor();
  await theirs.getByRole('link', { name: 'Orders' }).click();
  await theirs.getByRole('cell', { name: 'refund', exact: true }).waitFor();
  assert.equal(await theirs.getByText('orders:write').count(), 0);
  for (const name of ['Edit', 'Delete']) assert.equal(await button(theirs, name).count(), 0, name);
  assert.equal(await theirs.getByRole('tab', { name: 'Shares' }).count(), 0);
  await button(theirs, 'Grant to an agent').click();
  await theirs.getByRole('combobox', { name: 'Agent' }).fill(await emailOf(other.agentId));
  await theirs.getByRole('option').first().click();
  await theirs.getByRole('checkbox', { name: 'refund' }).check();
  await button(theirs, 'Grant scopes').click();
  await theirs.getByRole('row', { name: /refund/ }).waitFor();

  await page.reload();
  await page.getByRole('cell', { name: '1', exact: true }).waitFor();
  assert.ok(!(await page.content()).includes(other.agentId));
  await button(page, 'End share').click();
  await page.getByText('The grants of 1 of its agents').waitFor();
  await button(page.getByRole('dialog'), 'End share').click();
  await page.getByText('Not shared').waitFor();
  await theirs.reload();
  await theirs
    .getByRole('alert')
    .getByText(/Request id/)
    .waitFor();
});

browserTest(
  'code to verify tokens, with the values of the API; it accepts and refuses as it says',
  async (t) => {
    const owner = await tenant();
    const { resourceId, identifier } = await resource(owner);
    await grant(owner, owner.agentId, resourceId, ['orders:read']);
    const page = await server.open(t, `/apis/${resourceId}?tab=verify`, { as: owner });
    const code = await page.getByRole('region', { name: 'Node.js code' }).textContent();
    await assertAccessible(page);
    assert.match(code ?? '', /revocation: 'signals'/);
    const sdk = new URL('../../sdk/typescript/src/sdk.ts', import.meta.url).href;
    const { clientId: client_id, clientSecret: client_secret } = owner;
    // The program is in this process, whose environment is shared; its verifier is closed with the test.
    const module = `${(code ?? '')
      .replace("'@countersign/sdk'", JSON.stringify(sdk))
      .replace('process.env', JSON.stringify({ CLIENT_ID: client_id, CLIENT_SECRET: client_secret }))}
export const close = verifier.close;`;
    const { requireToken: verify, close } = await import(
      `data:text/javascript,${encodeURIComponent(module)}`
    );
    t.after(close);
    const requireToken = (authorization?: string, scope?: string) =>
      verify({ method: 'GET', url: '/', headers: { ...(authorization && { authorization }) } }, scope);
    const credentials = { grant_type: 'client_credentials', client_id, client_secret };
    const token = async (more: Record<string, string>) =>
      `Bearer ${(await server.askToken({ ...credentials, ...more })).json.access_token}`;
    const ours = await token({ resource: identifier });
    assert.equal((await requireToken(ours)).agentId, owner.clientId);
    await assert.rejects(requireToken(ours, 'refund'), { status: 403 });
    await assert.rejects(requireToken(await token({})), { status: 401 });
    await assert.rejects(requireToken(undefined), { status: 401 });
    for (const name of ['Python', 'Get a token', 'Introspect']) {
      await page.getByRole('tab', { name }).click();
      const text = await page.getByRole('region', { name: `${name} code` }).textContent();
      assert.ok(text?.includes(server.url), name);
    }
    assert.equal(await page.getByRole('link', { name: 'API reference' }).getAttribute('href'), '/docs/api');
  },
);

browserTest(
  'an API that fails: message and request id; without the scope no page; nothing of others by URL',
  async (t) => {
    const [owner, other] = [await tenant(), await tenant()];
    const { resourceId } = await resource(owner, { name: 'Hidden' });
    const page = await server.open(t, `/apis/${resourceId}`, { as: owner });
    await heading(page, 'Hidden').waitFor();
    const failure = { code: 'INTERNAL_SERVER_ERROR', message: 'Something failed.' };
    await page.route('**/api/v1/resources**', (route) =>
      route.fulfill({ status: 500, headers: { 'x-request-id': 'request-1' }, json: failure }),
    );
    for (const path of ['/apis', `/apis/${resourceId}`]) {
      await page.goto(`/console${path}`);
      await page.getByText('Something failed.').waitFor();
      await page.getByText('request-1').waitFor();
    }
    const none = await agentIn(owner.organizationId, ['agents:read']);
    const refused = await server.open(t, '/apis', { as: none });
    await refused.getByText('You have no permission to see this').waitFor();
    const reader = await server.open(t, `/apis/${resourceId}?grant=1`, {
      as: await agentIn(owner.organizationId, ['resources:read']),
    });
    await heading(reader, 'Hidden').waitFor();
    for (const name of ['Edit', 'Delete', 'Grant to an agent'])
      assert.equal(await button(reader, name).count(), 0, name);
    const foreign = await server.open(t, '/apis', { as: other });
    for (const tab of ['scopes', 'holders', 'shares', 'verify']) {
      await foreign.goto(`/console/apis/${resourceId}?tab=${tab}`);
      await foreign
        .getByRole('alert')
        .getByText(/Request id/)
        .waitFor();
      assert.ok(!(await foreign.content()).includes('Hidden'));
    }
  },
);

browserTest('hostile and long texts are text, in both widths', async (t) => {
  const owner = await tenant();
  const scope = 'x'.repeat(64);
  const { resourceId } = await resource(owner, {
    name: hostile,
    description: `${hostile}\u202e ${'d'.repeat(900)}`,
    identifier: `https://${randomUUID()}.example/${'i'.repeat(400)}`,
    scopes: [{ name: "<script>'x'</script>", description: hostile }, { name: scope }],
  });
  await grant(owner, owner.agentId, resourceId, [scope]);
  const page = await server.open(t, '/apis', { as: owner });
  await page.getByRole('link', { name: hostile }).waitFor();
  await assertFits(page, [360, 1440]);
  await goTo(page, `/apis/${resourceId}`);
  for (const tab of ['Scopes', 'Holders', 'Shares', 'Verify tokens']) {
    await page.getByRole('tab', { name: tab }).click();
    await page.getByRole('tab', { name: tab, selected: true }).waitFor();
    await page.getByRole('tabpanel').first().waitFor();
    await assertFits(page, [360, 1440]);
    assert.equal(await page.evaluate('window.hacked'), undefined);
  }
  await assertAccessible(page);
});

browserTest('keyboard only: search, open an API, change the tab, grant a scope', async (t) => {
  const owner = await tenant();
  const { resourceId } = await resource(owner, { name: 'Orders' });
  await resource(owner, { name: 'Billing', identifier: identifierOf() });
  const page = await server.open(t, '/apis', { as: owner });
  await page.getByRole('link', { name: 'Billing' }).waitFor();
  await tabTo(page, page.getByRole('textbox', { name: 'Search' }));
  await page.keyboard.type('orde');
  await page.waitForURL(/q=orde/);
  await page.getByRole('link', { name: 'Billing' }).waitFor({ state: 'detached' });
  await tabTo(page, page.getByRole('link', { name: 'Orders' }));
  await page.keyboard.press('Enter');
  await heading(page, 'Orders').waitFor();
  await tabTo(page, page.getByRole('tab', { name: 'Scopes' }));
  await page.keyboard.press('ArrowRight');
  await page.getByText('No agent holds a scope of this API').waitFor();
  await tabTo(page, button(page, 'Grant to an agent').last());
  await page.keyboard.press('Enter');
  await page.getByRole('combobox', { name: 'Agent' }).waitFor();
  await tabTo(page, page.getByRole('combobox', { name: 'Agent' }));
  await page.keyboard.type('agent-');
  await page.getByRole('option').first().waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await tabTo(page, page.getByRole('checkbox', { name: 'refund' }));
  await page.keyboard.press('Space');
  await page.keyboard.press('Enter');
  await page.getByRole('row', { name: /refund/ }).waitFor();
  assert.equal((await call('GET', `/resources/${resourceId}/grants`, owner.token)).json.total, 1);
});
