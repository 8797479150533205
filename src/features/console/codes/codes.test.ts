/** One-time codes for the command line, and the sessions that they begin. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { newAgent, startOfMinute } from '../../../../test/support/harness.ts';
import {
  type Client,
  cookieIn,
  createConsoleClient,
  refuseCodes,
  sessionUrl,
  startConsoleApp,
} from '../../../../test/support/scenarios/console.ts';

const t = await startConsoleApp();
const web = createConsoleClient(t);
const { operator } = t;
const { operate, statusOf } = web;
const minute = 60_000;
const codesUrl = '/console/api/command-line-codes';

const makeCode = async (cookie: string): Promise<string> => {
  const answer = await web.call(cookie, 'POST', codesUrl);
  assert.equal(answer.status, 201, answer.text);
  return answer.json.code;
};
/** The cookie of the command line. */
const redeem = async (code: string): Promise<string> => {
  const answer = await web.signIn({ code });
  assert.equal(answer.status, 204, answer.text);
  return cookieIn(answer);
};
const bothSessions = async (client: Client = operator) => {
  const browser = await web.cookieOf(client);
  return { browser, commandLine: await redeem(await makeCode(browser)) };
};
const eventsOf = (agentId: string) =>
  t.sql<{ action: string; metadata: Record<string, string> }>(
    'select action, metadata from audit_events where agent_id = $1 order by event_id',
    [agentId],
  );
const purge = () => t.app.webConsole.loops[0]?.run(new AbortController().signal);

describe('POST /console/api/command-line-codes', () => {
  it('201 with a code for two minutes, of which only a hash is stored; session.code_created is recorded', async () => {
    const agent = await t.agent();
    const { status, json, headers } = await web.call(await web.cookieOf(agent), 'POST', codesUrl);
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(json).sort(), ['code', 'expiresAt', 'expiresIn']);
    assert.equal(json.expiresIn, 120);
    assert.match(json.code, /^csc_[\w-]{43}$/);
    assert.ok(Math.abs(Date.parse(json.expiresAt) - t.clock.now() - 2 * minute) < 5_000);
    assert.equal(headers['cache-control'], 'no-store');
    const hash = createHash('sha256').update(json.code).digest();
    assert.equal((await t.sql('select 1 from console_codes where code_hash = $1', [hash])).length, 1);
    const rows = await t.sql<{ row: string }>('select c::text as row from console_codes c');
    assert.ok(rows.every(({ row }) => !row.includes(json.code.slice(4))));
    const events = await eventsOf(agent.agentId);
    const made = events.find(({ action }) => action === 'session.code_created') ?? assert.fail();
    const begun = events.find(({ action }) => action === 'session.created') ?? assert.fail();
    assert.equal(made.metadata.sessionId, begun.metadata.sessionId);
    assert.equal(made.metadata.expiresAt, json.expiresAt);
    assert.ok(!JSON.stringify(events).includes(json.code.slice(4)));
  });

  it('201 replaces the code that the session made before', async () => {
    const cookie = await web.cookieOf(operator);
    const [first, second] = [await makeCode(cookie), await makeCode(cookie)];
    assert.equal((await web.signIn({ code: first })).status, 401);
    assert.equal((await web.signIn({ code: second })).status, 204);
  });

  it('201 with a shorter life when the session ends sooner', async () => {
    const agent = await t.agent();
    const cookie = await web.cookieOf(agent);
    const end = new Date(t.clock.now() + 30_000);
    await t.sql('update console_sessions set expires_at = $2 where agent_id = $1', [agent.agentId, end]);
    const { json } = await web.call(cookie, 'POST', codesUrl);
    assert.equal(json.expiresAt, end.toISOString());
    const commandLine = await redeem(json.code);
    assert.equal((await web.call(commandLine, 'GET', sessionUrl)).json.expiresAt, end.toISOString());
    t.clock.advance(30_000);
    assert.equal(await statusOf(commandLine), 401);
  });

  it('403 FORBIDDEN from another page or without the header of the console; nothing is made', async () => {
    const agent = await t.agent();
    const cookie = await web.cookieOf(agent);
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'x-countersign-console': '' },
    ]) {
      const answer = await web.call(cookie, 'POST', codesUrl, undefined, headers);
      assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN']);
    }
    assert.ok(!(await eventsOf(agent.agentId)).some(({ action }) => action === 'session.code_created'));
  });

  it('403 FORBIDDEN for a session of the command line: it cannot multiply', async () => {
    const { commandLine } = await bothSessions();
    const answer = await web.call(commandLine, 'POST', codesUrl);
    assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN']);
    assert.match(answer.json.message, /in a browser/);
  });

  it('401 UNAUTHORIZED without a session, and with an access token', async () => {
    assert.equal((await web.call(undefined, 'POST', codesUrl)).status, 401);
    const headers = { authorization: `Bearer ${await t.token()}` };
    assert.equal((await web.call(undefined, 'POST', codesUrl, undefined, headers)).status, 401);
  });

  it('400 VALIDATION_ERROR with a body', async () => {
    const answer = await web.call(await web.cookieOf(operator), 'POST', codesUrl, { lifetime: 3_600 });
    assert.deepEqual([answer.status, answer.json.code], [400, 'VALIDATION_ERROR']);
  });

  it('429 after ten in a minute, for this agent alone', async () => {
    startOfMinute(t.clock);
    const [agent, other] = [await t.agent(), await t.agent()];
    const cookie = await web.cookieOf(agent);
    const statuses = [];
    for (let count = 0; count < 11; count += 1)
      statuses.push((await web.call(cookie, 'POST', codesUrl)).status);
    assert.deepEqual(statuses, [...Array.from({ length: 10 }, () => 201), 429]);
    assert.equal((await web.call(await web.cookieOf(other), 'POST', codesUrl)).status, 201);
  });
});

describe('POST /console/api/session with a code for the command line', () => {
  it('204 with a session of the same agent and scopes that ends no later', async () => {
    const agent = await t.agent({ allowedScopes: ['agents:read', 'audit:read'] });
    const link = (await web.link(agent, 'audit:read')).json.code;
    const browser = cookieIn(await web.signIn({ code: link }));
    const code = await makeCode(browser);
    t.clock.advance(minute);
    const answer = await web.signIn({ code });
    assert.deepEqual([answer.status, answer.text], [204, '']);
    const commandLine = cookieIn(answer);
    assert.notEqual(commandLine, browser);
    const [of, to] = [browser, commandLine].map((cookie) => web.call(cookie, 'GET', sessionUrl));
    assert.deepEqual((await to)?.json, (await of)?.json);
    assert.equal((await web.call(commandLine, 'GET', '/audit')).status, 200);
    assert.equal((await web.call(commandLine, 'GET', '/agents')).status, 403);
    const created = (await eventsOf(agent.agentId)).filter(({ action }) => action === 'session.created');
    const [maker, made] = created.map(({ metadata }) => metadata);
    assert.deepEqual([made?.method, made?.madeBy], ['command-line', maker?.sessionId]);
    assert.deepEqual([made?.credentialId, made?.expiresAt], [maker?.credentialId, maker?.expiresAt]);
  });

  it('204 with the verifier of its challenge only; 401 without one, with another, and for a code without challenge', async () => {
    const cookie = await web.cookieOf(await t.agent());
    const verifier = 'v'.repeat(43);
    const codeChallenge = createHash('sha256').update(verifier).digest('base64url');
    const plain = await makeCode(cookie);
    assert.equal((await web.signIn({ code: plain, codeVerifier: verifier })).status, 401);
    const { json } = await web.call(cookie, 'POST', codesUrl, { codeChallenge });
    for (const wrong of [{}, { codeVerifier: 'w'.repeat(43) }, { codeVerifier: codeChallenge }])
      assert.equal((await web.signIn({ code: json.code, ...wrong })).status, 401);
    for (const code of [`${json.code}.${codeChallenge}`, `S256.${codeChallenge}.${json.code}`])
      assert.equal((await web.signIn({ code })).status, 401);
    const right = { code: json.code, codeVerifier: verifier };
    assert.deepEqual([(await web.signIn(right)).status, (await web.signIn(right)).status], [204, 401]);
  });

  it('400 VALIDATION_ERROR for a challenge or a verifier of another form, and for a verifier with other proofs', async () => {
    const cookie = await web.cookieOf(await t.agent());
    for (const codeChallenge of ['', 'x'.repeat(42), `${'x'.repeat(42)}=`, 7])
      assert.equal((await web.call(cookie, 'POST', codesUrl, { codeChallenge })).status, 400);
    const code = await makeCode(cookie);
    const codeVerifier = 'v'.repeat(43);
    for (const body of [
      { code, codeVerifier: 'short' },
      { code: `csl_${code.slice(4)}`, codeVerifier },
      { clientId: operator.clientId, clientSecret: operator.clientSecret, codeVerifier },
    ])
      assert.equal((await web.signIn(body as never)).status, 400, JSON.stringify(body));
  });

  it('204 leaves the session of the cookie: the browser that made the code stays signed in', async () => {
    const browser = await web.cookieOf(operator);
    const answer = await web.signIn({ code: await makeCode(browser) }, { cookie: browser });
    assert.equal(answer.status, 204);
    assert.deepEqual([await statusOf(browser), await statusOf(cookieIn(answer))], [200, 200]);
  });

  it('204 makes no session that can make a link or reach the token endpoint', async () => {
    const { commandLine } = await bothSessions();
    assert.equal((await web.call(commandLine, 'POST', '/console/api/v1/console/links')).status, 403);
    assert.equal((await web.call(commandLine, 'POST', '/token')).status, 404);
    // Nor is the cookie a token.
    const token = commandLine.split('=')[1] ?? '';
    assert.equal((await t.call('GET', '/api/v1/agents', { token })).status, 401);
    assert.equal((await t.call('GET', '/api/v1/agents', { headers: { cookie: commandLine } })).status, 401);
  });

  it('403 FORBIDDEN for a change without the headers of the console', async () => {
    const { commandLine } = await bothSessions();
    const answer = await t.call('POST', '/console/api/v1/agents', {
      headers: { cookie: commandLine },
      payload: newAgent(),
    });
    assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN']);
    assert.equal((await web.call(commandLine, 'POST', '/agents', newAgent())).status, 201);
  });

  it('401 UNAUTHORIZED the second time, and after two minutes', async () => {
    const browser = await web.cookieOf(operator);
    const code = await makeCode(browser);
    await redeem(code);
    const again = await web.signIn({ code });
    assert.deepEqual([again.status, again.json.code], [401, 'UNAUTHORIZED']);
    assert.match(again.json.message, /^The code was used already, is older than two minutes/);
    assert.equal(again.headers['set-cookie'], undefined);
    const late = await makeCode(browser);
    t.clock.advance(2 * minute);
    assert.equal((await web.signIn({ code: late })).status, 401);
  });

  it('204 once of 50 at the same moment', async () => {
    const agent = await t.agent();
    const code = await makeCode(await web.cookieOf(agent));
    await web.assertSingleUse(code);
    const rows = await t.sql(
      "select 1 from console_sessions where agent_id = $1 and method = 'command-line'",
      [agent.agentId],
    );
    assert.equal(rows.length, 1);
  });

  it('401 UNAUTHORIZED for invented codes and those of another instance, which count against the address', async () => {
    const limited = await startConsoleApp({ RATE_LIMIT_PER_MINUTE: '5' }, t);
    const elsewhere = await startConsoleApp();
    const client = createConsoleClient(elsewhere);
    const foreign = (await client.call(await client.cookieOf(elsewhere.operator), 'POST', codesUrl)).json
      .code;
    const code = await makeCode(await web.cookieOf(operator));
    startOfMinute(t.clock);
    const invented = [
      foreign,
      'csc_',
      `csc_${'A'.repeat(43)}`,
      code.toLowerCase(),
      `${code} `,
      `csl_${code.slice(4)}`,
    ];
    const refused = await refuseCodes(t, limited, invented, 'command-line');
    assert.match(String(refused.metadata.reason), /^the code was used already/);
    assert.ok(!JSON.stringify(refused).includes(code.slice(4, 20)));
    // The right code counts against the client.
    const right = await createConsoleClient(limited).signIn({ code });
    assert.deepEqual([right.status, right.headers['x-ratelimit-remaining']], [204, '4']);
  });

  it('401 UNAUTHORIZED when the session that made it has signed out, is idle, or lost its credential', async () => {
    const ends: ((agent: Client, cookie: string) => Promise<unknown>)[] = [
      (_, cookie) => web.call(cookie, 'DELETE', sessionUrl),
      ({ clientId }) =>
        t.sql("update console_sessions set last_used_at = now() - interval '1 day' where agent_id = $1", [
          clientId,
        ]),
      ({ clientId }) => t.sql("update credentials set status = 'revoked' where agent_id = $1", [clientId]),
      ({ clientId }) => operate('PATCH', `/agents/${clientId}`, { status: 'suspended' }),
    ];
    for (const end of ends) {
      const agent = await t.agent();
      const cookie = await web.cookieOf(agent);
      const code = await makeCode(cookie);
      await end(agent, cookie);
      const answer = await web.signIn({ code });
      assert.deepEqual([answer.status, answer.json.code], [401, 'UNAUTHORIZED'], String(end));
    }
  });

  it('403 FORBIDDEN on plain http at a public address', async () => {
    const app = await startConsoleApp({ BASE_URL: 'http://id.example.com' }, t);
    const code = await makeCode(await web.cookieOf(operator));
    const answer = await createConsoleClient(app).signIn({ code }, { origin: 'http://id.example.com' });
    assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN']);
  });
});

describe('a session of the command line', () => {
  it('401 after the sign-out in the browser; both have their event', async () => {
    const agent = await t.agent();
    const { browser, commandLine } = await bothSessions(agent);
    const second = await redeem(await makeCode(browser));
    const other = await bothSessions(agent);
    assert.equal((await web.call(browser, 'DELETE', sessionUrl)).status, 204);
    assert.deepEqual(await Promise.all([browser, commandLine, second].map(statusOf)), [401, 401, 401]);
    assert.deepEqual(await Promise.all([other.browser, other.commandLine].map(statusOf)), [200, 200]);
    const ended = (await eventsOf(agent.agentId)).filter(({ action }) => action === 'session.ended');
    assert.deepEqual(ended.map(({ metadata }) => [metadata.method, metadata.reason]).sort(), [
      ['client', 'signed out'],
      ['command-line', 'signed out'],
      ['command-line', 'signed out'],
    ]);
  });

  it('401 after a sign-out on a node of the previous version, which knows one session', async () => {
    const agent = await t.agent();
    const { commandLine } = await bothSessions(agent);
    await t.sql("delete from console_sessions where agent_id = $1 and method = 'client'", [agent.agentId]);
    assert.equal(await statusOf(commandLine), 401);
  });

  it('204 for its own sign-out, which leaves the browser signed in', async () => {
    const { browser, commandLine } = await bothSessions();
    assert.equal((await web.call(commandLine, 'DELETE', sessionUrl)).status, 204);
    assert.deepEqual([await statusOf(commandLine), await statusOf(browser)], [401, 200]);
  });

  it('200 while a sign-out and a sign-in by code race: the sign-out always wins', async () => {
    for (let round = 0; round < 10; round += 1) {
      const agent = await t.agent();
      const browser = await web.cookieOf(agent);
      const code = await makeCode(browser);
      const [answer, out] = await Promise.all([
        web.signIn({ code }),
        web.call(browser, 'DELETE', sessionUrl),
      ]);
      assert.ok([204, 401].includes(answer.status), answer.text);
      assert.equal(out.status, 204);
      const left = await t.sql('select 1 from console_sessions where agent_id = $1', [agent.agentId]);
      assert.equal(left.length, 0);
      const events = (await eventsOf(agent.agentId)).map(({ action }) => action);
      const count = (type: string) => events.filter((action) => action === type).length;
      assert.equal(count('session.ended'), count('session.created'));
    }
  });

  it('200 without use for hours, after the browser is idle and purged, until the 8 hours of the browser are over', async () => {
    const agent = await t.agent();
    const browser = await web.cookieOf(agent);
    t.clock.advance(20 * minute);
    const commandLine = await redeem(await makeCode(browser));
    t.clock.advance(31 * minute);
    assert.deepEqual([await statusOf(browser), await statusOf(commandLine)], [401, 200]);
    await purge();
    const left = await t.sql('select method from console_sessions where agent_id = $1', [agent.agentId]);
    assert.deepEqual(left, [{ method: 'command-line' }]);
    t.clock.advance((8 * 60 - 52) * minute);
    assert.equal(await statusOf(commandLine), 200);
    t.clock.advance(minute);
    assert.equal(await statusOf(commandLine), 401);
    await purge();
    const ended = (await eventsOf(agent.agentId)).filter(({ action }) => action === 'session.ended');
    assert.deepEqual(
      ended.map(({ metadata }) => [metadata.method, metadata.reason]),
      [
        ['client', 'idle'],
        ['command-line', 'expired'],
      ],
    );
  });

  it('401 with the agent that is suspended, and stays ended after a reactivation', async () => {
    const agent = await t.agent();
    const { commandLine } = await bothSessions(agent);
    await operate('PATCH', `/agents/${agent.agentId}`, { status: 'suspended' });
    await operate('PATCH', `/agents/${agent.agentId}`, { status: 'active' });
    assert.equal(await statusOf(commandLine), 401);
    const ended = (await eventsOf(agent.agentId)).filter(({ action }) => action === 'session.ended');
    assert.deepEqual(
      ended.map(({ metadata }) => metadata.reason),
      ['agent suspended', 'agent suspended'],
    );
  });

  it('401 with the credential of the browser, also after the browser was idle', async () => {
    const agent = await t.agent();
    const { commandLine } = await bothSessions(agent);
    t.clock.advance(31 * minute);
    await purge();
    assert.equal(await statusOf(commandLine), 200);
    const [{ id } = assert.fail()] = await t.sql<{ id: string }>(
      'select credential_id as id from credentials where agent_id = $1',
      [agent.agentId],
    );
    await operate('DELETE', `/agents/${agent.agentId}/credentials/${id}`);
    assert.equal(await statusOf(commandLine), 401);
  });

  it('the purge deletes codes that have expired', async () => {
    await makeCode(await web.cookieOf(operator));
    t.clock.advance(3 * minute);
    await purge();
    assert.deepEqual(
      await t.sql('select 1 from console_codes where expires_at < $1', [new Date(t.clock.now())]),
      [],
    );
  });
});
