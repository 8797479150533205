/** Redis with Sentinel, and a Redis Cluster, on this machine. Undefined when redis-server is not installed. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { authorityFile } from '../../peers/receivers.ts';
import { findProgram, freePort, type Program, startProgram, until } from '../../programs.ts';

export interface RedisNode {
  readonly port: number;
  readonly program: Program;
  /** The same server again, after it was killed. */
  restart(): Promise<RedisNode>;
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
}

const password = 'redis-secret-1';
const sentinelPassword = 'sentinel-secret-2';
/** Must appear in no log. */
export const redisSecrets = [password, sentinelPassword];

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-redis-'));
  after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}

const fixture = (name: string) => fileURLToPath(new URL(`../../../fixtures/tls/${name}`, import.meta.url));

/** Nodes of a cluster show each other a certificate of a client, which that of the server is not. */
function listening(port: number, tls: boolean): string[] {
  if (!tls) return ['--port', String(port)];
  const authorities = join(makeFolder(), 'authorities.pem');
  writeFileSync(
    authorities,
    [authorityFile, fixture('localhost.crt')].map((file) => readFileSync(file)).join('\n'),
  );
  const options = {
    '--port': '0',
    '--tls-port': String(port),
    '--tls-auth-clients': 'no',
    '--tls-replication': 'yes',
    '--tls-ca-cert-file': authorities,
    '--tls-cert-file': fixture('server.pem'),
    '--tls-key-file': fixture('server-key.pem'),
    '--tls-client-cert-file': fixture('localhost.crt'),
    '--tls-client-key-file': fixture('localhost.key'),
  };
  return Object.entries(options).flat();
}

interface NodeOptions {
  readonly port: number;
  readonly args: readonly string[];
  readonly auth: string;
  readonly tls: boolean;
}

async function startNode(path: string, options: NodeOptions): Promise<RedisNode> {
  const { port, args, auth, tls } = options;
  const program = startProgram(path, [...args, ...listening(port, tls), '--bind', '127.0.0.1'], {
    env: { PATH: process.env.PATH },
    cwd: '/',
  });
  const call = async (command: string, ...rest: (string | number)[]) => {
    const redis = new Redis({
      port,
      host: '127.0.0.1',
      password: auth,
      retryStrategy: null,
      ...(tls && { tls: { ca: readFileSync(authorityFile) } }),
    });
    redis.on('error', () => {});
    try {
      return await redis.call(command, ...rest);
    } finally {
      redis.disconnect();
    }
  };
  await until('redis-server answers', async () => (await call('PING')) === 'PONG' || undefined, program);
  return { port, program, call, restart: () => startNode(path, options) };
}

export interface Sentinels {
  readonly url: string;
  readonly primary: RedisNode;
  readonly replica: RedisNode;
  readonly sentinels: readonly RedisNode[];
}

/** A primary, its replica and three sentinels, all with passwords. */
export async function startSentinels({ tls = false } = {}): Promise<Sentinels | undefined> {
  const path = findProgram('redis-server');
  if (!path) return undefined;
  const folder = makeFolder();
  const [primaryPort, replicaPort] = [await freePort(), await freePort()];
  const common = ['--save', '', '--appendonly', 'no', '--requirepass', password, '--masterauth', password];
  const primary = await startNode(path, {
    port: primaryPort,
    args: [...common, '--repl-diskless-sync-delay', '0'],
    auth: password,
    tls,
  });
  const replica = await startNode(path, {
    port: replicaPort,
    args: [...common, '--replicaof', '127.0.0.1', String(primaryPort)],
    auth: password,
    tls,
  });
  await until(
    'the replica is in step',
    async () => /master_link_status:up/.test(String(await replica.call('INFO', 'replication'))) || undefined,
  );
  const sentinels = await Promise.all(
    [0, 1, 2].map(async (number) => {
      const file = join(folder, `sentinel-${number}.conf`);
      writeFileSync(
        file,
        [
          `dir ${folder}`,
          `requirepass ${sentinelPassword}`,
          `sentinel monitor main 127.0.0.1 ${primaryPort} 2`,
          `sentinel auth-pass main ${password}`,
          'sentinel down-after-milliseconds main 3000',
          'sentinel failover-timeout main 20000',
          '',
        ].join('\n'),
      );
      const args = [file, '--sentinel'];
      return startNode(path, { port: await freePort(), args, auth: sentinelPassword, tls });
    }),
  );
  for (const { call, program } of sentinels)
    await until(
      'the sentinels know each other and the replica',
      async () => {
        const quorum = String(await call('SENTINEL', 'CKQUORUM', 'main'));
        const replicas = (await call('SENTINEL', 'REPLICAS', 'main')) as unknown[];
        return (quorum.startsWith('OK 3') && replicas.length === 1) || undefined;
      },
      program,
    );
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `${tls ? 'rediss' : 'redis'}+sentinel://:${password}@${hosts}/main/0?sentinelPassword=${sentinelPassword}`,
    primary,
    replica,
    sentinels,
  };
}

export interface RedisCluster {
  readonly url: string;
  readonly primaries: readonly RedisNode[];
  /** Of the first primary. */
  readonly replica: RedisNode;
}

const slots = 16_384;

/** Three shards; the first has a replica. */
export async function startRedisCluster({ tls = false } = {}): Promise<RedisCluster | undefined> {
  const path = findProgram('redis-server');
  if (!path) return undefined;
  const nodes = await Promise.all(
    [0, 1, 2, 3].map(async () => {
      const busPort = await freePort();
      const options = {
        '--save': '',
        '--appendonly': 'no',
        '--dir': makeFolder(),
        '--cluster-enabled': 'yes',
        '--cluster-port': String(busPort),
        '--cluster-node-timeout': '3000',
        '--cluster-announce-ip': '127.0.0.1',
        '--requirepass': password,
        '--masterauth': password,
        ...(tls && { '--tls-cluster': 'yes' }),
      };
      const node = await startNode(path, {
        port: await freePort(),
        args: Object.entries(options).flat(),
        auth: password,
        tls,
      });
      return { busPort, node };
    }),
  );
  const [first, second, third, fourth] = nodes;
  if (!first || !second || !third || !fourth) throw new Error('four nodes are needed');
  const primaries = [first, second, third].map(({ node }) => node);
  for (const [index, { call }] of primaries.entries())
    await call(
      'CLUSTER',
      'ADDSLOTSRANGE',
      Math.floor((slots * index) / 3),
      Math.floor((slots * (index + 1)) / 3) - 1,
    );
  for (const { node, busPort } of [second, third, fourth])
    await first.node.call('CLUSTER', 'MEET', '127.0.0.1', node.port, busPort);
  const untilAll = (what: string, expected: RegExp, ...command: string[]) =>
    Promise.all(
      nodes.map(({ node }) =>
        until(what, async () => expected.test(String(await node.call('CLUSTER', ...command))) || undefined),
      ),
    );
  await untilAll('all nodes know each other', /cluster_known_nodes:4/, 'INFO');
  const id = String(await first.node.call('CLUSTER', 'MYID'));
  await until('the replica follows', async () => {
    await fourth.node.call('CLUSTER', 'REPLICATE', id);
    return true;
  });
  await untilAll('the cluster is complete', /cluster_state:ok/, 'INFO');
  await untilAll('all know the replica', new RegExp(`slave ${id}`), 'NODES');
  await until(
    'the replica is in step',
    async () =>
      /master_link_status:up/.test(String(await fourth.node.call('INFO', 'replication'))) || undefined,
  );
  const hosts = primaries.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `${tls ? 'rediss' : 'redis'}+cluster://:${password}@${hosts}`,
    primaries,
    replica: fourth.node,
  };
}
