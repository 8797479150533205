/** A day from its end to its verification years later, with a real S3 server: its object, the drop of its partition, its download, and `verify` without the server. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { GetObjectCommand, GetObjectRetentionCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { runCommand } from '../../../../test/support/command-line.ts';
import { skipWithout, startApp } from '../../../../test/support/harness.ts';
import { s3ServerIsNeeded, startS3Server, useCredentials } from '../../../../test/support/peers/s3-server.ts';
import {
  cosignBody,
  folder,
  newLogKey,
  startFakeWitness,
  verifierKeyOf,
  witnessVariables,
} from '../../../../test/support/peers/witnesses.ts';
import { dayMs, dayOf, sha256, toNextDay } from '../../../../test/support/scenarios/archive.ts';
import { recordEvents } from '../../../../test/support/scenarios/audit-log.ts';
import { limits } from '../../../contract/limits.ts';
import { fileName, manifestName } from './names.ts';

const prefix = 'audit/production';

describe('a day in a bucket', async () => {
  const server = await startS3Server();
  if (!server) return it('is archived, dropped, read and verified', (t) => skipWithout(t, s3ServerIsNeeded));
  const { client } = server;
  after(useCredentials(server.owner));
  await server.createBucket('archive', { objectLock: true });

  const logKey = newLogKey();
  const witness = await startFakeWitness('witness.example/log', (signer) => async ({ body }, response) => {
    response.end(await cosignBody(String(body), signer, { time: Math.floor(t.clock.now() / 1_000) }));
  });
  const place = {
    AUDIT_ARCHIVE_URL: `s3://archive/${prefix}`,
    AUDIT_ARCHIVE_ENDPOINT: server.endpoint,
  };
  const t = await startApp({
    ...place,
    ...witnessVariables([witness], 1),
    AUDIT_LOG_KEY: logKey,
    AUDIT_ARCHIVE_LOCK_DAYS: '1',
    LOG_LEVEL: 'error',
  });
  const { audit, instanceLog } = t.app;
  const organizationId = String(
    (await t.sql<{ id: string }>('select organization_id as id from organizations'))[0]?.id,
  );
  toNextDay(t);
  await audit.prepare();
  const day = dayOf(t.clock.now());
  const names = { file: fileName({ organizationId, day }), manifest: manifestName({ organizationId, day }) };
  await recordEvents(t, organizationId, 500);
  const witnessed = async () => {
    await audit.linkAll();
    await instanceLog.grow();
    assert.equal(await instanceLog.witness(), 'done');
  };
  await witnessed();
  const [{ events } = { events: 0 }] = await t.sql<{ events: number }>(
    'select count(*)::int as events from audit_events where organization_id = $1',
    [organizationId],
  );
  assert.ok(events >= 500);
  toNextDay(t);
  await audit.prepare();

  const round = async () => {
    const result = await audit.archiving?.round();
    return result && result !== 'busy' ? result : assert.fail('no round');
  };
  const hasPartition = async () => {
    const [row] = await t.sql<{ found: string | null }>('select to_regclass($1)::text as found', [
      `audit_events_${day.replaceAll('-', '')}`,
    ]);
    return row?.found !== null;
  };
  const content = async (name: string): Promise<Buffer> => {
    const key = { Bucket: 'archive', Key: `${prefix}/${name}` };
    const { Body } = await client.send(new GetObjectCommand(key));
    return Buffer.from((await Body?.transformToByteArray()) ?? []);
  };
  const keys = async () => {
    const list = new ListObjectsV2Command({ Bucket: 'archive', Prefix: `${prefix}/${organizationId}/` });
    return (await client.send(list)).Contents?.map(({ Key }) => Key);
  };
  const get = async (path: string) => t.call('GET', `/api/v1/audit${path}`, { token: await t.token() });

  // Not in a test: the server would end with it.
  await server.kill();
  const withoutServer = await round();
  await server.restart();

  it('while the server is gone, nothing is archived', async () => {
    assert.deepEqual(withoutServer, { archived: 0, failed: 1 });
    assert.ok(t.logs.some((line) => line.includes('a day of the audit log is not archived')));
    assert.deepEqual((await get('/archives')).json.data, []);
    assert.equal((await get(`/archives/${day}`)).json.code, 'ARCHIVE_NOT_FOUND');
  });

  it('its file and manifest are written once, under Object Lock, and the manifest is true', async () => {
    t.clock.advance(3_600_000);
    assert.deepEqual(await round(), { archived: 1, failed: 0 });
    assert.deepEqual(await round(), { archived: 0, failed: 0 });
    assert.deepEqual(await keys(), [`${prefix}/${names.file}`, `${prefix}/${names.manifest}`]);
    const file = await content(names.file);
    const manifest = JSON.parse(String(await content(names.manifest)));
    assert.deepEqual(
      [manifest.organizationId, manifest.date, manifest.events, manifest.bytes, manifest.sha256],
      [organizationId, day, events, file.length, sha256(file)],
    );
    const { signed, version, organizationId: _, ...listed } = manifest;
    assert.deepEqual([version, typeof signed], [1, 'string']);
    assert.deepEqual((await get('/archives')).json.data, [listed]);
    for (const name of [names.file, names.manifest]) {
      const object = { Bucket: 'archive', Key: `${prefix}/${name}` };
      const { Retention } = await client.send(new GetObjectRetentionCommand(object));
      assert.equal(Retention?.Mode, 'COMPLIANCE', name);
    }
  });

  it('past retention its partition is dropped, GET /audit names the archive, and the file is served', async () => {
    t.clock.advance((limits.auditRetentionDays + 9) * dayMs);
    await audit.prepare();
    await audit.retain();
    assert.equal(await hasPartition(), true, 'its last events may be in the file of a later day');
    await witnessed();
    toNextDay(t);
    await audit.prepare();
    assert.equal((await round()).failed, 0);
    await audit.retain();
    assert.equal(await hasPartition(), false);
    const old = await get(`?fromDate=${day}&toDate=${day}`);
    assert.match(JSON.stringify(old.json.details), /\/audit\/archives/);
    const served = await t.app.http.server.inject({
      url: `/api/v1/audit/archives/${day}`,
      headers: { authorization: `Bearer ${await t.token()}` },
    });
    assert.equal(served.statusCode, 200);
    assert.deepEqual(served.rawPayload, await content(names.file));
  });

  it('is verified and read without the instance, by an auditor who may only read', async () => {
    const jwks = join(folder, 'jwks.json');
    writeFileSync(jwks, (await t.call('GET', '/.well-known/jwks.json')).text);
    await t.stop();
    const trust = [
      ...['--keys', jwks, '--log-key', verifierKeyOf(logKey)],
      ...['--witness', String(witness.line.split(' ')[0])],
    ];
    const reading = useCredentials(server.reader);
    const run = async (...args: string[]) => {
      const { code, output, stdout } = await runCommand(['audit', ...args], { env: place, cwd: folder });
      assert.equal(code, 0, output);
      return stdout;
    };
    try {
      assert.match(await run('archive', 'list'), new RegExp(`^${day} +${organizationId} +${events} `, 'm'));
      assert.match(
        await run('archive', 'verify', ...trust),
        /^The archive is intact and witnessed: \d+ days of 1 organization, \d+ events\.$/m,
      );
      await run('archive', 'get', day, '--organization', organizationId, '--output', 'day.jsonl.zst');
      assert.match(
        await run('verify', 'day.jsonl.zst', ...trust),
        new RegExp(`^The export is intact and witnessed at [^ ]+ by witness\\.example/log: ${events} events`),
      );
    } finally {
      reading();
    }
  });
});
