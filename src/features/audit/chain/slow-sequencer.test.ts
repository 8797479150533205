/** A sequencer that works, but is too slow for a full batch within the lease of its lock. */
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { environment, startApp, withLongConnectTimeout } from '../../../../test/support/harness.ts';
import { until } from '../../../../test/support/programs.ts';
import { auditLinks, recordEvents } from '../../../../test/support/scenarios/audit-log.ts';
import { createSigner, createStatementReader } from '../../../adapters/keys/keys.ts';
import { createPostgres } from '../../../adapters/postgres/postgres.ts';
import { loadConfig } from '../../../kernel/config/config.ts';
import { type Db, isTemporary, type Queryable } from '../../../kernel/data/db.ts';
import { sql } from '../../../kernel/data/sql.ts';
import { createLog } from '../../../kernel/observability/log.ts';
import { createMetrics } from '../../../kernel/observability/metrics.ts';
import { createAudit } from '../feature.ts';
import { lockLeaseMs } from './lock-store.ts';

const t = await startApp();

/** Its process hashes `fitting` events within the lease. With more, it continues only when its session has ended. */
async function startSlowNode(fitting: number) {
  const lines: { level: number; msg: string; batchSize?: number }[] = [];
  const log = createLog({
    level: 'info',
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const metrics = createMetrics();
  const own = createPostgres({ url: withLongConnectTimeout(t.databaseUrl), poolSize: 2, log, metrics });
  after(() => own.close());
  const config = loadConfig(environment(t.databaseUrl));
  const issuer = config.baseUrl;
  const signer = await createSigner({
    ...config.signingKeys,
    previousPublicKeys: [],
    issuer,
    clock: t.clock,
  });
  const batches: number[] = [];
  const slowly = (tx: Queryable): Queryable['many'] =>
    async function many<Row>(name: string, query: Parameters<Queryable['many']>[1]) {
      const rows = await tx.many<Row>(name, query);
      if (name !== 'audit.unlinked') return rows;
      if (rows.length > 0) batches.push(rows.length);
      if (rows.length > fitting) {
        const { pid } = await tx.one<{ pid: number }>('pid', sql`select pg_backend_pid() as pid`);
        const hasEnded = async () =>
          (await t.sql('select from pg_stat_activity where pid = $1', [pid])).length === 0 || undefined;
        await until('the end of the lease', hasEnded, undefined, 8 * lockLeaseMs);
      }
      return rows;
    };
  const db: Db = {
    ...own,
    transaction: (work) => own.transaction((tx) => work({ ...tx, many: slowly(tx) })),
  };
  const audit = createAudit({
    db,
    clock: t.clock,
    log,
    metrics,
    signer,
    readStatement: createStatementReader(),
  });
  return { audit, lines, batches };
}

it('links smaller batches after it has lost its lock, and full ones again after successes', async () => {
  const organizationId = t.app.ids.uuid();
  await t.app.audit.linkAll();
  await recordEvents(t, organizationId, 500);
  const slow = await startSlowNode(300);
  await assert.rejects(slow.audit.linkAll(), isTemporary);
  const messages = () => slow.lines.filter(({ batchSize }) => batchSize !== undefined);
  assert.deepEqual(
    messages().map(({ msg, batchSize }) => [msg, batchSize]),
    [['the audit sequencer lost its lock during a batch; batches are limited to fewer events', 250]],
  );
  await slow.audit.linkAll();
  assert.deepEqual(slow.batches, [500, 250, 250]);
  const [row] = await t.sql(
    `select count(*)::int as links, count(distinct event_id)::int as events from ${auditLinks} l where organization_id = $1`,
    [organizationId],
  );
  assert.deepEqual(row, { links: 500, events: 500 });
  for (let batch = 0; batch < 20; batch += 1) await slow.audit.linkAll();
  assert.deepEqual(
    messages().map(({ batchSize }) => batchSize),
    [250, 4_000],
  );
  const { checked, finding } = await t.app.audit.verify(organizationId);
  assert.deepEqual({ checked, finding }, { checked: 500, finding: undefined });
});
