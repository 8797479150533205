/**
 * `npm run bench [-- name…]`: measures on this machine, now, prints a table and writes bench/results/latest.json.
 * Timings of different machines and days do not compare, so each figure stands beside something measured in the same run.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../src/adapters/embedded-postgres/embedded-postgres.ts';
import { analytics } from './benches/analytics.ts';
import { answers } from './benches/answers.ts';
import { audit } from './benches/audit.ts';
import { cards } from './benches/cards.ts';
import { lists } from './benches/lists.ts';
import { marketplace } from './benches/marketplace.ts';
import { peers } from './benches/peers.ts';
import { scaffold } from './benches/scaffold.ts';
import { scale } from './benches/scale.ts';
import { startup } from './benches/startup.ts';
import { tokens } from './benches/tokens.ts';
import { webhooks } from './benches/webhooks.ts';
import type { Bench, Result } from './support/bench.ts';

/** Those that fill big tables come last: PostgreSQL goes on tidying up after them. */
const benches: Record<string, (bench: Bench) => Promise<Result[]>> = {
  startup,
  tokens,
  answers,
  peers,
  analytics,
  scaffold,
  lists,
  marketplace,
  cards,
  audit,
  webhooks,
  scale,
};

const asked = process.argv.slice(2);
const names = asked.length > 0 ? asked : Object.keys(benches);
const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
// As root PostgreSQL runs as another user, who must be able to pass through; otherwise it would be kept elsewhere.
chmodSync(folder, 0o755);
const say = (line: string) => console.log(`  ${line}`);

console.log('Starting PostgreSQL…');
// By its socket, as one does on one machine: that takes a part of the processor time that TCP takes.
const socket = join(folder, 'socket');
mkdirSync(socket);
chmodSync(socket, 0o777);
const postgres = await startEmbeddedPostgres({
  dataDir: join(folder, 'postgres'),
  database: 'bench',
  settings: { unix_socket_directories: socket },
});
const bySocket = new URL(postgres.url);
if (process.platform !== 'win32') bySocket.searchParams.set('host', socket);
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
    const bench = benches[name];
    if (!bench)
      throw new Error(`there is no bench called ${name}; there are: ${Object.keys(benches).join(', ')}`);
    console.log(`${name}:`);
    results.push(...(await bench({ databaseUrl: bySocket.href, folder, say })));
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
