/**
 * What the instance log adds to an event at 1,000 events a second: CPU time of its growth and of the rounds of its witnesses, and bytes. A
 * pass of the sequencer makes one tree head a second; growth and rounds are as often as the loops of a worker have them.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { leafHash } from '../../../sdk/typescript/src/audit/merkle.ts';
import { appendLeaves } from '../../../sdk/typescript/src/transparency/append-leaves.ts';
import { fullWidth } from '../../../sdk/typescript/src/transparency/tile.ts';
import { tilePath } from '../../../sdk/typescript/src/transparency/tile-path.ts';
import type { App } from '../../../src/app.ts';
import { signCheckpoint, signerOf } from '../../../src/features/instance-log/log-key.ts';
import { insertLog, writeTile } from '../../../src/features/instance-log/store.ts';
import { generateKeyPair } from '../../../src/kernel/config/keypair.ts';
import type { BenchContext, Result } from '../../support/bench.ts';
import { canMeasureCpu, databaseTimeOf, notMeasured } from '../../support/cpu-time.ts';
import { withClient, withDatabase } from '../../support/database.ts';
import { openApp } from '../../support/in-process.ts';
import { fromEnvironment, whole } from '../../support/rounds.ts';
import { bin, endServer, freePort, type KeyPems } from '../../support/serving.ts';
import { createRecorder } from '../audit.ts';

const eventsPerPass = 1_000;
/** The default of AUDIT_WITNESS_INTERVAL. */
const passesPerRound = 10;
/** Whole tiles: a growth costs more the fuller its last tile is. */
const passes = fromEnvironment('BENCH_PASSES', 2 * fullWidth);
const warmUpPasses = 200;
/** Entries before the measurement: the log has as many levels then as after some months. */
const earlier = 500_000;
const witnessCount = 3;
const ceiling = { microseconds: 1, bytes: 1 };
const passesPerDay = 86_400;

const origin = 'localhost:3000/log';
/** PostgreSQL shows the name of the role in the titles of its processes. */
const role = 'instance_log_bench';

export const instanceLog = ({ databaseUrl, postgresPid, folder, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_instance_log', async (database) => {
    const keys = generateKeyPair();
    const logKey = generateKeyPairSync('ed25519').privateKey;
    const children: ChildProcess[] = [];
    const writer = await openApp(database, keys);
    try {
      log(`a log of ${whole(earlier)} entries`);
      await beginLog(writer, logKey);
      const organizationId = writer.ids.uuid();
      const { recordEvents } = createRecorder(writer);
      const [linking, growth, rounds] = [createTotal(), createTotal(), createTotal()];
      const pass = async (events: number) => {
        await recordEvents(Array.from({ length: events }, () => organizationId));
        const postgres = databaseTimeOf(postgresPid, 'postgres');
        const before = process.cpuUsage();
        await writer.audit.linkAll();
        const { user, system } = process.cpuUsage(before);
        linking.add(user + system, (databaseTimeOf(postgresPid, 'postgres') - postgres) / 1_000);
      };
      await pass(1);
      const witnesses = await startWitnesses(folder, signerOf(origin, logKey).verifierKey, children);
      const grower = await startGrower(database, keys, logKey, witnesses, children);
      const meter = async (total: Total, work: 'grow' | 'witness') => {
        const before = databaseTimeOf(postgresPid, role);
        total.add(await grower(work), (databaseTimeOf(postgresPid, role) - before) / 1_000);
      };
      return await withClient(database, async (client) => {
        const run = async (count: number, events: number) => {
          let wal = 0;
          for (let done = 1; done <= count; done += 1) {
            await pass(events);
            const from = await walPosition(client);
            if (done % passesPerRound === 0) {
              await meter(growth, 'grow');
              await meter(rounds, 'witness');
            }
            wal += (await walPosition(client)) - from;
          }
          return wal / count;
        };
        log('warming up');
        await run(warmUpPasses, 10);
        for (const total of [linking, growth, rounds]) total.reset();
        await client.query('vacuum analyze');
        log(`${passes} passes of ${whole(eventsPerPass)} events`);
        const wal = await run(passes, eventsPerPass);
        // The space of old versions is used again.
        await client.query('vacuum instance_log_tiles, instance_logs');
        return rowsOf({ linking, growth, rounds, wal, bytes: await bytesPerEntry(client) });
      });
    } finally {
      await Promise.all(children.map(endServer));
      await writer.close();
    }
  });

/** With made-up entries, before the first tree head. */
async function beginLog({ db }: App, logKey: KeyObject): Promise<void> {
  const leaves = Array.from({ length: earlier }, (_, index) => leafHash(String(index)));
  const { size, root, tiles } = await appendLeaves(() => Promise.reject(new Error('no tile')), 0, leaves);
  await db.transaction(async (tx) => {
    await insertLog(tx, {
      logNumber: 1,
      origin,
      verifierKey: signerOf(origin, logKey).verifierKey,
      previousCheckpoint: null,
      firstTreeHead: 1 - earlier,
      size,
      checkpoint: await signCheckpoint({ origin, size, root }, logKey),
      updatedAt: new Date().toISOString(),
      unwitnessedSince: null,
    });
    for (const { tile, bytes } of new Map(tiles.map((each) => [tilePath(each.tile), each])).values())
      await writeTile(tx, 1, tile, bytes);
  });
}

/** `countersign witness`, in processes of their own: others pay for them. Returns the file with their list. */
async function startWitnesses(folder: string, logKey: string, children: ChildProcess[]): Promise<string> {
  const lines: string[] = [];
  for (let number = 1; number <= witnessCount; number += 1) {
    const port = await freePort();
    const own = (name: string) => join(folder, `witness-${number}.${name}`);
    const options = ['--port', String(port), '--name', `witness.example/${number}`, '--log', logKey];
    const files = ['--key', own('pem'), '--state', own('json')];
    const child = spawn(process.execPath, [bin, 'witness', ...options, ...files], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    children.push(child);
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    lines.push(`${line} http://127.0.0.1:${port}`);
  }
  const file = join(folder, 'witnesses');
  writeFileSync(file, [...lines, `quorum ${witnessCount}`, ''].join('\n'));
  return file;
}

const growerFile = fileURLToPath(new URL('../../support/servers/grower.ts', import.meta.url));

/** Returns a function that resolves to the microseconds of CPU time. */
async function startGrower(
  database: string,
  { privatePem, publicPem }: KeyPems,
  logKey: KeyObject,
  witnesses: string,
  children: ChildProcess[],
): Promise<(work: 'grow' | 'witness') => Promise<number>> {
  const password = 'bench';
  await withClient(database, (client) =>
    client.query(`create role ${role} superuser login password '${password}'`),
  );
  const url = Object.assign(new URL(database), { username: role, password });
  const child = spawn(process.execPath, ['--liftoff-only', '--preserve-symlinks', growerFile], {
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      BASE_URL: `http://${origin.split('/')[0]}`,
      DATABASE_URL: url.href,
      JWT_PRIVATE_KEY: privatePem,
      JWT_PUBLIC_KEY: publicPem,
      AUDIT_LOG_KEY: logKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      AUDIT_WITNESSES: witnesses,
      AUDIT_WITNESS_INTERVAL: '1',
      WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
    },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  children.push(child);
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('the grower ended')));
  ended.catch(() => {});
  const answer = async () => (await Promise.race([once(child, 'message'), ended]))[0];
  await answer();
  return async (work) => {
    child.send(work);
    const { outcome, microseconds } = await answer();
    if (outcome !== 'done') throw new Error(`the round of the witnesses was ${outcome}`);
    return microseconds;
  };
}

interface Total {
  add(server: number, postgres: number): void;
  reset(): void;
  /** Microseconds per event. */
  perEvent(): { readonly server: number; readonly postgres: number };
}

function createTotal(): Total {
  let total = { server: 0, postgres: 0 };
  const each = (microseconds: number) =>
    canMeasureCpu ? microseconds / (passes * eventsPerPass) : Number.NaN;
  return {
    add: (server, postgres) => {
      total = { server: total.server + server, postgres: total.postgres + postgres };
    },
    reset: () => {
      total = { server: 0, postgres: 0 };
    },
    perEvent: () => ({ server: each(total.server), postgres: each(total.postgres) }),
  };
}

async function bytesPerEntry(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    `select sum(pg_total_relation_size(oid))::float8 / (select size from instance_logs)::float8 as bytes from pg_class
     where relname in ('instance_logs', 'instance_log_tiles', 'instance_log_checkpoints', 'instance_log_witnesses')`,
  );
  return rows[0]?.bytes ?? Number.NaN;
}

async function walPosition(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as bytes`,
  );
  return rows[0]?.bytes ?? Number.NaN;
}

const microseconds = (time: number): string => (Number.isNaN(time) ? notMeasured : `${time.toFixed(2)} µs`);

/** Bytes are per pass. */
function rowsOf(input: {
  linking: Total;
  growth: Total;
  rounds: Total;
  bytes: number;
  wal: number;
}): Result[] {
  const linking = input.linking.perEvent();
  const timeRow = (metric: string, total: Total, limit?: number): Result => {
    const { server, postgres } = total.perEvent();
    return {
      metric: `CPU time per event, ${metric}, at ${whole(eventsPerPass)} events per second`,
      result: `${microseconds(server + postgres)}, of PostgreSQL ${microseconds(postgres)}`,
      baseline: `linking and signing ${microseconds(linking.server + linking.postgres)}`,
      target: limit === undefined ? 'none' : `at most ${limit} µs`,
      met: limit === undefined || !(server + postgres > limit),
    };
  };
  const bytesRow = (metric: string, perPass: number, limit?: number): Result => ({
    metric: `bytes of the instance log per event, ${metric}`,
    result: (perPass / eventsPerPass).toFixed(3),
    baseline: `${((perPass * passesPerDay) / 1e6).toFixed(1)} MB a day`,
    target: limit === undefined ? 'none' : `at most ${limit}`,
    met: limit === undefined || perPass / eventsPerPass <= limit,
  });
  return [
    timeRow('growth of the instance log', input.growth, ceiling.microseconds),
    timeRow(`rounds of ${witnessCount} witnesses`, input.rounds),
    bytesRow('tables and indexes', input.bytes, ceiling.bytes),
    bytesRow('WAL', input.wal),
  ];
}
