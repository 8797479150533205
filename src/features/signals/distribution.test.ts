/** From the end of access to the queues: what an end waits for, and what an answer says before it is complete. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, it } from 'node:test';
import pg from 'pg';
import { startApp } from '../../../test/support/harness.ts';
import { createResourceClient } from '../../../test/support/scenarios/resources/resources.ts';
import { createSignalClient } from '../../../test/support/scenarios/signals.ts';

const t = await startApp();
const { call, agentIn, tenant } = createResourceClient(t);
const { receiver, poll, pollRaw, drain } = createSignalClient(t);
const owner = await tenant();
const api = await agentIn(owner.organizationId, ['tokens:read']);
const suspend = async () => {
  const { agentId } = await agentIn(owner.organizationId, []);
  const answer = await call('PATCH', `/agents/${agentId}`, owner.token, { status: 'suspended' });
  assert.equal(answer.status, 200, answer.text);
  return agentId;
};
const subjects = (found: readonly { sub_id: Readonly<Record<string, unknown>> }[]) =>
  found.map(({ sub_id }) => sub_id.sub);

/** A transaction of another process. */
async function begin() {
  const client = new pg.Client({ connectionString: t.databaseUrl });
  await client.connect();
  after(() => client.end());
  await client.query('begin');
  return client;
}
const insertSignal = (client: pg.Client, subject: string) =>
  client.query(
    `insert into signals (signal_id, organization_id, event_type, subject, details, occurred_at)
     values ($1, $2, 'https://schemas.openid.net/secevent/caep/event-type/session-revoked', $3, '{}', $4)`,
    [
      randomUUID(),
      owner.organizationId,
      JSON.stringify({ format: 'iss_sub', iss: 'http://countersign.test', sub: subject }),
      new Date(t.clock.now()).toISOString(),
    ],
  );

it('an end waits for no stream: also not while all streams of the organization are locked', async () => {
  const own = await receiver(api.token);
  await drain(own);
  const other = await begin();
  await other.query('select from signal_streams where organization_id = $1 for update', [
    owner.organizationId,
  ]);
  await other.query('lock table signal_deliveries, signal_exclusions');
  const agentId = await suspend();
  await other.query('rollback');
  assert.deepEqual(subjects(await drain(own)), [agentId]);
});

it('a stream that is made while an end is written has its signal once, whichever commits first', async () => {
  for (const isFilledFirst of [true, false]) {
    const other = await begin();
    await insertSignal(other, `end ${isFilledFirst}`);
    if (!isFilledFirst) await other.query('commit');
    const own = await receiver(api.token);
    if (isFilledFirst) await other.query('commit');
    const found = subjects(await drain(own)).filter((subject) => subject === `end ${isFilledFirst}`);
    assert.equal(found.length, 1);
  }
});

it('moreAvailable while another process distributes signals: an empty answer is not the end', async () => {
  const own = await receiver(api.token);
  await drain(own);
  const writer = await begin();
  await insertSignal(writer, 'in between');
  await writer.query('commit');
  const other = await begin();
  await other.query('select from signals where not distributed for update');
  const answer = await pollRaw(own, { returnImmediately: true });
  assert.deepEqual(answer.json, { sets: {}, moreAvailable: true });
  await other.query('rollback');
  assert.deepEqual(subjects(await poll(own)), ['in between']);
});

it('one organization with thousands of signals does not delay another', async () => {
  const [crowd, victim] = [await tenant(), await tenant()];
  const [many, few] = [await receiver(crowd.token), await receiver(victim.token)];
  await drain(many);
  await drain(few);
  await t.sql(
    `insert into signals (signal_id, organization_id, event_type, subject, details, occurred_at)
     select gen_random_uuid(), $1, 'https://schemas.openid.net/secevent/caep/event-type/session-revoked',
            jsonb_build_object('format', 'opaque', 'id', n), '{}', $2 from generate_series(1, 2000) as n`,
    [crowd.organizationId, new Date(t.clock.now()).toISOString()],
  );
  const { agentId } = await agentIn(victim.organizationId, []);
  await call('PATCH', `/agents/${agentId}`, victim.token, { status: 'suspended' });
  await t.app.signals.distribution.distribute(undefined, AbortSignal.abort('after one batch'));
  const waiting = await t.sql('select 1 from signal_deliveries where stream_id = $1', [few.streamId]);
  assert.equal(waiting.length, 1, 'in the first batch');
  assert.equal((await drain(many)).length, 2_000);
});

it('an empty answer at the end of a long poll was read then: without a loop in this process, too', async () => {
  const short = await startApp({}, t);
  const client = createSignalClient(short);
  const own = await client.receiver(api.token);
  await client.drain(own);
  const ended = client.pollRaw(own, {});
  const waits = () => short.app.signals.polls.streamIds().includes(own.streamId);
  while (!waits()) await new Promise((resolve) => setTimeout(resolve, 5));
  const agentId = await suspend();
  // A newer poll takes the place of the older one, which ends.
  short.app.signals.polls.open({ streamId: own.streamId, ended: AbortSignal.abort() }).close();
  const { sets } = (await ended).json;
  const [found] = await Promise.all(
    Object.entries(sets as Record<string, string>).map(([jti, set]) => client.read(jti, set, own.audience)),
  );
  assert.equal(found?.sub_id.sub, agentId);
});
