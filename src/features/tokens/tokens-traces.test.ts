/** The audit rows, metrics and logs of a token request; refusals disclose nothing. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { startApp } from '../../../test/support/harness.ts';

const t = await startApp({ LOG_LEVEL: 'trace' });
const nilUuid = '00000000-0000-0000-0000-000000000000';
const agent = await t.agent({ allowedScopes: ['agents:read'] });
const suspended = await t.agent();
await t.sql("update agents set status = 'suspended' where agent_id = $1", [suspended.agentId]);
const unknownId = crypto.randomUUID();

const ask = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
  t.call('POST', '/api/v1/token', {
    payload: new URLSearchParams({ grant_type: 'client_credentials', ...fields }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'probe/1.0', ...headers },
    remoteAddress: '192.0.2.7',
  });
const as = ({ clientId, clientSecret }: typeof agent) => ({
  client_id: clientId,
  client_secret: clientSecret,
});
const wrong = { client_id: agent.clientId, client_secret: 'cs_wrong-but-mine' };
const unknown = { client_id: unknownId, client_secret: 'cs_wrong-but-mine' };

interface Row {
  readonly action: string;
  readonly outcome: string;
  readonly agent_id: string;
  readonly organization_id: string;
  readonly ip_address: string;
  readonly user_agent: string;
  readonly metadata: Record<string, unknown>;
}
/** The events that `work` writes. */
async function eventsOf<T>(work: () => Promise<T>): Promise<{ result: T; rows: Row[] }> {
  const count = async () => Number((await t.sql('select count(*) from audit_events'))[0]?.count);
  const before = await count();
  const result = await work();
  const rows = await t.sql<Row>('select * from audit_events order by occurred_at, event_id offset $1', [
    before,
  ]);
  return { result, rows };
}

describe('the audit log', () => {
  const home = t.operator.organizationId;
  const outcomes: [string, Record<string, string>, string, string, string, string | undefined][] = [
    ['an issued token', as(agent), 'success', agent.agentId, home, undefined],
    [
      'a wrong secret',
      wrong,
      'failure',
      agent.agentId,
      home,
      'client authentication failed: check the client id, and that its secret, key or assertion is current',
    ],
    [
      'an unknown client',
      unknown,
      'failure',
      unknownId,
      nilUuid,
      'client authentication failed: check the client id, and that its secret, key or assertion is current',
    ],
    [
      'a client id that is no UUID',
      { ...unknown, client_id: 'x' },
      'failure',
      nilUuid,
      nilUuid,
      'client authentication failed: check the client id, and that its secret, key or assertion is current',
    ],
    ['a suspended agent', as(suspended), 'failure', suspended.agentId, home, 'the agent is suspended'],
    [
      'a scope not allowed',
      { ...as(agent), scope: 'admin:orgs' },
      'failure',
      agent.agentId,
      home,
      'scope not allowed',
    ],
  ];
  for (const [what, fields, outcome, agentId, organizationId, reason] of outcomes) {
    it(`holds one row for ${what}, with where from, and no secret`, async () => {
      const { result, rows } = await eventsOf(() => ask(fields, { 'x-request-id': 'trace-me-1' }));
      assert.equal(rows.length, 1);
      const [row] = rows;
      assert.ok(row);
      assert.equal(row.action, outcome === 'success' ? 'token.issued' : 'token.refused');
      assert.equal(row.outcome, outcome);
      assert.deepEqual([row.agent_id, row.organization_id], [agentId, organizationId]);
      assert.deepEqual([row.ip_address, row.user_agent], ['192.0.2.7', 'probe/1.0']);
      assert.deepEqual(
        row.metadata,
        reason === undefined
          ? {
              tokenId: decodeJwt(result.json.access_token).jti,
              credentialId: decodeJwt(result.json.access_token).credential_id,
              scope: 'agents:read',
              audience: 'http://countersign.test',
              expiresIn: 3600,
              requestId: 'trace-me-1',
            }
          : { reason, requestId: 'trace-me-1' },
      );
      const text = JSON.stringify(row);
      for (const secret of [fields.client_secret, result.json.access_token])
        assert.ok(secret === undefined || !text.includes(secret));
    });
  }

  it('500 server_error and no token when the row cannot be written', async () => {
    await t.sql(
      "create function refuse() returns trigger language plpgsql as $$ begin raise 'disk on fire'; end $$",
    );
    await t.sql('create trigger refuse before insert on audit_events for each row execute function refuse()');
    try {
      for (const fields of [as(agent), wrong]) {
        const { result, rows } = await eventsOf(() => ask(fields));
        assert.equal(result.status, 500);
        assert.equal(result.json.error, 'server_error');
        assert.doesNotMatch(result.text, /access_token|fire/);
        assert.equal(rows.length, 0);
      }
    } finally {
      await t.sql('drop function refuse cascade');
    }
    assert.equal((await ask(as(agent))).status, 200);
  });
});

describe('the metrics and the log', () => {
  it('count what was issued, by scope, and nothing that was refused', async () => {
    const issued = async () =>
      [
        ...(await t.call('GET', '/metrics')).text.matchAll(
          /^service_tokens_issued_total\{scope="([^"]*)"\} (\d+)/gm,
        ),
      ]
        .map(([, scope, count]): [string | undefined, number] => [scope, Number(count)])
        .sort();
    const before = new Map(await issued());
    await ask(as(agent));
    await ask(wrong);
    await ask(as(suspended));
    await ask({ ...as(agent), scope: 'admin:orgs' });
    before.set('agents:read', (before.get('agents:read') ?? 0) + 1);
    assert.deepEqual(await issued(), [...before].sort());
  });
  it('hold neither secrets nor tokens, at any level', async () => {
    const { access_token } = (await ask(as(agent))).json;
    const headers = {
      authorization: `Basic ${btoa(`${agent.clientId}:${agent.clientSecret}`)}`,
    };
    assert.equal((await ask({}, headers)).status, 200);
    await t.call('GET', '/api/v1/agents', { token: access_token });
    const said = t.logs.join('') + (await t.call('GET', '/metrics')).text;
    assert.ok(t.logs.length > 0);
    for (const secret of [agent.clientSecret, access_token, headers.authorization.slice(6)])
      assert.ok(!said.includes(secret));
  });
});

describe('an unknown client and a wrong secret', () => {
  it('get the same answer, to the letter', async () => {
    const plain = async (fields: Record<string, string>, headers?: Record<string, string>) => {
      const { status, headers: got, text } = await ask(fields, headers);
      const {
        'x-request-id': _,
        'x-ratelimit-remaining': __,
        'x-ratelimit-reset': ___,
        date: ____,
        ...rest
      } = got;
      return { status, headers: rest, text };
    };
    const reference = await plain(wrong);
    assert.equal(reference.status, 401);
    assert.deepEqual(await plain(unknown), reference);
    assert.deepEqual(await plain({ ...unknown, client_id: 'not-a-uuid' }), reference);
    assert.deepEqual(await plain({ client_id: suspended.clientId, client_secret: 'cs_wrong' }), reference);
    assert.deepEqual(await plain({}, { authorization: `Basic ${btoa(`${unknownId}:x`)}` }), reference);
  });

  it('cost the same queries', async () => {
    const queries = async (fields: Record<string, string>) => {
      const read = async () =>
        new Map(
          [
            ...(await t.app.metrics.text()).matchAll(
              /^service_db_query_duration_seconds_count\{operation="([^"]*)"\} (\d+)/gm,
            ),
          ].map(([, name, count]): [string | undefined, number] => [name, Number(count)]),
        );
      const before = await read();
      await ask(fields);
      return (
        [...(await read())]
          .map(([name, count]): [string | undefined, number] => [name, count - (before.get(name) ?? 0)])
          // The presence of subscribers is checked at most four times a second; between two checks no request writes to the outbox.
          .filter(([name, count]) => count > 0 && !name?.startsWith('webhooks.'))
      );
    };
    const reference = await queries(wrong);
    assert.ok(reference.length > 0);
    assert.deepEqual(await queries(unknown), reference);
    assert.deepEqual(await queries({ ...unknown, client_id: 'not-a-uuid' }), reference);
  });
});
