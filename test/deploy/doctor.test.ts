/** `countersign doctor` with Sentinel, Redis Cluster, several database hosts and a pooler. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Finding } from '../../src/commands/doctor/check.ts';
import { startPgBouncer } from '../support/deploy/databases/pgbouncer.ts';
import { startPostgresPair } from '../support/deploy/databases/postgres-pair.ts';
import {
  redisSecrets,
  startRedisCluster,
  startSentinels,
} from '../support/deploy/databases/redis-topologies.ts';
import { createDatabase, environment, skipWithout, withLongConnectTimeout } from '../support/harness.ts';
import { startCountersign } from '../support/programs.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-doctor-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const databaseUrl = withLongConnectTimeout(await createDatabase());

async function examine(changes: Record<string, string>) {
  const program = startCountersign(['doctor', '--json'], environment(databaseUrl, changes), folder);
  await program.gone();
  const { findings } = JSON.parse(program.stdout()) as { findings: Finding[] };
  for (const secret of redisSecrets) assert.ok(!program.output().includes(secret));
  return (name: string, status: Finding['status'], found: RegExp) => {
    const matching = findings.filter((finding) => finding.name === name);
    assert.ok(
      matching.some((finding) => finding.status === status && found.test(finding.found)),
      `${name} should be ${status} ${found}:\n${JSON.stringify(matching, null, 2)}`,
    );
  };
}

describe('countersign doctor and high availability', { concurrency: 2 }, () => {
  it('Sentinel: ok; a sentinel that does not answer; none; an unknown name', async (t) => {
    const started = await startSentinels();
    if (!started) return skipWithout(t, 'redis-server');
    const all = await examine({ REDIS_URL: started.url });
    all('redis', 'ok', /^Redis \d.* at redis\+sentinel:\/\/127/);
    all('redis clock', 'ok', /./);
    (await examine({ REDIS_URL: started.url.replace('/main/', '/other/') }))('redis', 'problem', /sentinel/i);
    const [first, ...others] = started.sentinels;
    first?.program.kill('SIGKILL');
    await first?.program.ended();
    const some = await examine({ REDIS_URL: started.url });
    some('redis', 'ok', /./);
    some('redis sentinel', 'warning', new RegExp(`127.0.0.1:${first?.port} .*ECONNREFUSED`));
    for (const { program } of others) program.kill('SIGKILL');
    await Promise.all(others.map(({ program }) => program.ended()));
    const none = await examine({ REDIS_URL: started.url });
    none('redis', 'problem', /sentinels are unreachable/);
    none('redis sentinel', 'warning', /ECONNREFUSED/);
  });

  it('Redis Cluster: ok; one full shard; unreachable', async (t) => {
    const started = await startRedisCluster();
    if (!started) return skipWithout(t, 'redis-server');
    (await examine({ REDIS_URL: started.url }))('redis', 'ok', /, 3 shards$/);
    await started.primaries[1]?.call('CONFIG', 'SET', 'maxmemory', '100mb');
    (await examine({ REDIS_URL: started.url }))('redis', 'warning', /noeviction/);
    const none = await examine({ REDIS_URL: 'redis+cluster://:redis-secret-1@127.0.0.1:1' });
    none('redis', 'problem', /ECONNREFUSED|refresh slots/);
  });

  it('several database hosts: which accepts writes; without a standby; without synchronous replication', async (t) => {
    const pair = await startPostgresPair();
    if (!pair) return skipWithout(t, 'PostgreSQL with pg_basebackup');
    const both = await examine({ DATABASE_URL: pair.url });
    both(
      'database hosts',
      'ok',
      new RegExp(`${pair.primary.port}/\\w+ is writable.*${pair.standby.port}/\\w+ is read-only`),
    );
    both('database durability', 'warning', /does not wait for a standby/);
    await pair.makeSynchronous();
    (await examine({ DATABASE_URL: pair.url }))('database durability', 'ok', /synchronous_commit on/);
    pair.primary.program.kill('SIGKILL');
    await pair.primary.program.ended();
    (await examine({ DATABASE_URL: pair.url }))('database', 'problem', /./);
    await pair.promote();
    const one = await examine({ DATABASE_URL: pair.url });
    one('database hosts', 'warning', /does not answer.*is writable.*ECONNREFUSED/);
    await pair.primary.restart();
    const two = await examine({ DATABASE_URL: pair.url });
    two('database hosts', 'problem', /two servers accept writes/);
  });

  it('a pooler: announced, not announced; the way around it: right, another database, unreachable', async (t) => {
    const pooler = await startPgBouncer(databaseUrl, { poolSize: 4 });
    if (!pooler) return skipWithout(t, 'pgbouncer');
    const pooled = { DATABASE_URL: pooler.through(databaseUrl), DATABASE_POOLER: 'transaction' };
    const alone = await examine(pooled);
    alone('database', 'ok', /PostgreSQL/);
    alone('database connections', 'ok', /max_client_conn/);
    alone('database direct url', 'ok', /polling/);
    const direct = new URL(databaseUrl);
    const twoWays = pooled.DATABASE_URL.replace(/@[^/]+/, (host) => `${host},${direct.host}`);
    (await examine({ ...pooled, DATABASE_URL: twoWays }))('database hosts', 'ok', /writable.*writable/);
    (await examine({ ...pooled, DATABASE_POOLER: '' }))('database', 'problem', /DATABASE_POOLER=transaction/);
    const directly = (DATABASE_DIRECT_URL: string) => examine({ ...pooled, DATABASE_DIRECT_URL });
    const name = 'database direct url';
    (await directly(databaseUrl))(name, 'ok', /the same database/);
    (await directly(withLongConnectTimeout(await createDatabase())))(name, 'problem', /another database/);
    (await directly('postgres://u:p@127.0.0.1:1/x'))(name, 'problem', /ECONNREFUSED/);
    (await directly(pooler.through(databaseUrl)))(name, 'problem', /unsupported startup parameter/);
  });
});
