/** The archive when its storage fails or lies, and when the log is not intact: the day waits with an alarm, and the others go on. */
import assert from 'node:assert/strict';
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { startApp } from '../../../../test/support/harness.ts';
import {
  createArchiveDays,
  type Faults,
  failing,
  inPieces,
  openArchivingNode,
  openFaultyFolder,
} from '../../../../test/support/scenarios/archive.ts';
import { fileName } from './names.ts';

/** A read or a write that hangs keeps its file open. What waits for a promise that nothing refers to is collected as garbage. */
const hanging: (() => void)[] = [];
const hang = () => new Promise<void>((resolve) => hanging.push(resolve));

type Folder = ReturnType<typeof openFaultyFolder>;

const t = await startApp();
const { rowsOf, passDay, newOrganizations, forgetEarlierDays, assertOnce } = await createArchiveDays(t);

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
      faults: (_, file) => ({ onChunk: (name) => (name === file ? hang() : undefined) }),
      says: /has not answered for 6 seconds/,
      cause: 'storage',
    },
    'hangs while it is read': {
      faults: (_, file) => ({ onReadChunk: (name) => (name === file ? hang() : undefined) }),
      says: /has not answered for 6 seconds/,
      cause: 'storage',
    },
    'does not answer at all': {
      faults: (_, file) => ({ beforeRead: (name) => (name === file ? hang() : undefined) }),
      says: /has not answered for 6 seconds/,
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
      const folder = openFaultyFolder();
      const node = await openArchivingNode(t, folder.storage, { stallMs: 6_000 });
      const [one, two] = newOrganizations();
      const day = await passDay([one, two]);
      const file = fileName({ organizationId: one, day });
      folder.setFaults(faults(folder, file));
      assert.deepEqual(await node.archiving.round(), { archived: 1, failed: 1 });
      assert.deepEqual([(await rowsOf(one)).length, (await rowsOf(two)).length], [0, 1]);
      assert.ok((await node.archiving.oldestPendingMs()) >= 3_600_000);
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
      assert.equal(await node.archiving.oldestPendingMs(), 0);
      assert.ok(node.lines.some(({ msg }) => msg === 'the day of the audit log is archived now'));
    });

  it('answers slowly, but answers: archived', async () => {
    await forgetEarlierDays();
    const folder = openFaultyFolder();
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
    const folder = openFaultyFolder();
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
    const folder = openFaultyFolder();
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
    const folder = openFaultyFolder();
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
