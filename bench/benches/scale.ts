/** Whether tokens are issued as fast with a million agents and ten million audit rows as in an almost empty database. */
import type pg from 'pg';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { agentsPerOrganization, fillAgents, someAgents } from '../support/agents.ts';
import { fillAudit } from '../support/audit-rows.ts';
import type { Bench, Result } from '../support/bench.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from '../support/database.ts';
import { createLoad, type Load } from '../support/load.ts';
import { tokenRequest } from '../support/requests.ts';
import { fromEnvironment, seconds, takeTurns, whole } from '../support/rounds.ts';
import { serveOurs, whileServing } from '../support/serving.ts';
import { callers, connections, warmUp } from './tokens.ts';

const agents = fromEnvironment('BENCH_AGENTS', 1_000_000);
const auditRows = fromEnvironment('BENCH_AUDIT_ROWS', 10_000_000);
const organizations = Math.ceil(agents / agentsPerOrganization);
const floor = 0.9;
const organizationsAtOnce = 50;

/** Both at once and in turns rather than one after the other: filling takes minutes, in which a machine changes. */
export const scale = ({ databaseUrl, say }: Bench): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_empty', (empty) =>
    withDatabase(databaseUrl, 'bench_full', async (full) => {
      const keys = generateKeyPair();
      // As many organizations in both: every one of them has a chain of events, whose head is signed while it grows.
      await prepareDatabase(empty, keys, organizations, Math.ceil(callers / organizations));
      await prepareDatabase(full, keys, callers / agentsPerOrganization);
      await withClient(full, (client) => fill(client, say));
      return whileServing([serveOurs(full, keys), serveOurs(empty, keys)], async ([ours, other]) => {
        const since = new Date();
        const fullLoad = await loadOf(full, ours.url);
        const emptyLoad = await loadOf(empty, other.url);
        say('warming up');
        await warmUp(emptyLoad);
        await warmUp(fullLoad);
        const turns = await takeTurns({
          ours: () => fullLoad.run(seconds),
          theirs: () => emptyLoad.run(seconds),
          say,
        });
        await requireDurable(full, since, fullLoad.answers());
        return [
          {
            what: `tokens per second with ${whole(agents)} agents and ${whole(auditRows)} audit rows ÷ with ${whole(callers)} agents and none`,
            measured: turns.ratio.toFixed(2),
            beside: `${whole(turns.ours)} ÷ ${whole(turns.theirs)}`,
            target: `at least ${floor}`,
            met: turns.ratio >= floor,
          },
        ];
      });
    }),
  );

const loadOf = async (database: string, url: string): Promise<Load> => {
  const some = await withClient(database, (client) => someAgents(client, callers));
  return createLoad({ url, connections, requests: some.map(tokenRequest) });
};

async function fill(client: pg.Client, say: Bench['say']): Promise<void> {
  // Only here: whoever is measured waits for the disk.
  await client.query('set synchronous_commit = off');
  for (
    let first = callers / agentsPerOrganization + 1;
    first <= organizations;
    first += organizationsAtOnce
  ) {
    const last = Math.min(first + organizationsAtOnce - 1, organizations);
    await fillAgents(client, first, last);
    say(`${whole(last * agentsPerOrganization)} of ${whole(agents)} agents`);
  }
  await fillAudit(client, auditRows, say);
  // As if linked long ago: the sequencer goes on from here.
  await client.query(
    'update audit_progress set (settled_before, reached) = (select xid, xid from pg_snapshot_xmax(pg_current_snapshot()) xid)',
  );
  say('vacuum, analyze, checkpoint');
  await client.query('vacuum (analyze, freeze)');
  await client.query('checkpoint');
}
