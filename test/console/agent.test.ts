/** One agent in the console: its tabs and its actions. */
import assert from 'node:assert/strict';
import {
  assertAccessible,
  assertFits,
  browserTest,
  contentOf,
  goTo,
  settle,
  startConsole,
} from '../support/console.ts';
import { createAgentFixture, dialogOf, openMenu, openTab } from '../support/scenarios/console-agents.ts';

const server = await startConsole();
const { admin, registered, resource, send } = await createAgentFixture(server);

browserTest('identity: DID document, and cards that the browser itself verifies', async (t) => {
  const { agentId } = await registered({ email: 'identity@talent.example' });
  const page = await server.open(t, `/agents/${agentId}?tab=identity`, { as: admin, keep: true });
  await page.getByRole('region', { name: 'DID document' }).getByText('JsonWebKey2020').waitFor();
  for (const format of ['Badge', 'A2A card', 'OASF record']) {
    await page.getByText(format, { exact: true }).click();
    await page.getByText('Verified in this browser').waitFor();
    await page.getByText('Signature matches the content: yes').waitFor();
  }
  await page.getByText('Plain card', { exact: true }).click();
  await page.getByText('The plain card has no signature.').waitFor();
  await assertAccessible(page);

  const tampered: readonly [string, (card: string) => string, string][] = [
    ['a2a', (card) => card.replace('talent-team', 'other-team'), 'Signature matches the content: no'],
    ['oasf', (card) => card.replace('talent-team', 'other-team'), 'Signature matches the content: no'],
    [
      'badge',
      (card) => card.replace(/.{4}"(?=,"type":"Enveloped)/, 'AAAA"'),
      'Signature matches the content: no',
    ],
    ['a2a', (card) => card.replace(/"protected":"[^"]+"/, '"protected":"e30"'), 'Key is published: no'],
    [
      'a2a',
      (card) => card.replace(/"signatures":.*\]/, '"signatures":[]'),
      'the card has no readable signature',
    ],
  ];
  const labels: Readonly<Record<string, string>> = { a2a: 'A2A card', oasf: 'OASF record', badge: 'Badge' };
  for (const [format, change, verdict] of tampered) {
    const pattern = `**/did/card?format=${format}`;
    await page.route(pattern, async (route) => {
      const response = await route.fetch();
      const text = await response.text();
      const changed = change(text);
      assert.notEqual(changed, text);
      await route.fulfill({ response, body: changed });
    });
    await page.reload();
    await page.getByText(labels[format] ?? '', { exact: true }).click();
    await page.getByText(verdict).waitFor();
    await page.getByText('Not verified: do not trust this card').waitFor();
    await page.unroute(pattern);
  }
  // The card of another agent has a good signature, but is about another agent.
  await page.route('**/did/card?format=badge', async (route) =>
    route.fulfill({
      json: (await server.call('GET', `/api/v1/agents/${admin.agentId}/did/card?format=badge`)).json,
    }),
  );
  await page.reload();
  await page.getByText('About this agent: no').waitFor();
  await page.getByText('Not verified: do not trust this card').waitFor();
});

browserTest('credentials: rotate, revoke with what ends, expiry', async (t) => {
  const agent = await server.agent({ email: 'credentials@talent.example', allowedScopes: ['agents:read'] });
  const page = await server.open(t, `/agents/${agent.agentId}?tab=credentials`, { as: admin, keep: true });
  await page.getByRole('button', { name: 'New credential' }).click();
  await dialogOf(page).getByRole('textbox', { name: 'Name', exact: true }).fill('second');
  await dialogOf(page).getByRole('combobox', { name: 'Expires' }).click();
  await page.getByRole('option', { name: 'At a time of your choice' }).click();
  await dialogOf(page).getByLabel('Day and time').fill('2001-01-01T00:00');
  await dialogOf(page).getByRole('button', { name: 'Create credential' }).click();
  await page.getByText('Choose a time in the future').waitFor();
  await dialogOf(page).getByLabel('Day and time').fill('2201-01-01T00:00');
  await dialogOf(page).getByRole('button', { name: 'Create credential' }).click();
  await page.getByTestId('secret').waitFor();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('row', { name: /second.*in 17\d years/ }).waitFor();
  await assertAccessible(page);

  await page.getByRole('button', { name: 'Rotate second' }).click();
  await dialogOf(page).getByRole('button', { name: 'Rotate secret' }).click();
  const rotated = await page.getByTestId('secret').textContent();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await server.token(undefined, { clientId: agent.agentId, clientSecret: rotated ?? '' });

  await page.getByRole('button', { name: 'Revoke second' }).click();
  await dialogOf(page).getByText('all tokens that were issued with it end at once').waitFor();
  await dialogOf(page).getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Revoke second' }).click();
  await dialogOf(page).getByRole('button', { name: 'Revoke credential' }).click();
  await page.getByRole('row', { name: /second.*revoked/ }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Revoke second' }).count(), 0);
  await page.getByRole('combobox', { name: 'Status' }).click();
  await page.getByRole('option', { name: 'revoked' }).click();
  await page.getByText('1 credential').first().waitFor();
  assert.match(page.url(), /tab=credentials&credential=revoked/);
});

browserTest('access: change and remove a grant; a refusal shows the reason', async (t) => {
  const { agentId } = await registered({ email: 'access@talent.example', allowedScopes: ['agents:read'] });
  await send('PUT', `/agents/${agentId}/grants/${resource.resourceId}`, { scopes: ['resumes:read'] });
  const page = await server.open(t, `/agents/${agentId}?tab=access`, { as: admin, keep: true });
  await page.getByRole('button', { name: /^Change the grant/ }).click();
  await dialogOf(page).getByRole('checkbox', { name: 'resumes:write' }).check();
  await assertAccessible(page);
  await dialogOf(page).getByRole('button', { name: 'Save grant' }).click();
  await page.getByRole('row', { name: /resumes:read.*resumes:write/ }).waitFor();
  await assertAccessible(page);
  await page.getByRole('button', { name: /^Remove the grant/ }).click();
  await dialogOf(page).getByText('Its tokens for that API end at once', { exact: false }).waitFor();
  await dialogOf(page).getByRole('button', { name: 'Remove grant' }).click();
  await page.getByRole('heading', { name: 'No grants yet' }).waitFor();

  // The agent holds a scope that the page has not loaded yet: the choice waits for it.
  await send('PUT', `/agents/${agentId}/grants/${resource.resourceId}`, { scopes: ['resumes:read'] });
  await page.route('**/api/v1/agents/*/grants?*', (route) =>
    route.request().url().includes('resourceId=')
      ? route.continue()
      : route.fulfill({ json: { data: [], total: 0, page: 1, limit: 100 } }),
  );
  await page.getByRole('button', { name: 'Grant scopes' }).first().click();
  await dialogOf(page).getByRole('combobox', { name: 'API' }).click();
  await page.getByRole('option', { name: /Résumés/ }).click();
  await dialogOf(page).getByRole('checkbox', { name: 'resumes:write' }).waitFor();
  assert.ok(await dialogOf(page).getByRole('checkbox', { name: 'resumes:read' }).isChecked());

  const weak = await server.agent({ allowedScopes: ['agents:read', 'agents:write', 'resources:read'] });
  const theirs = await server.open(t, `/agents/${agentId}?tab=access`, { as: weak });
  await theirs.getByRole('button', { name: 'Grant scopes' }).first().click();
  await dialogOf(theirs).getByRole('combobox', { name: 'API' }).click();
  await theirs.getByRole('option', { name: /Résumés/ }).click();
  await dialogOf(theirs).getByRole('checkbox', { name: 'resumes:read' }).check();
  await dialogOf(theirs).getByRole('button', { name: 'Grant scopes' }).click();
  await dialogOf(theirs)
    .getByRole('alert')
    .getByText('Needs scope resources:write', { exact: false })
    .waitFor();
  assert.ok(await dialogOf(theirs).getByRole('checkbox', { name: 'resumes:read' }).isChecked());
});

browserTest('delegations of the agent, given and received', async (t) => {
  const giver = await server.agent({ email: 'giver@talent.example', allowedScopes: ['agents:read'] });
  const taker = await registered({ email: 'taker@talent.example' });
  await server.call('POST', '/api/v1/delegations', {
    token: await server.token(undefined, giver),
    payload: { delegateeId: taker.agentId, scopes: ['agents:read'] },
  });
  const page = await server.open(t, `/agents/${giver.agentId}?tab=delegations`, { as: admin, keep: true });
  await page.getByRole('row', { name: /given.*giver@talent.*taker@talent.*agents:read.*active/ }).waitFor();
  await assertAccessible(page);
  await page.getByRole('combobox', { name: 'Direction' }).click();
  await page.getByRole('option', { name: 'received' }).click();
  await page.getByRole('heading', { name: 'No delegations match' }).waitFor();
  await goTo(page, `/agents/${taker.agentId}?tab=delegations`);
  await page.getByRole('row', { name: /received.*giver@talent/ }).waitFor();
  await openTab(page, 'Access');
  await page
    .getByRole('table', { name: 'Delegated access' })
    .getByText('giver@talent.example')
    .first()
    .waitFor();
  await openMenu(page, 'Decommission agent');
  await page.getByRole('list', { name: 'What ends' }).getByText('1 active delegation').waitFor();
});

browserTest('a suspended agent and a decommissioned one show what is left', async (t) => {
  const agent = await server.agent({ email: 'ending@talent.example', allowedScopes: ['agents:read'] });
  const page = await server.open(t, `/agents/${agent.agentId}?tab=identity`, { as: admin, keep: true });
  await openMenu(page, 'Suspend agent');
  await assertAccessible(page);
  await dialogOf(page).getByRole('button', { name: 'Suspend agent' }).click();
  await page.getByText('This agent is suspended').waitFor();
  await page.getByText('Nothing is signed for a suspended agent.').waitFor();
  await assertAccessible(page);
  await openTab(page, 'Credentials');
  assert.ok(await page.getByRole('button', { name: 'New credential' }).isDisabled());
  await page.getByRole('button', { name: 'Preview token' }).click();
  await dialogOf(page).getByRole('button', { name: 'Preview token' }).click();
  await page.getByText('the agent is suspended').waitFor();
  await page.keyboard.press('Escape');
  await openMenu(page, 'Reactivate agent');
  await dialogOf(page).getByRole('button', { name: 'Reactivate agent' }).click();
  await page.getByText('This agent is suspended').waitFor({ state: 'detached' });

  await openMenu(page, 'Decommission agent');
  await page.getByRole('list', { name: 'What ends' }).getByText('1 active credential is revoked').waitFor();
  await dialogOf(page).getByRole('button', { name: 'Decommission agent' }).click();
  await page.getByText('This agent is decommissioned for good').waitFor();
  await openTab(page, 'Identity');
  await page.getByText('A decommissioned agent has no cards.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Edit' }).count(), 0);
  assert.equal(await page.getByRole('button', { name: 'More actions' }).count(), 0);
  await openTab(page, 'Access');
  assert.equal(await page.getByRole('button', { name: 'Grant scopes' }).count(), 0);
});

browserTest('suspending or decommissioning the own agent: a warning, and what ends for people', async (t) => {
  const page = await server.open(t, `/agents/${admin.agentId}`, { as: admin, keep: true });
  for (const action of ['Suspend agent', 'Decommission agent']) {
    await openMenu(page, action);
    await dialogOf(page).getByRole('alert').getByText('You act as this agent').waitFor();
    await page
      .getByRole('list', { name: 'What ends' })
      .getByText(/^Its console sessions end, and people who act through it cannot sign in/)
      .waitFor();
    await assertAccessible(page);
    await dialogOf(page).getByRole('button', { name: 'Cancel' }).click();
  }
  const { agentId } = await registered({ email: 'not-own@talent.example' });
  await goTo(page, `/agents/${agentId}`);
  await openMenu(page, 'Suspend agent');
  await page.getByRole('list', { name: 'What ends' }).waitFor();
  assert.equal(await dialogOf(page).getByRole('alert').count(), 0);
});

browserTest('a scaffold in a language of choice', async (t) => {
  const { agentId } = await registered({ email: 'scaffold@talent.example' });
  const page = await server.open(t, `/agents/${agentId}`, { as: admin });
  await openMenu(page, 'Download a scaffold');
  await dialogOf(page).getByRole('radio', { name: 'Go', exact: true }).check();
  await assertAccessible(page);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    dialogOf(page).getByRole('button', { name: 'Download' }).click(),
  ]);
  assert.match(download.suggestedFilename(), /\.zip$/);
  const archive = await contentOf(download);
  assert.equal(archive.subarray(0, 2).toString(), 'PK');
  assert.ok(archive.includes('go.mod'));
});

const hostile = `<img src=x onerror="document.title='hacked'"><b>bold</b>`;

browserTest('hostile text in every field is text, at every width', async (t) => {
  const owner = `${hostile}\u202Eevil\u2066 ${'w'.repeat(40)}`;
  const version = `1.0.0-${'a'.repeat(50)}`;
  const capability = `${'c'.repeat(63)}:${'d'.repeat(64)}`;
  const email = `o'${'x'.repeat(60)}+tag@${'long-label.'.repeat(10)}example`;
  const { agentId } = await registered({ owner, version, email, capabilities: [capability] });
  await send('POST', `/agents/${agentId}/credentials`, { name: hostile.slice(0, 64) });
  const { resourceId } = await send('POST', '/resources', {
    identifier: `https://${'long.'.repeat(20)}example/${'p'.repeat(200)}`,
    name: hostile,
    scopes: [{ name: `<script>alert(1)</script>${'s'.repeat(39)}`, description: `${hostile}\u202Edne` }],
  });
  await send('PUT', `/agents/${agentId}/grants/${resourceId}`, {
    scopes: [`<script>alert(1)</script>${'s'.repeat(39)}`],
  });
  await send('PATCH', `/agents/${agentId}`, { owner: `${owner}2` });
  const widths = [360, 1440];
  const page = await server.open(t, '/agents', { as: admin });
  await page
    .getByText(owner.replace(/[\u202E\u2066]/g, '␣'), { exact: false })
    .first()
    .waitFor();
  await assertFits(page, widths);
  await page.goto(`/console/agents/${agentId}`);
  for (const tab of ['identity', 'credentials', 'access', 'delegations', 'activity']) {
    await goTo(page, `/agents/${agentId}?tab=${tab}`);
    await page.getByRole('heading', { level: 1, name: email.slice(0, 40) }).waitFor();
    await page.getByRole('tab', { name: tab, selected: true }).waitFor();
    await settle(page);
    await assertFits(page, widths);
    assert.equal(await page.locator('main img, main b > b, main script').count(), 0);
  }
  await openTab(page, 'Access');
  await page.getByRole('button', { name: /^Change the grant/ }).click();
  await dialogOf(page).getByText(hostile, { exact: false }).first().waitFor();
  await assertFits(page, widths);
  assert.doesNotMatch(await page.title(), /hacked/);
  await page.goto(`/console/agents?q=${encodeURIComponent(hostile)}`);
  await page
    .getByRole('heading', { name: 'No agents match' })
    .or(page.getByRole('row').nth(1))
    .first()
    .waitFor();
  assert.doesNotMatch(await page.title(), /hacked/);
});
