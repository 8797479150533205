import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp, type TestApp } from '../../../../test/support/harness.ts';

const linesOf = ({ logs }: TestApp) =>
  logs.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');

/** The lines of the requests that `work` sends. */
async function linesDuring(t: TestApp, work: () => Promise<unknown>) {
  t.logs.length = 0;
  await work();
  return linesOf(t);
}

const requests = { LOG_LEVEL: 'info', LOG_REQUESTS: 'all' };
const all = await startApp(requests);

describe('LOG_REQUESTS=all', () => {
  it('one line with request id, operation, route, status, duration, agent, organization and address', async () => {
    const token = await all.token();
    const [line, ...others] = await linesDuring(all, () =>
      all.call('GET', '/api/v1/agents?limit=1', { token, headers: { 'x-request-id': 'trace-me-1' } }),
    );
    assert.deepEqual(others, []);
    const { time, pid, durationMs, organizationId, ...rest } = line;
    assert.ok(typeof durationMs === 'number' && durationMs > 0);
    assert.match(organizationId, /^[\da-f-]{36}$/);
    assert.deepEqual(rest, {
      level: 30,
      msg: 'request',
      requestId: 'trace-me-1',
      operation: 'listAgents',
      method: 'GET',
      route: '/api/v1/agents',
      status: 200,
      agentId: all.operator.clientId,
      ipAddress: '127.0.0.1',
    });
  });
  it('names the client and its organization at the token endpoint', async () => {
    const [line] = await linesDuring(all, () => all.token());
    assert.equal(line.operation, 'issueToken');
    assert.equal(line.agentId, all.operator.clientId);
    assert.match(line.organizationId, /^[\da-f-]{36}$/);
  });
  it('has no agent for a wrong secret, and no field of an unknown path', async () => {
    const [refused, unknown] = await linesDuring(all, async () => {
      await all.call('POST', '/api/v1/token', {
        payload: `grant_type=client_credentials&client_id=${all.operator.clientId}&client_secret=wrong-s3cret`,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
      await all.call('GET', '/s3cret-path');
    });
    assert.deepEqual([refused.status, refused.agentId], [401, undefined]);
    assert.deepEqual([unknown.status, unknown.operation, unknown.route], [404, 'unmatched', 'unmatched']);
  });
  it('logs nothing that a client wrote: URL, headers, body', async () => {
    const lines = await linesDuring(all, async () => {
      await all.call('GET', '/api/v1/agents?q=s3cret&access_token=s3cret', {
        token: 's3cret-token',
        headers: {
          cookie: 'countersign=s3cret',
          'user-agent': 's3cret',
          'x-request-id': 's3cret with spaces',
        },
      });
      await all.call('POST', '/api/v1/token', {
        payload: 'grant_type=client_credentials&client_id=s3cret&client_secret=s3cret',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          authorization: 'Basic czNjcmV0OnMzY3JldA==',
        },
      });
      await all.call('POST', '/api/v1/agents', {
        token: await all.token(),
        payload: { email: 's3cret@example.com', secret: 's3cret' },
      });
    });
    assert.ok(lines.length >= 3);
    assert.doesNotMatch(all.logs.join(''), /s3cret|czNjcmV0/);
  });
});

describe('the choice of requests', () => {
  it('failures: status 400 and above', async () => {
    const t = await startApp({ ...requests, LOG_REQUESTS: 'failures' });
    const lines = await linesDuring(t, async () => {
      await t.call('GET', '/health');
      await t.call('GET', '/nowhere');
      await t.call('GET', '/api/v1/agents');
    });
    assert.deepEqual(
      lines.map(({ status }) => status),
      [404, 401],
    );
  });
  it('a share of the others, and every 5xx', async () => {
    const t = await startApp({ ...requests, LOG_REQUESTS_SHARE: '0.3' });
    const lines = await linesDuring(t, async () => {
      for (let count = 0; count < 400; count += 1) await t.call('GET', '/livez');
    });
    // Six standard deviations around 120.
    assert.ok(lines.length > 65 && lines.length < 175, `${lines.length} of 400`);
    const none = await startApp({ ...requests, LOG_REQUESTS_SHARE: '0' });
    none.app.drain();
    const failed = await linesDuring(none, async () => {
      await none.call('GET', '/livez');
      await none.call('GET', '/readyz');
    });
    assert.deepEqual(
      failed.map(({ status }) => status),
      [503],
    );
  });
  it('none by default; with LOG_LEVEL=debug every request', async () => {
    for (const [level, expected] of [
      ['info', 0],
      ['debug', 1],
    ] as const) {
      const t = await startApp({ LOG_LEVEL: level });
      assert.equal((await linesDuring(t, () => t.call('GET', '/livez'))).length, expected);
    }
  });
});
