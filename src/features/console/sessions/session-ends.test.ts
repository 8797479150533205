/** How sessions end: by signing out, by time, and with their credential, agent or organization. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Client,
  createConsoleClient,
  sessionUrl,
  startConsoleApp,
} from '../../../../test/support/scenarios/console.ts';

const t = await startConsoleApp();
const web = createConsoleClient(t);
const { operator } = t;
const { operate, statusOf } = web;
const minute = 60_000;

const organization = async (): Promise<string> =>
  (
    await operate('POST', '/organizations', {
      name: 'Other',
      slug: `other-${crypto.randomUUID().slice(0, 13)}`,
      planTier: 'pro',
    })
  ).organizationId;
const credentialOf = async ({ clientId }: Client): Promise<string> =>
  (await t.call('GET', `/api/v1/agents/${clientId}/credentials`, { token: await t.token() })).json.data[0]
    .credentialId;
const endsOf = (agentId: string) =>
  t.sql<{ method: string; reason: string; actor: string | null }>(
    `select metadata->>'method' as method, metadata->>'reason' as reason, metadata->>'actorId' as actor
     from audit_events where action = 'session.ended' and agent_id = $1 order by event_id`,
    [agentId],
  );

describe('DELETE /console/api/session', () => {
  it('204 ends the session, removes the cookie and records session.ended', async () => {
    const agent = await t.agent();
    const cookie = await web.cookieOf(agent);
    const answer = await web.call(cookie, 'DELETE', sessionUrl);
    assert.deepEqual([answer.status, answer.text], [204, '']);
    assert.equal(answer.headers['set-cookie'], 'countersign=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0');
    const gone = await web.call(cookie, 'GET', '/agents');
    assert.equal(gone.status, 401);
    assert.match(gone.json.message, /^Your session has ended: sign in again\./);
    assert.deepEqual(await endsOf(agent.agentId), [{ method: 'client', reason: 'signed out', actor: null }]);
  });

  it('204 again, and without a session, without another event', async () => {
    const agent = await t.agent();
    const cookie = await web.cookieOf(agent);
    for (const value of [cookie, cookie, undefined, 'countersign=garbage']) {
      const answer = await web.call(value, 'DELETE', sessionUrl);
      assert.equal(answer.status, 204);
      assert.match(String(answer.headers['set-cookie']), /^countersign=; .*Max-Age=0$/);
    }
    assert.equal((await endsOf(agent.agentId)).length, 1);
  });

  it('204 once of many at the same moment records one event', async () => {
    const agent = await t.agent();
    const cookie = await web.cookieOf(agent);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => web.call(cookie, 'DELETE', sessionUrl)),
    );
    assert.ok(answers.every(({ status }) => status === 204));
    assert.equal((await endsOf(agent.agentId)).length, 1);
  });

  it('204 leaves the other sessions of the agent', async () => {
    const [one, other] = [await web.cookieOf(operator), await web.cookieOf(operator)];
    await web.call(one, 'DELETE', sessionUrl);
    assert.deepEqual([await statusOf(one), await statusOf(other)], [401, 200]);
  });
});

describe('a session ends by time', () => {
  it('401 after 30 minutes without a request; each request begins them again', async () => {
    const cookie = await web.cookieOf(operator);
    t.clock.advance(29 * minute);
    assert.equal(await statusOf(cookie), 200);
    t.clock.advance(29 * minute);
    assert.equal(await statusOf(cookie), 200);
    t.clock.advance(30 * minute);
    assert.equal(await statusOf(cookie), 401);
  });

  it('401 after 8 hours, however busy', async () => {
    const cookie = await web.cookieOf(operator);
    for (let count = 0; count < 23; count += 1) {
      t.clock.advance(20 * minute);
      assert.equal(await statusOf(cookie), 200);
    }
    t.clock.advance(20 * minute);
    assert.equal(await statusOf(cookie), 401);
  });

  it('writes the time of the last use at most once a minute', async () => {
    const agent = await t.agent();
    const cookie = await web.cookieOf(agent);
    const lastUse = async () =>
      Date.parse(
        String(
          (
            await t.sql('select last_used_at::text as used from console_sessions where agent_id = $1', [
              agent.agentId,
            ])
          )[0]?.used,
        ),
      );
    const first = await lastUse();
    t.clock.advance(30_000);
    await statusOf(cookie);
    assert.equal(await lastUse(), first);
    t.clock.advance(31_000);
    await statusOf(cookie);
    assert.ok((await lastUse()) - first >= minute);
  });

  it('a refused change is no use', async () => {
    const cookie = await web.cookieOf(operator);
    t.clock.advance(20 * minute);
    const forged = await t.call('DELETE', sessionUrl, {
      headers: { cookie, 'sec-fetch-site': 'cross-site' },
    });
    assert.equal(forged.status, 403);
    t.clock.advance(11 * minute);
    assert.equal(await statusOf(cookie), 401);
  });

  it('the purge deletes ended sessions and expired links, and records why the sessions ended', async () => {
    const [idle, expired, busy] = [await t.agent(), await t.agent(), await t.agent()];
    const cookies = [await web.cookieOf(idle), await web.cookieOf(expired), await web.cookieOf(busy)];
    await web.link(idle);
    await t.sql(`update console_sessions set expires_at = now() - interval '1 second' where agent_id = $1`, [
      expired.agentId,
    ]);
    t.clock.advance(31 * minute);
    await t.sql('update console_sessions set last_used_at = $2 where agent_id = $1', [
      busy.agentId,
      new Date(t.clock.now()),
    ]);
    const loop = t.app.webConsole.loops[0];
    await loop?.run(new AbortController().signal);
    assert.deepEqual(
      [...(await endsOf(idle.agentId)), ...(await endsOf(expired.agentId))].map(({ reason }) => reason),
      ['idle', 'expired'],
    );
    assert.deepEqual(await endsOf(busy.agentId), []);
    assert.deepEqual(await Promise.all(cookies.map(statusOf)), [401, 401, 200]);
    const [{ links } = assert.fail()] = await t.sql<{ links: string }>(
      'select count(*) as links from console_links',
    );
    assert.equal(Number(links), 0);
  });
});

describe('a session ends at once', () => {
  const cases: [string, string, (client: Client, organizationId: string) => Promise<unknown>][] = [
    [
      'with its credential',
      'credential revoked',
      async (client) =>
        operate('DELETE', `/agents/${client.clientId}/credentials/${await credentialOf(client)}`),
    ],
    [
      'with its agent that is suspended, and stays ended after a reactivation',
      'agent suspended',
      async ({ clientId }) => {
        await operate('PATCH', `/agents/${clientId}`, { status: 'suspended' });
        await operate('PATCH', `/agents/${clientId}`, { status: 'active' });
      },
    ],
    [
      'with its agent that is decommissioned',
      'agent decommissioned',
      ({ clientId }) => operate('DELETE', `/agents/${clientId}`),
    ],
    [
      'with its organization that is suspended, and stays ended after a reactivation',
      'organization suspended',
      async (_, organizationId) => {
        await operate('PATCH', `/organizations/${organizationId}`, { status: 'suspended' });
        await operate('PATCH', `/organizations/${organizationId}`, { status: 'active' });
      },
    ],
    [
      'with its organization that is deleted',
      'organization deleted',
      (_, organizationId) => operate('DELETE', `/organizations/${organizationId}`),
    ],
  ];
  for (const [what, reason, endIt] of cases)
    it(`401 ${what}; session.ended says so`, async () => {
      const organizationId = await organization();
      const agent = await t.agent({ organization_id: organizationId });
      const cookies = [await web.cookieOf(agent), await web.cookieOf(agent)];
      const code = (await web.link(agent)).json.code;
      const neighbour = await web.cookieOf(await t.agent());
      await endIt(agent, organizationId);
      for (const cookie of cookies) assert.equal(await statusOf(cookie), 401);
      assert.equal(await statusOf(neighbour), 200);
      assert.deepEqual(
        await endsOf(agent.agentId),
        cookies.map(() => ({ method: 'client', reason, actor: operator.agentId })),
      );
      // Nor does a link that was made before begin one.
      assert.notEqual((await web.signIn({ code })).status, 204);
    });

  it('401 while a node of an earlier version, which ends no sessions, has suspended the agent', async () => {
    const agent = await t.agent();
    const cookie = await web.cookieOf(agent);
    await t.sql("update agents set status = 'suspended' where agent_id = $1", [agent.agentId]);
    assert.equal(await statusOf(cookie), 401);
  });

  it('401 when its credential expires; the purge records it', async () => {
    const agent = await t.agent();
    const expiresAt = new Date(t.clock.now() + 5 * minute).toISOString();
    const credential = await operate('POST', `/agents/${agent.agentId}/credentials`, { expiresAt });
    const cookie = await web.cookieOf(credential);
    t.clock.advance(5 * minute);
    assert.equal(await statusOf(cookie), 401);
    await t.app.webConsole.loops[0]?.run(new AbortController().signal);
    assert.deepEqual(
      (await endsOf(agent.agentId)).map(({ reason }) => reason),
      ['credential expired'],
    );
  });

  it('200 after a rotation of its credential: the page that rotated it must still show the new secret', async () => {
    const agent = await t.agent({ allowedScopes: ['agents:read', 'agents:write'] });
    const cookie = await web.cookieOf(agent);
    const path = `/agents/${agent.agentId}/credentials/${await credentialOf(agent)}/rotate`;
    const rotated = await web.call(cookie, 'POST', path);
    assert.equal(rotated.status, 200, rotated.text);
    assert.equal(await statusOf(cookie), 200);
  });

  it('401 on another node at once', async () => {
    const other = await startConsoleApp({}, t);
    const agent = await t.agent();
    const cookie = await web.cookieOf(agent);
    assert.equal((await createConsoleClient(other).call(cookie, 'GET', sessionUrl)).status, 200);
    await createConsoleClient(other).call(cookie, 'DELETE', sessionUrl);
    assert.equal(await statusOf(cookie), 401);
  });

  it('204 for a session that begins after a reactivation', async () => {
    const agent = await t.agent();
    await operate('PATCH', `/agents/${agent.agentId}`, { status: 'suspended' });
    await operate('PATCH', `/agents/${agent.agentId}`, { status: 'active' });
    assert.equal(await statusOf(await web.cookieOf(agent)), 200);
  });
});
