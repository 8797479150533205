/** Archiving days: what is written, which days, failures of the storage, and stops at each step. */
import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { environment, startApp } from '../../../../test/support/harness.ts';
import {
  createMemoryStorage,
  dayOf,
  inPieces,
  openArchivingNode,
  sha256,
  toNextDay,
} from '../../../../test/support/scenarios/archive.ts';
import { recordEvents } from '../../../../test/support/scenarios/audit-log.ts';
import { createStatementReader, describePublicKey } from '../../../adapters/keys/keys.ts';
import { zstd } from '../../../adapters/zstd.ts';
import { inspectFile } from './inspect-file.ts';

const t = await startApp();
toNextDay(t);
await t.app.audit.prepare();
const roots = [await describePublicKey(createPublicKey(environment(t.databaseUrl).JWT_PUBLIC_KEY))];
const read = createStatementReader();
const [one, two] = [t.app.ids.uuid(), t.app.ids.uuid()];

describe('a round', async () => {
  const storage = createMemoryStorage();
  const node = await openArchivingNode(t, storage);
  const first = dayOf(t.clock.now());

  it('archives nothing of a day that is not over', async () => {
    await node.archiving.round();
    await recordEvents(t, one, 30);
    await t.app.audit.linkAll();
    await recordEvents(t, two, 3);
    const before = storage.objects.size;
    await node.archiving.round();
    assert.equal(storage.objects.size, before);
  });

  it('archives each organization of a day that is over, once, with a manifest and a row', async () => {
    toNextDay(t);
    await t.app.audit.prepare();
    const archived: string[] = [];
    await node.archiving.round({ onArchived: ({ organizationId }) => archived.push(organizationId) });
    assert.ok(archived.includes(one));
    const name = `${one}/${first.replaceAll('-', '/')}.jsonl.zst`;
    const file = storage.objects.get(name);
    assert.ok(file, [...storage.objects.keys()].join('\n'));
    const { verdict, bytes } = await inspectFile(inPieces(file), { compression: zstd, roots, read });
    assert.deepEqual([verdict.finding, verdict.events, bytes], [undefined, 30, file.length]);
    const manifest = JSON.parse(String(storage.objects.get(name.replace('.jsonl.zst', '.manifest.json'))));
    assert.deepEqual(
      [manifest.date, manifest.events, manifest.sha256, manifest.chainHead],
      [first, 30, sha256(file), verdict.span?.to.head],
    );
    assert.deepEqual(await node.archiving.round(), { archived: 0, failed: 0 });
    assert.deepEqual([...new Set(storage.created.values())], [1]);
    assert.deepEqual(node.alarms(), []);
  });
});
