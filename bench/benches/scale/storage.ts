/** Bytes on disk per token: the growth of all tables and indexes, and of the WAL. And the writes that a disk must do for them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { generateKeyPair } from '../../../src/kernel/config/keypair.ts';
import { agentsPerOrganization, someAgents } from '../../support/agents.ts';
import type { BenchContext, Result } from '../../support/bench.ts';
import { prepareDatabase, withClient, withDatabase } from '../../support/database.ts';
import { createLoad } from '../../support/load.ts';
import { tokenRequest } from '../../support/requests.ts';
import { fromEnvironment, whole } from '../../support/rounds.ts';
import { serveOurs, whileServing } from '../../support/serving.ts';
import { callers, connections } from '../tokens.ts';

/** Tokens of the measurement: pages and WAL segments are large compared with a row. */
const count = fromEnvironment('BENCH_STORAGE_TOKENS', 50_000);
/** Measured with this bench before the links of the audit log were stored per chain and pass. */
const before = { tables: 1_209, indexes: 300, wal: 2_245 };
const ceiling = 0.6;
/** The sequencer links within a second. */
const settleMs = 3_000;

interface Bytes {
  readonly tables: number;
  readonly indexes: number;
  readonly wal: number;
}

/** Operations of the disk, counted by PostgreSQL. */
interface Writes {
  /** A commit waits for one; commits at the same time share it. */
  readonly walFlushes: number;
  /** Pages of tables and indexes, at a checkpoint or before it. */
  readonly pages: number;
}

export const storage = ({ databaseUrl, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_storage', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, callers / agentsPerOrganization);
    return withClient(database, async (client) => {
      const agents = await someAgents(client, callers);
      return whileServing([serveOurs(database, keys)], async ([{ url }]) => {
        const load = createLoad({ url, connections, requests: agents.map(tokenRequest) });
        const issue = async (tokens: number) => {
          const from = load.answers();
          while (load.answers() - from < tokens) await load.run(1);
          await sleep(settleMs);
          return load.answers() - from;
        };
        log(`${whole(callers)} tokens: the rows of counters and last uses, and the first pages`);
        await issue(callers);
        const first = await measure(client, log);
        log(`${whole(count)} tokens`);
        const tokens = await issue(count);
        const last = await measure(client, log);
        return rowsOf({
          tables: (last.tables - first.tables) / tokens,
          indexes: (last.indexes - first.indexes) / tokens,
          wal: (last.walBefore - first.walAfter) / tokens,
        }).concat(
          writeRow('WAL flushes', (last.writesBefore.walFlushes - first.writesAfter.walFlushes) / tokens),
          writeRow('page writes', (last.writesAfter.pages - first.writesAfter.pages) / tokens),
        );
      });
    });
  });

/** The WAL position before and after the vacuum, which is not part of the growth. */
async function measure(client: pg.Client, log: BenchContext['log']) {
  const walBefore = await walPosition(client);
  const writesBefore = await writesSoFar(client);
  // A partial vacuum: rows that were updated free their space for later ones.
  await client.query('vacuum');
  await client.query('checkpoint');
  const { rows } = await client.query<{ name: string; tables: number; indexes: number }>(
    `select relname as name, pg_table_size(oid)::float8 as tables, pg_indexes_size(oid)::float8 as indexes
     from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
     order by pg_total_relation_size(oid) desc`,
  );
  for (const { name, tables, indexes } of rows.slice(0, 5))
    log(`${name}: ${whole(tables / 1024)} kB, indexes ${whole(indexes / 1024)} kB`);
  const sum = (part: 'tables' | 'indexes') => rows.reduce((bytes, row) => bytes + row[part], 0);
  return {
    tables: sum('tables'),
    indexes: sum('indexes'),
    walBefore,
    walAfter: await walPosition(client),
    writesBefore,
    writesAfter: await writesSoFar(client),
  };
}

async function writesSoFar(client: pg.Client): Promise<Writes> {
  const { rows } = await client.query<Writes>(
    `select (sum(fsyncs) filter (where object = 'wal'))::float8 as "walFlushes",
            (sum(write_bytes) filter (where object = 'relation') / 8192)::float8 as pages
     from pg_stat_io`,
  );
  return { walFlushes: rows[0]?.walFlushes ?? 0, pages: rows[0]?.pages ?? 0 };
}

async function walPosition(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as bytes`,
  );
  return rows[0]?.bytes ?? 0;
}

const writeRow = (metric: string, perToken: number): Result => ({
  metric: `${metric} per 1,000 tokens`,
  result: whole(perToken * 1_000),
  baseline: 'none',
  target: 'none',
  met: true,
});

const totalOf = ({ tables, indexes, wal }: Bytes): number => tables + indexes + wal;

function rowsOf(bytes: Bytes): Result[] {
  const row = (metric: string, value: number, earlier: number, limit?: number): Result => ({
    metric: `bytes on disk per token: ${metric}`,
    result: whole(value),
    baseline: `${whole(earlier)} before the change of storage (${(value / earlier).toFixed(2)})`,
    target: limit === undefined ? 'none' : `at most ${whole(limit * earlier)}`,
    met: limit === undefined || value <= limit * earlier,
  });
  return [
    row('tables, indexes and WAL', totalOf(bytes), totalOf(before), ceiling),
    row('tables', bytes.tables, before.tables),
    row('indexes', bytes.indexes, before.indexes),
    row('WAL', bytes.wal, before.wal),
  ];
}
