/** Tokens per second with a million agents and ten million audit rows compared with an almost empty database. */
import type pg from 'pg';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { agentsPerOrganization, fillAgents, someAgents } from '../support/agents.ts';
import { fillAudit } from '../support/audit-rows.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from '../support/database.ts';
import { createLoad, type Load } from '../support/load.ts';
import { tokenRequest } from '../support/requests.ts';
import { compare, fromEnvironment, seconds, whole } from '../support/rounds.ts';
import { serveOurs, whileServing } from '../support/serving.ts';
import { callers, connections, warmUp } from './tokens.ts';

const agents = fromEnvironment('BENCH_AGENTS', 1_000_000);
const auditRows = fromEnvironment('BENCH_AUDIT_ROWS', 10_000_000);
const organizations = Math.ceil(agents / agentsPerOrganization);
const floor = 0.9;
const organizationsPerBatch = 50;

/** Both servers run at the same time and alternate: filling takes minutes, in which the load of a machine changes. */
export const scale = ({ databaseUrl, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_empty', (empty) =>
    withDatabase(databaseUrl, 'bench_full', async (full) => {
      const keys = generateKeyPair();
      // The same number of organizations in both: each has an audit chain, whose head is signed while it grows.
      await prepareDatabase(empty, keys, organizations, Math.ceil(callers / organizations));
      await prepareDatabase(full, keys, callers / agentsPerOrganization);
      await withClient(full, (client) => fill(client, log));
      return whileServing([serveOurs(full, keys), serveOurs(empty, keys)], async ([ours, other]) => {
        const since = new Date();
        const fullLoad = await loadOf(full, ours.url);
        const emptyLoad = await loadOf(empty, other.url);
        log('warming up');
        await warmUp(emptyLoad);
        await warmUp(fullLoad);
        const comparison = await compare({
          ours: () => fullLoad.run(seconds),
          baseline: () => emptyLoad.run(seconds),
          log,
        });
        await requireDurable(full, since, fullLoad.answers());
        return [
          {
            metric: `tokens per second with ${whole(agents)} agents and ${whole(auditRows)} audit rows ÷ with ${whole(callers)} agents and none`,
            result: comparison.ratio.toFixed(2),
            baseline: `${whole(comparison.ours)} ÷ ${whole(comparison.baseline)}`,
            target: `at least ${floor}`,
            met: comparison.ratio >= floor,
          },
        ];
      });
    }),
  );

const loadOf = async (database: string, url: string): Promise<Load> => {
  const sample = await withClient(database, (client) => someAgents(client, callers));
  return createLoad({ url, connections, requests: sample.map(tokenRequest) });
};

async function fill(client: pg.Client, log: BenchContext['log']): Promise<void> {
  // For filling only: the measured servers wait for the disk.
  await client.query('set synchronous_commit = off');
  for (
    let first = callers / agentsPerOrganization + 1;
    first <= organizations;
    first += organizationsPerBatch
  ) {
    const last = Math.min(first + organizationsPerBatch - 1, organizations);
    await fillAgents(client, first, last);
    log(`${whole(last * agentsPerOrganization)} of ${whole(agents)} agents`);
  }
  await fillAudit(client, auditRows, log);
  // Marks the rows as linked: the sequencer continues after them.
  await client.query(
    'update audit_progress set (settled_before, reached) = (select xid, xid from pg_snapshot_xmax(pg_current_snapshot()) xid)',
  );
  log('vacuum, analyze, checkpoint');
  await client.query('vacuum (analyze, freeze)');
  await client.query('checkpoint');
}
