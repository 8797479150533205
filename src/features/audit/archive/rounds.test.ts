/** The rounds of the archive: which days, once each, stops at each step, and storage that fails. */
import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createTestClock, environment, startApp } from '../../../../test/support/harness.ts';
import {
  dayMs,
  dayOf,
  type Faults,
  failing,
  inPieces,
  openArchivingNode,
  openFaultyFolder,
  sha256,
  toNextDay,
} from '../../../../test/support/scenarios/archive.ts';
import { recordEvents } from '../../../../test/support/scenarios/audit-log.ts';
import { createStatementReader, describePublicKey } from '../../../adapters/keys/keys.ts';
import { zstd } from '../../../adapters/zstd.ts';
import { limits } from '../../../contract/limits.ts';
import type { LogEvidence } from '../../instance-log/feature.ts';
import { inspectFile } from './inspect-file.ts';
import { fileName, manifestName } from './names.ts';

const t = await startApp();
const roots = [await describePublicKey(createPublicKey(environment(t.databaseUrl).JWT_PUBLIC_KEY))];
const read = createStatementReader();
const newFolder = () => openFaultyFolder();
type Folder = ReturnType<typeof newFolder>;

/** A day that is over, with events of these organizations. Returns its date. */
async function passDay(organizations: readonly string[], events = 5): Promise<string> {
  toNextDay(t);
  await t.app.audit.prepare();
  const day = dayOf(t.clock.now());
  for (const organizationId of organizations) await recordEvents(t, organizationId, events);
  await t.app.audit.linkAll();
  toNextDay(t);
  await t.app.audit.prepare();
  return day;
}
const rowsOf = (organizationId: string) =>
  t.sql<{ day: string; object: string; sha256: string }>(
    `select day::text, object, encode(sha256, 'hex') as sha256 from audit_archives where organization_id = $1 order by day`,
    [organizationId],
  );
const newOrganizations = () => [t.app.ids.uuid(), t.app.ids.uuid()].sort() as [string, string];
const inspect = (folder: Folder, name: string) =>
  inspectFile(inPieces(readFileSync(folder.pathOf(name))), { compression: zstd, roots, read });
/** Every file once, and everything archived. */
async function assertOnce(folder: Folder, organizations: readonly string[], day: string): Promise<void> {
  const names = await folder.names();
  for (const organizationId of organizations) {
    const name = fileName({ organizationId, day });
    const [row, ...others] = await rowsOf(organizationId);
    assert.deepEqual([row?.day, row?.object, others], [day, name, []]);
    assert.equal(sha256(readFileSync(folder.pathOf(name))), row?.sha256);
    assert.deepEqual(
      names.filter((each) => each.startsWith(organizationId)),
      [name, manifestName({ organizationId, day })],
    );
    assert.equal((await inspect(folder, name)).verdict.finding, undefined);
  }
  assert.deepEqual([...new Set(folder.created.values())], [1]);
}
/** Days of earlier tests do not matter. */
async function forgetEarlierDays(): Promise<void> {
  await t.app.audit.linkAll();
  await t.sql(
    `insert into audit_archives select distinct organization_id, taken_on, 0, 0, sha256(''), sha256(''), '', now() from audit_segments
     on conflict do nothing`,
  );
}

describe('a round', () => {
  it('archives nothing of a day that is not over, and then each organization once, with a manifest and a row', async () => {
    await forgetEarlierDays();
    const folder = newFolder();
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
    const folder = newFolder();
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
    const folder = newFolder();
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
      const folder = newFolder();
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
    const folder = newFolder();
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
    const folder = newFolder();
    const [one, two] = newOrganizations();
    const day = await passDay([one, two]);
    const nodes = await Promise.all([1, 2, 3].map(() => openArchivingNode(t, folder.storage)));
    const results = await Promise.all(nodes.map(({ archiving }) => archiving.round()));
    assert.equal(results.filter((result) => result === 'busy').length, 2);
    await assertOnce(folder, [one, two], day);
  });

  it('one is frozen for longer than its lease, and continues: once each, and no alarm', async () => {
    await forgetEarlierDays();
    const folder = newFolder();
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

describe('storage that fails', () => {
  const failures: Readonly<
    Record<string, { faults(folder: Folder, file: string): Faults; says: RegExp; cause: string }>
  > = {
    'is full': {
      faults: (_, file) => ({
        onChunk: (name) => {
          if (name === file) throw failing('file:///archive: writing failed: the disk is full (ENOSPC)');
        },
      }),
      says: /disk is full.*archived when the storage works again/,
      cause: 'storage',
    },
    'hangs while it writes': {
      faults: (_, file) => ({ onChunk: (name) => (name === file ? new Promise(() => {}) : undefined) }),
      says: /has not answered for 1.5 seconds/,
      cause: 'storage',
    },
    'hangs while it is read': {
      faults: (_, file) => ({ onReadChunk: (name) => (name === file ? new Promise(() => {}) : undefined) }),
      says: /has not answered for 1.5 seconds/,
      cause: 'storage',
    },
    'does not answer at all': {
      faults: (_, file) => ({ beforeRead: (name) => (name === file ? new Promise(() => {}) : undefined) }),
      says: /has not answered for 1.5 seconds/,
      cause: 'storage',
    },
    'changes what was written': {
      faults: (folder, file) => ({
        afterCreate(name) {
          if (name !== file) return;
          const bytes = readFileSync(folder.pathOf(file));
          bytes.writeUInt8(bytes.readUInt8(bytes.length - 30) ^ 1, bytes.length - 30);
          folder.replace(file, bytes);
        },
      }),
      says: /is not what belongs there: .*Keep it as evidence, and move it away/,
      cause: 'content',
    },
    'cuts off what was written': {
      faults: (folder, file) => ({
        afterCreate(name) {
          if (name === file) folder.replace(file, readFileSync(folder.pathOf(file)).subarray(0, -50));
        },
      }),
      says: /is not what belongs there/,
      cause: 'content',
    },
    'loses what was written': {
      faults: (folder, file) => ({
        afterCreate: (name) => void (name === file && rmSync(folder.pathOf(file))),
      }),
      says: /it is gone directly after it was written/,
      cause: 'content',
    },
  };
  for (const [how, { faults, says, cause }] of Object.entries(failures))
    it(`${how}: no row and one alarm; the others go on, and the day follows when it works again`, async () => {
      await forgetEarlierDays();
      const folder = newFolder();
      const node = await openArchivingNode(t, folder.storage, { stallMs: 1_500 });
      const [one, two] = newOrganizations();
      const day = await passDay([one, two]);
      const file = fileName({ organizationId: one, day });
      folder.setFaults(faults(folder, file));
      assert.deepEqual(await node.archiving.round(), { archived: 1, failed: 1 });
      assert.deepEqual([(await rowsOf(one)).length, (await rowsOf(two)).length], [0, 1]);
      assert.ok((await node.archiving.pendingMs()) >= 3_600_000);
      // It is tried again after a while, and the reason is logged once.
      assert.deepEqual(await node.archiving.round(), { archived: 0, failed: 1 });
      const [alarm, ...others] = node.alarms();
      assert.deepEqual([alarm?.organizationId, alarm?.date, alarm?.cause, others], [one, day, cause, []]);
      assert.match(String(alarm?.reason), says);
      assert.equal(await node.metric(`service_audit_archive_failures_total{cause="${cause}"}`), 1);
      folder.setFaults({});
      if (cause === 'content') {
        t.clock.advance(120_000);
        if ((await folder.names()).includes(file)) {
          assert.deepEqual(await node.archiving.round(), { archived: 0, failed: 1 });
          renameSync(folder.pathOf(file), folder.pathOf(`${file}.moved`));
        }
        folder.created.delete(file);
      }
      t.clock.advance(600_000);
      assert.deepEqual(await node.archiving.round(), { archived: 1, failed: 0 });
      rmSync(folder.pathOf(`${file}.moved`), { force: true });
      await assertOnce(folder, [one, two], day);
      assert.equal(await node.archiving.pendingMs(), 0);
      assert.ok(node.lines.some(({ msg }) => msg === 'the day of the audit log is archived now'));
    });

  it('answers slowly, but answers: archived', async () => {
    await forgetEarlierDays();
    const folder = newFolder();
    const node = await openArchivingNode(t, folder.storage);
    const [one, two] = newOrganizations();
    const day = await passDay([one, two]);
    const slowly = async () => {
      for (let turn = 0; turn < 50; turn += 1) await setImmediate();
    };
    folder.setFaults({
      beforeCreate: slowly,
      onChunk: slowly,
      afterCreate: slowly,
      beforeRead: slowly,
      onReadChunk: slowly,
    });
    assert.deepEqual(await node.archiving.round(), { archived: 2, failed: 0 });
    await assertOnce(folder, [one, two], day);
  });

  it('is down: the round ends after a few failures, and the next one tries others', async () => {
    await forgetEarlierDays();
    const folder = newFolder();
    const node = await openArchivingNode(t, folder.storage);
    const organizations = Array.from({ length: 8 }, () => t.app.ids.uuid()).sort();
    const day = await passDay(organizations, 1);
    folder.setFaults({
      beforeRead() {
        throw failing('file:///archive: reading failed');
      },
    });
    const tried: string[] = [];
    const round = () =>
      node.archiving.round({ onFailed: ({ organizationId }) => tried.push(organizationId) });
    await round();
    await round();
    assert.deepEqual(tried, organizations.slice(0, 6));
    folder.setFaults({});
    t.clock.advance(3_600_000);
    await round();
    await assertOnce(folder, organizations, day);
  });

  it('a file that another one put there is not adopted', async () => {
    await forgetEarlierDays();
    const folder = newFolder();
    const node = await openArchivingNode(t, folder.storage);
    const [one, two] = newOrganizations();
    const earlier = await passDay([one, two]);
    await node.archiving.round();
    const day = await passDay([one, two]);
    const file = fileName({ organizationId: one, day });
    // Of another day, and valid in itself.
    await folder.storage.create(
      file,
      inPieces(readFileSync(folder.pathOf(fileName({ organizationId: one, day: earlier })))),
      { contentType: 'application/zstd' },
    );
    assert.deepEqual(await node.archiving.round(), { archived: 1, failed: 1 });
    assert.match(
      String(node.alarms()[0]?.reason),
      new RegExp(`it is the day ${earlier} of organization ${one}`),
    );
    assert.deepEqual(
      (await rowsOf(one)).map((row) => row.day),
      [earlier],
    );
  });
});

describe('a log that is not intact', () => {
  it('is not written, with an alarm; it is once it is restored', async () => {
    await forgetEarlierDays();
    const folder = newFolder();
    const node = await openArchivingNode(t, folder.storage);
    const [one, two] = newOrganizations();
    const day = await passDay([one, two]);
    const change = (from: string, to: string) =>
      t.sql(
        `set session_replication_role = replica;
         update audit_events set outcome = '${to}' where outcome = '${from}' and organization_id = '${one}'`,
      );
    await change('success', 'failure');
    assert.deepEqual(await node.archiving.round(), { archived: 1, failed: 1 });
    assert.deepEqual(
      (await folder.names()).filter((name) => name.startsWith(one)),
      [],
    );
    const [alarm] = node.alarms();
    assert.equal(alarm?.cause, 'log');
    assert.match(String(alarm?.reason), /not intact: the hash of the event.*Nothing was written/);
    await change('failure', 'success');
    t.clock.advance(120_000);
    assert.deepEqual(await node.archiving.round(), { archived: 1, failed: 0 });
    await assertOnce(folder, [one, two], day);
  });
});

describe('with witnesses', () => {
  it(`a day waits for a quorum, at most ${limits.auditArchive.quorumHours} hours`, async () => {
    await forgetEarlierDays();
    const folder = newFolder();
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
    assert.equal(await node.archiving.pendingMs(), 0);
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
