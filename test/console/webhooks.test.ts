/** The Webhooks pages in a browser, with real receivers on loopback. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import {
  assertAccessible,
  assertFits,
  browserTest,
  goTo,
  openSection,
  startConsole,
  tabTo,
} from '../support/console.ts';
import { type RequestHandler, startReceiver, trustTestAuthority } from '../support/peers/receivers.ts';
import { createResourceClient } from '../support/scenarios/resources/resources.ts';

trustTestAuthority();
const server = await startConsole({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { agentIn, tenant } = createResourceClient(server);
const hostile = '<img src=x onerror="window.hacked=1">';

type Tenant = Awaited<ReturnType<typeof tenant>>;

async function subscribe(owner: Tenant, url: string, name = 'Inventory', events = ['token.revoked']) {
  const payload = { name, url, events };
  const { status, json, text } = await server.call('POST', '/api/v1/webhooks', {
    token: owner.token,
    payload,
  });
  assert.equal(status, 201, text);
  return json as { id: string; signingSecret: string };
}

const answering =
  (status: number, body = ''): RequestHandler =>
  (_request, response) =>
    void response.writeHead(status).end(body);

/** Dead letters, a second apart, the newest one a minute ago. */
const insertDeadLetters = (id: string, agentId: string, count: number) =>
  server.sql(
    `insert into webhook_deliveries
       (delivery_id, subscription_id, event_id, event_type, payload, status, attempt_count, attempts, http_status_code,
        created_at, updated_at)
     select gen_random_uuid(), $1::uuid, gen_random_uuid(), 'token.revoked',
            json_build_object('data', json_build_object('agentId', $2::uuid))::text, 'dead_letter', 10,
            jsonb_build_array(jsonb_build_object('attempted_at', now(), 'duration_ms', 7, 'http_status_code', 503,
                                                 'error', null)),
            503, now() - interval '1 minute' - n * interval '1 second', now()
     from generate_series(1, $3::int) as n`,
    [id, agentId, count],
  );

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 });
const menu = async (page: Page, item: string) => {
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: item, exact: true }).click();
};
const hacked = (page: Page) => page.evaluate('window.hacked');

browserTest('an empty list; a subscription made with grouped events; its secret is shown once', async (t) => {
  const owner = await tenant();
  const page = await server.open(t, '/webhooks', { as: owner });
  await heading(page, 'Webhooks').waitFor();
  await page.getByText('No webhooks yet').waitFor();

  await page.getByRole('button', { name: 'Subscribe to events' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'Subscribe to events' });
  await dialog.getByRole('button', { name: 'Subscribe to events', exact: true }).click();
  for (const problem of ['Give it a name.', 'starts with https://', 'Choose at least one event.'])
    await dialog.getByText(problem).waitFor();
  await assertAccessible(page);

  await dialog.getByLabel('Name').fill('Inventory');
  await dialog.getByLabel('URL').fill('https://user:secret@receiver.example/hook');
  await openSection(dialog, 'Credentials');
  await dialog.getByRole('checkbox', { name: 'All of Credentials' }).check();
  await dialog.getByRole('checkbox', { name: 'credential.rotated' }).uncheck();
  // A refusal of the API and a lost connection keep what was typed.
  await dialog.getByRole('button', { name: 'Subscribe to events', exact: true }).click();
  await dialog.getByText(/Request id/).waitFor();
  await page.route('**/api/v1/webhooks', (route) =>
    route.request().method() === 'POST' ? route.abort() : route.continue(),
  );
  await dialog.getByLabel('URL').fill('https://receiver.example/hook');
  await dialog.getByRole('button', { name: 'Subscribe to events', exact: true }).click();
  await dialog.getByText(/did not answer/).waitFor();
  assert.equal(await dialog.getByLabel('Name').inputValue(), 'Inventory');
  assert.equal(await dialog.getByRole('checkbox', { name: 'credential.revoked' }).isChecked(), true);
  await page.unroute('**/api/v1/webhooks');
  await dialog.getByRole('button', { name: 'Subscribe to events', exact: true }).click();

  const secret = await page.getByTestId('secret').textContent();
  assert.match(secret ?? '', /^whsec_/);
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await heading(page, 'Inventory').waitFor();
  await page.getByText('credential.generated').waitFor();
  await page.getByText('No deliveries yet').waitFor();
  assert.ok(!(await page.content()).includes(secret ?? ''));
  const { json } = await server.call('GET', '/api/v1/webhooks', { token: owner.token });
  assert.deepEqual(json[0].events, ['credential.generated', 'credential.revoked']);
});

browserTest(
  'a failing receiver: the response and the time of the next retry; a replay delivers it',
  async (t) => {
    let answer = answering(500, `${hostile}\u202egnp.exe\n{"error":"bad signature"}`);
    const receiver = await startReceiver((...all) => answer(...all));
    const owner = await tenant();
    const { id } = await subscribe(owner, receiver.url);
    const page = await server.open(t, `/webhooks/${id}`, { as: owner });
    await page.getByRole('button', { name: 'Send test' }).click();
    const pane = page.getByRole('complementary', { name: 'Details' });
    await pane.getByText('HTTP 500').waitFor();
    assert.match(
      (await pane.getByTestId('outlook').textContent()) ?? '',
      /Next retry .* at \d{4}-\d\d-\d\d .* UTC/,
    );
    const response = await pane.getByRole('region', { name: 'Response of the receiver' }).textContent();
    assert.match(response ?? '', /<img src=x onerror="window.hacked=1">␣gnp\.exe/);
    assert.equal(await hacked(page), undefined);
    await page.getByRole('table', { name: 'Deliveries' }).getByText('HTTP 500').waitFor();
    await page.getByRole('button', { name: 'failed: 1' }).waitFor();
    await assertAccessible(page);

    // The pane opens at the same delivery after a reload, also when a filter hides its row.
    await page.goto(`${page.url()}&status=delivered`);
    await page.getByText('No deliveries match').waitFor();
    await pane.getByText('HTTP 500').waitFor();
    answer = answering(204);
    await pane.getByRole('button', { name: 'Replay' }).click();
    await pane.getByText('Accepted by the receiver').waitFor();
    await pane.getByText('HTTP 204').waitFor();
    assert.equal(await pane.getByRole('list', { name: 'Attempts' }).getByRole('listitem').count(), 2);
    assert.deepEqual(
      [...new Set(receiver.received.map(({ headers }) => headers['x-service-delivery-id']))].length,
      1,
    );
  },
);

browserTest('replay of all failed since a time, with the count before and the progress after', async (t) => {
  const receiver = await startReceiver();
  const owner = await tenant();
  const { id } = await subscribe(owner, receiver.url);
  await insertDeadLetters(id, owner.agentId, 30);
  const page = await server.open(t, `/webhooks/${id}`, { as: owner });
  await page.getByRole('button', { name: 'dead letter: 30' }).waitFor();
  await menu(page, 'Replay failed deliveries');
  const dialog = page.getByRole('dialog', { name: 'Replay failed deliveries' });
  await dialog.getByText('30 deliveries will be sent again.').waitFor();
  await assertAccessible(page);
  await dialog.getByLabel('Created since (UTC)').fill('2099-01-01T00:00');
  await dialog.getByRole('button', { name: 'Replay deliveries', exact: true }).click();
  await dialog
    .getByRole('alert')
    .getByText(/must not be in the future/)
    .waitFor();
  assert.equal(await dialog.getByLabel('Created since (UTC)').inputValue(), '2099-01-01T00:00');
  await dialog.getByRole('button', { name: '1 hour' }).click();
  await dialog.getByText('30 deliveries will be sent again.').waitFor();
  await dialog.getByRole('button', { name: 'Replay deliveries', exact: true }).click();
  await page.getByText('Replay completed').waitFor();
  await page.getByText('30 of 30 deliveries sent again.').waitFor();
  assert.equal(receiver.received.length, 30);
  await page.getByRole('button', { name: 'delivered: 30' }).waitFor();
  await assertAccessible(page);
});

browserTest(
  'selected deliveries are sent again; Escape, a filter and success clear the selection',
  async (t) => {
    const receiver = await startReceiver(answering(204));
    const owner = await tenant();
    const { id } = await subscribe(owner, receiver.url);
    await insertDeadLetters(id, owner.agentId, 22);
    const page = await server.open(t, `/webhooks/${id}`, { as: owner });
    const rows = page.getByRole('checkbox', { name: /^Select token.revoked/ });
    const bar = (count: string) => page.getByRole('region', { name: `${count} selected` });
    await rows.first().check();
    await bar('1 delivery').waitFor();
    assert.doesNotMatch(page.url(), /selected=/, 'a checkbox opens no detail');
    await rows.nth(2).focus();
    await page.keyboard.press('Space');
    await bar('2 deliveries').waitFor();
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    await bar('2 deliveries').waitFor({ state: 'detached' });
    assert.equal(await page.getByRole('checkbox', { checked: true }).count(), 0);

    const all = page.getByRole('checkbox', { name: 'Select all 20 rows of this page' });
    await all.check();
    await bar('20 deliveries').waitFor();
    await page.getByRole('button', { name: 'Page 2', exact: true }).click();
    await bar('20 deliveries').waitFor({ state: 'detached' });
    await page.getByRole('checkbox', { name: 'Select all 2 rows of this page' }).waitFor();
    await rows.first().check();
    await rows.nth(1).check();
    assert.equal(await page.getByRole('checkbox', { name: /^Select all/ }).isChecked(), true);
    await assertFits(page, [360, 1280]);
    await bar('2 deliveries').getByRole('button', { name: 'Replay' }).click();
    await page.getByText('2 deliveries sent again').waitFor();
    await bar('2 deliveries').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'delivered: 2' }).waitFor();
  },
);

browserTest('filters and time range are in the URL and survive a reload', async (t) => {
  const owner = await tenant();
  const { id } = await subscribe(owner, 'https://receiver.example/hook');
  await insertDeadLetters(id, owner.agentId, 25);
  const page = await server.open(t, `/webhooks/${id}`, { as: owner });
  await page.getByRole('button', { name: 'dead letter: 25' }).click();
  await page.getByRole('button', { name: 'Page 2' }).click();
  await page.waitForURL(/status=dead_letter&page=2|page=2.*status=dead_letter/);
  await page.reload();
  const table = page.getByRole('table', { name: 'Deliveries' });
  await table.getByRole('row').nth(5).waitFor();
  assert.equal(await table.getByRole('row').count(), 6);
  await page.getByRole('button', { name: 'Any time' }).click();
  await page.getByRole('button', { name: 'Last hour' }).click();
  await page.waitForURL(/from=/);
  await table.getByRole('row').nth(20).waitFor();
  await goTo(page, `/webhooks/${id}?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z`);
  await page.getByText('No deliveries match').waitFor();
  await page.getByRole('button', { name: 'all: 0' }).waitFor();
  await goTo(page, `/webhooks/${id}?from=yesterday`);
  await page.getByRole('alert').getByText(/since/).first().waitFor();
});

browserTest('rotate the secret with an overlap; edit; pause and resume', async (t) => {
  const owner = await tenant();
  const { id, signingSecret } = await subscribe(owner, 'https://receiver.example/hook');
  const page = await server.open(t, `/webhooks/${id}`, { as: owner });
  await menu(page, 'Rotate secret');
  const dialog = page.getByRole('dialog', { name: 'Rotate the signing secret' });
  await dialog.getByText('both secrets sign each delivery').waitFor();
  await dialog.getByRole('combobox', { name: 'Overlap' }).click();
  await page.getByRole('option', { name: '7 days' }).click();
  await assertAccessible(page);
  await dialog.getByRole('button', { name: 'Rotate secret', exact: true }).click();
  const secret = await page.getByTestId('secret').textContent();
  assert.match(secret ?? '', /^whsec_/);
  assert.notEqual(secret, signingSecret);
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByText(/signs too until .* \(in 6 days\)/).waitFor();

  await page.getByRole('button', { name: 'Edit' }).click();
  const edit = page.getByRole('dialog', { name: 'Edit webhook' });
  await edit.getByLabel('Name').fill('Renamed');
  await edit.getByRole('checkbox', { name: 'All events' }).check();
  await edit.getByRole('button', { name: 'Save' }).click();
  await heading(page, 'Renamed').waitFor();
  await page.getByText('All events').waitFor();

  await menu(page, 'Pause');
  await page.getByText(/while it is paused are not delivered/).waitFor();
  await page.getByRole('button', { name: 'Pause webhook', exact: true }).click();
  await page.getByText('paused', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Copy as…' }).first().click();
  for (const name of ['Webhook: curl', 'Test: Command line', 'Resume: Python'])
    await page.getByRole('menuitem', { name }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Resume', exact: true }).click();
  await page.getByText('active', { exact: true }).waitFor();
});

browserTest('delete says what ends and asks once', async (t) => {
  const owner = await tenant();
  const { id } = await subscribe(owner, 'https://receiver.example/hook');
  await insertDeadLetters(id, owner.agentId, 4);
  const page = await server.open(t, '/webhooks', { as: owner });
  await page.getByRole('link', { name: 'Inventory' }).click();
  await menu(page, 'Delete');
  const dialog = page.getByRole('dialog', { name: 'Delete this webhook?' });
  await dialog.getByText('The record of 4 deliveries is deleted.').waitFor();
  await dialog.getByRole('button', { name: 'Delete webhook', exact: true }).click();
  await page.getByText('No webhooks yet').waitFor();
});

browserTest('an API that is slow or fails: message, request id, and a way to try again', async (t) => {
  const owner = await tenant();
  const { id } = await subscribe(owner, 'https://receiver.example/hook');
  const page = await server.open(t, '/webhooks', { as: owner });
  await page.getByRole('link', { name: 'Inventory' }).waitFor();
  const failure = { code: 'INTERNAL_SERVER_ERROR', message: 'Something failed.' };
  await page.route('**/api/v1/webhooks**', (route) =>
    route.fulfill({ status: 500, headers: { 'x-request-id': 'request-1' }, json: failure }),
  );
  await page.reload();
  await page.getByText('Something failed.').waitFor();
  await page.getByText('request-1').waitFor();
  await page.goto(`/console/webhooks/${id}`);
  await page.getByText('Something failed.').waitFor();
  await page.unroute('**/api/v1/webhooks**');
  await page.getByRole('button', { name: 'Try again' }).click();
  await heading(page, 'Inventory').waitFor();
  let proceed = () => {};
  const held = new Promise<void>((resolve) => (proceed = resolve));
  await page.route('**/api/v1/webhooks', (route) => held.then(() => route.continue()));
  await page.goto('/console/webhooks');
  await page.getByRole('status', { name: 'Loading webhooks' }).waitFor();
  proceed();
  await page.getByRole('link', { name: 'Inventory' }).waitFor();
});

browserTest(
  'without the scope no page; with webhooks:read no actions; nothing of another organization',
  async (t) => {
    const [owner, other] = [await tenant(), await tenant()];
    const { id } = await subscribe(owner, 'https://receiver.example/hook', 'Hidden');
    const none = await agentIn(owner.organizationId, ['agents:read']);
    const refused = await server.open(t, `/webhooks/${id}`, { as: none });
    await refused.getByText('You have no permission to see this').waitFor();
    await refused.getByText('webhooks:read').waitFor();

    const reader = await server.open(t, `/webhooks/${id}?replay=1`, {
      as: await agentIn(owner.organizationId, ['webhooks:read']),
    });
    await heading(reader, 'Hidden').waitFor();
    await reader.getByText('No deliveries yet').waitFor();
    for (const name of ['Send test', 'Edit', 'More', 'Replay'])
      assert.equal(await reader.getByRole('button', { name, exact: true }).count(), 0, name);

    const foreign = await server.open(t, `/webhooks/${id}`, { as: other });
    await foreign
      .getByRole('alert')
      .getByText(/Request id/)
      .waitFor();
    assert.ok(!(await foreign.content()).includes('Hidden'));
    await foreign.goto('/console/webhooks');
    await foreign.getByText('No webhooks yet').waitFor();
  },
);

browserTest('hostile and long texts are text, in both widths', async (t) => {
  const owner = await tenant();
  const long = `https://receiver.example/${'x'.repeat(2_000)}`;
  const { id } = await subscribe(owner, long, `${hostile} ${'n'.repeat(200)}`, ['*']);
  const page = await server.open(t, '/webhooks', { as: owner });
  await page.getByRole('link', { name: /<img src=x/ }).waitFor();
  await assertFits(page, [360, 1440]);
  await page.goto(`/console/webhooks/${id}`);
  await page.getByRole('heading', { name: /<img src=x/, level: 1 }).waitFor();
  await assertFits(page, [1440, 360]);
  assert.equal(await hacked(page), undefined);
  await assertAccessible(page);
});

browserTest('keyboard only: open a subscription and a delivery, close it again', async (t) => {
  const owner = await tenant();
  const { id } = await subscribe(owner, 'https://receiver.example/hook');
  await insertDeadLetters(id, owner.agentId, 1);
  const page = await server.open(t, '/webhooks', { as: owner });
  const link = page.getByRole('link', { name: 'Inventory' });
  await link.waitFor();
  await tabTo(page, link);
  await page.keyboard.press('Enter');
  await heading(page, 'Inventory').waitFor();
  const delivery = page
    .getByRole('row', { name: /token.revoked/ })
    .getByRole('link')
    .first();
  await delivery.waitFor();
  await tabTo(page, delivery);
  await page.keyboard.press('Enter');
  const close = page.getByRole('button', { name: 'Close details' });
  await tabTo(page, close);
  await page.keyboard.press('Enter');
  await close.waitFor({ state: 'detached' });
});
