/**
 * docs/operations/back-up-and-restore.md with PostgreSQL's own programs: a dump into a new cluster, and a recovery to a point in time. The
 * audit log is verified after both, with checkpoints that were kept outside the database.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { openBackupClusters } from '../support/deploy/databases/postgres-backup.ts';
import { environment, execute, newAgent, skipWithout } from '../support/harness.ts';
import {
  askToken,
  type Client,
  makeOperator,
  type Service,
  startCountersign,
  startProgram,
  startServe,
  until,
} from '../support/programs.ts';

const guide = readFileSync(new URL('../../docs/operations/back-up-and-restore.md', import.meta.url), 'utf8');

const folder = mkdtempSync(join(tmpdir(), 'countersign-kept-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const settings = { LOG_LEVEL: 'warn', DATA_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') };

function apiClient({ url }: Service, operator: Client) {
  const issue = async (client: Client): Promise<string> => {
    const response = await askToken(url, client);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text).access_token;
  };
  const call = async (method: string, path: string, body?: object | URLSearchParams, client = operator) => {
    const isForm = body instanceof URLSearchParams;
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await issue(client)}`,
        ...(body && !isForm && { 'content-type': 'application/json' }),
      },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  return {
    issue,
    call,
    async agent(): Promise<Client & { agentId: string }> {
      const { agentId } = await call('POST', '/agents', newAgent({ allowedScopes: ['agents:read'] }));
      const { clientId, clientSecret } = await call('POST', `/agents/${agentId}/credentials`);
      return { agentId, clientId, clientSecret };
    },
    isActive: async (token: string): Promise<boolean> =>
      (await call('POST', '/token/introspect', new URLSearchParams({ token }))).active,
    /** The newest checkpoint, which covers all events up to now, in a file outside the database. */
    async keepCheckpoint(name: string, databaseUrl: string): Promise<string> {
      const [row] = await execute<{ n: number }>(databaseUrl, 'select count(*)::int as n from audit_events');
      const file = join(folder, name);
      await until('a checkpoint of all events', async () => {
        const { data } = await call('GET', '/audit/checkpoints?limit=1');
        if (!(data[0]?.size >= (row?.n ?? 0))) return undefined;
        writeFileSync(file, JSON.stringify(data[0]));
        return true;
      });
      return file;
    },
  };
}

const stop = async ({ program }: Service) => {
  program.kill('SIGTERM');
  assert.equal(await program.gone(), 0, program.output());
};

const verify = async (env: Record<string, string>, checkpoint?: string) => {
  const program = startCountersign(
    ['audit', 'verify', ...(checkpoint === undefined ? [] : ['--checkpoint', checkpoint])],
    env,
  );
  return { code: await program.gone(), output: program.output() };
};
const intact = async (env: Record<string, string>, checkpoint?: string) => {
  const { code, output } = await verify(env, checkpoint);
  assert.equal(code, 0, output);
  assert.match(output, /The audit log is intact/);
};

/** A command of the guide, with the programs of this cluster's version and the guide's file for the connection. */
const runFromGuide = async (programs: string, command: string, databaseUrl: string, cwd: string) => {
  assert.ok(guide.includes(command), `the guide has: ${command}`);
  const { hostname, port, username, pathname } = new URL(databaseUrl);
  const settings = { host: hostname, port, dbname: pathname.slice(1), user: username, sslmode: 'disable' };
  const service = Object.entries(settings).reduce(
    (text, [key, value]) => text.replace(new RegExp(`^${key}=.*$`, 'm'), `${key}=${value}`),
    /```ini\n(\[countersign\]\n[\s\S]*?)```/.exec(guide)?.[1] ?? '',
  );
  const file = join(cwd, 'pg_service.conf');
  writeFileSync(file, service, { mode: 0o600 });
  const program = startProgram('sh', ['-ec', command], {
    env: { PATH: `${programs}:${process.env.PATH}`, PGSERVICEFILE: file },
    cwd,
  });
  assert.equal(await program.gone(), 0, program.output());
};

test('no command of the guide shows a password in the list of processes', () => {
  for (const [, commands = ''] of guide.matchAll(/```bash\n([\s\S]*?)```/g))
    assert.doesNotMatch(commands, /\$\{?DATABASE_URL|:\/\/[^/\s]*@/);
});

test('a dump restored into a new cluster: the log verifies, kept checkpoints show the loss, and a new signing key ends tokens that became valid again', async (t) => {
  const clusters = openBackupClusters();
  if (!clusters) return skipWithout(t, 'postgresql (server and client programs)');
  const source = await clusters.create('dumped');
  const env = environment(source.url, settings);
  const operator = await makeOperator(env);
  let service = await startServe(env);
  let node = apiClient(service, operator);
  const before = await node.agent();
  const token = await node.issue(before);
  const webhook = { name: 'Any', url: 'https://receiver.example/', events: ['agent.created'] };
  await node.call('POST', '/webhooks', webhook);
  const older = await node.keepCheckpoint('older.json', source.url);
  await runFromGuide(
    clusters.programs,
    'pg_dump --format=custom --file=countersign.dump --dbname=service=countersign',
    source.url,
    folder,
  );
  // After the backup.
  await node.call('POST', '/token/revoke', new URLSearchParams({ token }), before);
  await node.call('PATCH', `/agents/${before.agentId}`, { status: 'suspended' });
  const lost = await node.agent();
  assert.equal(await node.isActive(token), false);
  const newer = await node.keepCheckpoint('newer.json', source.url);
  await stop(service);
  await intact(env, newer);
  await source.stop();

  const target = await clusters.create('restored');
  const restored = environment(target.url, settings);
  await runFromGuide(
    clusters.programs,
    'pg_restore --dbname=service=countersign --no-owner --exit-on-error countersign.dump',
    target.url,
    folder,
  );
  await intact(restored, older);
  const loss = await verify(restored, newer);
  assert.equal(loss.code, 1, loss.output);
  assert.match(loss.output, /NOT INTACT: the external checkpoint/);

  service = await startServe(restored);
  node = apiClient(service, operator);
  assert.equal((await askToken(service.url, lost)).status, 401);
  // The revocation is lost with the backup's rest, as the guide says.
  assert.equal(await node.isActive(token), true);
  assert.equal((await node.call('GET', `/agents/${before.agentId}`)).status, 'active');
  await stop(service);

  // A new signing key without the old one ends every token from before the restore.
  const fresh = generateKeyPair();
  const renewed = { ...restored, JWT_PRIVATE_KEY: fresh.privatePem, JWT_PUBLIC_KEY: fresh.publicPem };
  service = await startServe(renewed);
  node = apiClient(service, operator);
  assert.equal(await node.isActive(token), false);
  await node.call('PATCH', `/agents/${before.agentId}`, { status: 'suspended' });
  assert.notEqual((await askToken(service.url, before)).status, 200);
  await node.keepCheckpoint('after.json', target.url);
  await stop(service);
  await intact(renewed, join(folder, 'after.json'));
  await intact(renewed, older);
});

test('recovery to a point in time: everything before it is there, the log verifies, and a later checkpoint is missing', async (t) => {
  const clusters = openBackupClusters();
  if (!clusters) return skipWithout(t, 'postgresql (server and client programs)');
  const source = await clusters.create('source');
  const env = environment(source.url, settings);
  const operator = await makeOperator(env);
  const service = await startServe(env);
  const node = apiClient(service, operator);
  const first = await node.agent();
  await clusters.baseBackup(source, 'base');
  const second = await node.agent();
  const older = await node.keepCheckpoint('before-target.json', source.url);
  const [row] = await execute<{ at: string }>(source.url, 'select clock_timestamp()::text as at');
  // The mistake that the recovery undoes.
  for (const { agentId } of [first, second])
    await node.call('PATCH', `/agents/${agentId}`, { status: 'decommissioned' });
  const newer = await node.keepCheckpoint('after-target.json', source.url);
  const [last] = await execute<{ segment: string }>(
    source.url,
    'select pg_walfile_name(pg_switch_wal()) as segment',
  );
  await until('the archive has the last segment', async () => {
    const query = 'select last_archived_wal >= $1 as done from pg_stat_archiver';
    const [archived] = await execute<{ done: boolean }>(source.url, query, [last?.segment]);
    return archived?.done || undefined;
  });
  await stop(service);
  await source.stop();

  const recovered = await clusters.recover('base', row?.at ?? '');
  const restored = environment(recovered.url, settings);
  await intact(restored, older);
  const loss = await verify(restored, newer);
  assert.equal(loss.code, 1, loss.output);
  assert.match(loss.output, /NOT INTACT: the external checkpoint/);
  const again = await startServe(restored);
  for (const client of [first, second]) assert.equal((await askToken(again.url, client)).status, 200);
  const kept = await apiClient(again, operator).keepCheckpoint('recovered.json', recovered.url);
  await stop(again);
  await intact(restored, kept);
});
