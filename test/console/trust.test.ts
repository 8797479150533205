/** The trust page in a browser: trust policies with presets, conditions and the test of a token; federation partners; every state. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import {
  assertAccessible,
  assertNoSidewaysScroll,
  browserTest,
  startConsole,
  tabTo,
} from '../support/console.ts';
import { startIssuer } from '../support/peers/issuers.ts';
import { createTenant, type Tenant } from '../support/scenarios/plans.ts';
import { createResourceRows } from '../support/scenarios/resources/resource-rows.ts';

// The issuer of the tests is on loopback, by plain http.
const server = await startConsole({ MULTI_TENANT: 'true', WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const issuer = await startIssuer(server.clock);
const { insertResource, setGrant } = createResourceRows(server);
/** Names cannot have the bidirectional characters that other texts have. */
const hostileName = '<img src=x onerror="document.title=\'owned\'">';
const hostile = `${hostileName}\u202Egnp.exe`;
const policiesUrl = '/api/v1/oidc/trust-policies';

const tenantOf = () => createTenant(server, { planTier: 'enterprise' });
const send = async (method: 'POST' | 'GET', url: string, token: string, payload?: object) => {
  const answer = await server.call(method, url, { token, ...(payload && { payload }) });
  assert.ok(answer.status < 300, answer.text);
  return answer.json;
};
const agentOf = ({ organizationId }: Tenant, email: string, allowedScopes = ['agents:read']) =>
  server.agent({ organization_id: organizationId, email, allowedScopes });
const policyOf = async (tenant: Tenant, agentId: string, changes: object = {}) =>
  send('POST', policiesUrl, tenant.token, {
    agentId,
    name: 'Pipeline',
    provider: 'custom',
    issuer: issuer.url,
    audiences: [server.url],
    subject: 'pipeline-7',
    scopes: ['agents:read'],
    ...changes,
  });

const details = (page: Page) => page.getByRole('complementary', { name: 'Details' });
const dialog = (page: Page, name: string) => page.getByRole('dialog', { name });

/** Chooses in a select. */
async function choose(page: Page, within: ReturnType<typeof dialog>, label: string, option: string) {
  await within.getByRole('combobox', { name: label, exact: true }).click();
  await page.getByRole('option', { name: option, exact: true }).click();
}

browserTest('empty: says what a trust policy is for, with the way to the first one', async (t) => {
  const page = await server.open(t, '/trust', { as: await tenantOf() });
  await page.getByRole('heading', { name: 'No trust policies yet' }).waitFor();
  await page.getByRole('button', { name: 'Create policy' }).last().click();
  await dialog(page, 'Create trust policy').waitFor();
});

browserTest(
  'create: each preset brings its issuer and example; conditions, scopes and APIs arrive',
  async (t) => {
    const tenant = await tenantOf();
    const deployer = await agentOf(tenant, 'deployer@create.example');
    const orders = await insertResource(['orders:read', 'orders:write'], {
      organizationId: tenant.organizationId,
    });
    await setGrant(deployer.agentId, orders, ['orders:read']);
    // The writer of a policy can become its agent, so it must be able to give the agent's grants.
    await send('POST', `/api/v1/organizations/${tenant.organizationId}/members`, await server.token(), {
      agentId: tenant.agentId,
      role: 'admin',
    });
    const page = await server.open(t, '/trust?create=1', { as: tenant });
    const form = dialog(page, 'Create trust policy');
    const issuerField = form.getByLabel('Issuer');
    for (const [name, address, subject] of [
      ['GitLab CI/CD', 'https://gitlab.com', 'project_path:'],
      ['Kubernetes', '', 'system:serviceaccount:'],
      ['AWS', '', 'arn:aws:iam::'],
      ['Google Cloud', 'https://accounts.google.com', '1122'],
      ['Microsoft Azure', '', '7c9e'],
      ['SPIFFE', '', 'spiffe://'],
      ['Custom issuer', '', 'workload'],
      ['GitHub Actions', 'https://token.actions.githubusercontent.com', 'repo:octo-org/app'],
    ] as const) {
      await choose(page, form, 'Provider', name);
      assert.equal(await issuerField.inputValue(), address, name);
      assert.ok((await form.getByLabel('Subject').getAttribute('placeholder'))?.startsWith(subject), name);
    }
    await form.getByRole('button', { name: 'Create policy', exact: true }).click();
    await form.getByText('Choose the agent that the workload becomes.').waitFor();
    await assertAccessible(page);

    await form.getByLabel('Name').fill('Deployments');
    await form.getByRole('combobox', { name: 'Becomes agent' }).fill('deployer@create');
    await page.getByRole('option', { name: 'deployer@create.example' }).click();
    await form.getByLabel('Subject').fill('*');
    await form.getByRole('button', { name: 'Add condition' }).click();
    await form.getByLabel('Claim of condition 1').fill('environment');
    await choose(page, form, 'Operator of condition 1', 'is one of');
    for (const value of ['production', 'staging']) {
      await form.getByLabel('Values of condition 1').fill(value);
      await page.keyboard.press('Enter');
    }
    await form.getByRole('checkbox', { name: 'agents:read' }).check();
    await form.getByRole('checkbox', { name: 'orders:read' }).check();
    await form.getByRole('checkbox', { name: 'Acts as admin' }).check();
    assert.equal(await form.getByRole('checkbox', { name: 'orders:write' }).count(), 0);
    // The API refuses a subject that identifies no one, at its field; all that was typed stays.
    await form.getByRole('button', { name: 'Create policy', exact: true }).click();
    await form.getByRole('alert').getByText('does not say who the caller is').waitFor();
    assert.equal(await form.getByLabel('Name').inputValue(), 'Deployments');
    await form.getByLabel('Subject').fill('repo:octo-org/app:ref:refs/heads/main');
    await form.getByRole('button', { name: 'Create policy', exact: true }).click();
    await details(page).getByText('environment is one of production, staging').waitFor();
    await details(page).getByText('acts as admin, if the agent has the role admin').waitFor();

    const { data } = await send('GET', policiesUrl, tenant.token);
    const { provider, agentId, conditions, scopes, resources, actsAsAdmin, singleUse } = data[0];
    assert.deepEqual(
      { provider, agentId, conditions, scopes, resources, actsAsAdmin, singleUse },
      {
        provider: 'github',
        agentId: deployer.agentId,
        conditions: [{ claim: 'environment', operator: 'in', values: ['production', 'staging'] }],
        scopes: ['agents:read'],
        resources: [{ identifier: orders.identifier, scopes: ['orders:read'] }],
        actsAsAdmin: true,
        singleUse: true,
      },
    );
  },
);

browserTest('edit: the role of a workload is given and taken', async (t) => {
  const tenant = await tenantOf();
  const { agentId } = await agentOf(tenant, 'edited@trust.example');
  await send('POST', `/api/v1/organizations/${tenant.organizationId}/members`, await server.token(), {
    agentId: tenant.agentId,
    role: 'admin',
  });
  const { policyId } = await policyOf(tenant, agentId);
  const page = await server.open(t, `/trust?selected=${policyId}`, { as: tenant, width: 1440 });
  for (const [shown, label] of [
    [false, 'does not act as admin'],
    [true, 'acts as admin, if the agent has the role admin'],
    [false, 'does not act as admin'],
  ] as const) {
    await details(page).getByText(label, { exact: true }).waitFor();
    assert.equal((await send('GET', `${policiesUrl}/${policyId}`, tenant.token)).actsAsAdmin, shown);
    await details(page).getByRole('button', { name: 'Edit' }).click();
    const form = dialog(page, 'Edit trust policy');
    await form.getByRole('checkbox', { name: 'Acts as admin' }).setChecked(!shown);
    await form.getByRole('button', { name: 'Save policy', exact: true }).click();
  }
});

browserTest('test a token, condition by condition, with tokens that an issuer signed', async (t) => {
  const tenant = await tenantOf();
  const { agentId } = await agentOf(tenant, 'tested@trust.example');
  const { policyId } = await policyOf(tenant, agentId, {
    conditions: [
      { claim: 'branch', operator: 'glob', values: ['release-*'] },
      { claim: 'team', operator: 'exists' },
    ],
  });
  const page = await server.open(t, `/trust?selected=${policyId}`, { as: tenant, width: 1440 });
  const test = async (token: string) => {
    await details(page).getByLabel('Token of the other platform').fill(token);
    await details(page).getByRole('button', { name: 'Test token' }).click();
  };
  const claims = { sub: 'pipeline-7', aud: server.url, team: hostile };
  await test(await issuer.sign({ ...claims, branch: 'main' }));
  await details(page).getByText('The token does not match').waitFor();
  const row = (name: string) => page.getByRole('row').filter({ hasText: name });
  assert.deepEqual(await row('condition branch glob').getByRole('cell').allInnerTexts(), [
    'release-*',
    'main',
    'failed',
  ]);
  assert.match(await row('condition team exists').innerText(), /<img src=x.*ok/s);
  assert.match(await row('signature').innerText(), /ok/);
  assert.notEqual(await page.title(), 'owned');
  // Nothing half hidden below the header.
  await page.evaluate('scrollTo(0, 0)');
  await assertAccessible(page);

  await test(await issuer.sign({ ...claims, branch: 'release-2' }));
  await details(page).getByText('The token matches').waitFor();
  assert.equal(await details(page).getByText('failed').count(), 0);

  await test('no.jwt.at-all');
  await details(page).getByText('The token does not match').waitFor();
  const [used] = await server.sql<{ used: unknown }>(
    'select last_used_at as used from trust_policy_uses where policy_id = $1',
    [policyId],
  );
  assert.equal(used, undefined);
});

browserTest('a change by another person does not replace what is being typed', async (t) => {
  const tenant = await tenantOf();
  const { agentId } = await agentOf(tenant, 'typing@trust.example');
  const { policyId } = await policyOf(tenant, agentId, { name: 'Before' });
  const page = await server.open(t, `/trust?selected=${policyId}`, { as: tenant, width: 1440 });
  await details(page).getByRole('button', { name: 'Edit' }).click();
  const name = dialog(page, 'Edit trust policy').getByLabel('Name');
  await name.fill('Typed');
  const change = { token: tenant.token, payload: { name: 'Changed by another' } };
  assert.equal((await server.call('PATCH', `${policiesUrl}/${policyId}`, change)).status, 200);
  await page.getByText('Changed by another').first().waitFor({ state: 'attached' });
  assert.equal(await name.inputValue(), 'Typed');
});

browserTest('the scopes of the agent follow a change of the agent', async (t) => {
  const tenant = await tenantOf();
  const { agentId } = await agentOf(tenant, 'follows@trust.example');
  const { policyId } = await policyOf(tenant, agentId);
  const page = await server.open(t, `/trust?selected=${policyId}`, { as: tenant, width: 1440 });
  await details(page).getByRole('button', { name: 'Edit' }).click();
  const form = dialog(page, 'Edit trust policy');
  const scope = (name: string) => form.getByRole('checkbox', { name, exact: true });
  await scope('agents:read').waitFor();
  assert.equal(await scope('audit:read').count(), 0);
  const change = { token: tenant.token, payload: { allowedScopes: ['agents:read', 'audit:read'] } };
  assert.equal((await server.call('PATCH', `/api/v1/agents/${agentId}`, change)).status, 200);
  await scope('audit:read').waitFor();
});

browserTest('edit, disable, enable and delete', async (t) => {
  const tenant = await tenantOf();
  const { agentId } = await agentOf(tenant, 'changed@trust.example');
  const { policyId } = await policyOf(tenant, agentId, { name: 'Before' });
  const page = await server.open(t, `/trust?selected=${policyId}`, { as: tenant, width: 1440 });
  const read = async () =>
    (await server.call('GET', `${policiesUrl}/${policyId}`, { token: tenant.token })).json;
  await details(page).getByRole('button', { name: 'Edit' }).click();
  const form = dialog(page, 'Edit trust policy');
  await form.getByLabel('Name').fill('After');
  await form.getByLabel('Oldest token, in seconds').fill('60');
  await form.getByRole('button', { name: 'Save' }).click();
  await details(page).getByRole('heading', { name: 'After' }).waitFor();
  assert.deepEqual([(await read()).name, (await read()).maxTokenAgeSeconds], ['After', 60]);

  await details(page).getByRole('button', { name: 'Disable' }).click();
  const disabling = dialog(page, 'Disable this trust policy?');
  await disabling.getByRole('button', { name: 'Copy as…' }).waitFor();
  assert.equal((await read()).status, 'active');
  await disabling.getByRole('button', { name: 'Disable' }).click();
  await details(page).getByRole('button', { name: 'Copy enabling as…' }).waitFor();
  await details(page).getByRole('button', { name: 'Enable', exact: true }).waitFor();
  assert.equal((await read()).status, 'disabled');
  await details(page).getByRole('button', { name: 'Enable', exact: true }).click();
  await details(page).getByRole('button', { name: 'Disable' }).waitFor();

  await details(page).getByRole('button', { name: 'Delete' }).click();
  const confirm = dialog(page, 'Delete this trust policy?');
  await confirm.getByText('get no more tokens').waitFor();
  await confirm.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'No trust policies yet' }).waitFor();
  assert.equal((await read()).code, 'TRUST_POLICY_NOT_FOUND');
});

browserTest('filters are in the address; hostile names are text; rows open with the keyboard', async (t) => {
  const tenant = await tenantOf();
  const { agentId } = await agentOf(tenant, 'filtered@trust.example');
  await policyOf(tenant, agentId, {
    name: hostileName,
    conditions: [{ claim: hostile, operator: 'exists' }],
  });
  await policyOf(tenant, agentId, { name: 'Off', subject: 'x'.repeat(1000), status: 'disabled' });
  const page = await server.open(t, '/trust', { as: tenant, width: 1440 });
  await page.getByRole('row').nth(2).waitFor();
  await assertAccessible(page);
  await page.getByRole('combobox', { name: 'Status' }).click();
  await page.getByRole('option', { name: 'Active' }).click();
  await page.waitForURL(/status=active/);
  await page.reload();
  await page.getByRole('cell', { name: '<img src=x' }).waitFor();
  assert.equal(await page.getByRole('row').count(), 2);
  await tabTo(page, page.getByRole('row').nth(1).getByRole('link').first());
  await page.keyboard.press('Enter');
  await details(page).getByText('is present').waitFor();
  assert.notEqual(await page.title(), 'owned');
});

browserTest('federation partners: add, change and remove; for the operator only', async (t) => {
  const page = await server.open(t, '/trust?tab=partners', { width: 1440 });
  await page.getByRole('heading', { name: 'No federation partners' }).waitFor();
  await page.getByRole('button', { name: 'Add partner' }).first().click();
  const form = dialog(page, 'Add partner');
  await form.getByLabel('Name').fill(hostileName);
  await form.getByLabel('Issuer').fill('not an address');
  await form.getByLabel('Address of its keys').fill('https://idp.partner.example/jwks');
  await form.getByRole('button', { name: 'Add partner', exact: true }).click();
  await form.getByRole('alert').waitFor();
  assert.equal(await form.getByLabel('Name').inputValue(), hostileName);
  await form.getByLabel('Issuer').fill('https://idp.partner.example');
  await form.getByRole('button', { name: 'Add partner', exact: true }).click();
  await page.getByRole('cell', { name: '<img src=x' }).click();
  await details(page).getByText('https://idp.partner.example/jwks').waitFor();
  await assertAccessible(page);

  await details(page).getByRole('button', { name: 'Edit' }).click();
  await details(page).getByText('not issued for it').waitFor();
  await dialog(page, 'Edit partner').getByLabel('Name').fill('Partner Corp');
  await dialog(page, 'Edit partner').getByLabel('Issue identity assertions for it (ID-JAG)').check();
  await dialog(page, 'Edit partner').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('cell', { name: 'Partner Corp' }).waitFor();
  await details(page).getByText('issued: agents get assertions').waitFor();
  await details(page).getByRole('button', { name: 'Remove' }).click();
  await dialog(page, 'Remove this partner?').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('heading', { name: 'No federation partners' }).waitFor();

  const other = await server.open(t, '/trust?tab=partners', { as: await tenantOf() });
  await other.getByRole('heading', { name: 'You have no permission to see this' }).waitFor();
  assert.equal(await other.getByRole('button', { name: 'Add partner' }).count(), 0);
});

browserTest('tenancy, and sessions without the scopes', async (t) => {
  const [mine, theirs] = [await tenantOf(), await tenantOf()];
  const { agentId } = await agentOf(theirs, 'foreign@trust.example');
  const { policyId } = await policyOf(theirs, agentId, { name: 'Theirs' });
  const page = await server.open(t, `/trust?selected=${policyId}`, { as: mine, width: 1440 });
  await page.getByText('This trust policy could not be loaded').waitFor();
  await page.goto(`/console/trust?agentId=${agentId}`);
  await page.getByRole('heading', { name: 'No trust policies match' }).waitFor();
  assert.equal(await page.getByText('Theirs').count(), 0);

  const reader = await agentOf(theirs, 'reader@trust.example', ['agents:read']);
  const reading = await server.open(t, `/trust?selected=${policyId}&create=1`, { as: reader, width: 1440 });
  await details(reading).getByRole('button', { name: 'Test token' }).waitFor();
  for (const name of ['Edit', 'Delete', 'Create policy'])
    assert.equal(await reading.getByRole('button', { name }).count(), 0);
  assert.equal(await reading.getByRole('dialog').count(), 0);

  const outsider = await agentOf(theirs, 'outsider@trust.example', ['tokens:read']);
  const refused = await server.open(t, '/trust', { as: outsider });
  await refused.getByRole('heading', { name: 'You have no permission to see this' }).waitFor();
});

browserTest('error: the message, the request id and another try; 360 px', async (t) => {
  const tenant = await tenantOf();
  const { agentId } = await agentOf(tenant, 'error@trust.example');
  const { policyId } = await policyOf(tenant, agentId);
  const page = await server.open(t, '/trust?create=1', { as: tenant, width: 360, theme: 'dark' });
  await dialog(page, 'Create trust policy').waitFor();
  await assertNoSidewaysScroll(page);
  await page.route('**/console/api/v1/oidc/**', (route) =>
    route.fulfill({
      status: 500,
      headers: { 'x-request-id': 'req-broken' },
      json: { code: 'INTERNAL_SERVER_ERROR', message: 'Something failed.' },
    }),
  );
  await page.goto('/console/trust');
  await page.getByText('req-broken').waitFor();
  await page.unroute('**/console/api/v1/oidc/**');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('row').filter({ hasText: 'pipeline-7' }).waitFor();
  await assertNoSidewaysScroll(page);
  await page.goto(`/console/trust?selected=${policyId}`);
  const pane = page.getByRole('dialog', { name: 'Pipeline' });
  await pane
    .getByLabel('Token of the other platform')
    .fill(await issuer.sign({ sub: 'pipeline-7', aud: server.url }));
  await pane.getByRole('button', { name: 'Test token' }).click();
  await pane.getByText('The token matches').waitFor();
  await assertNoSidewaysScroll(page);
});
