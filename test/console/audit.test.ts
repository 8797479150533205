/** The audit page in a browser: the log, its filters and details, the live tail, and verification that needs no server's word. */
import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { verifyExport } from '../../sdk/typescript/src/audit/verify-export.ts';
import { formatVerifierKey } from '../../sdk/typescript/src/transparency/verifier-key.ts';
import { createStatementReader, describePublicKey } from '../../src/adapters/keys/keys.ts';
import {
  assertAccessible,
  assertFits,
  assertNoSidewaysScroll,
  browserTest,
  contentOf,
  goTo,
  startConsole,
  tabTo,
} from '../support/console.ts';
import { createTestClock, environment, newAgent } from '../support/harness.ts';
import {
  cosignBody,
  createCosigner,
  newLogKey,
  startFakeWitness,
  witnessVariables,
} from '../support/peers/witnesses.ts';
import { until } from '../support/programs.ts';
import { sha256 } from '../support/scenarios/archive.ts';
import { auditLinks, createAttacker, recomputeHashes, recordEvents } from '../support/scenarios/audit-log.ts';

const dayMs = 86_400_000;
/** The first two days are over when the tests begin. */
const clock = createTestClock();
clock.advance(-2 * dayMs);
const startCosigner = (name: string) =>
  startFakeWitness(name, (signer) => async ({ body }, response) => {
    response.end(await cosignBody(body, signer, { time: Math.floor(clock.now() / 1_000) }));
  });
const witnesses = [await startCosigner('witness.example/one'), await startCosigner('witness.example/two')];
const archiveFolder = mkdtempSync(join(tmpdir(), 'countersign-archive-'));
after(() => rmSync(archiveFolder, { recursive: true }));
const server = await startConsole(
  {
    MULTI_TENANT: 'true',
    AUDIT_LOG_KEY: newLogKey(),
    AUDIT_ARCHIVE_URL: pathToFileURL(archiveFolder).href,
    ...witnessVariables(witnesses, 2),
  },
  { clock },
);
const attacker = createAttacker(server);
const hostile = '<img src=x onerror="document.title=\'owned\'">\u202Egnp.exe';

/** An organization whose agent may read the log, with some events. */
async function createTenant(scopes = ['audit:read', 'agents:read', 'agents:write'], events = 12) {
  const token = await server.token();
  const payload = { name: 'Team', slug: `team-${crypto.randomUUID().slice(0, 13)}`, planTier: 'enterprise' };
  const created = await server.call('POST', '/api/v1/organizations', { token, payload });
  const { organizationId } = created.json as { organizationId: string };
  const reader = await server.agent({ organization_id: organizationId, allowedScopes: scopes });
  if (events > 0) await recordEvents(server, organizationId, events);
  return { organizationId, reader };
}

/** All of the log so far has a quorum of its witnesses. */
async function untilWitnessed() {
  await server.app.audit.linkAll();
  await server.app.instanceLog.grow();
  const [log] = await server.sql<{ size: number }>('select size::int from instance_logs');
  await until('the witnesses have cosigned', async () => {
    const token = await server.token();
    const { witnessed } = (await server.call('GET', '/api/v1/audit/witnesses', { token })).json;
    return witnessed?.checkpointSize >= (log?.size ?? assert.fail()) || undefined;
  });
}

/** A tenant with two days in the archive, the newest first. */
async function archiveTwoDays() {
  const tenant = await createTenant(undefined, 40);
  for (const events of [30, 0]) {
    await untilWitnessed();
    clock.advance(dayMs);
    await server.app.audit.prepare();
    await recordEvents(server, tenant.organizationId, events);
  }
  const { data } = await until('both days are in the archive', async () => {
    await server.app.audit.archiving?.round();
    const token = await server.token(undefined, tenant.reader);
    const { json } = await server.call('GET', '/api/v1/audit/archives', { token });
    return json.total === 2 ? json : undefined;
  });
  return { ...tenant, days: data as readonly { date: string; sha256: string }[] };
}
const archived = await archiveTwoDays();

type Tenant = Awaited<ReturnType<typeof createTenant>>;
let shared: Promise<Tenant> | undefined;
/** For tests that only read. */
const sharedTenant = () => (shared ??= createTenant());

const list = (page: Page) => page.getByRole('table', { name: 'Audit log' });
const rows = (page: Page) => list(page).locator('tbody tr');
/** Not in the middle of the row, where the link to the agent is. */
const openFirst = (page: Page) => rows(page).first().locator('td').nth(1).click();
const panel = (page: Page) => page.getByRole('region', { name: 'Verification' });
const verdict = (page: Page, text: string) => panel(page).getByText(text, { exact: true });
const verify = (page: Page) =>
  panel(page)
    .getByRole('button', { name: /^Verify/ })
    .click();

/** The server says that all is well, also where it is not. */
const sayIntact = (page: Page) =>
  page.route('**/api/v1/audit/verify*', (route) =>
    route.fulfill({ json: { verified: true, checkedCount: 1, fromDate: null, toDate: null } }),
  );

browserTest('the list: filters are in the URL, survive a reload, and can be removed', async (t) => {
  const { reader } = await sharedTenant();
  const page = await server.open(t, '/audit', { as: reader, keep: true });
  await page.getByRole('heading', { name: 'Audit log', level: 1 }).waitFor();
  await rows(page).first().waitFor();
  const all = await rows(page).count();
  assert.ok(all >= 12);
  await page
    .getByRole('combobox', { name: 'Action' })
    .or(page.getByLabel('Action', { exact: true }))
    .first()
    .click();
  await page.getByRole('option', { name: 'credential.*' }).click();
  await page.waitForURL(/action=credential/);
  await page.getByRole('button', { name: 'Remove filter Action' }).waitFor();
  await page.reload();
  await rows(page).first().waitFor();
  for (const text of await rows(page).locator('td:nth-child(2)').allTextContents())
    assert.match(text, /^credential\./);
  await goTo(page, `/audit?outcome=failure`);
  await page.getByRole('heading', { name: 'No events match' }).waitFor();
  await page.getByRole('button', { name: 'Clear all' }).click();
  await rows(page).first().waitFor();
  // By name, also for people who do not know the id.
  const { email } = (
    await server.call('GET', `/api/v1/agents/${reader.agentId}`, { token: await server.token() })
  ).json;
  await page.getByRole('combobox', { name: 'Agent' }).fill(email);
  await page.getByRole('option', { name: email }).click();
  await page.waitForURL(new RegExp(`agentId=${reader.agentId}`));
  await page.getByRole('button', { name: 'Remove filter Agent' }).waitFor();
  await goTo(page, `/audit?agentId=${reader.agentId}&action=session.*&from=2020-01-01T00:00:00Z`);
  await page.getByRole('alert').getByRole('link', { name: 'Show these days in the archive' }).click();
  await page.waitForURL(/view=archive&from=2020-01-01/);
  await page.getByRole('button', { name: 'Clear all' }).click();
  await page.getByRole('heading', { name: 'No days in the archive' }).waitFor();
});

browserTest('a row: the whole event as JSON, to copy; events around it; a link to it', async (t) => {
  const { reader } = await sharedTenant();
  const page = await server.open(t, '/audit?action=agent.created', { as: reader, width: 1440, keep: true });
  await openFirst(page);
  const json = page.getByRole('region', { name: 'The event as JSON' });
  const event = JSON.parse(await json.innerText());
  assert.equal(event.action, 'agent.created');
  assert.match(page.url(), new RegExp(`selected=${event.eventId}`));
  await assertAccessible(page);
  await page.getByRole('button', { name: 'Around this event' }).click();
  await page.waitForURL(/from=.*to=/);
  assert.ok(!page.url().includes('action='));
  await page.getByText('token.issued').first().waitFor();
  assert.equal(JSON.parse(await json.innerText()).eventId, event.eventId);
  // Also when the list does not show it.
  await goTo(page, `/audit?outcome=failure&selected=${event.eventId}`);
  await json.waitFor();
  await goTo(page, '/audit?selected=nothing');
  await page.getByRole('complementary', { name: 'Details' }).getByRole('alert').waitFor();
});

browserTest('a failing API: the message with the request id, and another try', async (t) => {
  const { reader } = await createTenant();
  const page = await server.open(t, '/', { as: reader });
  await page.route('**/api/v1/audit?*', (route) =>
    route.fulfill({
      status: 500,
      headers: { 'x-request-id': 'request-77' },
      json: { code: 'INTERNAL_SERVER_ERROR', message: 'An unexpected error occurred.' },
    }),
  );
  await goTo(page, '/audit');
  const alert = page.getByRole('alert').filter({ hasText: 'An unexpected error occurred.' });
  await alert.getByText('request-77').waitFor();
  await page.unroute('**/api/v1/audit?*');
  await alert.getByRole('button', { name: 'Try again' }).click();
  await rows(page).first().waitFor();
});

browserTest('without audit:read there is no log', async (t) => {
  const { reader } = await createTenant(['agents:read'], 0);
  const page = await server.open(t, '/audit', { as: reader });
  await page.getByText('You have no permission to see this').waitFor();
  await page.getByText('audit:read').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Audit' }).count(), 0);
});

browserTest('another organization’s log looks nonexistent, also by editing the URL', async (t) => {
  const own = await createTenant();
  const other = await createTenant();
  const page = await server.open(t, `/audit?organizationId=${other.organizationId}`, { as: own.reader });
  await page.getByRole('alert').first().waitFor();
  assert.equal(await rows(page).count(), 0);
  await verify(page);
  await panel(page).getByText('The log could not be read').waitFor();
  const text = await page.locator('body').innerText();
  assert.ok(!text.includes(other.reader.agentId.slice(0, 8)));
});

browserTest('an operator reads and verifies any organization', async (t) => {
  const { organizationId } = await createTenant();
  const page = await server.open(t, '/audit', { width: 1440 });
  await page.getByLabel('Organization', { exact: true }).fill(organizationId);
  await page.waitForURL(new RegExp(organizationId));
  await page.getByText('agent.created').first().waitFor();
  await verify(page);
  await verdict(page, 'Intact').waitFor();
});

browserTest(
  'verification in the browser: green, with what was checked; on a narrow screen too',
  async (t) => {
    const { organizationId, reader } = await createTenant(undefined, 2_500);
    const page = await server.open(t, '/audit', { as: reader });
    await rows(page).first().waitFor();
    await verify(page);
    await verdict(page, 'Intact').waitFor();
    const text = await panel(page).innerText();
    const [row] = await server.sql<{ events: number }>(
      `select count(*)::int as events from ${auditLinks} l where organization_id = $1`,
      [organizationId],
    );
    assert.match(text, new RegExp(`${row?.events.toLocaleString('en')} events: each hash computed again`));
    assert.match(text, /\d checkpoints? in order, \d+ signatures valid for the published keys/);
    assert.match(text, /The server’s own check agrees/);
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertNoSidewaysScroll(page);
  },
);

const eventAt = (organizationId: string, sequence: number) =>
  `(select event_id from ${auditLinks} l where organization_id = '${organizationId}' and sequence = ${sequence})`;
/** `audit-proof.test.ts` has the others. */
const tamperings: Record<string, { tamper(organizationId: string): Promise<unknown>; says: RegExp }> = {
  'an event edited': {
    tamper: (id) =>
      attacker.run(`update audit_events set outcome = 'failure' where event_id = ${eventAt(id, 5)}`),
    says: /Position 5: The event was changed.*EVENT_CHANGED/s,
  },
  'the whole chain computed again': {
    tamper: async (id) => {
      await attacker.run(
        `update audit_events set action = 'nothing.happened' where event_id = ${eventAt(id, 5)}`,
      );
      await recomputeHashes(attacker, id);
    },
    says: /the chain was computed again/,
  },
};
for (const [what, { tamper, says }] of Object.entries(tamperings))
  browserTest(`red in the browser, also if the server says intact: ${what}`, async (t) => {
    const { organizationId, reader } = await createTenant();
    const page = await server.open(t, '/audit?action=session.*', { as: reader });
    await sayIntact(page);
    await rows(page).first().waitFor();
    await server.app.audit.linkAll();
    await tamper(organizationId);
    await verify(page);
    await verdict(page, 'Not intact').waitFor();
    assert.match(await panel(page).innerText(), says);
    await panel(page).getByText('This browser does not agree').waitFor();
    if (what === 'an event edited') await assertAccessible(page);
  });

browserTest('red: the end was cut off with its checkpoints, in a browser that has seen it', async (t) => {
  const { organizationId, reader } = await createTenant();
  const page = await server.open(t, '/audit', { as: reader });
  await sayIntact(page);
  await rows(page).first().waitFor();
  await verify(page);
  await verdict(page, 'Intact').waitFor();
  await attacker.run(
    `delete from audit_events where event_id in (select event_id from ${auditLinks} l where organization_id = '${organizationId}'
       and number = (select max(number) from audit_segments where organization_id = '${organizationId}'));
     delete from audit_segments where organization_id = '${organizationId}'
       and number = (select max(number) from audit_segments where organization_id = '${organizationId}')`,
  );
  await page.reload();
  await verify(page);
  await verdict(page, 'Not intact').waitFor();
  assert.match(await panel(page).innerText(), /the end of the log was removed or replaced/);
});

browserTest('red: the browser finds nothing, but the server has seen events that are gone', async (t) => {
  const { reader } = await createTenant();
  const page = await server.open(t, '/audit', { as: reader });
  await page.route('**/api/v1/audit/verify*', (route) =>
    route.fulfill({ json: { verified: false, checkedCount: 1, fromDate: null, toDate: null } }),
  );
  await verify(page);
  await verdict(page, 'Not intact').waitFor();
  await panel(page).getByText('the server reports that it is not intact', { exact: false }).waitFor();
});

browserTest('the demonstration changes one event of the copy: red, and green without it', async (t) => {
  const { reader } = await sharedTenant();
  const page = await server.open(t, '/audit', { as: reader, keep: true });
  await page.getByRole('switch', { name: 'Demo: change one event' }).click();
  await verify(page);
  await verdict(page, 'Not intact').waitFor();
  await panel(page).getByText('The log itself is as it was', { exact: false }).waitFor();
  await page.getByRole('switch', { name: 'Demo: change one event' }).click();
  await verify(page);
  await verdict(page, 'Intact').waitFor();
});

browserTest('the demonstration is for development only', async (t) => {
  const { reader } = await createTenant();
  const page = await server.open(t, '/', { as: reader });
  await page.route('**/console/api/session', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), dev: false } });
  });
  await page.goto('/console/audit');
  await panel(page).getByRole('button', { name: 'Verify in this browser' }).waitFor();
  assert.equal(await page.getByRole('switch', { name: /Demo/ }).count(), 0);
});

browserTest('verification shows its progress, and the page stays usable with it', async (t) => {
  const { reader } = await createTenant(undefined, 2_500);
  const page = await server.open(t, '/audit', { as: reader, width: 1440 });
  await rows(page).first().waitFor();
  let proceed = () => {};
  const held = new Promise<void>((resolve) => (proceed = resolve));
  await page.context().route('**/api/v1/audit/chain*', async (route) => {
    if (new URL(route.request().url()).searchParams.has('after')) await held;
    await route.continue();
  });
  await verify(page);
  await panel(page)
    .getByText(/^1,000 of 2,5\d\d events checked$/)
    .waitFor();
  const share = await panel(page).getByRole('progressbar').getAttribute('aria-valuenow');
  assert.ok(Number(share) > 30 && Number(share) < 50, `${share}`);
  await assertAccessible(page);
  await openFirst(page);
  await page.getByRole('region', { name: 'The event as JSON' }).waitFor();
  proceed();
  await verdict(page, 'Intact').waitFor();
});

browserTest('verification waits for the rate limit, can be cancelled, and shows a failure', async (t) => {
  const { reader } = await sharedTenant();
  const page = await server.open(t, '/audit', { as: reader, keep: true });
  await rows(page).first().waitFor();
  const context = page.context();
  let refused = 0;
  await context.route('**/api/v1/audit/chain*', (route) => {
    refused += 1;
    return refused === 1
      ? route.fulfill({
          status: 429,
          headers: { 'retry-after': '2' },
          json: { code: 'RATE_LIMIT_EXCEEDED', message: 'Too many requests.' },
        })
      : route.continue();
  });
  await verify(page);
  await panel(page).getByText('the rate limit is reached', { exact: false }).waitFor();
  await verdict(page, 'Intact').waitFor();
  await context.unroute('**/api/v1/audit/chain*');

  await context.route('**/api/v1/audit/chain*', () => {});
  await verify(page);
  await panel(page).getByText('Fetching keys and events…').waitFor();
  await panel(page).getByRole('button', { name: 'Cancel' }).click();
  await panel(page).getByRole('button', { name: 'Verify in this browser' }).waitFor();
  await context.unroute('**/api/v1/audit/chain*');

  await context.route('**/api/v1/audit/chain*', (route) =>
    route.fulfill({
      status: 503,
      headers: { 'x-request-id': 'request-78' },
      json: { code: 'SERVICE_UNAVAILABLE', message: 'The service is not available now.' },
    }),
  );
  await verify(page);
  await panel(page).getByText('request-78').waitFor();
  assert.equal(await verdict(page, 'Intact').count(), 0);
});

browserTest('the live tail: new events appear, as the filters select them', async (t) => {
  const { organizationId, reader } = await createTenant();
  const page = await server.open(t, '/audit?action=agent.*', { as: reader });
  await rows(page).first().waitFor();
  await page.getByRole('switch', { name: 'Follow new events' }).click();
  await page.waitForURL(/live=1/);
  await page.getByText('Following', { exact: true }).waitFor();
  const payload = newAgent({ organization_id: organizationId });
  await server.call('POST', '/api/v1/agents', { token: await server.token(), payload });
  const arrived = rows(page).filter({ hasText: String(payload.email) });
  await arrived.waitFor();
  assert.equal(await rows(page).first().innerText(), await arrived.innerText());
  await arrived.locator('td').nth(1).click();
  await page.getByRole('button', { name: 'Around this event' }).waitFor();
  await page.getByRole('button', { name: 'Close details' }).click();
  await page.getByRole('switch', { name: 'Follow new events' }).click();
  await server.call('POST', '/api/v1/agents', {
    token: await server.token(),
    payload: newAgent({ organization_id: organizationId }),
  });
  await page.getByRole('button', { name: '1 new event: show' }).click();
});

browserTest('checkpoints: a list, and each as a file to keep', async (t) => {
  const { reader } = await sharedTenant();
  const page = await server.open(t, '/audit', { as: reader, width: 1440, keep: true });
  await page.getByRole('tab', { name: 'Checkpoints' }).click();
  await page.waitForURL(/view=checkpoints/);
  const first = page.getByRole('table', { name: 'Checkpoints' }).locator('tbody tr').first();
  await first.waitFor();
  await assertAccessible(page);
  await first.click();
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
  const file = JSON.parse((await contentOf(await downloading)).toString());
  assert.ok(file.signed && file.inclusion.proof);
});

browserTest('the export is the file that `countersign audit verify` reads', async (t) => {
  const { organizationId, reader } = await sharedTenant();
  const page = await server.open(t, '/audit', { as: reader, keep: true });
  await untilWitnessed();
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Copy export as…' }).waitFor();
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  const download = await downloading;
  assert.match(download.suggestedFilename(), new RegExp(`^audit-${organizationId}-.*\\.jsonl$`));
  const text = (await contentOf(download)).toString();
  const { JWT_PUBLIC_KEY } = environment(server.databaseUrl);
  const roots = [await describePublicKey(createPublicKey(JWT_PUBLIC_KEY))];
  const lines = (async function* () {
    yield* text.split('\n');
  })();
  const { finding, statement } = await verifyExport(lines, { roots, read: createStatementReader() });
  assert.equal(finding, undefined);
  assert.equal(statement?.organizationId, organizationId);
  const result = page.getByRole('region', { name: 'Export' });
  await result.getByText(/^Intact and witnessed at [-\d]+ [:\d]+ UTC by witness\.example/).waitFor();
  await result.getByText(`countersign audit verify ${download.suggestedFilename()}`).waitFor();
  await assertAccessible(page);
  await assertFits(page, [360, 1280]);
  await page.getByRole('button', { name: 'Close the result of the export' }).click();
  await result.waitFor({ state: 'detached' });
  await page.route('**/api/v1/audit/export*', (route) =>
    route.fulfill({
      status: 429,
      headers: { 'x-request-id': 'request-79' },
      json: { code: 'RATE_LIMIT_EXCEEDED', message: 'Your organization already runs an export.' },
    }),
  );
  await page.getByRole('button', { name: 'Export', exact: true }).click();
  await page.getByText('Your organization already runs an export.').waitFor();
  await page.getByText('request-79').waitFor();
});

const [newest, oldest] = archived.days as [
  { date: string; sha256: string },
  { date: string; sha256: string },
];
const verifyDay = (page: Page, { date }: { date: string }) =>
  page.getByRole('button', { name: `Verify: ${date}` }).click();

browserTest(
  'the archive: a day is verified here, with the keys of the server or of the reader',
  async (t) => {
    const { reader, organizationId } = archived;
    const page = await server.open(t, '/audit?view=archive', { as: reader });
    const days = page.getByRole('table', { name: 'Archive' }).locator('tbody tr');
    await days.nth(1).waitFor();
    assert.deepEqual(await days.locator('td:first-child').allTextContents(), [newest.date, oldest.date]);
    await page.getByRole('button', { name: `Copy SHA-256 of ${newest.date}` }).waitFor();
    await assertAccessible(page);
    await assertFits(page, [360, 1920]);
    await page.setViewportSize({ width: 1280, height: 800 });
    await verifyDay(page, newest);
    const verdictOf = (text: RegExp) => page.getByText(text).waitFor();
    await verdictOf(
      /^Intact and witnessed at [-\d]+ [:\d]+ UTC by witness\.example\/(one|two), witness\.example\/(one|two)$/,
    );
    await page.getByText(`30 events of ${newest.date}: each hash computed again`).waitFor();
    await page.getByText('Checked with the keys of witnesses that this server names.').waitFor();
    await assertAccessible(page);
    await assertFits(page, [360, 1920]);
    await page.setViewportSize({ width: 1280, height: 800 });

    const keys = witnesses.map(({ line }) => line.split(' ')[0]);
    const stranger = formatVerifierKey(createCosigner('stranger.example').key);
    const trust = async (typed: string) => {
      await page.getByRole('button', { name: /eys that you trust$/ }).click();
      await page.getByRole('textbox', { name: 'Verifier keys, one per line' }).fill(typed);
      await page.getByRole('button', { name: 'Save' }).click();
    };
    await trust('nonsense');
    await page.getByText('Line 1: not of the form').waitFor();
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    await trust(`${keys[0]}\n${stranger}`);
    await verdictOf(/^Intact, but not witnessed$/);
    await page.getByText('1 more of stranger.example').waitFor();
    await trust(`${keys[0]}\n${stranger}\nquorum 1`);
    await verdictOf(/^Intact and witnessed at .* UTC by witness\.example\/one$/);
    await page.getByText('Checked with the keys of witnesses that you trust').waitFor();

    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download', exact: true }).click();
    const download = await downloading;
    assert.equal(download.suggestedFilename(), `audit-${organizationId}-${newest.date}.jsonl.zst`);
    assert.equal(sha256(await contentOf(download)), newest.sha256);
  },
);

browserTest(
  'the archive: a changed byte is found on the way, in the storage, and if the list agrees',
  async (t) => {
    const { reader, organizationId } = archived;
    const page = await server.open(t, '/audit?view=archive', { as: reader });
    const context = page.context();
    let proceed = () => {};
    const held = new Promise<void>((resolve) => (proceed = resolve));
    const changed = (bytes: Buffer) => {
      const at = Math.floor(bytes.length / 2);
      bytes[at] = (bytes[at] as number) ^ 4;
      return bytes;
    };
    await context.route('**/audit/archives/*', async (route) => {
      await held;
      const response = await route.fetch();
      await route.fulfill({ response, body: changed(await response.body()) });
    });
    await verifyDay(page, oldest);
    await page.getByText('Fetching keys and the file…').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Fetching keys and the file…').waitFor({ state: 'detached' });
    const again = page.getByRole('button', { name: /^Verify (in this browser|again)$/ }).last();
    await again.click();
    proceed();
    await page.getByText('Not intact', { exact: true }).waitFor();
    await page.getByText('its SHA-256 is not the one in the list', { exact: false }).waitFor();
    await assertAccessible(page);
    await context.unroute('**/audit/archives/*');

    const file = join(archiveFolder, organizationId, `${oldest.date.replaceAll('-', '/')}.jsonl.zst`);
    const bytes = changed(readFileSync(file));
    writeFileSync(file, bytes);
    await again.click();
    await page.getByText('The file could not be read').waitFor();
    assert.equal(await page.getByText(/^(Not i|I)ntact/).count(), 0);

    // By a person with the database, too.
    await server.sql('update audit_archives set sha256 = $1 where organization_id = $2 and day = $3', [
      Buffer.from(sha256(bytes), 'hex'),
      organizationId,
      oldest.date,
    ]);
    await page.getByRole('button', { name: 'Load days again' }).click();
    await page.getByText(sha256(bytes)).waitFor();
    await again.click();
    await page.getByText('Not intact', { exact: true }).waitFor();
    await page.getByText('so the file was archived like this', { exact: false }).waitFor();
  },
);

browserTest(
  'witnesses: the time ticks, a missing quorum says what that means, none is no alarm',
  async (t) => {
    const { reader } = await sharedTenant();
    const page = await server.open(t, '/audit?view=checkpoints', { as: reader });
    await untilWitnessed();
    const line = panel(page).getByText(/^Witnessed by witness\.example/);
    const time = line.getByRole('time').or(line.locator('time'));
    const first = await time.innerText();
    await until('it ticks', async () => (await time.innerText()) !== first || undefined);
    await page.route('**/api/v1/audit/witnesses', async (route) => {
      const report = await (await route.fetch()).json();
      report.witnesses[0].failing = 'it did not answer in time';
      await route.fulfill({ json: report });
    });
    await page.reload();
    await panel(page)
      .getByText('2 witnesses must confirm each state of the log, and 1 of 2 do at present')
      .waitFor();
    await panel(page).getByText('witness.example/one: it did not answer in time').waitFor();
    await panel(page).getByText('docs/operations/pick-witnesses.md').waitFor();
    await assertAccessible(page);
    await assertFits(page, [360, 1920]);
    await page.unroute('**/api/v1/audit/witnesses');
    await page.route('**/api/v1/audit/witnesses', async (route) => {
      const report = await (await route.fetch()).json();
      await route.fulfill({ json: { ...report, witnessed: null } });
    });
    await page.reload();
    await panel(page).getByText('Not witnessed yet').waitFor();
    await panel(page)
      .getByText('2 witnesses are configured, and too few have confirmed the log so far')
      .waitFor();
    assert.equal(await panel(page).getByText('No witnesses are configured').count(), 0);
    await assertAccessible(page);
    await assertFits(page, [360, 1920]);
    await page.unroute('**/api/v1/audit/witnesses');
    await page.route('**/api/v1/audit/witnesses', (route) =>
      route.fulfill({ json: { quorum: null, witnessed: null, witnesses: [], logKey: null } }),
    );
    await page.reload();
    await panel(page).getByText('No witnesses are configured').waitFor();
    assert.equal(await panel(page).getByText('Witnessed by').count(), 0);
  },
);

browserTest('hostile text of tenants is text, in the list and in the details', async (t) => {
  const { reader } = await createTenant();
  const credentials = { client_id: reader.clientId, client_secret: 'cs_wrong' };
  await server.askToken(
    { grant_type: 'client_credentials', ...credentials },
    { 'user-agent': `<img src=x onerror="document.title='owned'">${'x'.repeat(10_000)}` },
  );
  await server.call('POST', '/api/v1/agents', {
    token: await server.token(undefined, reader),
    payload: newAgent({ owner: hostile }),
  });
  const page = await server.open(t, '/audit?outcome=failure', { as: reader, width: 1440 });
  await openFirst(page);
  await page
    .getByRole('region', { name: 'The event as JSON' })
    .getByText('<img src=x', { exact: false })
    .waitFor();
  await goTo(page, '/audit?action=agent.created');
  await openFirst(page);
  await page.getByRole('region', { name: 'The event as JSON' }).waitFor();
  await goTo(page, `/audit?agentId=${encodeURIComponent(hostile)}&action=${encodeURIComponent(hostile)}`);
  await page.getByRole('alert').first().waitFor();
  assert.equal(await page.locator('img').count(), 0);
  assert.match(await page.title(), /Audit log/);
});

browserTest('everything is reached with the keyboard', async (t) => {
  const { reader } = await sharedTenant();
  const page = await server.open(t, '/audit', { as: reader, width: 1440, keep: true });
  await rows(page).first().waitFor();
  await tabTo(page, panel(page).getByRole('button', { name: 'Verify in this browser' }));
  await page.keyboard.press('Enter');
  await verdict(page, 'Intact').waitFor();
  await tabTo(page, rows(page).first().getByRole('link').first());
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'The event as JSON' }).waitFor();
  await tabTo(page, page.getByRole('button', { name: 'Close details' }));
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'The event as JSON' }).waitFor({ state: 'detached' });
});
