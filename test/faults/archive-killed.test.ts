/** Kills the process that archives, again and again: every day is in the archive afterwards, once, and intact. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { createTestClock, environment, startApp } from '../support/harness.ts';
import { startCountersign } from '../support/programs.ts';
import { repetitions } from '../support/repetitions.ts';
import { dayMs, dayOf, toNextDay } from '../support/scenarios/archive.ts';
import { recordEvents } from '../support/scenarios/audit-log.ts';

const kills = repetitions(4, 40);
const organizations = 5;
const days = 4;
const events = repetitions(200, 600);

test(`every day is archived once after ${kills} kills`, { timeout: 1_800_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-archive-killed-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const variables = { AUDIT_ARCHIVE_URL: pathToFileURL(folder).href };
  const clock = createTestClock();
  clock.advance(-(days + 2) * dayMs);
  const t = await startApp(variables, undefined, { clock });
  toNextDay(t);
  const ids = Array.from({ length: organizations }, () => t.app.ids.uuid()).sort();
  const expected: string[] = [];
  for (let day = 0; day < days; day += 1) {
    await t.app.audit.prepare();
    for (const organizationId of ids) {
      await recordEvents(t, organizationId, events);
      expected.push(`${organizationId} ${dayOf(clock.now())}`);
    }
    await t.app.audit.linkAll();
    toNextDay(t);
  }
  const env = environment(t.databaseUrl, variables);
  const archive = () => startCountersign(['audit', 'archive', 'run'], env);
  const files = () =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(zst|json)$/.test(name));

  for (let kill = 0; kill < kills; kill += 1) {
    const program = archive();
    // At any step: of a file that was begun since, or some time after a row.
    const before = readdirSync(folder, { recursive: true }).length;
    const rows = Math.floor((Math.random() * expected.length) / kills);
    const hasBegun = () =>
      readdirSync(folder, { recursive: true }).length > before && program.stdout().split('\n').length > rows;
    while (!hasBegun() && !program.hasEnded()) await sleep(1);
    await sleep(Math.random() * 20);
    program.kill('SIGKILL');
    await program.gone();
    // Its lease would end within two minutes.
    await t.sql('update audit_archive_state set round_ends_at = null');
  }

  const last = archive();
  assert.equal(await last.gone(), 0, last.output());
  const rows = await t.sql<{ place: string; events: number }>(
    `select organization_id || ' ' || day as place, events::int from audit_archives
     where organization_id = any($1) order by 1`,
    [ids],
  );
  assert.deepEqual(
    rows.map(({ place }) => place),
    expected.toSorted(),
  );
  assert.equal(
    rows.reduce((sum, row) => sum + row.events, 0),
    organizations * days * events,
  );
  assert.equal(files().filter((name) => ids.includes(name.slice(0, 36))).length, 2 * expected.length);
  const verified = startCountersign(['audit', 'archive', 'verify'], env);
  assert.equal(await verified.gone(), 0, verified.output());
  assert.match(verified.output(), /The archive is intact: /);
});
