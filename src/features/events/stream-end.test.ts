/** How streams end: their token, their client, the limits on open streams. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, describe, it } from 'node:test';
import { type OpenStream, openStream, refusedStream } from '../../../test/support/clients/event-stream.ts';
import { newAgent, startApp } from '../../../test/support/harness.ts';
import { until } from '../../../test/support/programs.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';

const t = await startApp();
t.app.loops.start();
const base = await t.app.http.server.listen({ host: '127.0.0.1', port: 0 });
const operator = await t.token();

const call = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
  const answer = await t.call(method, `/api/v1${url}`, { token: operator, ...(payload && { payload }) });
  assert.ok(answer.status < 300, answer.text);
  return answer.text === '' ? undefined : answer.json;
};
const reader = (changes: object = {}) => t.agent({ allowedScopes: ['audit:read'], ...changes });
const createOrganization = async (): Promise<string> =>
  (
    await call('POST', '/organizations', {
      name: 'Team',
      slug: `team-${crypto.randomUUID().slice(0, 13)}`,
      planTier: 'enterprise',
    })
  ).organizationId;

/** Every stream ends with a comment and a complete response. */
async function endsCleanly(stream: OpenStream, reason: RegExp): Promise<void> {
  const started = performance.now();
  assert.equal(await stream.ended(), true, 'the response is cut off');
  assert.ok(performance.now() - started < 20_000);
  assert.match(stream.text(), reason);
}

const invalid = /\n: the access token is no longer valid\n\n$/;

describe('an event stream ends', () => {
  it('within seconds after its token is revoked; then 401 UNAUTHORIZED', async () => {
    const token = await t.token(undefined, await reader());
    const stream = await openStream(base, token);
    assert.equal((await t.form('/api/v1/token/revoke', { token }, token)).status, 200);
    await endsCleanly(stream, invalid);
    assert.equal((await refusedStream(base, token)).answer, '401 UNAUTHORIZED');
  });

  it('after its agent is suspended, or may no longer hold audit:read', async () => {
    const [suspended, narrowed] = [await reader(), await reader()];
    const streams = [
      await openStream(base, await t.token(undefined, suspended)),
      await openStream(base, await t.token(undefined, narrowed)),
    ] as const;
    await call('PATCH', `/agents/${suspended.agentId}`, { status: 'suspended' });
    await call('PATCH', `/agents/${narrowed.agentId}`, { allowedScopes: [] });
    await endsCleanly(streams[0], invalid);
    await endsCleanly(streams[1], /\n: the agent may no longer read the audit log\n\n$/);
  });

  it('after its organization is suspended; then 403 ORG_SUSPENDED', async () => {
    const organization_id = await createOrganization();
    const token = await t.token(undefined, await reader({ organization_id }));
    const stream = await openStream(base, token);
    await call('PATCH', `/organizations/${organization_id}`, { status: 'suspended' });
    await endsCleanly(stream, invalid);
    assert.equal((await refusedStream(base, token)).answer, '403 ORG_SUSPENDED');
  });

  it('after the delegation behind its token is revoked; then 403 DELEGATION_REVOKED', async () => {
    const { createDelegation, redeem } = createDelegationClient(t);
    const delegatee = await t.agent({ allowedScopes: [] });
    const delegation = await createDelegation(operator, delegatee, ['audit:read']);
    const token = await redeem(delegatee, delegation);
    const stream = await openStream(base, token);
    await call('DELETE', `/delegations/${delegation.chainId}`);
    await endsCleanly(stream, invalid);
    assert.equal((await refusedStream(base, token)).answer, '403 DELEGATION_REVOKED');
  });

  it('when its token expires', async () => {
    // Issued almost an hour ago.
    t.clock.advance(-3_590_000);
    const token = await t.token(undefined, await reader());
    t.clock.advance(3_590_000);
    const stream = await openStream(base, token);
    await endsCleanly(stream, invalid);
    assert.equal((await refusedStream(base, token)).answer, '401 UNAUTHORIZED');
  });

  it('when the client closes its sending side, as it does when it closes the connection', async () => {
    const { port } = new URL(base);
    const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    after(() => socket.destroy());
    let received = '';
    socket.on('data', (chunk) => (received += chunk));
    socket.write(`GET /api/v1/events HTTP/1.0\r\nAuthorization: Bearer ${operator}\r\n\r\n`);
    await until('the opening', async () => received.includes('\nretry: ') || undefined);
    // HTTP/1.0 knows no chunks.
    assert.doesNotMatch(received, /transfer-encoding/i);
    socket.end();
    await once(socket, 'close');
  });
});

describe('open event streams have limits', () => {
  it('429 RATE_LIMIT_EXCEEDED for the sixth stream of an agent; a closed one makes room at once', async () => {
    const token = await t.token(undefined, await reader());
    const streams = await Promise.all(Array.from({ length: 5 }, () => openStream(base, token)));
    const { answer, message, headers } = await refusedStream(base, token);
    assert.equal(answer, '429 RATE_LIMIT_EXCEEDED');
    assert.match(message, /^Your agent has 5 event streams open/);
    assert.match(String(headers['retry-after']), /^\d+$/);
    assert.equal((await refusedStream(base, token)).answer, '429 RATE_LIMIT_EXCEEDED');
    streams[0]?.close();
    const again = await until('room', () => openStream(base, token), undefined, 3_000);
    for (const stream of [...streams, again]) stream.close();
  });

  it('429 RATE_LIMIT_EXCEEDED for the 51st stream of an organization, while another organization has room', async () => {
    const organization_id = await createOrganization();
    const tokens = await Promise.all(
      Array.from({ length: 11 }, async () => t.token(undefined, await reader({ organization_id }))),
    );
    const streams: OpenStream[] = [];
    for (const token of tokens.slice(0, 10))
      streams.push(...(await Promise.all(Array.from({ length: 5 }, () => openStream(base, token)))));
    const { answer, message } = await refusedStream(base, tokens[10]);
    assert.equal(answer, '429 RATE_LIMIT_EXCEEDED');
    assert.match(message, /^Your organization has 50 event streams open/);
    (await openStream(base, operator)).close();
    // All 50 share the events.
    const agentId = (await call('POST', '/agents', newAgent({ organization_id }))).agentId;
    for (const stream of streams)
      await stream.message(
        'the agent',
        ({ data }) => data !== undefined && JSON.parse(data).agentId === agentId,
      );
    for (const stream of streams) stream.close();
  });

  it('a refused position takes no place', async () => {
    const token = await t.token(undefined, await reader());
    for (let count = 0; count < 7; count += 1)
      assert.equal(
        (await refusedStream(base, token, { query: '?lastEventId=x' })).answer,
        '400 VALIDATION_ERROR',
      );
    (await openStream(base, token)).close();
  });
});

describe('an event stream and its metrics', () => {
  it('counts as a request, and its duration is not observed', async () => {
    const [before, stream] = [await t.call('GET', '/metrics'), await openStream(base, operator)];
    stream.close();
    const counted =
      /^service_http_requests_total\{[^}]*route="\/api\/v1\/events"[^}]*status_code="200"[^}]*\} (\d+)$/m;
    const countOf = (text: string) => Number(counted.exec(text)?.[1] ?? 0);
    await until(
      'it is counted',
      async () => countOf((await t.call('GET', '/metrics')).text) > countOf(before.text) || undefined,
    );
    const { text } = await t.call('GET', '/metrics');
    assert.doesNotMatch(
      text,
      /^service_http_request_duration_seconds_count\{[^}]*route="\/api\/v1\/events",status_code="200"/m,
    );
  });
});
