/** The tokens of an agent that acts for a person: stored, refreshed once for all callers, and ended. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ApiError,
  AuthorizationError,
  ConnectionError,
  createMemoryStorage,
  createPersonSession,
  type PersonTokens,
  type TokenStorage,
} from '../src/sdk.ts';

const issuer = 'https://id.example.com';
const key = { issuer, clientId: 'agent', resource: 'https://orders.example.com' };
const metadata = {
  issuer,
  authorization_endpoint: `${issuer}/api/v1/authorize`,
  token_endpoint: `${issuer}/api/v1/token`,
  revocation_endpoint: `${issuer}/api/v1/token/revoke`,
  code_challenge_methods_supported: ['S256'],
};
const first: PersonTokens = {
  ...key,
  accessToken: 'access-0',
  expiresAt: 1_000_000,
  refreshAt: 800_000,
  scope: 'orders:read',
  refreshToken: 'refresh-0',
};

type Answer = (form: Record<string, string>, count: number) => Response | Promise<Response>;

/** `access-<count>` and `refresh-<count>`, for 1,000 seconds. */
const rotate: Answer = (_, count) =>
  Response.json({
    access_token: `access-${count}`,
    token_type: 'Bearer',
    expires_in: 1_000,
    refresh_token: `refresh-${count}`,
    scope: 'orders:read',
  });
const refused: Answer = () => Response.json({ error: 'invalid_grant' }, { status: 400 });
const down: Answer = () => Promise.reject(new TypeError('fetch failed'));

function setUp(answer: Answer = rotate, storage: TokenStorage = createMemoryStorage()) {
  const time = { now: 0 };
  const state = { answer };
  const sent: Record<string, string>[] = [];
  const revoked: Record<string, string>[] = [];
  const fetch = async (url: unknown, init?: RequestInit): Promise<Response> => {
    if (String(url).endsWith('/.well-known/oauth-authorization-server')) return Response.json(metadata);
    const form = Object.fromEntries(init?.body as URLSearchParams);
    if (url === metadata.revocation_endpoint) {
      revoked.push(form);
      return new Response(null, { status: 200 });
    }
    assert.equal(url, metadata.token_endpoint);
    sent.push(form);
    return state.answer(form, sent.length);
  };
  const platform = { fetch, now: () => time.now, sleep: async () => {} };
  return { session: createPersonSession({ ...key, storage, platform }), storage, time, state, sent, revoked };
}

const isRequired = (error: unknown) =>
  error instanceof AuthorizationError &&
  error.code === 'authorization_required' &&
  /call startAuthorization/.test(error.message);

describe('token', () => {
  it('authorization_required: nothing is stored, or nothing that counts here', async () => {
    const { session, storage } = setUp();
    await assert.rejects(session.token(), isRequired);
    await assert.rejects(session.refresh(), isRequired);
    await session.save(first);
    const [entry = ''] = [...(storage as Map<string, string>).keys()];
    for (const text of [
      '',
      '{',
      'null',
      '[]',
      JSON.stringify({ ...first, issuer: 'https://evil.example' }),
      JSON.stringify({ ...first, accessToken: undefined }),
      JSON.stringify({ ...first, expiresAt: 'never' }),
      JSON.stringify({ ...first, refreshToken: 5 }),
    ]) {
      await storage.set(entry, text);
      await assert.rejects(session.token(), isRequired, text);
    }
  });

  it('the stored one for 80 % of its lifetime, then a new one, with the refresh token of the answer before', async () => {
    const { session, time, sent } = setUp();
    await session.save(first);
    time.now = 799_999;
    assert.equal(await session.token(), 'access-0');
    assert.equal(sent.length, 0);
    time.now = 800_000;
    assert.equal(await session.token(), 'access-1');
    time.now = 800_000 + 800_000;
    assert.equal(await session.token(), 'access-2');
    assert.deepEqual(sent, [
      { grant_type: 'refresh_token', refresh_token: 'refresh-0', client_id: 'agent' },
      { grant_type: 'refresh_token', refresh_token: 'refresh-1', client_id: 'agent' },
    ]);
    assert.deepEqual(await session.tokens(), {
      ...first,
      accessToken: 'access-2',
      refreshToken: 'refresh-2',
      expiresAt: 2_600_000,
      refreshAt: 2_400_000,
    });
  });

  it('callers at the same time share one request', async () => {
    const { session, time, sent } = setUp();
    await session.save(first);
    time.now = 999_000;
    const tokens = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? session.token() : session.refresh())),
    );
    assert.deepEqual(new Set(tokens), new Set(['access-1']));
    assert.equal(sent.length, 1);
  });

  it('an answer without a refresh token keeps the one that was used', async () => {
    const { session } = setUp(() =>
      Response.json({ access_token: 'access-1', token_type: 'Bearer', expires_in: 1_000 }),
    );
    await session.save(first);
    await session.refresh();
    assert.equal((await session.tokens())?.refreshToken, 'refresh-0');
  });

  it('the old one while the server cannot be reached and the token is good, without asking each time', async () => {
    const { session, time, state, sent } = setUp(down);
    await session.save(first);
    time.now = 850_000;
    for (let count = 0; count < 3; count += 1) assert.equal(await session.token(), 'access-0');
    // Two attempts, both within the ten seconds in which the server answers the same refresh token again.
    assert.equal(sent.length, 2);
    time.now += 10_000;
    await session.token();
    assert.equal(sent.length, 4);
    time.now = 996_000;
    await assert.rejects(session.token(), ConnectionError);
    await assert.rejects(session.refresh(), ConnectionError);
    assert.ok(await session.tokens(), 'the refresh token may still be good');
    state.answer = rotate;
    assert.match(await session.token(), /^access-\d+$/);
  });

  it('an error that no retry improves is thrown, and the tokens stay', async () => {
    const { session, time } = setUp(() => Response.json({ error: 'invalid_client' }, { status: 401 }));
    await session.save(first);
    time.now = 850_000;
    await assert.rejects(
      session.token(),
      (error) => error instanceof ApiError && error.code === 'invalid_client',
    );
    assert.ok(await session.tokens());
  });
});

describe('refresh', () => {
  it('authorization_required: the refresh token has ended; the tokens are deleted', async () => {
    const { session, storage, sent } = setUp(refused);
    await session.save(first);
    await assert.rejects(session.refresh(), isRequired);
    assert.equal(sent.length, 1);
    assert.equal((storage as Map<string, string>).size, 0);
  });

  it('authorization_required: there is no refresh token', async () => {
    const { refreshToken, ...rest } = first;
    const { session, sent } = setUp();
    await session.save(rest);
    assert.equal(await session.token(), 'access-0');
    await assert.rejects(session.refresh(), isRequired);
    assert.equal(sent.length, 0);
  });

  it('another process was faster: its tokens are used, before the request and after a refusal', async () => {
    const storage = createMemoryStorage();
    const [one, other] = [setUp(rotate, storage), setUp(refused, storage)];
    await one.session.save(first);
    // Both have read the old token; the first to ask stores a new one.
    one.time.now = 850_000;
    other.time.now = 850_000;
    const slow = createPersonSession({
      ...key,
      platform: { now: () => 850_000, fetch: () => assert.fail('the stored token is new') },
      storage: { ...asObject(storage), get: delayed(storage, () => one.session.refresh()) },
    });
    assert.equal(await slow.token(), 'access-1');

    other.state.answer = async () => {
      await one.session.refresh();
      return Response.json({ error: 'invalid_grant' }, { status: 400 });
    };
    assert.equal(await other.session.refresh(), 'access-2');
    assert.equal((await one.session.tokens())?.refreshToken, 'refresh-2');
  });

  /** The first answer is from before `work`. */
  const delayed = (storage: TokenStorage, work: () => Promise<unknown>) => {
    let isFirst = true;
    return async (entry: string) => {
      const value = await storage.get(entry);
      if (!isFirst) return value;
      isFirst = false;
      await work();
      return value;
    };
  };
  const asObject = (storage: TokenStorage): TokenStorage => ({
    get: (entry) => storage.get(entry),
    set: (entry, value) => storage.set(entry, value),
    delete: (entry) => storage.delete(entry),
  });

  it('a person who signs in again during a refresh keeps the new tokens', async () => {
    const { session, state } = setUp();
    await session.save(first);
    for (const answer of [rotate, refused]) {
      const second = { ...first, accessToken: 'again', refreshToken: `again, ${answer === refused}` };
      state.answer = async (...call) => {
        await session.save(second);
        return answer(...call);
      };
      await session.refresh();
      assert.deepEqual(await session.tokens(), second);
    }
  });
});

describe('end', () => {
  it('deletes the tokens, and revokes the newest refresh token', async () => {
    const { session, revoked, storage } = setUp();
    await session.save(first);
    const refreshing = session.refresh();
    await session.end();
    await refreshing;
    assert.deepEqual(revoked, [{ token: 'refresh-1', token_type_hint: 'refresh_token', client_id: 'agent' }]);
    assert.equal((storage as Map<string, string>).size, 0);
    await session.end();
    assert.equal(revoked.length, 1);
  });
});

it('TypeError: tokens of another client, resource or issuer are not stored', async () => {
  const { session } = setUp();
  for (const changes of [
    { clientId: 'x' },
    { resource: 'https://x.example' },
    { issuer: 'https://x.example' },
  ])
    await assert.rejects(session.save({ ...first, ...changes }), TypeError);
  assert.throws(() => createPersonSession({ ...key, issuer: 'http://id.example.com' }), TypeError);
});
