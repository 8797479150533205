/** Whether the audit log can be verified as fast as its hashes allow, and in memory that does not grow with it. */
import { createHash } from 'node:crypto';
import type { App } from '../../src/app.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { createLedger } from '../../src/kernel/ledger.ts';
import type { Bench, Result } from '../support/bench.ts';
import { withClient, withDatabase } from '../support/database.ts';
import { openApp } from '../support/in-process.ts';
import { fromEnvironment, takeTurns, whole } from '../support/rounds.ts';

const events = fromEnvironment('BENCH_AUDIT_EVENTS', 1_000_000);
const eventsAtOnce = 1_000;
const floor = 0.25;
const growthAtMost = 1.25;

export const audit = ({ databaseUrl, say }: Bench): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_audit', async (database) => {
    const app = await openApp(database);
    try {
      const organizationId = app.ids.uuid();
      const linking = await fill(app, organizationId, say);
      await withClient(database, (client) => client.query('vacuum analyze'));
      const texts = await hashedTexts(database);
      const memory: number[] = [];
      const turns = await takeTurns({
        ours: async () => ({ perSecond: await verify(app, organizationId, memory) }),
        theirs: async () => ({ perSecond: hashAll(texts) }),
        say,
      });
      const growth =
        Math.max(...memory.slice(-memory.length / 4)) / Math.max(...memory.slice(0, memory.length / 4));
      return [
        {
          what: `events verified per second, of ${whole(events)} ÷ one thread hashing the same texts`,
          measured: turns.ratio.toFixed(2),
          beside: `${whole(turns.ours)} ÷ ${whole(turns.theirs)}`,
          target: `at least ${floor}`,
          met: turns.ratio >= floor,
        },
        {
          what: 'resident memory in the last quarter of a verification ÷ in the first',
          measured: growth.toFixed(2),
          beside: `${Math.round(Math.max(...memory) / 1e6)} MB at the most`,
          target: `at most ${growthAtMost}`,
          met: growth <= growthAtMost,
        },
        {
          what: 'events linked per second, as they come in',
          measured: whole(linking),
          beside: '2,500 tokens per second',
          target: 'at least 2,500',
          met: linking >= 2_500,
        },
      ];
    } finally {
      await app.close();
    }
  });

/** As issuing tokens leaves them, linked every few thousand, as every second does; answers how fast they were linked. */
async function fill(app: App, organizationId: string, say: Bench['say']): Promise<number> {
  const ledger = createLedger({ clock: systemClock, ids: app.ids, listeners: [app.audit.listener] });
  let linkingMs = 0;
  for (let done = eventsAtOnce; done <= events; done += eventsAtOnce) {
    await app.db.transaction((tx) =>
      ledger.recordAll(
        tx,
        Array.from({ length: eventsAtOnce }, () => tokenIssued(app, organizationId)),
      ),
    );
    if (done % (2 * eventsAtOnce) !== 0 && done < events) continue;
    const started = performance.now();
    await app.audit.linkAll();
    linkingMs += performance.now() - started;
    if (done % 100_000 === 0) say(`${whole(done)} of ${whole(events)} events`);
  }
  return (events / linkingMs) * 1000;
}

const tokenIssued = ({ ids }: App, organizationId: string) => ({
  actor: { requestId: ids.uuid(), ipAddress: '127.0.0.1', userAgent: 'bench' },
  type: 'token.issued' as const,
  subject: {
    organizationId,
    agentId: ids.uuid(),
    metadata: {
      audience: 'http://localhost:3000',
      expiresIn: 3_600,
      scope: 'agents:read tokens:read',
      tokenId: ids.uuid(),
    },
  },
});

async function verify(app: App, organizationId: string, memory: number[]): Promise<number> {
  memory.length = 0;
  const started = performance.now();
  const { checked, finding } = await app.audit.verify(organizationId, undefined, () =>
    memory.push(process.memoryUsage.rss()),
  );
  if (finding || checked !== events) throw new Error(`${checked} events verified: ${finding?.problem}`);
  return (events / (performance.now() - started)) * 1000;
}

/** Some events and links as verification hashes them. */
const hashedTexts = (database: string): Promise<{ event: string; link: string }[]> =>
  withClient(database, async (client) => {
    const { rows } = await client.query(
      `select appended_in || ' ' || encode(seal, 'hex') || ' ' || canonical as event,
              encode(hash || int8send(sequence) || uuid_send(event_id) || timestamptz_send(l.occurred_at) || event_hash, 'hex') as link
       from audit_events join audit_links l using (event_id) limit 20000`,
    );
    return rows;
  });

function hashAll(texts: readonly { event: string; link: string }[]): number {
  const times = Math.ceil(200_000 / texts.length);
  const started = performance.now();
  for (let time = 0; time < times; time += 1)
    for (const { event, link } of texts) {
      createHash('sha256').update(event).digest('hex');
      createHash('sha256').update(link).digest('hex');
    }
  return ((times * texts.length) / (performance.now() - started)) * 1000;
}
