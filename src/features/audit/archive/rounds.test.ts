/** The rounds of the archive: which days, once each, and stops at each step. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createTestClock, startApp } from '../../../../test/support/harness.ts';
import {
  createArchiveDays,
  dayMs,
  dayOf,
  type Faults,
  openArchivingNode,
  openFaultyFolder,
  toNextDay,
} from '../../../../test/support/scenarios/archive.ts';
import { recordEvents } from '../../../../test/support/scenarios/audit-log.ts';
import { limits } from '../../../contract/limits.ts';
import type { LogEvidence } from '../../instance-log/feature.ts';
import { fileName, manifestName } from './names.ts';

const t = await startApp();
const { read, roots, inspect, rowsOf, passDay, newOrganizations, forgetEarlierDays, assertOnce } =
  await createArchiveDays(t);

describe('a round', () => {
  it('archives nothing of a day that is not over, and then each organization once, with a manifest and a row', async () => {
    await forgetEarlierDays();
    const folder = openFaultyFolder();
    const node = await openArchivingNode(t, folder.storage);
    const [one, two] = newOrganizations();
    toNextDay(t);
    await t.app.audit.prepare();
    const day = dayOf(t.clock.now());
    await recordEvents(t, one, 30);
    await t.app.audit.linkAll();
    await node.archiving.round();
    assert.deepEqual(await rowsOf(one), []);
    // Not linked before the end of the day: they belong to the next one.
    await recordEvents(t, two, 3);
    toNextDay(t);
    await t.app.audit.prepare();
    const result = await node.archiving.round();
    assert.deepEqual(result, { archived: 1, failed: 0 });
    await assertOnce(folder, [one], day);
    const { verdict, bytes, sha256: hash } = await inspect(folder, fileName({ organizationId: one, day }));
    assert.equal(verdict.events, 30);
    const manifest = JSON.parse(
      readFileSync(folder.pathOf(manifestName({ organizationId: one, day })), 'utf8'),
    );
    const { version, signed, ...stated } = manifest;
    assert.deepEqual(stated, {
      ...{ organizationId: one, date: day, events: 30, bytes, sha256: hash },
      ...{ chainHead: verdict.span?.to.head, createdAt: stated.createdAt },
    });
    assert.deepEqual(await read(signed, 'audit-archive+jwt', roots), {
      ...stated,
      iss: 'http://countersign.test',
    });
    assert.equal(version, 1);
    assert.deepEqual(await node.archiving.round(), { archived: 0, failed: 0 });
    assert.deepEqual(
      [node.alarms(), await node.metric('service_audit_archive_oldest_pending_seconds')],
      [[], Number.NaN],
    );
    toNextDay(t);
    assert.equal(((await node.archiving.round()) as { archived: number }).archived, 1);
    assert.equal((await rowsOf(two)).length, 1);
  });

  it('each file goes on where the one of the day before ended', async () => {
    const folder = openFaultyFolder();
    const node = await openArchivingNode(t, folder.storage);
    const [one] = newOrganizations();
    const days = [await passDay([one]), await passDay([one])] as [string, string];
    await node.archiving.round();
    const [first, second] = await Promise.all(
      days.map(async (day) => (await inspect(folder, fileName({ organizationId: one, day }))).verdict.span),
    );
    assert.deepEqual({ ...second?.from, at: undefined }, { ...first?.to, at: undefined });
    assert.deepEqual([first?.from.number, second?.to.size], [0, 10]);
  });

  it('a node whose clock is behind links nothing under a day that was closed', async () => {
    const folder = openFaultyFolder();
    const node = await openArchivingNode(t, folder.storage);
    const [one] = newOrganizations();
    const day = await passDay([one]);
    const clock = createTestClock();
    clock.advance(t.clock.now() - Date.now() - 3 * 3_600_000);
    const behind = await startApp({}, t, { clock });
    assert.equal(dayOf(clock.now()), day);
    await node.archiving.round();
    await recordEvents(behind, one, 2);
    await behind.app.audit.linkAll();
    const [open] = await t.sql<{ days: string[] }>(
      `select array_agg(taken_on::text order by number) as days from audit_segments where organization_id = $1`,
      [one],
    );
    assert.deepEqual(open?.days, [day, dayOf(t.clock.now())]);
    assert.equal((await t.app.audit.verify(one)).finding, undefined);
    await assertOnce(folder, [one], day);
  });
});

/** Each stops the process that archives; the names are of the organization that comes first. */
const stops: Readonly<Record<string, (file: string, manifest: string, stop: () => never) => Faults>> = {
  'before the file is written': (file, _, stop) => ({
    beforeCreate: (name) => void (name === file && stop()),
  }),
  'during the upload': (file, _, stop) => ({ onChunk: (name) => void (name === file && stop()) }),
  'after the file was written': (file, _, stop) => ({
    afterCreate: (name) => void (name === file && stop()),
  }),
  'while it is read back': (file, _, stop) => ({ onReadChunk: (name) => void (name === file && stop()) }),
  'before the manifest is written': (_, manifest, stop) => ({
    beforeCreate: (name) => void (name === manifest && stop()),
  }),
  'after the manifest was written, before the row': (_, manifest, stop) => ({
    afterCreate: (name) => void (name === manifest && stop()),
  }),
};

describe('a process that stops', () => {
  for (const [step, faultsAt] of Object.entries(stops))
    it(`${step}: another one goes on; nothing is lost and nothing is there twice`, async () => {
      await forgetEarlierDays();
      const folder = openFaultyFolder();
      const [one, two] = newOrganizations();
      const day = await passDay([one, two]);
      const stopped = await openArchivingNode(t, folder.storage);
      const place = { organizationId: one, day };
      let stops = 0;
      const stop = () => {
        stops += 1;
        throw new Error('stopped');
      };
      folder.setFaults(faultsAt(fileName(place), manifestName(place), stop));
      const ending = new AbortController();
      await stopped.archiving.round({ signal: ending.signal, onFailed: () => ending.abort() });
      assert.equal(stops, 1);
      assert.deepEqual(await rowsOf(one), []);
      folder.setFaults({});
      const next = await openArchivingNode(t, folder.storage);
      assert.deepEqual(await next.archiving.round(), { archived: 2, failed: 0 });
      await assertOnce(folder, [one, two], day);
      assert.deepEqual(next.alarms(), []);
    });

  it('the rows were lost with the database: the files are read back and adopted', async () => {
    await forgetEarlierDays();
    const folder = openFaultyFolder();
    const [one, two] = newOrganizations();
    const day = await passDay([one, two]);
    const times = () =>
      t.sql('select created_at from audit_archives where day = $1 order by organization_id', [day]);
    await (await openArchivingNode(t, folder.storage)).archiving.round();
    const before = await times();
    await t.sql('delete from audit_archives where day = $1', [day]);
    t.clock.advance(3_600_000);
    await (await openArchivingNode(t, folder.storage)).archiving.round();
    await assertOnce(folder, [one, two], day);
    assert.deepEqual(await times(), before);
  });
});

describe('two nodes', () => {
  it('at once: one has the round', async () => {
    await forgetEarlierDays();
    const folder = openFaultyFolder();
    const [one, two] = newOrganizations();
    const day = await passDay([one, two]);
    const nodes = await Promise.all([1, 2, 3].map(() => openArchivingNode(t, folder.storage)));
    const results = await Promise.all(nodes.map(({ archiving }) => archiving.round()));
    assert.equal(results.filter((result) => result === 'busy').length, 2);
    await assertOnce(folder, [one, two], day);
  });

  it('one is frozen for longer than its lease, and continues: once each, and no alarm', async () => {
    await forgetEarlierDays();
    const folder = openFaultyFolder();
    const [one, two] = newOrganizations();
    const day = await passDay([one, two]);
    const [frozen, other] = await Promise.all([1, 2].map(() => openArchivingNode(t, folder.storage)));
    const { promise: held, resolve: isHeld } = Promise.withResolvers<void>();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    folder.setFaults({
      async onChunk() {
        isHeld();
        await released;
      },
    });
    const round = frozen?.archiving.round();
    await held;
    folder.setFaults({});
    assert.equal(await other?.archiving.round(), 'busy');
    t.clock.advance(limits.auditArchive.stallSeconds * 2_000);
    assert.deepEqual(await other?.archiving.round(), { archived: 2, failed: 0 });
    release();
    await round;
    await assertOnce(folder, [one, two], day);
    assert.deepEqual([frozen?.alarms(), other?.alarms()], [[], []]);
  });
});

describe('with witnesses', () => {
  it(`a day waits for a quorum, at most ${limits.auditArchive.quorumHours} hours`, async () => {
    await forgetEarlierDays();
    const folder = openFaultyFolder();
    let highestTreeHead = 0;
    let hasQuorum = true;
    const evidence: LogEvidence = {
      checkpoint: async () => ({
        ...{ logNumber: 1, size: 1, text: '', firstTreeHead: 1_000_000 },
        ...{ hasQuorum, highestTreeHead },
      }),
      prove: async () => undefined,
      witnessed: async () => null,
    };
    const node = await openArchivingNode(t, folder.storage, { evidence });
    const [one] = newOrganizations();
    const day = await passDay([one]);
    assert.deepEqual(await node.archiving.round(), { archived: 0, failed: 0, waitingFrom: day });
    assert.equal(await node.archiving.oldestPendingMs(), 0);
    const [newest] = await t.sql<{ number: string }>(
      'select max(number) as number from audit_tree_heads where taken_on = $1',
      [day],
    );
    highestTreeHead = Number(newest?.number) - 1;
    assert.equal(((await node.archiving.round()) as { archived: number }).archived, 0);
    highestTreeHead += 1;
    hasQuorum = false;
    assert.equal(((await node.archiving.round()) as { archived: number }).archived, 0);
    hasQuorum = true;
    assert.deepEqual(await node.archiving.round(), { archived: 1, failed: 0 });

    const next = await passDay([one]);
    assert.equal(((await node.archiving.round()) as { waitingFrom: string }).waitingFrom, next);
    t.clock.advance(
      Date.parse(next) + dayMs + limits.auditArchive.quorumHours * 3_600_000 - 60_000 - t.clock.now(),
    );
    assert.equal(((await node.archiving.round()) as { waitingFrom: string }).waitingFrom, next);
    t.clock.advance(60_000);
    assert.deepEqual(await node.archiving.round(), { archived: 1, failed: 0 });
  });
});
