/**
 * `npm run bench [-- name…]`: measures, prints a table and writes bench/results/latest.json. Timings of different machines and days are
 * not comparable, so each result has a baseline of the same run.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../src/adapters/embedded-postgres/embedded-postgres.ts';
import { algorithms } from './benches/algorithms.ts';
import { analytics } from './benches/analytics.ts';
import { archive } from './benches/archive.ts';
import { audit } from './benches/audit.ts';
import { cards } from './benches/cards.ts';
import { forwardAuth } from './benches/forward-auth.ts';
import { lists } from './benches/lists.ts';
import { isolation } from './benches/load/isolation.ts';
import { latency } from './benches/load/latency.ts';
import { overload } from './benches/load/overload.ts';
import { tracing } from './benches/load/tracing.ts';
import { marketplace } from './benches/marketplace.ts';
import { peers } from './benches/peers.ts';
import { people } from './benches/people.ts';
import { possession } from './benches/possession.ts';
import { reads } from './benches/reads.ts';
import { rivals } from './benches/rivals/rivals.ts';
import { scaffold } from './benches/scaffold.ts';
import { checkpoints } from './benches/scale/checkpoints.ts';
import { exports } from './benches/scale/exports.ts';
import { scale } from './benches/scale/full-database.ts';
import { instanceLog } from './benches/scale/instance-log.ts';
import { processes } from './benches/scale/processes.ts';
import { storage } from './benches/scale/storage.ts';
import { startup } from './benches/startup.ts';
import { tokens } from './benches/tokens.ts';
import { webhooks } from './benches/webhooks.ts';
import type { BenchContext, Result } from './support/bench.ts';

/** Benches that fill large tables run last: PostgreSQL vacuums after them. */
const benches: Record<string, (bench: BenchContext) => Promise<Result[]>> = {
  startup,
  tokens,
  people,
  algorithms,
  possession,
  reads,
  'forward-auth': forwardAuth,
  peers,
  analytics,
  scaffold,
  lists,
  marketplace,
  cards,
  audit,
  webhooks,
  latency,
  isolation,
  overload,
  tracing,
  processes,
  storage,
  checkpoints,
  'instance-log': instanceLog,
  exports,
  archive,
  scale,
};

/** Run only when named: they download other servers. */
const onRequest: typeof benches = { rivals };

const requested = process.argv.slice(2);
const names = requested.length > 0 ? requested : Object.keys(benches);
const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
// For root, PostgreSQL runs under another account, which must be able to enter the folder.
chmodSync(folder, 0o755);
const log = (line: string) => console.log(`  ${line}`);

console.log('Starting PostgreSQL…');
// Through a Unix socket, which costs less CPU time than TCP.
const socket = join(folder, 'socket');
mkdirSync(socket);
chmodSync(socket, 0o777);
const postgres = await startEmbeddedPostgres({
  dataDir: join(folder, 'postgres'),
  database: 'bench',
  settings: { unix_socket_directories: socket },
});
const socketUrl = new URL(postgres.url);
if (process.platform !== 'win32') socketUrl.searchParams.set('host', socket);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await postgres.stop().catch(() => {});
    rmSync(folder, { recursive: true, force: true });
    process.exit(130);
  });
}
const results: Result[] = [];
try {
  for (const name of names) {
    const bench = benches[name] ?? onRequest[name];
    if (!bench)
      throw new Error(
        `unknown bench ${name}; choose from: ${Object.keys({ ...benches, ...onRequest }).join(', ')}`,
      );
    console.log(`${name}:`);
    results.push(...(await bench({ databaseUrl: socketUrl.href, postgresPid: postgres.pid, folder, log })));
  }
} finally {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}

console.table(results);
const machine = {
  node: process.version,
  cpu: cpus()[0]?.model,
  cores: cpus().length,
  at: new Date().toISOString(),
};
const out = new URL('results/', import.meta.url);
mkdirSync(out, { recursive: true });
writeFileSync(new URL('latest.json', out), `${JSON.stringify({ machine, results }, null, 2)}\n`);
console.log('written to bench/results/latest.json');
process.exit(results.every(({ met }) => met) ? 0 : 1);
