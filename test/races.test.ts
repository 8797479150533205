/** Races of the registry on PostgreSQL: many concurrent requests, many rounds. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { tryLockShared } from '../src/kernel/data/locks.ts';
import { sql } from '../src/kernel/data/sql.ts';
import { type Answer, keepOpen, newAgent, startApp } from './support/harness.ts';
import { until } from './support/programs.ts';
import { repetitions } from './support/repetitions.ts';

const t = await startApp({ DATABASE_POOL_SIZE: '20' });
const token = await t.token();

const post = (url: string, payload?: object) =>
  t.call('POST', `/api/v1${url}`, { token, ...(payload && { payload }) });
const ask = ({ clientId, clientSecret }: { clientId: string; clientSecret: string }) =>
  t.askToken({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret });
const atOnce = <T>(count: number, act: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => act(index)));
const tally = (answers: Answer[]) =>
  Object.entries(Object.groupBy(answers, ({ status }) => status)).map(
    ([status, group]) => `${status}×${group?.length}`,
  );

/** Waits until a session waits for a lock; fails if the request is answered first. */
const untilWaits = async (asked: Promise<unknown>) => {
  let answered = false;
  const noted = () => {
    answered = true;
  };
  asked.then(noted, noted);
  await until('it waits', async () => {
    assert.equal(answered, false, 'answered without waiting');
    const waiting = await t.sql(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return waiting.length > 0 || undefined;
  });
};

describe('races', () => {
  for (const [rounds, count, rotations] of [
    [repetitions(2, 5), 50, repetitions(2, 5)],
    [repetitions(20, 200), 4, repetitions(10, 50)],
  ] as const) {
    it(`exactly one 201 per round: one e-mail, ${count} concurrent requests, ${rounds} rounds`, async () => {
      for (let round = 0; round < rounds; round += 1) {
        const email = `Race-${randomUUID()}@Example.com`;
        const answers = await atOnce(count, (index) =>
          post('/agents', newAgent({ email: index % 2 ? email : email.toLowerCase() })),
        );
        assert.deepEqual(tally(answers), ['201×1', `409×${count - 1}`]);
      }
    });

    it(`exactly one 201 per round: the last agent of a plan, ${count} concurrent requests, ${rounds} rounds`, async () => {
      const organization = { name: 'Small', slug: `small-${randomUUID()}`, maxAgents: 0 };
      const { organizationId } = (await post('/organizations', organization)).json;
      for (let round = 1; round <= rounds; round += 1) {
        const payload = { maxAgents: round };
        await t.call('PATCH', `/api/v1/organizations/${organizationId}`, { token, payload });
        const answers = await atOnce(count, () =>
          post('/agents', newAgent({ organization_id: organizationId })),
        );
        assert.deepEqual(tally(answers), ['201×1', `403×${count - 1}`]);
        const refused = answers.find(({ status }) => status === 403)?.json;
        assert.equal(refused.code, 'FREE_TIER_LIMIT_EXCEEDED');
        assert.deepEqual(refused.details, { tier: 'free', limitType: 'max_agents', limit: round });
      }
    });

    it(`exactly one returned secret is valid: ${count} concurrent rotations of one credential, ${rotations} rounds`, async () => {
      const { agentId } = await t.agent();
      const { credentialId } = (await post(`/agents/${agentId}/credentials`)).json;
      for (let round = 0; round < rotations; round += 1) {
        const answers = await atOnce(count, () =>
          post(`/agents/${agentId}/credentials/${credentialId}/rotate`),
        );
        assert.deepEqual(tally(answers), [`200×${count}`]);
        const asked = await Promise.all(answers.map(({ json }) => ask(json)));
        assert.deepEqual(tally(asked), ['200×1', `401×${count - 1}`]);
      }
    });
  }

  it('no token is issued after the 204 of a revocation, and none stays active: concurrent rotate, revoke and /token', async () => {
    const { agentId } = await t.agent();
    for (let round = 0; round < repetitions(10, 50); round += 1) {
      const before = (await post(`/agents/${agentId}/credentials`)).json;
      const path = `/agents/${agentId}/credentials/${before.credentialId}`;
      let gone = false;
      const issued: string[] = [];
      const issuedLate: Answer[] = [];
      const tokens = async (secret: string) => {
        const startedAfter = gone;
        const answer = await ask({ clientId: agentId, clientSecret: secret });
        if (answer.status === 200) issued.push(answer.json.access_token);
        if (startedAfter && answer.status === 200) issuedLate.push(answer);
      };
      const revocation = t.call('DELETE', `/api/v1${path}`, { token }).then((answer) => {
        gone = true;
        return answer;
      });
      const [revoked, rotated] = await Promise.all([
        revocation,
        post(`${path}/rotate`),
        tokens(before.clientSecret),
        tokens(before.clientSecret),
        revocation.then(() => tokens(before.clientSecret)),
      ]);
      assert.equal(revoked.status, 204);
      assert.ok([200, 409].includes(rotated.status));
      if (rotated.status === 200) await tokens(rotated.json.clientSecret);
      assert.deepEqual(issuedLate, []);
      for (const one of issued) {
        const { json } = await t.form('/api/v1/token/introspect', { token: one }, token);
        assert.deepEqual(json, { active: false });
      }
    }
  });

  it('no credential is created after a suspension: concurrent suspension and creation', async () => {
    const { agentId } = await t.agent();
    const patch = (status: string) =>
      t.call('PATCH', `/api/v1/agents/${agentId}`, { token, payload: { status } });
    for (let round = 0; round < repetitions(20, 200); round += 1) {
      const [suspended, minted] = await Promise.all([
        patch('suspended'),
        post(`/agents/${agentId}/credentials`),
      ]);
      assert.equal(suspended.status, 200);
      assert.ok([201, 403].includes(minted.status));
      assert.equal((await post(`/agents/${agentId}/credentials`)).json.code, 'AGENT_NOT_ACTIVE');
      await patch('active');
    }
  });

  it('agent_counts equals the number of agents afterwards', async () => {
    const rows = await t.sql(
      `select organization_id, agent_type, status, agents::int as n from agent_counts where agents <> 0
       except select organization_id, agent_type, status, count(*)::int from agents group by 1, 2, 3`,
    );
    assert.deepEqual(rows, []);
    const [sums] = await t.sql<{ counted: string; there: string }>(
      'select (select sum(agents) from agent_counts)::text as counted, (select count(*) from agents)::text as there',
    );
    assert.equal(sums?.counted, sums?.there);
  });

  it('200 for other agents while one agent is locked, and for that agent after the release', async () => {
    const [held, other] = [await t.agent(), await t.agent()];
    const release = await keepOpen(t, (tx) =>
      tx.run('test.hold', sql`update agents set owner = 'held' where agent_id = ${held.agentId}`),
    );
    let answered = false;
    const waiting = ask(held).finally(() => {
      answered = true;
    });
    for (let round = 0; round < 5; round += 1) assert.equal((await ask(other)).status, 200);
    assert.equal(answered, false);
    assert.equal(
      (await ask({ ...held, clientSecret: 'wrong' })).status,
      401,
      'a wrong secret does not wait for the lock',
    );
    await release();
    assert.equal((await waiting).status, 200);
  });

  it('401 for a token request that waited for the revocation of its credential', async () => {
    const client = await t.agent();
    const release = await keepOpen(t, (tx) =>
      tx.run(
        'test.revoke',
        sql`update credentials set status = 'revoked', revoked_at = now() where agent_id = ${client.agentId}`,
      ),
    );
    const waiting = ask(client);
    await untilWaits(waiting);
    await release();
    assert.equal((await waiting).status, 401);
  });

  it('a change of an agent or its credential waits until the token is issued', async () => {
    const client = await t.agent();
    for (const table of ['agents', 'credentials']) {
      const release = await keepOpen(t, (tx) => tryLockShared(tx, 'agent', [client.agentId]));
      const change = t.sql(`update ${table} set status = status where agent_id = $1`, [client.agentId]);
      await untilWaits(change);
      await release();
      await change;
    }
  });
});
