/** The delegations page in a browser: graph and table, detail, delegating, revoking with its cascade, and every state. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { assertAccessible, assertFits, browserTest, goTo, startConsole, tabTo } from '../support/console.ts';
import { until } from '../support/programs.ts';
import { insertDelegations } from '../support/scenarios/delegation-rows.ts';
import { type Client, createDelegationClient } from '../support/scenarios/delegations.ts';
import { createTenant, type Tenant } from '../support/scenarios/plans.ts';
import { createResourceRows } from '../support/scenarios/resources/resource-rows.ts';

const server = await startConsole({ MULTI_TENANT: 'true' });
const { createDelegation, exchange, redeem, listAgents } = createDelegationClient(server);
const { insertResource, setGrant } = createResourceRows(server);
const hostile = '<img src=x onerror="document.title=\'owned\'">\u202Egnp.exe';

/** An organization whose first agent is an admin. */
async function team(): Promise<Tenant & { agent(email: string): Promise<Client> }> {
  const tenant = await createTenant(server, { planTier: 'enterprise' });
  const { organizationId, agentId } = tenant;
  const added = await server.call('POST', `/api/v1/organizations/${organizationId}/members`, {
    token: await server.token(),
    payload: { agentId, role: 'admin' },
  });
  assert.equal(added.status, 201, added.text);
  const agent = (email: string) =>
    server.agent({ organization_id: organizationId, email, allowedScopes: ['agents:read'] });
  return { ...tenant, agent };
}

/** first → second → third, of the organization's first agent. */
async function chainOf(tenant: Awaited<ReturnType<typeof team>>, name: string, purpose = 'a test') {
  const [second, third] = [
    await tenant.agent(`second@${name}.example`),
    await tenant.agent(`third@${name}.example`),
  ];
  const first = await createDelegation(tenant.token, second, ['agents:read', 'audit:read'], {
    allowRedelegation: true,
    purpose,
  });
  const passedOn = await createDelegation(await server.token(undefined, second), third, ['agents:read'], {
    parentToken: first.delegationToken,
  });
  return { first, passedOn, second, third };
}

const title = (page: Page) => page.getByRole('heading', { name: 'Delegations', level: 1 });
const graph = (page: Page) => page.getByTestId('delegation-graph');
const edges = (page: Page) => page.locator('.react-flow__edge');
const details = (page: Page) => page.getByRole('complementary', { name: 'Details' });

browserTest('empty: says what a delegation is for; nothing is drawn', async (t) => {
  const page = await server.open(t, '/delegations', { as: await team() });
  await page.getByRole('heading', { name: 'No active delegations' }).waitFor();
  assert.equal(await graph(page).count(), 0);
  await page.getByRole('search', { name: 'Filters' }).waitFor({ state: 'detached' });
  await goTo(page, '/delegations?status=revoked');
  await page.getByRole('heading', { name: 'No delegations match' }).waitFor();
});

browserTest(
  'graph and table have the same links; the detail has the whole chain; axe in both themes',
  async (t) => {
    const tenant = await team();
    const { passedOn } = await chainOf(tenant, 'loaded', hostile);
    const page = await server.open(t, '/delegations', { as: tenant, width: 1440 });
    await edges(page).nth(1).waitFor({ state: 'attached' });
    assert.equal(await page.getByRole('row').count(), 3);
    await page.getByText('agents:read +1').first().waitFor();
    await assertAccessible(page);

    const label = await page.getByText('agents:read +1').first().boundingBox();
    assert.ok(label);
    // A few pixels beside the line.
    await page.mouse.click(label.x + label.width / 2, label.y + label.height / 2 + 4);
    await details(page).getByText('<img src=x').waitFor();

    await page.getByRole('row').filter({ hasText: 'third@loaded.example' }).click();
    const chain = details(page).getByRole('region', { name: 'Chain' });
    await chain.getByText('second@loaded.example').first().waitFor();
    assert.match(page.url(), new RegExp(passedOn.chainId));
    await details(page).getByRole('button', { name: 'Show this link' }).click();
    await details(page).getByText('<img src=x').waitFor();
    await details(page).getByRole('region', { name: 'Passed on' }).waitFor();
    assert.notEqual(await page.title(), 'owned');
    await assertAccessible(page);

    await page.reload();
    await chain.waitFor();
  },
);

browserTest('several links between two agents: each label can be read', async (t) => {
  const tenant = await team();
  const to = await tenant.agent('often@labels.example');
  for (const scope of ['agents:read', 'audit:read', 'tokens:read', 'agents:read'])
    await createDelegation(tenant.token, to, [scope]);
  const page = await server.open(t, '/delegations', { as: tenant });
  const labels = graph(page).getByText(/^[a-z]+:read · in /);
  await labels.nth(3).waitFor();
  const boxes = await Promise.all((await labels.all()).map((label) => label.boundingBox()));
  const edgesOf = (box: (typeof boxes)[number]) => [box?.y ?? 0, (box?.y ?? 0) + (box?.height ?? 0)] as const;
  const [first = [0, 0], ...others] = boxes.map(edgesOf).toSorted(([top], [other]) => top - other);
  let bottom = first[1] ?? 0;
  for (const [top, end] of others) {
    assert.ok(top >= bottom, `a label begins at ${top} px, the one above it ends at ${bottom} px`);
    bottom = end;
  }
});

browserTest('delegate: search, scopes that may be lent, a token shown once that works', async (t) => {
  const tenant = await team();
  const worker = await tenant.agent('worker@delegate.example');
  const page = await server.open(t, '/delegations?delegate=1', { as: tenant });
  const dialog = page.getByRole('dialog', { name: 'Delegate' });
  await dialog.getByRole('button', { name: 'Delegate' }).click();
  await dialog.getByText('Choose at least one scope.').waitFor();
  await assertAccessible(page);
  await dialog.getByRole('combobox', { name: 'Delegatee' }).fill('worker@');
  await page.getByRole('option', { name: 'worker@delegate.example' }).click();
  assert.equal(await dialog.getByRole('checkbox', { name: 'admin:orgs' }).count(), 0);
  await dialog.getByRole('checkbox', { name: 'agents:read' }).check();
  await dialog.getByLabel('Purpose').fill('nightly screening');
  await dialog.getByRole('button', { name: 'Delegate' }).click();

  const shown = page.getByRole('dialog', { name: 'Delegation token' });
  await shown.waitFor();
  const delegationToken = (await page.getByTestId('secret').textContent()) ?? '';
  await shown.getByRole('button', { name: 'I have stored it' }).click();
  const accessToken = await redeem(worker, { delegationToken, chainId: '', expiresAt: '' });
  assert.equal(await listAgents(accessToken), '200');
  await page.getByText('nightly screening').waitFor();
});

browserTest('delegate: scopes of an API, and passing on a delegation that the session holds', async (t) => {
  const tenant = await team();
  const worker = await tenant.agent('worker@orders.example');
  const orders = await insertResource(['orders:read', 'orders:write'], {
    organizationId: tenant.organizationId,
  });
  await setGrant(tenant.agentId, orders, ['orders:read']);
  const page = await server.open(t, '/delegations?delegate=1', { as: tenant });
  const dialog = page.getByRole('dialog', { name: 'Delegate' });
  await dialog.getByRole('combobox', { name: 'Delegatee' }).fill('worker@orders');
  await page.getByRole('option', { name: 'worker@orders.example' }).click();
  await dialog.getByRole('combobox', { name: 'API' }).click();
  await page.getByRole('option', { name: orders.identifier }).click();
  assert.equal(await dialog.getByRole('checkbox', { name: 'orders:write' }).count(), 0);
  await dialog.getByRole('checkbox', { name: 'orders:read' }).check();
  await dialog.getByRole('button', { name: 'Delegate' }).click();
  const delegationToken = (await page.getByTestId('secret').textContent()) ?? '';
  const answer = await exchange(worker, delegationToken, { resource: orders.identifier });
  assert.equal(answer.json.scope, 'orders:read', answer.text);
  await page.getByRole('button', { name: 'I have stored it' }).click();

  const giver = await tenant.agent('giver@orders.example');
  const held = await createDelegation(await server.token(undefined, giver), tenant, ['agents:read'], {
    allowRedelegation: true,
  });
  await goTo(page, '/delegations?delegate=1');
  await dialog.getByRole('combobox', { name: 'Delegatee' }).fill('worker@orders');
  await page.getByRole('option', { name: 'worker@orders.example' }).click();
  await dialog.getByLabel('Delegation token to pass on').fill(held.delegationToken);
  await dialog.getByRole('checkbox', { name: 'agents:read' }).check();
  await dialog.getByRole('button', { name: 'Delegate' }).click();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await details(page).getByText('giver@orders.example').first().waitFor();
});

browserTest('delegate: an admin lends from one agent to another, also scopes of an API', async (t) => {
  const tenant = await team();
  const [lender, worker] = [
    await tenant.agent('lender@for.example'),
    await tenant.agent('worker@for.example'),
  ];
  const orders = await insertResource(['orders:read'], { organizationId: tenant.organizationId });
  await setGrant(lender.agentId, orders, ['orders:read']);
  const page = await server.open(t, `/agents/${lender.agentId}?tab=delegations`, { as: tenant });
  await page.getByRole('link', { name: 'Lend its scopes' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delegate' });
  const lending = dialog.getByRole('combobox', { name: 'Delegator' });
  await until(
    'the delegator',
    async () => (await lending.inputValue()) === 'lender@for.example' || undefined,
  );
  await dialog.getByRole('combobox', { name: 'Delegatee' }).fill('worker@for');
  await page.getByRole('option', { name: 'worker@for.example' }).click();
  await dialog.getByRole('combobox', { name: 'API' }).click();
  await page.getByRole('option', { name: orders.identifier }).click();
  await dialog.getByRole('checkbox', { name: 'orders:read' }).check();
  await assertAccessible(page);
  await dialog.getByRole('button', { name: 'Delegate' }).click();
  const delegationToken = (await page.getByTestId('secret').textContent()) ?? '';
  const answer = await exchange(worker, delegationToken, { resource: orders.identifier });
  assert.equal(answer.json.scope, 'orders:read', answer.text);
});

browserTest('delegate: a refusal keeps what was typed and shows the request id', async (t) => {
  const tenant = await team();
  await tenant.agent('worker@kept.example');
  const page = await server.open(t, '/delegations?delegate=1', { as: tenant });
  const dialog = page.getByRole('dialog', { name: 'Delegate' });
  await dialog.getByRole('combobox', { name: 'Delegatee' }).fill('worker@kept');
  await page.getByRole('option', { name: 'worker@kept.example' }).click();
  await dialog.getByRole('checkbox', { name: 'agents:read' }).check();
  await dialog.getByLabel('Purpose').fill('typed with care');
  await page.route('**/console/api/v1/delegations', (route) =>
    route.request().method() === 'POST' ? route.abort() : route.fallback(),
  );
  await dialog.getByRole('button', { name: 'Delegate' }).click();
  await dialog.getByRole('alert').getByText('The server did not answer').waitFor();
  assert.equal(await dialog.getByLabel('Purpose').inputValue(), 'typed with care');
  await page.unroute('**/console/api/v1/delegations');
});

browserTest('revoke: the preview names what ends too; all of it has ended', async (t) => {
  const tenant = await team();
  const { first, passedOn, second, third } = await chainOf(tenant, 'cascade');
  const tokens = [await redeem(second, first), await redeem(third, passedOn)];
  const page = await server.open(t, `/delegations?selected=${first.chainId}`, { as: tenant, width: 1440 });
  await details(page).getByRole('button', { name: 'Revoke' }).click();
  const dialog = page.getByRole('dialog', { name: 'Revoke this delegation?' });
  const ending = dialog.getByRole('list', { name: 'Delegations that end too' });
  await ending.getByText('third@cascade.example').waitFor();
  await assertAccessible(page);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await listAgents(tokens[0] ?? ''), '200');

  await details(page).getByRole('button', { name: 'Revoke' }).click();
  await dialog.getByRole('button', { name: 'Revoke 2 delegations' }).click();
  await details(page).getByText('revoked').first().waitFor();
  for (const token of tokens) assert.equal(await listAgents(token), '403 DELEGATION_REVOKED');
  await page.getByRole('heading', { name: 'No active delegations' }).waitFor();
  assert.equal(await details(page).getByRole('button', { name: 'Revoke' }).count(), 0);
});

browserTest('500 links: few requests, few elements, usable', async (t) => {
  const tenant = await team();
  const ids = await insertDelegations(server, { organizationId: tenant.organizationId, count: 500 });
  const page = await server.open(t, '/agents', { as: tenant, width: 1440, height: 900 });
  const requests: URL[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/api/v1/')) requests.push(new URL(request.url()));
  });
  const idsIn = ({ searchParams }: URL) => searchParams.get('ids')?.split(',') ?? [];
  await goTo(page, '/delegations?view=table');
  await page.getByRole('row').nth(3).getByText('@graph.example').first().waitFor();
  const inTable = new Set(requests.splice(0).flatMap(idsIn));
  const inspector = await page.context().newCDPSession(page);
  // The processor time of the page's main thread: other programs on the machine do not count.
  await inspector.send('Performance.enable', { timeDomain: 'threadTicks' });
  const cpuSeconds = async () => {
    const { metrics } = await inspector.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
  };
  const before = await cpuSeconds();
  const clicked = performance.now();
  await page.getByText('Graph and table').click();
  await edges(page).nth(499).waitFor({ state: 'attached' });
  const used = (await cpuSeconds()) - before;
  t.diagnostic(
    `500 links: ${used.toFixed(2)} s of CPU in the page, ${((performance.now() - clicked) / 1000).toFixed(2)} s in all`,
  );
  const elements = await graph(page).locator('*').count();
  t.diagnostic(`500 links: ${elements} elements in the graph`);
  assert.ok(elements < 500 * 15, `${elements} elements`);
  // An event of the organization that arrives late loads the table again, with its names.
  const ofGraph = requests.filter((url) => {
    const ids = idsIn(url);
    return (
      url.searchParams.get('limit') === '100' && (ids.length === 0 || ids.some((id) => !inTable.has(id)))
    );
  });
  assert.deepEqual(
    ofGraph.map(({ pathname, searchParams }) => [pathname, searchParams.get('page')]),
    [1, 2, 3, 4, 5].map((number) => ['/console/api/v1/delegations', String(number)]),
    requests.join('\n'),
  );

  const viewport = page.locator('.react-flow__viewport');
  const place = () => viewport.getAttribute('style');
  const fitted = await place();
  for (let step = 0; step < 5; step += 1) await page.getByRole('button', { name: 'Zoom In' }).click();
  assert.notEqual(await place(), fitted);
  await page.locator('.react-flow__node').getByText('@graph.example').first().waitFor();
  await page.getByRole('button', { name: 'Show the whole graph' }).click();
  await edges(page).nth(499).waitFor({ state: 'attached' });
  const beforeDrag = await cpuSeconds();
  const area = await graph(page).boundingBox();
  assert.ok(area);
  await page.mouse.move(area.x + 200, area.y + area.height - 20);
  await page.mouse.down();
  for (let step = 1; step <= 20; step += 1)
    await page.mouse.move(area.x + 200 + step * 5, area.y + area.height - 20);
  await page.mouse.up();
  t.diagnostic(
    `500 links: ${((1000 * ((await cpuSeconds()) - beforeDrag)) / 20).toFixed(1)} ms of CPU for a move`,
  );

  await goTo(page, `/delegations?selected=${ids[0]}`);
  await page.locator('.react-flow__edge.selected').waitFor({ state: 'attached' });
  const [link] = await server.sql<{ id: string }>(
    'select delegator_id as id from delegations where chain_id = $1',
    [ids[0]],
  );
  await goTo(page, `/delegations?agentId=${link?.id}`);
  await edges(page).first().waitFor({ state: 'attached' });
  assert.ok((await edges(page).count()) < 100);
  await page.getByRole('button', { name: 'Remove filter Agent' }).waitFor();
});

browserTest(
  'keyboard: Tab reaches a link, arrow keys go along the chain, rows open with Enter',
  async (t) => {
    const tenant = await team();
    const { first, passedOn } = await chainOf(tenant, 'keys');
    const page = await server.open(t, '/delegations', { as: tenant, width: 1440 });
    await edges(page).nth(1).waitFor({ state: 'attached' });
    await tabTo(page, page.locator('.react-flow__edge[tabindex="0"]'));
    await page.keyboard.press('ArrowDown');
    await page.waitForURL(/selected=/);
    const selected = () => new URL(page.url()).searchParams.get('selected');
    const [start, other] =
      selected() === first.chainId ? [first.chainId, passedOn.chainId] : [passedOn.chainId, first.chainId];
    await page.locator(`.react-flow__edge[data-id="${start}"]:focus`).waitFor({ state: 'attached' });
    await page.keyboard.press(start === first.chainId ? 'ArrowRight' : 'ArrowLeft');
    await page.waitForURL(new RegExp(`selected=${other}`));
    await page.locator(`.react-flow__edge[data-id="${other}"]:focus`).waitFor({ state: 'attached' });
    await page.keyboard.press('Escape');
    await page.waitForURL((url) => !url.searchParams.has('selected'));
    await tabTo(page, page.getByRole('row').nth(1).getByRole('link').first());
    await page.keyboard.press('Enter');
    await details(page).getByRole('region', { name: 'Chain' }).waitFor();
  },
);

browserTest('without audit:read: the own delegations and a note', async (t) => {
  const tenant = await team();
  const { second } = await chainOf(tenant, 'own');
  const page = await server.open(t, '/delegations', { as: second });
  await page.getByText('The whole organization needs the scope audit:read').waitFor();
  await edges(page).first().waitFor({ state: 'attached' });
  assert.equal(await page.getByRole('row').count(), 3);
  await page.getByRole('row').nth(1).click();
  await page.getByRole('region', { name: 'Chain' }).waitFor();
});

browserTest("tenancy: another organization's delegations do not exist, also by the address", async (t) => {
  const [mine, theirs] = [await team(), await team()];
  await chainOf(mine, 'mine');
  const { first } = await chainOf(theirs, 'theirs');
  const page = await server.open(t, `/delegations?organizationId=${theirs.organizationId}`, { as: mine });
  await page.getByRole('heading', { name: 'No delegations match' }).waitFor();
  await page.goto(`/console/delegations?agentId=${theirs.agentId}`);
  await page.getByRole('heading', { name: 'No delegations match' }).waitFor();
  await page.goto(`/console/delegations?selected=${first.chainId}`);
  await page.getByText('This delegation could not be loaded').waitFor();
  await page.getByText('mine.example').first().waitFor();
  assert.equal(await page.getByText('theirs.example').count(), 0);
});

browserTest('error: the message, the request id and another try, for graph and table', async (t) => {
  const tenant = await team();
  await chainOf(tenant, 'broken');
  const page = await server.open(t, '/agents', { as: tenant });
  await page.route('**/console/api/v1/delegations?*', (route) =>
    route.fulfill({
      status: 500,
      headers: { 'x-request-id': 'req-broken' },
      json: { code: 'INTERNAL_SERVER_ERROR', message: 'Something failed.' },
    }),
  );
  await page.goto('/console/delegations');
  await title(page).waitFor();
  await page.getByText('The graph could not be loaded').waitFor();
  assert.equal(await page.getByText('req-broken').count(), 2);
  await page.unroute('**/console/api/v1/delegations?*');
  const retry = page.getByRole('button', { name: 'Try again' });
  await retry.last().click();
  await page.getByRole('row').nth(1).waitFor();
  await retry.click();
  await edges(page).nth(1).waitFor({ state: 'attached' });
});

browserTest('360 and 1440 px: nothing scrolls sideways', async (t) => {
  const tenant = await team();
  const { first } = await chainOf(tenant, 'wide');
  const page = await server.open(t, '/delegations', { as: tenant, width: 360, theme: 'dark' });
  await edges(page).nth(1).waitFor({ state: 'attached' });
  await assertFits(page, [360, 1440]);
  await page.goto(`/console/delegations?selected=${first.chainId}`);
  await page.getByRole('region', { name: 'Chain' }).waitFor();
  await assertFits(page, [360, 1440]);
});
