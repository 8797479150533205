/** Verification of the audit log: rate compared with its hashes alone, and constant memory. */
import { createHash } from 'node:crypto';
import type { App } from '../../src/app.ts';
import { canonicalOf } from '../../src/features/audit/chain/canonical-store.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { createLedger } from '../../src/kernel/ledger.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { withClient, withDatabase } from '../support/database.ts';
import { openApp } from '../support/in-process.ts';
import { compare, fromEnvironment, type Rate, whole } from '../support/rounds.ts';

const events = fromEnvironment('BENCH_AUDIT_EVENTS', 1_000_000);
const batchSize = 1_000;
const floor = 0.25;
const maxGrowth = 1.25;

export const audit = ({ databaseUrl, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_audit', async (database) => {
    const app = await openApp(database);
    try {
      const organizationId = app.ids.uuid();
      const linking = await fillEvents(app, organizationId, events, log);
      await withClient(database, (client) => client.query('vacuum analyze'));
      const texts = await hashedTexts(database);
      const memory: number[] = [];
      const comparison = await compare({
        ours: async () => ({ perSecond: await verify(app, organizationId, memory) }),
        baseline: async () => hashAll(texts),
        log,
      });
      const growth =
        Math.max(...memory.slice(-memory.length / 4)) / Math.max(...memory.slice(0, memory.length / 4));
      return [
        {
          metric: `events verified per second, of ${whole(events)} ÷ one thread hashing the same texts`,
          result: comparison.ratio.toFixed(2),
          baseline: `${whole(comparison.ours)} ÷ ${whole(comparison.baseline)}`,
          target: `at least ${floor}`,
          met: comparison.ratio >= floor,
        },
        {
          metric: 'resident memory in the last quarter of a verification ÷ in the first',
          result: growth.toFixed(2),
          baseline: `${Math.round(Math.max(...memory) / 1e6)} MB at most`,
          target: `at most ${maxGrowth}`,
          met: growth <= maxGrowth,
        },
        {
          metric: 'events linked per second while they are written',
          result: whole(linking),
          baseline: '2,500 tokens per second',
          target: 'at least 2,500',
          met: linking >= 2_500,
        },
      ];
    } finally {
      await app.close();
    }
  });

/** Writes the events of token issuance and links them every few thousand. Returns the events linked per second. */
export async function fillEvents(
  app: App,
  organizationId: string,
  count: number,
  log: BenchContext['log'],
): Promise<number> {
  const { recordEvents } = createRecorder(app);
  let linkingMs = 0;
  for (let done = batchSize; done <= count; done += batchSize) {
    await recordEvents(Array.from({ length: batchSize }, () => organizationId));
    if (done % (2 * batchSize) !== 0 && done < count) continue;
    const started = performance.now();
    await app.audit.linkAll();
    linkingMs += performance.now() - started;
    if (done % 100_000 === 0) log(`${whole(done)} of ${whole(count)} events`);
  }
  return (count / linkingMs) * 1000;
}

/** Records one issued token per organization id, in one transaction. */
export function createRecorder(app: App) {
  const ledger = createLedger({ clock: systemClock, ids: app.ids, listeners: [app.audit.listener] });
  return {
    recordEvents: (organizationIds: readonly string[]): Promise<unknown> =>
      app.db.transaction((tx) =>
        ledger.recordAll(
          tx,
          organizationIds.map((organizationId) => tokenIssued(app, organizationId)),
        ),
      ),
  };
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
  const { checked, finding } = await app.audit.verify(organizationId, undefined, {
    onProgress: () => memory.push(process.memoryUsage.rss()),
  });
  if (finding || checked !== events) throw new Error(`${checked} events verified: ${finding?.problem}`);
  return (events / (performance.now() - started)) * 1000;
}

/** Texts of events and links, as verification hashes them. */
export const hashedTexts = (database: string): Promise<{ event: string; link: string }[]> =>
  withClient(database, async (client) => {
    const { rows } = await client.query(
      `select appended_in || ' ' || encode(seal, 'hex') || ' ' || ${canonicalOf('e').sql} as event,
              encode(sha256('') || int8send(1) || uuid_send(event_id) || timestamptz_send(occurred_at) || sha256(''), 'hex') as link
       from audit_events e limit 20000`,
    );
    return rows;
  });

export function hashAll(texts: readonly { event: string; link: string }[]): Rate & { hashed: number } {
  const times = Math.ceil(200_000 / texts.length);
  const started = performance.now();
  for (let time = 0; time < times; time += 1)
    for (const { event, link } of texts) {
      createHash('sha256').update(event).digest('hex');
      createHash('sha256').update(link).digest('hex');
    }
  const hashed = times * texts.length;
  return { perSecond: (hashed / (performance.now() - started)) * 1000, hashed };
}
