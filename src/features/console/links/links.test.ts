import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { startOfMinute } from '../../../../test/support/harness.ts';
import {
  consoleOrigin,
  cookieIn,
  createConsoleClient,
  fromPage,
  refuseCodes,
  sessionUrl,
  startConsoleApp,
} from '../../../../test/support/scenarios/console.ts';
import { createDelegationClient } from '../../../../test/support/scenarios/delegations.ts';

const t = await startConsoleApp();
const web = createConsoleClient(t);
const { operator } = t;
const { operate } = web;
const hash = (text: string) => createHash('sha256').update(text).digest();

describe('POST /console/links', () => {
  it('201 with a URL whose fragment has the code, for a minute', async () => {
    const { status, json, headers } = await web.link();
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(json).sort(), ['code', 'expiresAt', 'url']);
    assert.match(json.code, /^csl_[\w-]{43}$/);
    assert.equal(json.url, `${consoleOrigin}/console#code=${json.code}`);
    assert.ok(Math.abs(Date.parse(json.expiresAt) - t.clock.now() - 60_000) < 5_000);
    assert.equal(headers['cache-control'], 'no-store');
  });

  it('stores only a hash of the code', async () => {
    const { code } = (await web.link()).json;
    const rows = await t.sql<{ row: string }>('select l::text as row from console_links l');
    assert.ok(rows.every(({ row }) => !row.includes(code.slice(4))));
    assert.equal((await t.sql('select 1 from console_links where code_hash = $1', [hash(code)])).length, 1);
  });

  it('400 VALIDATION_ERROR with a body', async () => {
    const answer = await t.call('POST', '/api/v1/console/links', {
      token: await t.token(),
      payload: { lifetime: 3600 },
    });
    assert.deepEqual([answer.status, answer.json.code], [400, 'VALIDATION_ERROR']);
  });

  it('403 FORBIDDEN for a delegated token', async () => {
    const { createDelegation, redeem } = createDelegationClient(t);
    const delegatee = await t.agent({ allowedScopes: [] });
    const delegation = await createDelegation(await t.token(), delegatee, ['agents:read']);
    const token = await redeem(delegatee, delegation);
    const answer = await t.call('POST', '/api/v1/console/links', { token });
    assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN']);
  });

  it('403 FORBIDDEN through the console: a session cannot prolong itself', async () => {
    const cookie = await web.cookieOf(operator);
    const answer = await web.call(cookie, 'POST', '/console/links');
    const mirrored = await t.call('POST', '/console/api/v1/console/links', {
      headers: { ...fromPage, cookie },
    });
    assert.equal(answer.status, 405);
    assert.deepEqual([mirrored.status, mirrored.json.code], [403, 'FORBIDDEN']);
  });

  it('403 FORBIDDEN on plain http at a public address', async () => {
    const app = await startConsoleApp({ BASE_URL: 'http://id.example.com' }, t);
    const answer = await app.call('POST', '/api/v1/console/links', { token: await app.token() });
    assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN']);
    assert.match(answer.json.message, /https/);
  });
});

describe('POST /console/api/session with a code', () => {
  it('204 with a session of the token: its agent, its scopes, its credential', async () => {
    const agent = await t.agent({ allowedScopes: ['agents:read', 'audit:read'] });
    const { code } = (await web.link(agent, 'audit:read')).json;
    const answer = await web.signIn({ code });
    assert.deepEqual([answer.status, answer.text], [204, '']);
    const cookie = cookieIn(answer);
    const me = (await web.call(cookie, 'GET', sessionUrl)).json;
    assert.deepEqual([me.agentId, me.scopes], [agent.agentId, ['audit:read']]);
    assert.equal((await web.call(cookie, 'GET', '/agents')).status, 403);
    const [{ metadata } = assert.fail()] = await t.sql<{ metadata: Record<string, unknown> }>(
      "select metadata from audit_events where action = 'session.created' and agent_id = $1",
      [agent.agentId],
    );
    assert.equal(metadata.method, 'link');
    await operate('DELETE', `/agents/${agent.agentId}/credentials/${metadata.credentialId}`);
    assert.equal((await web.call(cookie, 'GET', sessionUrl)).status, 401);
  });

  it('401 UNAUTHORIZED the second time', async () => {
    const { code } = (await web.link()).json;
    assert.equal((await web.signIn({ code })).status, 204);
    const again = await web.signIn({ code });
    assert.deepEqual([again.status, again.json.code], [401, 'UNAUTHORIZED']);
    assert.match(again.json.message, /used already, or is older than a minute.*countersign console/);
    assert.equal(again.headers['set-cookie'], undefined);
  });

  it('204 once of 50 at the same moment', async () => {
    const agent = await t.agent();
    const { code } = (await web.link(agent)).json;
    await web.assertSingleUse(code);
    const rows = await t.sql('select 1 from console_sessions where agent_id = $1', [agent.agentId]);
    assert.equal(rows.length, 1);
  });

  it('401 UNAUTHORIZED after a minute', async () => {
    const { code } = (await web.link()).json;
    t.clock.advance(59_000);
    const other = (await web.link()).json.code;
    t.clock.advance(1_000);
    assert.equal((await web.signIn({ code })).status, 401);
    assert.equal((await web.signIn({ code: other })).status, 204);
  });

  it('401 UNAUTHORIZED for invented codes, which count against the address and are recorded as refusals', async () => {
    const limited = await startConsoleApp({ RATE_LIMIT_PER_MINUTE: '5' }, t);
    startOfMinute(t.clock);
    const { code } = (await web.link()).json;
    const invented = [
      'x',
      `csl_${'A'.repeat(43)}`,
      code.toLowerCase(),
      `${code} `,
      code.slice(4),
      "' or 1=1 --",
    ];
    const refused = await refuseCodes(t, limited, invented, 'link');
    assert.match(String(refused.metadata.reason), /^the link was used already/);
    assert.ok(!JSON.stringify(refused).includes(code));
    // The right code counts against the client.
    assert.equal((await createConsoleClient(limited).signIn({ code })).status, 204);
  });

  it('401 UNAUTHORIZED when the credential of the token was revoked before the link was used', async () => {
    const agent = await t.agent();
    const { code } = (await web.link(agent)).json;
    await t.sql("update credentials set status = 'revoked' where agent_id = $1", [agent.agentId]);
    const answer = await web.signIn({ code });
    assert.deepEqual(
      [answer.status, answer.json.message],
      [401, 'The credential of the link is no longer valid.'],
    );
  });
});

describe('the link that countersign dev prints', () => {
  it('signs the operator in; there is none for a wrong secret or where cookies are not safe', async () => {
    const link = await t.app.webConsole.linkFor(operator.clientId, operator.clientSecret);
    assert.equal((await web.signIn({ code: link?.code })).status, 204);
    assert.equal(await t.app.webConsole.linkFor(operator.clientId, 'cs_wrong'), undefined);
    const app = await startConsoleApp({ BASE_URL: 'http://id.example.com' }, t);
    assert.equal(await app.app.webConsole.linkFor(operator.clientId, operator.clientSecret), undefined);
  });
});
