import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { environment, startApp, startOfMinute, withLongConnectTimeout } from '../../test/support/harness.ts';
import { until } from '../../test/support/programs.ts';
import { createApp } from '../app.ts';
import { limits } from '../contract/limits.ts';
import { loadConfig } from './config/config.ts';
import { createLog } from './observability/log.ts';

const t = await startApp();
const operator = await t.token();
const limit = limits.refusalsPerMinute;
const nilUuid = '00000000-0000-0000-0000-000000000000';

const tenant = async () => {
  const payload = { name: 'Tenant', slug: `tenant-${randomUUID()}` };
  const made = await t.call('POST', '/api/v1/organizations', { token: operator, payload });
  const { organizationId } = made.json;
  return { organizationId, ...(await t.agent({ organization_id: organizationId })) };
};
type Client = Pick<Awaited<ReturnType<typeof tenant>>, 'clientId' | 'clientSecret'>;

const ask = ({ clientId, clientSecret }: Client, more: Record<string, string> = {}) =>
  t.askToken({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    ...more,
  });
const statusesOf = async (count: number, send: () => Promise<{ status: number }>) => [
  ...new Set((await Promise.all(Array.from({ length: count }, send))).map(({ status }) => status)),
];
const recorded = async (organizationId: string, action: string) =>
  t.sql<{ agent_id: string; metadata: Record<string, unknown>; ip_address: string }>(
    `select agent_id, metadata, ip_address from audit_events
     where organization_id = $1 and action = $2 order by event_id`,
    [organizationId, action],
  );
const suppressedTotal = async () =>
  Number(/^service_audit_refusals_suppressed_total (\d+)/m.exec(await t.app.metrics.text())?.[1]);

/** Runs the loops after the minute is over, and until the counts are summarized. */
async function summarize() {
  t.clock.advance(180_000);
  t.app.loops.start();
  await until(
    'no counts are left',
    async () => (await t.sql('select from refusal_counts')).length === 0 || undefined,
  );
}

describe('refusals of unauthenticated requests', () => {
  it(`401 each time, recorded ${limit} times per organization and minute, then counted; one event states the number`, async () => {
    const [flooded, other] = [await tenant(), await tenant()];
    startOfMinute(t.clock);
    const wrong = { ...flooded, clientSecret: 'cs_wrong' };
    assert.deepEqual(await statusesOf(limit + 15, () => ask(wrong)), [401]);
    const garbage = () => t.call('GET', '/api/v1/agents', { token: 'garbage' });
    assert.deepEqual(await statusesOf(limit + 7, garbage), [401]);
    assert.equal((await recorded(flooded.organizationId, 'token.refused')).length, limit);
    assert.equal((await recorded(nilUuid, 'authentication.refused')).length, limit);

    // Neither another organization nor an authenticated client of this one loses anything.
    assert.equal((await ask({ ...other, clientSecret: 'cs_wrong' })).status, 401);
    assert.equal((await recorded(other.organizationId, 'token.refused')).length, 1);
    assert.deepEqual(await statusesOf(5, () => ask(flooded, { scope: 'admin:orgs' })), [400]);
    assert.equal((await recorded(flooded.organizationId, 'token.refused')).length, limit + 5);

    const before = await suppressedTotal();
    await summarize();
    const reason =
      'client authentication failed: check the client id, and that its secret, key or assertion is current';
    for (const [organizationId, suppressed, lastAgentId, lastReason] of [
      [flooded.organizationId, 15, flooded.agentId, reason],
      [nilUuid, 7, nilUuid, 'not one of ours'],
    ] as const) {
      const [event, ...more] = await recorded(organizationId, 'refusals.suppressed');
      assert.deepEqual(more, []);
      const { minute, requestId, ...metadata } = event?.metadata ?? {};
      assert.deepEqual(metadata, { suppressed, lastAgentId, lastReason });
      assert.match(String(minute), /^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/);
      assert.deepEqual([requestId, event?.ip_address], ['refusals-suppressed', '127.0.0.1']);
    }
    assert.deepEqual(await recorded(other.organizationId, 'refusals.suppressed'), []);
    assert.equal((await suppressedTotal()) - before, 22);

    assert.equal((await ask(wrong)).status, 401);
    assert.equal((await recorded(flooded.organizationId, 'token.refused')).length, limit + 6, 'a new minute');
  });

  it(`401 from two processes, recorded ${limit} times in total`, async () => {
    const config = loadConfig(environment(withLongConnectTimeout(t.databaseUrl)));
    const second = await createApp({ config, log: createLog({ level: 'silent' }), clock: t.clock });
    after(() => second.close());
    const { organizationId, clientId } = await tenant();
    const fields = { grant_type: 'client_credentials', client_id: clientId, client_secret: 'cs_wrong' };
    const askSecond = async () => {
      const { statusCode } = await second.http.server.inject({
        method: 'POST',
        url: '/api/v1/token',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams(fields).toString(),
      });
      return { status: statusCode };
    };
    startOfMinute(t.clock);
    const each = limit - 10;
    const statuses = await Promise.all([
      statusesOf(each, () => t.askToken(fields)),
      statusesOf(each, askSecond),
    ]);
    assert.deepEqual(statuses, [[401], [401]]);
    assert.equal((await recorded(organizationId, 'token.refused')).length, limit);
    const counts = await t.sql('select refused from refusal_counts where organization_id = $1', [
      organizationId,
    ]);
    assert.deepEqual(counts, [{ refused: 2 * each }]);
  });
});
