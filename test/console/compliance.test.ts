/** Compliance in a browser: controls with evidence, report, export. */
import assert from 'node:assert/strict';
import {
  assertAccessible,
  assertNoSidewaysScroll,
  browserTest,
  contentOf,
  startConsole,
} from '../support/console.ts';
import { insertApprovalRow } from '../support/scenarios/approval-rows.ts';
import { createTenant } from '../support/scenarios/plans.ts';

const server = await startConsole({ MULTI_TENANT: 'true' });

browserTest('controls with their evidence; filter and selection are in the URL', async (t) => {
  const tenant = await createTenant(server);
  const page = await server.open(t, '/compliance', { as: tenant, width: 1440 });
  const table = page.getByRole('table', { name: 'Controls' });
  const { controls } = (await server.call('GET', '/api/v1/compliance/controls')).json;
  await table.getByRole('row').nth(controls.length).waitFor();
  assert.equal(await table.getByRole('row').count(), controls.length + 1);
  await table.getByRole('cell', { name: 'The audit log is intact' }).click();
  const details = page.getByRole('complementary', { name: 'Details' });
  await details.getByText('Verifies hashes and signatures').waitFor();
  assert.match(page.url(), /selected=CC7\.2/);
  // The click has scrolled: the bar at the top would hide half of a button.
  await page.evaluate('scrollTo(0, 0)');
  await assertAccessible(page);

  await page.goto('/console/compliance?status=unknown&selected=CC6.7');
  await details.getByText('not applicable', { exact: true }).waitFor();
  await details.getByText('Not applicable in development').waitFor();
  assert.equal(await details.getByText('What to do.').count(), 0);
  await page.goto('/console/compliance?status=fail&selected=C1.1');
  await details.getByText('Set DATA_ENCRYPTION_KEY').waitFor();
  const failing = controls.filter(({ status }: { status: string }) => status === 'fail').length;
  assert.equal(await table.getByRole('row').count(), failing + 1);
});

browserTest('the report of the own organization, at 360 px', async (t) => {
  const [tenant, other] = [await createTenant(server), await createTenant(server)];
  for (let count = 0; count < 3; count += 1) await server.agent({ organization_id: other.organizationId });
  const { organizationId, agentId } = tenant;
  const row = { organizationId, agentId, createdAt: server.clock.now() - 1_000 };
  for (const status of ['pending', 'denied', 'denied'] as const)
    await insertApprovalRow(server.sql, { ...row, status });
  const page = await server.open(t, '/compliance', { as: tenant, width: 360 });
  const approvals = page.getByRole('table', { name: 'Approvals by agent and outcome' });
  const outcomes = approvals.locator('tbody td');
  await outcomes.first().waitFor();
  assert.deepEqual((await outcomes.allInnerTexts()).slice(1), ['0', '2', '0', '0', '1']);
  const report = page.getByRole('region', { name: 'Report' });
  await report.getByText('intact', { exact: true }).waitFor();
  const figures = await report.locator('dd').allInnerTexts();
  assert.deepEqual(figures.slice(0, 2), ['1', '1']);
  await assertAccessible(page);
  await assertNoSidewaysScroll(page);
});

browserTest('exports report, controls and cards as files', async (t) => {
  const tenant = await createTenant(server);
  const page = await server.open(t, '/compliance', { as: tenant });
  await page.getByRole('button', { name: 'Copy as…' }).first().click();
  await page.getByRole('menuitem', { name: 'Cards of all active agents (JSON): Python' }).waitFor();
  await page.keyboard.press('Escape');
  for (const [item, check] of [
    ['Report (JSON)', (json: { tenantId: string }) => json.tenantId === tenant.organizationId],
    ['Controls (JSON)', (json: { controls: unknown[] }) => json.controls.length > 5],
    ['Cards of all active agents (JSON)', (json: unknown[]) => json.length === 1],
  ] as const) {
    await page.getByRole('button', { name: 'Export' }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: item, exact: true }).click(),
    ]);
    assert.ok(check(JSON.parse((await contentOf(download)).toString())), item);
  }
});

browserTest('failed requests, a switched-off report, and no controls', async (t) => {
  const tenant = await createTenant(server);
  const page = await server.open(t, '/usage', { as: tenant });
  await page.route('**/console/api/v1/compliance/controls', (route) =>
    route.fulfill({
      status: 500,
      headers: { 'x-request-id': 'req-controls' },
      json: { code: 'INTERNAL_SERVER_ERROR', message: 'No controls now.' },
    }),
  );
  await page.route('**/console/api/v1/compliance/report', (route) =>
    route.fulfill({
      status: 404,
      headers: { 'x-request-id': 'req-report' },
      json: { code: 'COMPLIANCE_DISABLED', message: 'Compliance reports are switched off.' },
    }),
  );
  await page.getByRole('link', { name: 'Compliance' }).click();
  await page.getByText('No controls now.').waitFor();
  await page.getByText('req-controls').waitFor();
  await page.getByText('Compliance reports are switched off.').waitFor();
  await page.route('**/console/api/v1/compliance/controls', (route) =>
    route.fulfill({
      json: {
        controls: [
          {
            id: '<b>1</b>',
            name: '<img src=x onerror=alert(1)>',
            status: 'pass',
            reason: null,
            lastChecked: '2030-01-31T12:00:00.000Z',
          },
        ],
      },
    }),
  );
  await page.getByRole('button', { name: 'Try again' }).last().click();
  await page.getByText('<img src=x onerror=alert(1)>').waitFor();
  assert.equal(await page.locator('img').count(), 0);
});
