/** Requests for approval against a server that answers as the test says. approval-server.test.ts has a real one. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import {
  ApiError,
  ApprovalCanceled,
  ApprovalDenied,
  ApprovalError,
  ApprovalExpired,
  type ApprovalOptions,
  AuthorizationError,
  ConnectionError,
} from '../src/sdk.ts';
import { issue, json, type Misbehaving, startMisbehaving, tokenPath } from './misbehaving-server.ts';

const requestPath = '/api/v1/bc-authorize';
const options: ApprovalOptions = {
  resource: 'https://api.example.com',
  scopes: 'pay',
  loginHint: 'approvers',
};
const details = [{ type: 'payment', amount: 120 }];

const refuse =
  (error: string, status = 400) =>
  (response: ServerResponse) =>
    json(response, status, { error });
const pending = refuse('authorization_pending');
const slowDown = refuse('slow_down');
const grant = (response: ServerResponse, count: number) =>
  issue(response, count, { refresh_token: `refresh-${count}`, scope: 'pay', authorization_details: details });

/** The answers to the polls in their order; the last one is repeated. `onPoll` is called before each. */
async function ask(
  t: TestContext,
  polls: readonly ((response: ServerResponse, count: number) => void)[],
  changes: Partial<ApprovalOptions> = {},
  onPoll: (count: number) => void = () => {},
) {
  const server = await startMisbehaving(t, ({ method, path, body }, response, count) => {
    if (path === requestPath)
      return json(response, 200, {
        auth_req_id: 'request-1',
        approval_id: 'approval-1',
        expires_in: 58,
        interval: 5,
      });
    if (method === 'DELETE') return response.writeHead(204).end();
    if (!body.includes('ciba')) return issue(response, count, { refresh_token: `refresh-${count}` });
    onPoll(count);
    return polls[Math.min(count, polls.length) - 1]?.(response, count);
  });
  return { ...server, approval: await server.client.requestApproval({ ...options, ...changes }) };
}

const formsOf = ({ seen }: Pick<Misbehaving, 'seen'>, path: string) =>
  seen.filter((one) => one.path === path).map(({ body }) => Object.fromEntries(new URLSearchParams(body)));

describe('requestApproval', () => {
  it('sends every option, with the proof of the agent', async (t) => {
    const server = await ask(t, [pending], {
      details,
      message: 'Pay for order 7',
      expiresIn: 300,
      accessExpiresIn: 900,
      notificationToken: 'ping-1',
    });
    const { approvalId, authReqId, expiresIn } = server.approval;
    assert.deepEqual([approvalId, authReqId, expiresIn], ['approval-1', 'request-1', 58]);
    assert.deepEqual(formsOf(server, requestPath), [
      {
        resource: 'https://api.example.com',
        scope: 'pay',
        authorization_details: JSON.stringify(details),
        login_hint: 'approvers',
        binding_message: 'Pay for order 7',
        requested_expiry: '300',
        access_expires_in: '900',
        client_notification_token: 'ping-1',
        client_id: 'agent',
        client_secret: 'secret',
      },
    ]);
  });

  it('ApiError for a refusal; TypeError for options that make no sense', async (t) => {
    const { client } = await startMisbehaving(t, (_, response) => refuse('unknown_user_id')(response));
    await assert.rejects(
      client.requestApproval(options),
      (error) => error instanceof ApiError && error.code === 'unknown_user_id',
    );
    for (const wrong of [{ resource: '' }, { loginHint: '' }, { scopes: undefined }, { scopes: ' ' }])
      await assert.rejects(client.requestApproval({ ...options, ...wrong }), TypeError);
  });

  it('ConnectionError for an answer that is not of Countersign', async (t) => {
    for (const answer of [{}, { auth_req_id: 'a', approval_id: 'b', expires_in: 0 }, []]) {
      const { client } = await startMisbehaving(t, (_, response) => json(response, 200, answer));
      await assert.rejects(client.requestApproval(options), ConnectionError);
    }
  });
});

describe('wait', () => {
  it('polls at once, then at the pace of the server, 5 s slower after slow_down', async (t) => {
    const server = await ask(t, [pending, slowDown, pending, grant]);
    let pendings = 0;
    const token = await server.approval.wait({ onPending: () => (pendings += 1) });
    assert.equal(token, 'token-4');
    assert.deepEqual(server.time.slept, [5_000, 10_000, 10_000]);
    assert.equal(pendings, 3);
    assert.deepEqual(formsOf(server, tokenPath)[0], {
      grant_type: 'urn:openid:params:grant-type:ciba',
      auth_req_id: 'request-1',
      client_id: 'agent',
      client_secret: 'secret',
    });
  });

  it('callers at the same time share the polls', async (t) => {
    const server = await ask(t, [pending, grant]);
    const tokens = await Promise.all([server.approval.wait(), server.approval.wait()]);
    assert.deepEqual(tokens, ['token-2', 'token-2']);
    assert.equal(server.countOf(tokenPath), 2);
    assert.equal(await server.approval.wait(), 'token-2', 'from memory');
  });

  it('goes on after 429 with Retry-After, 5xx and a lost connection, ever more slowly', async (t) => {
    const server = await ask(t, [
      (response) => json(response, 429, {}, { 'retry-after': '17' }),
      (response) => json(response, 502, {}),
      (response) => response.destroy(),
      pending,
      grant,
    ]);
    assert.equal(await server.approval.wait(), 'token-5');
    assert.deepEqual(server.time.slept, [17_000, 10_000, 20_000, 5_000]);
  });

  it('ApprovalDenied', async (t) => {
    const { approval } = await ask(t, [pending, refuse('access_denied')]);
    for (let count = 0; count < 2; count += 1)
      await assert.rejects(
        approval.wait(),
        (error) =>
          error instanceof ApprovalDenied &&
          error.name === 'ApprovalDenied' &&
          error.code === 'access_denied' &&
          error.approvalId === 'approval-1',
      );
    await assert.rejects(
      approval.token(),
      (error) => error instanceof AuthorizationError && /requestApproval/.test(error.message),
    );
  });

  it('ApprovalExpired: by the server, or at the lapse', async (t) => {
    const isExpired = (error: unknown) => error instanceof ApprovalExpired && error.code === 'expired_token';
    await assert.rejects((await ask(t, [refuse('expired_token')])).approval.wait(), isExpired);
    const server = await ask(t, [pending]);
    await assert.rejects(server.approval.wait(), isExpired);
    assert.equal(
      server.time.slept.reduce((sum, one) => sum + one),
      58_000,
    );
    assert.equal(server.countOf(tokenPath), 13);
  });

  it('a decision in the last moment counts, also when the program was late', async (t) => {
    const server = await ask(t, [grant]);
    server.time.now += 3_600_000;
    assert.equal(await server.approval.wait(), 'token-1');
  });

  it('ApiError: without an answer at the lapse it is not known what was decided, and wait can be called again', async (t) => {
    const { approval } = await ask(t, [...Array(5).fill(refuse('unavailable', 500)), grant]);
    await assert.rejects(approval.wait(), (error) => error instanceof ApiError && error.status === 500);
    assert.equal(await approval.wait(), 'token-6');
  });

  it('ApprovalError: the request gave its tokens before', async (t) => {
    await assert.rejects(
      (await ask(t, [refuse('invalid_grant')])).approval.wait(),
      (error) => error instanceof ApprovalError && error.code === 'invalid_grant',
    );
  });

  it('ApiError invalid_client at once', async (t) => {
    const { approval } = await ask(t, [refuse('invalid_client', 401)]);
    await assert.rejects(approval.wait(), (error) => error instanceof ApiError && error.status === 401);
  });

  it('ends with the signal of its caller only', async (t) => {
    const leaving = new AbortController();
    const server = await ask(t, [pending, grant], {}, (count) => {
      if (count === 1) leaving.abort(new Error('enough'));
    });
    const [left, stayed] = await Promise.allSettled([
      server.approval.wait({ signal: leaving.signal }),
      server.approval.wait(),
    ]);
    assert.deepEqual([left.status, stayed.status], ['rejected', 'fulfilled']);
    assert.match(String(left.status === 'rejected' && left.reason), /enough/);
  });
});

describe('token', () => {
  it('is refreshed with the proof of the agent while the access lasts', async (t) => {
    const server = await ask(t, [grant]);
    const { approval, time } = server;
    await assert.rejects(approval.token(), AuthorizationError);
    assert.equal(await approval.wait(), 'token-1');
    const tokens = await approval.session.tokens();
    assert.deepEqual([tokens?.scope, tokens?.authorizationDetails], ['pay', details]);
    time.now += 3_000_000;
    assert.equal(await approval.token(), 'token-2');
    assert.deepEqual(formsOf(server, tokenPath)[1], {
      grant_type: 'refresh_token',
      refresh_token: 'refresh-1',
      client_id: 'agent',
      client_secret: 'secret',
    });
  });
});

describe('cancel', () => {
  it('ApprovalCanceled ends a wait under way', async (t) => {
    const server = await ask(t, [pending]);
    const waiting = server.approval.wait({ onPending: () => void server.approval.cancel() });
    await assert.rejects(waiting, ApprovalCanceled);
    const deleted = server.seen.find(({ method }) => method === 'DELETE');
    assert.equal(deleted?.path, '/api/v1/approvals/approval-1');
    assert.match(String(deleted?.headers.authorization), /^Bearer /);
  });
});

describe('handlePing', () => {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  /** The pause between two polls never ends by itself. */
  async function sleeping(t: TestContext, polls: Parameters<typeof ask>[1]) {
    const pauses = { count: 0, begun: () => {} };
    const server = await startMisbehaving(
      t,
      ({ path }, response, count) =>
        path === requestPath
          ? json(response, 200, {
              auth_req_id: 'request-1',
              approval_id: 'approval-1',
              expires_in: 58,
              interval: 5,
            })
          : polls[count - 1]?.(response, count),
      {
        platform: {
          sleep: (_, signal) =>
            new Promise((_resolve, reject) => {
              signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
              pauses.begun();
            }),
        },
      },
    );
    const approval = await server.client.requestApproval({ ...options, notificationToken: 'ping-1' });
    const paused = new Promise<void>((resolve) => {
      pauses.begun = resolve;
    });
    return { ...server, approval, paused };
  }

  it('204 wakes wait', async (t) => {
    const { client, approval, paused } = await sleeping(t, [pending, grant]);
    const token = approval.wait();
    await paused;
    assert.equal(await client.handlePing('{"auth_req_id":"request-1"}', bearer('ping-1')), 204);
    assert.equal(await token, 'token-2');
    const late = new TextEncoder().encode('{"auth_req_id":"request-1"}');
    assert.equal(await client.handlePing(late, new Headers(bearer('ping-1'))), 204);
  });

  it('notified wakes wait', async (t) => {
    const { approval, paused } = await sleeping(t, [pending, grant]);
    const token = approval.wait();
    await paused;
    approval.notified();
    assert.equal(await token, 'token-2');
  });

  it('401 and 400: another token, no token, another request, no JSON; and nothing is woken', async (t) => {
    const { client, countOf } = await sleeping(t, [pending]);
    const ping = { auth_req_id: 'request-1' };
    for (const token of ['ping-2', 'ping-', 'ping-11', 'PING-1'])
      assert.equal(await client.handlePing(ping, bearer(token)), 401, token);
    assert.equal(await client.handlePing(ping, {}), 401);
    assert.equal(await client.handlePing(ping, { authorization: 'Basic ping-1' }), 401);
    assert.equal(await client.handlePing({ auth_req_id: 'request-2' }, bearer('ping-1')), 401);
    for (const body of ['', '{', 'null', '[]', '{"auth_req_id":1}'])
      assert.equal(await client.handlePing(body, bearer('ping-1')), 400, body);
    assert.equal(countOf(tokenPath), 0);
  });
});
