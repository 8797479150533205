/** The agents of an organization in the console: the list, registering, and the way from there to suspending. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { assertAccessible, browserTest, contentOf, goTo, startConsole, tabTo } from '../support/console.ts';
import {
  choice,
  createAgentFixture,
  dialogOf,
  field,
  heading,
  openMenu,
  openTab,
} from '../support/scenarios/console-agents.ts';
import { createTenant } from '../support/scenarios/plans.ts';

const server = await startConsole();
const { admin, registered, resource, send } = await createAgentFixture(server);
const reader = await server.agent({ email: 'reader@talent.example', allowedScopes: ['agents:read'] });
const api = '/console/api/v1';

const fillAgent = async (page: Page, values: { email: string; owner: string; capability: string }) => {
  await field(page, 'E-mail address').fill(values.email);
  await field(page, 'Owner').fill(values.owner);
  await choice(page, 'Capabilities').fill(values.capability);
  await page.keyboard.press('Enter');
};

browserTest('from registering an agent to suspending it', async (t) => {
  const page = await server.open(t, '/agents', { as: admin, keep: true });
  await heading(page, 'Agents');
  await page.getByRole('button', { name: 'Register agent' }).click();
  await dialogOf(page).getByRole('checkbox', { name: 'agents:write' }).waitFor();
  assert.equal(await dialogOf(page).getByRole('checkbox', { checked: true }).count(), 0, 'no scopes');
  await fillAgent(page, { email: 'journey@talent.example', owner: 'Talent', capability: 'resume:read' });
  assert.equal(
    await dialogOf(page).getByRole('checkbox', { name: 'admin:orgs' }).count(),
    0,
    'only scopes that the session holds',
  );
  await dialogOf(page).getByRole('checkbox', { name: 'agents:read' }).check();
  await dialogOf(page).getByRole('button', { name: 'Register agent' }).click();

  await heading(page, 'journey@talent.example');
  await page.getByRole('heading', { name: 'No credentials yet' }).waitFor();
  await page.getByRole('button', { name: 'New credential' }).first().click();
  await dialogOf(page).getByRole('textbox', { name: 'Name', exact: true }).fill('laptop');
  await dialogOf(page).getByRole('button', { name: 'Create credential' }).click();
  const clientSecret = await page.getByTestId('secret').textContent();
  assert.match(clientSecret ?? '', /^cs_/);
  await dialogOf(page).getByText(`--data-urlencode 'client_secret=${clientSecret}'`).waitFor();
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download .env' }).click();
  const env = (await contentOf(await downloading)).toString();
  const agentId = /CLIENT_ID=(.+)/.exec(env)?.[1] ?? '';
  assert.equal(
    env,
    `API_URL=${server.url}\nCLIENT_ID=${agentId}\nCLIENT_SECRET=${clientSecret}\n`,
    'the file is ready for a scaffold',
  );
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('row', { name: /laptop/ }).waitFor();
  assert.equal(await page.getByText(clientSecret ?? '').count(), 0, 'the secret is gone');

  await page.getByText('Waiting for the first token').waitFor();
  await assertAccessible(page);
  const client = { clientId: agentId, clientSecret: clientSecret ?? '' };
  await server.token(undefined, client);
  await page.getByText('The first token has arrived').waitFor();
  const answer = (name: string) =>
    page.getByRole('term').filter({ hasText: name }).locator('xpath=following-sibling::dd[1]');
  await answer('Last token').getByText('just now').waitFor();
  await page.getByRole('row', { name: /laptop.*just now/ }).waitFor();
  await page.getByRole('link', { name: 'See it in the activity' }).click();
  await page.getByRole('cell', { name: 'token.issued' }).waitFor();
  await page.getByRole('cell', { name: 'credential.generated' }).waitFor();

  await openTab(page, 'Access');
  await page.getByRole('button', { name: 'Grant scopes' }).first().click();
  await dialogOf(page).getByRole('combobox', { name: 'API' }).click();
  await page.getByRole('option', { name: /Résumés/ }).click();
  await dialogOf(page).getByRole('checkbox', { name: 'resumes:read' }).check();
  await dialogOf(page).getByRole('button', { name: 'Grant scopes' }).click();
  await page.getByRole('row').getByRole('link', { name: resource.identifier }).waitFor();
  await answer('Can reach').getByRole('link', { name: resource.identifier }).waitFor();
  await answer('Belongs to').getByText('Talent').waitFor();
  await answer('Expires next').getByText('in 2 months').waitFor();

  await page.getByRole('button', { name: 'Preview token' }).click();
  await choice(page, 'API').fill(resource.identifier);
  await dialogOf(page).getByRole('button', { name: 'Preview token' }).click();
  await page.getByText('A token would be issued').waitFor();
  const claims = await page.getByRole('region', { name: 'Claims of the token' }).textContent();
  assert.match(claims ?? '', /"scope": "resumes:read"/);
  await choice(page, 'Scopes').fill('resumes:write');
  await page.keyboard.press('Enter');
  await dialogOf(page).getByRole('button', { name: 'Preview token' }).click();
  await page.getByText('The token would be refused').waitFor();
  await page.getByText('invalid_scope').waitFor();
  await dialogOf(page).getByRole('button', { name: 'Close' }).last().click();

  await openMenu(page, 'Suspend agent');
  const endings = page.getByRole('list', { name: 'What ends' });
  await endings.getByText('1 active credential gets no tokens').waitFor();
  await endings.getByText('1 token of the last hour').waitFor();
  await endings.getByText('1 grant of an API').waitFor();
  await dialogOf(page).getByRole('button', { name: 'Suspend agent' }).click();
  await page.getByText('This agent is suspended: it gets no tokens').waitFor();
  const refused = await server.askToken({
    grant_type: 'client_credentials',
    client_id: client.clientId,
    client_secret: client.clientSecret,
  });
  assert.equal(refused.json.error, 'unauthorized_client');
  await openTab(page, 'Activity');
  await page.getByRole('cell', { name: 'agent.suspended' }).waitFor();
  await page.getByRole('cell', { name: 'token.refused' }).waitFor();
});

browserTest('the list: filters in the URL, chips, pages of the server, one request', async (t) => {
  await registered({ email: 'filter-a@talent.example', owner: 'Filters', deploymentEnv: 'staging' });
  const { agentId } = await registered({ email: 'filter-b@talent.example', capabilities: ['invoice:pay'] });
  const page = await server.open(t, '/agents?q=filter-', { as: admin });
  await page.getByRole('link', { name: 'filter-b@talent.example' }).waitFor();
  const asked: string[] = [];
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname.startsWith(api)) asked.push(pathname + search);
  });
  await page.getByRole('combobox', { name: 'Environment' }).click();
  await page.getByRole('option', { name: 'staging' }).click();
  await page.getByRole('link', { name: 'filter-b@talent.example' }).waitFor({ state: 'detached' });
  assert.match(page.url(), /q=filter-&deploymentEnv=staging/);
  assert.deepEqual(asked, [`${api}/agents?q=filter-&deploymentEnv=staging&include=activity&page=1&limit=25`]);
  await page.reload();
  await page.getByRole('link', { name: 'filter-a@talent.example' }).waitFor();
  assert.equal(await page.getByRole('row').count(), 2, 'the head and one agent');
  await page.getByRole('button', { name: 'Remove filter Environment' }).click();
  await page.getByRole('link', { name: 'filter-b@talent.example' }).waitFor();
  await page.getByRole('button', { name: 'More filters' }).click();
  await field(page, 'Capability').fill('invoice:pay');
  await page.getByRole('link', { name: 'filter-a@talent.example' }).waitFor({ state: 'detached' });
  await field(page, 'Name or owner begins with').fill('nothing-like-it');
  await page.getByRole('heading', { name: 'No agents match' }).waitFor();
  await page.getByRole('button', { name: 'Clear all' }).click();
  await field(page, 'Name or owner begins with').fill('filter-b');
  await page.getByRole('row', { name: /filter-b@talent/ }).click();
  await heading(page, 'filter-b@talent.example');
  assert.match(page.url(), new RegExp(`/console/agents/${agentId}$`));
  await page.getByRole('link', { name: 'All agents' }).click();
  await heading(page, 'Agents');
});

browserTest(
  'many agents: names, labels, sorting in the URL; label, export and suspend the selected',
  async (t) => {
    const ids: string[] = [];
    for (const [email, displayName] of [
      ['many-a@talent.example', 'Zebra'],
      ['many-b@talent.example', 'Antelope'],
    ]) {
      const { agentId } = await registered({ email, displayName, owner: 'Many', labels: { zoo: 'yes' } });
      ids.push(agentId);
    }
    const page = await server.open(t, '/agents?q=many', { as: admin });
    const names = () => page.locator('tbody a[href*="/agents/"]').allTextContents();
    await page.getByRole('link', { name: 'Zebra' }).waitFor();
    await page.getByText('many-a@talent.example').waitFor();
    assert.deepEqual(await names(), ['Antelope', 'Zebra'], 'newest first');
    const head = (name: string, order: string) =>
      page.locator(`th[aria-sort=${order}]`).getByRole('button', { name }).waitFor();
    await head('Registered', 'descending');
    await page.getByRole('button', { name: 'Registered' }).click();
    await head('Registered', 'ascending');
    await page.getByRole('row').nth(1).getByText('Zebra').waitFor();
    assert.match(page.url(), /\?q=many&order=asc$/);
    await page.getByRole('button', { name: 'Agent', exact: true }).click();
    await page.getByRole('row').nth(1).getByText('Antelope').waitFor();
    assert.match(page.url(), /\?q=many&sort=name$/);
    await head('Agent', 'ascending');

    await page.getByRole('link', { name: 'zoo:yes' }).first().click();
    await page.getByRole('button', { name: 'Remove filter Label' }).waitFor();
    assert.match(page.url(), /label=zoo%3Ayes/);
    await page.getByRole('checkbox', { name: /^Select all/ }).check();
    await assertAccessible(page);
    const bar = page.getByRole('region', { name: '2 agents selected' });
    const downloading = page.waitForEvent('download');
    await bar.getByRole('button', { name: 'Export' }).click();
    const file = (await contentOf(await downloading)).toString();
    assert.match(file, /"many-b@talent.example","Antelope"/);
    assert.equal(file.trim().split('\r\n').length, 3);

    await bar.getByRole('button', { name: 'Label' }).click();
    await dialogOf(page).getByRole('combobox', { name: 'Labels to add' }).fill('team:birds');
    await page.keyboard.press('Enter');
    await dialogOf(page).getByRole('combobox', { name: 'Labels to remove' }).click();
    await page.getByRole('option', { name: 'zoo:yes' }).click();
    await page.keyboard.press('Escape');
    await assertAccessible(page);
    await dialogOf(page).getByRole('button', { name: 'Save labels' }).click();
    await page.getByText('2 agents labelled.').waitFor();
    for (const agentId of ids)
      assert.deepEqual((await send('GET', `/agents/${agentId}`)).labels, { team: 'birds' });

    await goTo(page, '/agents?label=team');
    await page.getByRole('checkbox', { name: 'Select many-a@talent.example' }).check();
    await page.getByRole('checkbox', { name: 'Select many-b@talent.example' }).check();
    await bar.getByRole('button', { name: 'Suspend' }).click();
    await dialogOf(page)
      .getByRole('list', { name: 'Selected agents' })
      .getByText('many-a@talent.example')
      .waitFor();
    await assertAccessible(page);
    await dialogOf(page).getByRole('button', { name: 'Suspend agents' }).click();
    await page.getByText('2 agents suspended.').waitFor();
    for (const agentId of ids) assert.equal((await send('GET', `/agents/${agentId}`)).status, 'suspended');
  },
);

browserTest('two agents of one display name: the address tells them apart', async (t) => {
  const [first, second] = [
    await registered({ email: 'twin-a@talent.example', displayName: 'Twin' }),
    await registered({ email: 'twin-b@talent.example', displayName: 'Twin' }),
  ];
  const page = await server.open(t, '/agents?q=Twin', { as: admin });
  for (const { email } of [first, second])
    await page.getByRole('checkbox', { name: `Select ${email}` }).check();
  await page.getByRole('button', { name: 'Suspend' }).click();
  const list = dialogOf(page).getByRole('list', { name: 'Selected agents' });
  assert.deepEqual((await list.getByRole('listitem').allTextContents()).toSorted(), [
    first.email,
    second.email,
  ]);
  await dialogOf(page).getByRole('button', { name: 'Cancel' }).click();
  await goTo(page, `/audit?agentId=${second.agentId}`);
  await page.getByRole('cell', { name: second.email }).first().waitFor();
  assert.equal(await page.getByText('Twin', { exact: true }).count(), 0);
});

browserTest('1280 px: long owners and labels push no column out of the list', async (t) => {
  const { agentId } = await registered({
    email: `wide-${'x'.repeat(40)}@talent.example`,
    owner: 'a-department-with-a-very-long-name-indeed',
    labels: { team: 'another-long-name-of-a-team', tier: 'gold' },
    allowedScopes: ['agents:read'],
  });
  const page = await server.open(t, '/agents?q=wide-', { as: admin });
  await page.getByRole('columnheader', { name: 'Registered' }).waitFor();
  const hidden = () =>
    page
      .getByRole('table')
      .evaluate(({ parentElement: box }) => (box ? box.scrollWidth - box.clientWidth : -1));
  assert.equal(await hidden(), 0);
  await send('DELETE', `/agents/${agentId}`);
  await page.reload();
  await page.getByRole('cell', { name: 'decommissioned' }).waitFor();
  assert.equal(await hidden(), 0);
});

browserTest("an operator sees whose agents they are: other organizations' agents are marked", async (t) => {
  const tenant = await createTenant(server);
  const page = await server.open(t, '/agents');
  const { email } = await send('GET', `/agents/${tenant.agentId}`);
  await page.getByRole('row', { name: email }).getByTitle('Other organization').waitFor();
  assert.equal(
    await page
      .getByRole('row', { name: /admin@talent/ })
      .getByTitle('Other organization')
      .count(),
    0,
  );
  await page.getByRole('link', { name: email }).click();
  await heading(page, email);
  await page.getByTitle('Other organization').waitFor();
});

browserTest('the states of the list: loading, empty, error with a request id, no permission', async (t) => {
  const page = await server.open(t, '/', { as: admin });
  const answers = { release: () => {} };
  const waiting = new Promise<void>((resolve) => {
    answers.release = resolve;
  });
  await page.route(`**${api}/agents?*`, async (route) => {
    await waiting;
    await route.fulfill({ json: { data: [], total: 0, page: 1, limit: 25 } });
  });
  await page.goto('/console/agents');
  await page.getByRole('status', { name: 'Loading agents' }).waitFor();
  answers.release();
  await page.getByRole('heading', { name: 'No agents yet' }).waitFor();
  await page.getByText('Register the first one.').waitFor();

  await page.unroute(`**${api}/agents?*`);
  await page.route(`**${api}/agents?*`, (route) =>
    route.fulfill({
      status: 500,
      headers: { 'x-request-id': 'req-12345678' },
      json: { code: 'INTERNAL', message: 'The database did not answer.' },
    }),
  );
  await page.reload();
  await page.getByText('The database did not answer.').waitFor();
  await page.getByText('req-12345678').waitFor();
  await page.unroute(`**${api}/agents?*`);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('row', { name: /admin@talent/ }).waitFor();

  const without = await server.agent({ allowedScopes: ['audit:read'] });
  for (const path of ['/agents', `/agents/${admin.agentId}`]) {
    const refused = await server.open(t, path, { as: without });
    await refused.getByRole('heading', { name: 'You have no permission to see this' }).waitFor();
    await refused.getByText('agents:read').waitFor();
  }
});

browserTest(
  "another tenant's agent and a malformed id are not found; its agents are in no list",
  async (t) => {
    const tenant = await createTenant(server);
    const page = await server.open(t, `/agents/${tenant.agentId}`, { as: admin, keep: true });
    for (const path of [tenant.agentId, randomUUID(), 'not-an-id', '%2e%2e%2faudit']) {
      await goTo(page, '/no/such/page');
      await page.getByRole('heading', { name: 'Page not found' }).waitFor();
      await goTo(page, `/agents/${path}`);
      await page.getByRole('heading', { name: 'There is no such agent' }).waitFor();
    }
    await assertAccessible(page);
    const theirs = await server.open(t, '/agents', { as: tenant });
    await theirs.getByRole('row').nth(1).waitFor();
    assert.equal(await theirs.getByRole('row').count(), 2, 'the head and its own agent');
    await goTo(theirs, `/agents/${admin.agentId}?tab=credentials`);
    await theirs.getByRole('heading', { name: 'There is no such agent' }).waitFor();
  },
);

browserTest(
  'registering: messages at their fields; nothing typed is lost when it fails or is slow',
  async (t) => {
    const page = await server.open(t, '/agents?register=1', { as: admin, keep: true });
    await dialogOf(page).getByRole('button', { name: 'Register agent' }).click();
    await page.getByText('Enter who answers for the agent').waitFor();
    assert.ok(
      await field(page, 'E-mail address').evaluate((input) => input.matches(':focus')),
      'the first field with a problem has the focus',
    );
    await assertAccessible(page);
    const values = { email: 'admin@talent.example', owner: 'Typed owner', capability: 'not a capability' };
    await fillAgent(page, { ...values, capability: 'nonsense' });
    await field(page, 'Version').fill('one');
    await dialogOf(page).getByRole('checkbox', { name: 'audit:read' }).check();
    await dialogOf(page).getByRole('button', { name: 'Register agent' }).click();
    await dialogOf(page).getByText('must be a semantic version', { exact: false }).first().waitFor();
    await dialogOf(page).locator('p', { hasText: 'must be of the form resource:action' }).first().waitFor();
    await field(page, 'Version').fill('1.2.3');
    await dialogOf(page)
      .getByRole('button', { name: 'Remove nonsense' })
      .or(page.locator('.mantine-Pill-remove'))
      .first()
      .click({ force: true });
    await choice(page, 'Capabilities').fill('resume:read');
    await page.keyboard.press('Enter');

    await dialogOf(page).getByRole('button', { name: 'Register agent' }).click();
    await dialogOf(page).getByRole('alert').getByText('Request id').waitFor();
    assert.equal(await field(page, 'E-mail address').getAttribute('aria-invalid'), 'true', 'it is taken');
    const assertKept = async () => {
      assert.equal(await field(page, 'E-mail address').inputValue(), values.email);
      assert.equal(await field(page, 'Owner').inputValue(), values.owner);
      assert.ok(await dialogOf(page).getByRole('checkbox', { name: 'audit:read' }).isChecked());
      await dialogOf(page).getByText('resume:read', { exact: true }).first().waitFor();
    };
    await assertKept();

    await page.route(`**${api}/agents`, (route) => route.abort());
    await dialogOf(page).getByRole('button', { name: 'Register agent' }).click();
    await dialogOf(page).getByRole('alert').getByText('The server did not answer').waitFor();
    await assertKept();
    await page.unroute(`**${api}/agents`);

    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    await page.route(`**${api}/agents`, async (route) => {
      asked.resolve();
      await answer.promise;
      await route.continue();
    });
    await field(page, 'E-mail address').fill('slow@talent.example');
    await dialogOf(page).getByRole('button', { name: 'Register agent' }).click();
    await asked.promise;
    assert.equal(await field(page, 'Owner').inputValue(), values.owner);
    answer.resolve();
    await heading(page, 'slow@talent.example');
  },
);

browserTest('the limit of an agent: operators set and remove it, others only see it', async (t) => {
  const { agentId } = await server.agent({ email: 'limited@talent.example', allowedScopes: [] });
  const limitOf = async () =>
    (await server.call('GET', `/api/v1/agents/${agentId}`, { token: await server.token() })).json
      .rateLimitPerMinute;
  const fact = (page: Page) =>
    page
      .getByRole('term')
      .filter({ hasText: 'Requests per minute' })
      .locator('xpath=following-sibling::dd[1]');
  const save = async (page: Page, limit: string) => {
    await page.getByRole('button', { name: 'Edit' }).click();
    await field(page, 'Requests per minute').fill(limit);
    await dialogOf(page).getByRole('button', { name: 'Save changes' }).click();
    await dialogOf(page).waitFor({ state: 'detached' });
  };
  const page = await server.open(t, `/agents/${agentId}?tab=identity`);
  await fact(page).getByText("the server's limit for every agent").waitFor();
  await save(page, '2500');
  await fact(page).getByText('2,500', { exact: true }).waitFor();
  assert.equal(await limitOf(), 2_500);

  const theirs = await server.open(t, `/agents/${agentId}?tab=identity`, { as: admin });
  await fact(theirs).getByText('2,500', { exact: true }).waitFor();
  await theirs.getByRole('button', { name: 'Edit' }).click();
  await field(theirs, 'Version').waitFor();
  assert.equal(await field(theirs, 'Requests per minute').count(), 0);

  await save(page, '');
  await fact(page).getByText("the server's limit for every agent").waitFor();
  assert.equal(await limitOf(), null);
});

browserTest(
  'editing sends only the fields that differ; an event does not replace what is typed',
  async (t) => {
    const { agentId } = await registered({ email: 'edit@talent.example' });
    const page = await server.open(t, `/agents/${agentId}?tab=identity`, { as: admin, keep: true });
    await page.getByRole('button', { name: 'Edit' }).click();
    await field(page, 'Owner').fill('New owner');
    await dialogOf(page).getByRole('checkbox', { name: 'Demand proof of possession (DPoP)' }).check();
    await send('PATCH', `/agents/${agentId}`, { version: '9.9.9' });
    await page.getByText('9.9.9', { exact: true }).waitFor();
    assert.equal(await field(page, 'Owner').inputValue(), 'New owner');
    const [request] = await Promise.all([
      page.waitForRequest((one) => one.method() === 'PATCH'),
      dialogOf(page).getByRole('button', { name: 'Save changes' }).click(),
    ]);
    assert.deepEqual(request.postDataJSON(), { owner: 'New owner', dpopBoundAccessTokens: true });
    await page.getByText('Changes saved.').waitFor();
    await openTab(page, 'Identity');
    await page.getByText('demanded: each token is bound to a key of the agent (DPoP)').waitFor();
    assert.equal((await send('GET', `/agents/${agentId}`)).version, '9.9.9');
  },
);

browserTest('without the scopes to change or to read the log, only what the session may see', async (t) => {
  const { agentId } = await registered({ email: 'seen@talent.example' });
  const page = await server.open(t, '/agents?register=1', { as: reader });
  await page.getByRole('row', { name: /seen@talent/ }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Register agent' }).count(), 0);
  assert.equal(await dialogOf(page).count(), 0);
  await goTo(page, `/agents/${agentId}`);
  await heading(page, 'seen@talent.example');
  assert.equal(await page.getByRole('button', { name: 'Edit' }).count(), 0);
  await page.getByRole('button', { name: 'More actions' }).click();
  assert.deepEqual(await page.getByRole('menuitem').allTextContents(), ['Download a scaffold']);
  await page.keyboard.press('Escape');
  await openTab(page, 'Credentials');
  await page.getByRole('heading', { name: 'No credentials yet' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'New credential' }).count(), 0);
  for (const tab of ['Delegations', 'Activity']) {
    await openTab(page, tab);
    await page.getByRole('heading', { name: 'You have no permission to see this' }).waitFor();
  }
});

browserTest('ten thousand agents: pages of the server, few rows, few requests', async (t) => {
  const tenant = await createTenant(server, { planTier: 'enterprise' });
  await server.sql(
    `insert into agents (agent_id, organization_id, email, agent_type, version, capabilities, owner, deployment_env,
                         status, allowed_scopes, created_at, updated_at)
     select gen_random_uuid(), $1, 'many-' || n || '@example.com', 'custom', '1.0.0', array['bench:run'],
            'team-' || n % 10, 'production', 'active', '{}', now() - n * interval '1 second', now()
     from generate_series(1, 10000) n`,
    [tenant.organizationId],
  );
  const page = await server.open(t, '/agents', { as: tenant });
  await page.getByText('10,001 agents').first().waitFor();
  assert.equal(await page.getByRole('row').count(), 26);
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes(`${api}/agents`)) asked.push(request.url());
  });
  await page.getByRole('button', { name: 'Page 401' }).click();
  await page.getByText('many-10000@example.com').waitFor();
  assert.match(page.url(), /page=401/);
  await field(page, 'Name or owner begins with').fill('many-777');
  await page.getByText('many-7779@example.com').waitFor();
  assert.equal(asked.length, 2, asked.join('\n'));
  await page.goBack();
  await page.getByText('many-10000@example.com').waitFor();
});

browserTest('the keyboard alone registers an agent and gives it a credential', async (t) => {
  const page = await server.open(t, '/agents', { as: admin, keep: true });
  await heading(page, 'Agents');
  await tabTo(page, page.getByRole('button', { name: 'Register agent' }));
  await page.keyboard.press('Enter');
  await dialogOf(page).waitFor();
  await tabTo(page, field(page, 'E-mail address'));
  await page.keyboard.type('keyboard@talent.example');
  await tabTo(page, field(page, 'Owner'));
  await page.keyboard.type('Keyboard');
  await tabTo(page, choice(page, 'Capabilities'));
  await page.keyboard.type('resume:read');
  await page.keyboard.press('Enter');
  await tabTo(page, dialogOf(page).getByRole('checkbox', { name: 'agents:read' }));
  await page.keyboard.press('Space');
  await tabTo(page, dialogOf(page).getByRole('button', { name: 'Register agent' }));
  await page.keyboard.press('Enter');
  await heading(page, 'keyboard@talent.example');
  await tabTo(page, page.getByRole('button', { name: 'New credential' }).first());
  await page.keyboard.press('Enter');
  await dialogOf(page).waitFor();
  await tabTo(page, dialogOf(page).getByRole('textbox', { name: 'Name', exact: true }));
  await page.keyboard.type('typed');
  await page.keyboard.press('Enter');
  await page.getByTestId('secret').waitFor();
  await tabTo(page, page.getByRole('button', { name: 'I have stored it' }));
  await page.keyboard.press('Enter');
  await page.getByRole('row', { name: /typed/ }).waitFor();
  await tabTo(page, page.getByRole('tab', { name: 'Credentials' }));
  await page.keyboard.press('ArrowLeft');
  await page.getByRole('heading', { name: 'No grants yet' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.locator('[role=combobox]:focus').waitFor();
  await page.keyboard.type('suspend');
  await page.getByRole('option', { name: 'Suspend agent' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('list', { name: 'What ends' }).waitFor();
});

browserTest('"Copy as…": the request of the list as curl, command, TypeScript and Python', async (t) => {
  const page = await server.open(t, '/agents?status=active', { as: admin, keep: true });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await heading(page, 'Agents');
  await page.getByRole('button', { name: 'Copy as…' }).click();
  await page.getByRole('menuitem', { name: 'curl' }).waitFor();
  await assertAccessible(page);
  for (const [item, text] of [
    [
      'curl',
      `curl '${server.url}/api/v1/agents?status=active&include=activity&page=1&limit=25' \\\n  -H "Authorization: Bearer $TOKEN"`,
    ],
    ['Command line', `countersign agents list \\\n  --status active`],
    [
      'TypeScript',
      'client.api.listAgents({ query: { status: "active", include: "activity", page: 1, limit: 25 } })',
    ],
    ['Python', 'client.api.list_agents(status="active", include="activity", page=1, limit=25)'],
  ] as const) {
    await page.getByRole('menuitem', { name: item }).click();
    await page.getByRole('menuitem', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    assert.ok(copied.includes(text), copied);
    // For two seconds.
    await page.getByRole('menuitem', { name: item }).waitFor();
  }
  await page.keyboard.press('Escape');
  await page.getByRole('menuitem', { name: 'curl' }).waitFor({ state: 'detached' });
});

browserTest('axe on the list and its dialog', async (t) => {
  const page = await server.open(t, '/agents', { as: admin, keep: true });
  await page.getByRole('row').nth(1).waitFor();
  await assertAccessible(page);
  await page.getByRole('button', { name: 'Register agent' }).click();
  await dialogOf(page).waitFor();
  await goTo(page, `/agents/${admin.agentId}?tab=activity`);
  // Not the name of the agent, which is a link.
  await page.getByRole('row').nth(1).getByRole('cell').first().click();
  await page.getByRole('region', { name: 'Audit event' }).waitFor();
  await assertAccessible(page);
  await page.getByRole('button', { name: 'Preview token' }).click();
  await dialogOf(page).getByRole('button', { name: 'Preview token' }).click();
  await page.getByText('A token would be issued').waitFor();
  await assertAccessible(page);
});
