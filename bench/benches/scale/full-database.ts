/** CPU time per token, and reads of the audit log, in a large database compared with an almost empty one. */
import type pg from 'pg';
import { generateKeyPair } from '../../../src/kernel/config/keypair.ts';
import {
  type Agent,
  agentsOfFirst,
  agentsPerOrganization,
  fillAgents,
  someAgents,
} from '../../support/agents.ts';
import { fillAudit } from '../../support/audit-rows.ts';
import type { BenchContext, Result } from '../../support/bench.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from '../../support/database.ts';
import { createLoad } from '../../support/load.ts';
import { cpuRatioRow, runMetered } from '../../support/metered.ts';
import { tokenRequest } from '../../support/requests.ts';
import { compare, fromEnvironment, seconds, whole } from '../../support/rounds.ts';
import { type Serving, serveOurs, whileServing } from '../../support/serving.ts';
import { callers, connections, warmUp } from '../tokens.ts';
import { auditReads } from './audit-log.ts';

const agents = fromEnvironment('BENCH_AGENTS', 1_000_000);
const auditRows = fromEnvironment('BENCH_AUDIT_ROWS', 10_000_000);
const organizations = fromEnvironment('BENCH_ORGANIZATIONS', 10_000);
const agentsEach = Math.ceil(agents / organizations);
/** Organizations whose agents ask for tokens. */
const active = Math.ceil(organizations / 10);
const organizationsPerBatch = 500;
const floor = 0.9;
const cpuCeiling = 1.1;

/** Both servers run at the same time and alternate: filling takes minutes, in which the load of a machine changes. */
export const scale = ({ databaseUrl, postgresPid, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_empty', (empty) =>
    withDatabase(databaseUrl, 'bench_full', async (full) => {
      const keys = generateKeyPair();
      await prepareDatabase(empty, keys, callers / agentsPerOrganization);
      await prepareDatabase(full, keys, 1, agentsEach);
      const started = performance.now();
      await withClient(full, (client) => fill(client, log));
      log(`filled in ${whole((performance.now() - started) / 1000)} s`);
      const fullAgents = await withClient(full, (client) =>
        agentsOfFirst(client, active, Math.min(agentsEach, Math.ceil(callers / active))),
      );
      const emptyAgents = await withClient(empty, (client) => someAgents(client, callers));
      const tokens = await whileServing(
        [serveOurs(full, keys), serveOurs(empty, keys)],
        async ([ours, other]) => {
          const since = new Date();
          const fullLoad = loadOf(ours, fullAgents);
          const emptyLoad = loadOf(other, emptyAgents);
          log('warming up');
          await warmUp(emptyLoad);
          await warmUp(fullLoad);
          const comparison = await compare({
            ours: () =>
              runMetered(
                fullLoad,
                { server: ours.pid, postgres: postgresPid, database: 'bench_full' },
                seconds,
              ),
            baseline: () =>
              runMetered(
                emptyLoad,
                { server: other.pid, postgres: postgresPid, database: 'bench_empty' },
                seconds,
              ),
            log,
          });
          await requireDurable(full, since, fullLoad.answers());
          const size = `with ${whole(agents)} agents, ${whole(organizations)} organizations (${whole(active)} active) and ${whole(auditRows)} audit rows ÷ with ${whole(callers)} agents in ${callers / agentsPerOrganization} organizations and none`;
          return [
            cpuRatioRow(`CPU time per token ${size}`, comparison, cpuCeiling),
            {
              metric: `tokens per second ${size}`,
              result: comparison.ratio.toFixed(2),
              baseline: `${whole(comparison.ours)} ÷ ${whole(comparison.baseline)}`,
              target: `at least ${floor}`,
              met: comparison.ratio >= floor,
            },
          ];
        },
      );
      log('reads of the audit log');
      const reads = await withDatabase(databaseUrl, 'bench_small', async (small) => {
        await prepareDatabase(small, keys, callers / agentsPerOrganization);
        await withClient(small, async (client) => {
          await fillAudit(client, callers, log);
          await client.query('vacuum (analyze, freeze)');
        });
        return auditReads({ full, small, keys, size: `${whole(auditRows)} events` });
      });
      return [...tokens, ...reads];
    }),
  );

const loadOf = ({ url }: Serving, sample: readonly Agent[]) =>
  createLoad({ url, connections, requests: sample.map(tokenRequest) });

async function fill(client: pg.Client, log: BenchContext['log']): Promise<void> {
  // For filling only: the measured servers wait for the disk.
  await client.query('set synchronous_commit = off');
  for (let first = 2; first <= organizations; first += organizationsPerBatch) {
    const last = Math.min(first + organizationsPerBatch - 1, organizations);
    await fillAgents(client, first, last, agentsEach);
    log(`${whole(last * agentsEach)} of ${whole(agents)} agents`);
  }
  await fillAudit(client, auditRows, log);
  log('vacuum, analyze, checkpoint');
  await client.query('vacuum (analyze, freeze)');
  await client.query('checkpoint');
}
