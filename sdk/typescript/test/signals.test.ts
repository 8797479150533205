/** Revocation by signals: what ends a token, what the verifier does without signals, and how it keeps its poll open. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeJwt, type JWTPayload } from 'jose';
import { succeed } from '../../../test/support/child-process.ts';
import { createVerifier, type SignalsOptions, type SignalsStatus, type VerifierOptions } from '../src/sdk.ts';
import { eventTypes } from '../src/signals/event.ts';
import {
  ended,
  forgeSignals,
  ids,
  issueSignal,
  issueToken,
  narrowed,
  now,
  opaque,
  party,
  uuidV7,
  verifierOptions,
} from './local-issuer.ts';
import { refusedWith } from './refused-with.ts';

interface Poll {
  readonly streamId: string;
  readonly ack: readonly string[];
  readonly returnImmediately: boolean;
}

interface FakeStream {
  status: 'enabled' | 'paused';
  delivered: readonly string[];
  /** By `jti`. */
  readonly queue: Map<string, string>;
}

type Init = { method: string; body?: string; signal: AbortSignal };

/** Its `jti`, or an id for a text that has none. */
function idOf(token: string): string {
  try {
    return String(decodeJwt(token).jti);
  } catch {
    return 'an id';
  }
}

/** A transmitter as the server is: a new stream has all signals so far. `answer` replaces the answer of a request. */
function createTransmitter(queued: readonly string[] = []) {
  const sent = new Map(queued.map((token) => [idOf(token), token]));
  const polls: Poll[] = [];
  const requests: string[] = [];
  const streams = new Map<string, FakeStream>();
  let changed = new EventTarget();
  const wake = () => {
    const before = changed;
    changed = new EventTarget();
    before.dispatchEvent(new Event('change'));
  };
  /** Until something happens. */
  const nextChange = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      changed.addEventListener('change', () => resolve());
      signal.addEventListener('abort', () => reject(signal.reason));
      if (signal.aborted) reject(signal.reason);
    });

  const answerPoll = async (streamId: string, { body, signal }: Init): Promise<Response> => {
    const poll = { ...JSON.parse(body ?? ''), streamId } as Poll;
    const stream = streams.get(streamId);
    if (!stream) return Response.json({ code: 'SIGNAL_STREAM_NOT_FOUND' }, { status: 404 });
    if (stream.status !== 'enabled') return Response.json({ sets: {}, moreAvailable: false });
    polls.push(poll);
    for (const jti of poll.ack) stream.queue.delete(jti);
    if (stream.queue.size === 0 && !poll.returnImmediately) await nextChange(signal);
    const chosen = [...stream.queue].slice(0, state.maxEvents);
    return Response.json({
      sets: Object.fromEntries(chosen),
      moreAvailable: stream.queue.size > chosen.length,
    });
  };

  const state = {
    polls,
    requests,
    streams,
    maxEvents: 100,
    introspection: { active: true, scope: 'orders:read' } as object,
    /** Of streams that are made from now on. */
    delivered: eventTypes as readonly string[],
    answer: (_url: string): Response | Promise<Response> | undefined => undefined,
    async send(claims: JWTPayload, typ?: string) {
      const token = await issueSignal(claims, typ);
      sent.set(idOf(token), token);
      for (const { queue } of streams.values()) queue.set(idOf(token), token);
      wake();
    },
    /** Open polls are answered. */
    wake,
    theStream(): FakeStream {
      const [stream, ...others] = streams.values();
      assert.ok(stream && others.length === 0);
      return stream;
    },
    async fetch(url: string, init: Init) {
      const { pathname, search } = new URL(url);
      const { method } = init;
      requests.push(`${method} ${pathname}${search}`);
      const given = state.answer(url);
      if (given) return given;
      const jti = () => idOf(new URLSearchParams(init.body).get('token') ?? '');
      if (pathname.endsWith('/introspect')) return Response.json({ jti: jti(), ...state.introspection });
      if (pathname.includes('/poll/')) return answerPoll(pathname.split('/').at(-1) ?? '', init);
      const id = search.slice('?stream_id='.length);
      if (method === 'DELETE') return new Response(null, { status: streams.delete(id) ? 204 : 404 });
      if (pathname.endsWith('/status'))
        return Response.json({ stream_id: id, status: streams.get(id)?.status });
      if (method === 'GET')
        return Response.json({ stream_id: id, events_delivered: streams.get(id)?.delivered });
      const made = `stream-${requests.length}`;
      streams.set(made, { status: 'enabled', delivered: state.delivered, queue: new Map(sent) });
      return Response.json(
        { stream_id: made, aud: ids.other, events_delivered: state.delivered },
        { status: 201 },
      );
    },
  };
  return state;
}

type Transmitter = ReturnType<typeof createTransmitter>;

function start(t: TestContext, transmitter: Transmitter, changes: Partial<SignalsOptions> = {}) {
  const time = { now, elapsed: 0 };
  const reports: SignalsStatus[] = [];
  const verifier = createVerifier({
    ...verifierOptions,
    revocation: 'signals',
    signals: {
      client: transmitter as SignalsOptions['client'],
      whenSilent: 'refuse',
      onStatus: (status) => reports.push(status),
      ...changes,
    },
    platform: { now: () => time.now, elapsed: () => time.elapsed, random: () => 0 },
  });
  t.after(() => verifier.close());
  return { verifier, time, reports };
}

async function until(what: string, isTrue: () => unknown): Promise<void> {
  const end = Date.now() + 10_000;
  while (!(await isTrue())) {
    assert.ok(Date.now() < end, `not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const revoked = refusedWith(401, 'invalid_token', /revoked/);
const delegated = {
  sub: ids.person,
  sub_profile: 'person',
  act: { sub: ids.agent, sub_profile: 'ai_agent', act: { sub: ids.other } },
  chain_id: ids.chain,
  chain_path: [uuidV7(1), ids.chain],
};

describe('a token is refused', () => {
  /** `isFinal`: tokens with a later time are refused, too, because none can be issued by it any more. */
  interface Case {
    readonly end: JWTPayload;
    readonly token?: JWTPayload;
    readonly isFinal?: true;
  }
  const permanent = { permanent: true };
  const cases: Readonly<Record<string, Case>> = {
    'its agent ended for good': {
      end: ended(party(ids.agent), now, 'session-revoked', permanent),
      isFinal: true,
    },
    'its person ended for good': {
      end: ended(party(ids.person), now, 'session-revoked', permanent),
      token: delegated,
      isFinal: true,
    },
    'an agent that passed it on ended for good': {
      end: ended(party(ids.other), now, 'session-revoked', permanent),
      token: delegated,
      isFinal: true,
    },
    'its organization ended for good': {
      end: ended(opaque(ids.organization), now, 'session-revoked', permanent),
      isFinal: true,
    },
    'its agent ended': { end: ended(party(ids.agent), now) },
    'its person ended': { end: ended(party(ids.person), now), token: delegated },
    'an agent that passed it on ended': { end: ended(party(ids.other), now), token: delegated },
    'its delegation ended': { end: ended(opaque(ids.chain), now), token: delegated, isFinal: true },
    'a delegation above its own ended': {
      end: ended(opaque(uuidV7(1)), now),
      token: delegated,
      isFinal: true,
    },
    'its credential was revoked': {
      isFinal: true,
      end: ended(opaque(ids.credential), now, 'credential-change', { change_type: 'revoke' }),
    },
    'its organization ended': { end: ended(opaque(ids.organization), now) },
    'it was revoked itself': {
      end: ended({ format: 'jwt_id', iss: verifierOptions.issuer, jti: uuidV7(now, 9) }, now),
      token: { jti: uuidV7(now, 9) },
    },
    'its grant lost a scope': { end: narrowed('orders:read', now, party(ids.agent)) },
    'its grant ended': { end: narrowed('', now, party(ids.agent)) },
    'the person may lend less': { end: narrowed('orders:read', now, party(ids.person)), token: delegated },
    'the resource lost a scope': { end: narrowed('orders:write', now) },
    'the time of the end is only in iat': {
      end: {
        ...ended(party(ids.agent), now),
        events: { [Object.keys(ended({}, 0).events as object)[0] ?? '']: {} },
      },
    },
    'the token has no UUIDv7, and ended in the second after iat': {
      end: ended(party(ids.agent), now),
      token: { jti: 'x', iat: now / 1000 },
    },
  };
  for (const [name, { end, token, isFinal }] of Object.entries(cases))
    it(`401: ${name}`, async (t) => {
      const transmitter = createTransmitter();
      const { verifier } = start(t, transmitter);
      await verifier.ready();
      const text = await issueToken(token);
      await verifier.verify(text);
      await transmitter.send(end);
      await until('the end is known', () => verifier.status().lastEventAt);
      await assert.rejects(verifier.verify(text), revoked);
      const laterBy = (milliseconds: number) =>
        issueToken({ ...token, jti: uuidV7(now + milliseconds, 8), iat: now / 1000 }, now + milliseconds);
      // Another node, whose clock is ahead, may have issued it before the end.
      if (token?.jti === undefined) await assert.rejects(verifier.verify(await laterBy(2_000)), revoked);
      const later = await laterBy(20_000);
      if (!isFinal) return void (await verifier.verify(later));
      await assert.rejects(verifier.verify(later), revoked);
      // A signal that comes later takes nothing back.
      await transmitter.send(ended(end.sub_id as object, now - 1));
      await until('it was read', () => transmitter.theStream().queue.size === 0);
      await assert.rejects(verifier.verify(later), revoked);
    });

  it('to the millisecond', async (t) => {
    const transmitter = createTransmitter([await issueSignal(ended(party(ids.agent), now - 2_500))]);
    const { verifier } = start(t, transmitter);
    await verifier.ready();
    await assert.rejects(verifier.verify(await issueToken({}, now - 500)), revoked);
    await verifier.verify(await issueToken({}, now - 499));
  });

  it('200: a rotated credential, another agent, another resource, scopes that remain, a verification event', async (t) => {
    const transmitter = createTransmitter(
      await Promise.all(
        [
          ended(opaque(ids.credential), now, 'credential-change', { change_type: 'update' }),
          ended(party(ids.other), now),
          narrowed('', now, party(ids.agent), 'https://other.example.com'),
          narrowed('orders:write orders:read more', now, party(ids.agent)),
          narrowed('', now, party(ids.other)),
          {
            sub_id: opaque('x'),
            events: { 'https://schemas.openid.net/secevent/ssf/event-type/verification': {} },
          },
        ].map((claims) => issueSignal(claims)),
      ),
    );
    const { verifier } = start(t, transmitter);
    await verifier.ready();
    await verifier.verify(await issueToken());
    // Another issuer's actor, whose subject looks like that agent.
    const asserted = { iss: 'https://as.example', sub: ids.other };
    await verifier.verify(await issueToken({ ...delegated, act: { sub: ids.agent, act: asserted } }));
  });

  it('200: a delegated token, when an agent that acts loses scopes of its own', async (t) => {
    const ends = [narrowed('', now, party(ids.agent)), narrowed('', now, party(ids.other))];
    const { verifier } = start(t, createTransmitter(await Promise.all(ends.map((end) => issueSignal(end)))));
    await verifier.ready();
    await verifier.verify(await issueToken(delegated));
    await assert.rejects(verifier.verify(await issueToken()), revoked);
  });

  it('a scope that comes back counts for later tokens only', async (t) => {
    const at = (tens: number) => now + (tens - 3) * 10_000;
    const transmitter = createTransmitter(
      await Promise.all(
        [
          narrowed('orders:read orders:write', at(3), party(ids.agent)),
          narrowed('orders:read', at(1), party(ids.agent)),
        ].map((claims) => issueSignal(claims)),
      ),
    );
    const { verifier } = start(t, transmitter);
    await verifier.ready();
    await assert.rejects(verifier.verify(await issueToken({}, at(0))), revoked);
    await verifier.verify(await issueToken({}, at(2)));
    await verifier.verify(await issueToken({ scope: 'orders:read' }, at(0)));
    await assert.rejects(verifier.verify(await issueToken({ scope: 'orders:delete' }, at(2))), revoked);
  });
});

describe('without signals', () => {
  const silent = (t: TestContext, changes: Partial<SignalsOptions>) => {
    const transmitter = createTransmitter();
    transmitter.answer = (url) =>
      url.endsWith('/introspect') ? undefined : new Response('down', { status: 502 });
    return { transmitter, ...start(t, transmitter, changes) };
  };

  it("whenSilent 'refuse': 503; 'accept': 200; 'introspect': as the server says", async (t) => {
    const token = await issueToken();
    await assert.rejects(
      silent(t, { whenSilent: 'refuse' }).verifier.verify(token),
      refusedWith(503, 'temporarily_unavailable'),
    );
    await silent(t, { whenSilent: 'accept' }).verifier.verify(token);
    const { transmitter, verifier } = silent(t, { whenSilent: 'introspect' });
    assert.deepEqual((await verifier.verify(token)).scopes, ['orders:read']);
    transmitter.introspection = { active: false };
    await assert.rejects(verifier.verify(await issueToken()), revoked);
  });

  it('an end that is known counts, although no signals arrive any more', async (t) => {
    const transmitter = createTransmitter([await issueSignal(ended(party(ids.agent), now))]);
    const { verifier, time } = start(t, transmitter, { whenSilent: 'accept' });
    await verifier.ready();
    time.now += 61_000;
    assert.equal(verifier.status().state, 'silent');
    await assert.rejects(verifier.verify(await issueToken()), revoked);
  });

  for (const clock of ['now', 'elapsed'] as const)
    it(`silent after maxSilenceSeconds by either clock (${clock}), current again with the next answer; onStatus says both`, async (t) => {
      const transmitter = createTransmitter();
      const { verifier, time, reports } = start(t, transmitter, { maxSilenceSeconds: 40 });
      assert.deepEqual(
        [verifier.status().state, verifier.status().silentSeconds],
        ['silent', Number.POSITIVE_INFINITY],
      );
      await verifier.ready();
      await until('a long poll', () => transmitter.polls.some((poll) => !poll.returnImmediately));
      if (clock === 'elapsed') time.now -= 3_600_000;
      time[clock] += 40_000;
      await verifier.verify(await issueToken());
      time[clock] += 1_000;
      await assert.rejects(verifier.verify(await issueToken()), refusedWith(503, 'temporarily_unavailable'));
      assert.equal(verifier.status().silentSeconds, 41);
      // The answer to the open poll is too old to count. The next one is of this moment.
      transmitter.wake();
      await until('an answer', () => verifier.status().state === 'current');
      await verifier.verify(await issueToken());
      assert.deepEqual(
        reports.map(({ state }) => state),
        ['current', 'silent', 'current'],
      );
    });

  it('an answer that has waited in a process that was stopped is not of this moment', async (t) => {
    const transmitter = createTransmitter();
    const { verifier, time } = start(t, transmitter);
    await until('a long poll', () => transmitter.polls.length === 2);
    transmitter.answer = (url) => (url.includes('/poll/') ? new Promise<never>(() => {}) : undefined);
    time.elapsed += 61_000;
    transmitter.wake();
    await until(
      'the next poll',
      () => transmitter.requests.filter((url) => url.includes('/poll/')).length === 3,
    );
    assert.equal(verifier.status().state, 'silent');
  });

  it('silence counts from the question of a poll that is answered at once', async (t) => {
    const transmitter = createTransmitter();
    const { verifier, time } = start(t, transmitter);
    transmitter.answer = (url) => {
      // The process is stopped, or a proxy is slow.
      if (transmitter.polls.length === 0 && url.includes('/poll/')) time.elapsed += 9_000;
      return undefined;
    };
    await verifier.ready();
    assert.equal(verifier.status().silentSeconds, 9);
  });

  for (const [elapsedSeconds, silentSeconds] of [
    [20, 0],
    [34, 9],
  ] as const)
    it(`silence counts from the answer of a poll that waits, or from 25 s after its question (answer after ${elapsedSeconds} s)`, async (t) => {
      const transmitter = createTransmitter();
      const { verifier, time } = start(t, transmitter);
      await until('a long poll', () => transmitter.polls.length === 2);
      assert.equal(verifier.status().silentSeconds, 0);
      time.elapsed += elapsedSeconds * 1_000;
      await transmitter.send(ended(party(ids.other), now));
      await until('the next poll', () => transmitter.polls.length === 3);
      assert.equal(verifier.status().silentSeconds, silentSeconds);
      time.elapsed += (60 - silentSeconds) * 1_000;
      await verifier.verify(await issueToken());
      time.elapsed += 1;
      await assert.rejects(verifier.verify(await issueToken()), refusedWith(503, 'temporarily_unavailable'));
    });

  it('503 from introspection after its time limit, also with a fetch that ignores the signal, and for callers that join; then it asks again', async (t) => {
    const never = new Promise<never>(() => {});
    const hangingFetch = (reached: () => void) => {
      reached();
      return never;
    };
    const hangingBody = (reached: () => void) =>
      new Response(new ReadableStream({ pull: () => hangingFetch(reached) }, { highWaterMark: 0 }));
    for (const hanging of [hangingFetch, hangingBody]) {
      const { transmitter, verifier } = silent(t, { whenSilent: 'introspect' });
      const { answer } = transmitter;
      const asked = Promise.withResolvers<void>();
      transmitter.answer = (url) => {
        if (!url.endsWith('/introspect')) return answer(url);
        return hanging(asked.resolve);
      };
      const limit = new AbortController();
      const { mock } = t.mock.method(AbortSignal, 'timeout', (milliseconds: number) =>
        milliseconds === 5_000 ? limit.signal : new AbortController().signal,
      );
      const token = await issueToken();
      const calls = Promise.allSettled([verifier.verify(token), verifier.verify(token)]);
      await asked.promise;
      limit.abort(new DOMException('timeout', 'TimeoutError'));
      const limited = setTimeout(() => assert.fail('verify waits'), 5_000);
      for (const call of await calls) {
        assert.ok(call.status === 'rejected');
        refusedWith(503, 'temporarily_unavailable')(call.reason);
      }
      clearTimeout(limited);
      mock.restore();
      transmitter.answer = answer;
      await verifier.verify(token);
    }
  });

  it('an error of onStatus neither refuses a token nor ends the poll', async (t) => {
    const transmitter = createTransmitter();
    const onStatus = () => {
      throw new Error('of the program');
    };
    const { verifier, time } = start(t, transmitter, { onStatus });
    await until('a long poll', () => transmitter.polls.length === 2);
    assert.equal(verifier.status().problem, undefined);
    time.elapsed += 61_000;
    await assert.rejects(verifier.verify(await issueToken()), refusedWith(503, 'temporarily_unavailable'));
    await transmitter.send(ended(party(ids.agent), now));
    await until('the end is known', () => verifier.status().known === 1);
  });

  it('beyond maxEntries, tokens from before the forgotten end count as without signals, newer ones do not', async (t) => {
    const ends = Array.from({ length: 101 }, (_, index) =>
      issueSignal(ended(opaque(`chain-${index}`), now + index)),
    );
    const { verifier } = start(t, createTransmitter(await Promise.all(ends)), { maxEntries: 100 });
    await until('all are read', () => verifier.status().known === 100);
    await verifier.ready();
    await assert.rejects(
      verifier.verify(await issueToken({}, now + 2_000)),
      refusedWith(503, 'temporarily_unavailable'),
    );
    await verifier.verify(await issueToken({}, now + 2_001));
  });

  it('an end leaves when all tokens from before it have expired; if the clock was wrong, they count as without signals', async (t) => {
    const transmitter = createTransmitter([await issueSignal(ended(opaque('old'), now))]);
    const { verifier, time } = start(t, transmitter);
    await until('it is known', () => verifier.status().known === 1);
    time.now += 7_201_000;
    await transmitter.send(ended(opaque('new'), time.now));
    await until('the new one is known', () => verifier.status().lastEventAt?.getTime() === time.now);
    assert.equal(verifier.status().known, 1);
    time.now = now;
    await verifier.ready();
    await until('current', () => verifier.status().state === 'current');
    await assert.rejects(
      verifier.verify(await issueToken({}, now)),
      refusedWith(503, 'temporarily_unavailable'),
    );
    await verifier.verify(await issueToken({}, now + 2_001));
  });
});

describe('the poll', () => {
  it('reads all that waits before it is ready, acknowledges with the next poll, then waits', async (t) => {
    const ends = [0, 1, 2, 3, 4].map((index) => issueSignal(ended(opaque(`chain-${index}`), now)));
    const transmitter = createTransmitter(await Promise.all(ends));
    transmitter.maxEvents = 2;
    const { verifier } = start(t, transmitter);
    await verifier.ready();
    assert.equal(verifier.status().known, 5);
    await until('a long poll', () => transmitter.polls.length === 4);
    assert.deepEqual(
      transmitter.polls.map(({ ack, returnImmediately }) => [ack.length, returnImmediately]),
      [
        [0, true],
        [2, true],
        [2, true],
        [1, false],
      ],
    );
    assert.deepEqual(transmitter.requests.slice(0, 2), [
      'POST /api/v1/ssf/stream',
      'POST /api/v1/ssf/poll/stream-1',
    ]);
  });

  it('after a failure, at once; the signals that came in between are read first', async (t) => {
    const transmitter = createTransmitter();
    const { verifier } = start(t, transmitter);
    await until('a long poll', () => transmitter.polls.length === 2);
    let failures = 3;
    transmitter.answer = () => {
      failures -= 1;
      if (failures >= 0) throw new TypeError('fetch failed');
      return undefined;
    };
    transmitter.wake();
    await until('it polls again', () => failures === 0);
    await transmitter.send(ended(party(ids.agent), now));
    await until('the end is known', () => verifier.status().known === 1);
    assert.equal(transmitter.requests.filter((request) => request.endsWith('/stream')).length, 1);
    await until('no problem', () => verifier.status().problem === undefined);
  });

  it('after a failure, a poll without an answer is given up after half a second, and later ones after twice as long each', async (t) => {
    const transmitter = createTransmitter();
    start(t, transmitter);
    await until('a long poll', () => transmitter.polls.length === 2);
    const timeouts: number[] = [];
    const { timeout } = AbortSignal;
    t.mock.method(AbortSignal, 'timeout', (milliseconds: number) => {
      timeouts.push(milliseconds);
      return timeout.call(AbortSignal, milliseconds);
    });
    transmitter.answer = () => {
      throw new TypeError('fetch failed');
    };
    transmitter.wake();
    // The first is the poll that fails.
    await until('three retries', () => timeouts.length >= 4);
    assert.deepEqual(timeouts.slice(1, 4), [500, 1_000, 2_000]);
  });

  it('404: a new stream, which is read first', async (t) => {
    const transmitter = createTransmitter();
    const { verifier } = start(t, transmitter);
    await until('a long poll', () => transmitter.polls.length === 2);
    transmitter.streams.clear();
    await transmitter.send(ended(party(ids.agent), now));
    await until('the end is known', () => verifier.status().known === 1);
    await until('a new stream', () => transmitter.streams.size === 1);
  });

  it('a stream that was paused is noticed: silent until another has taken its place', async (t) => {
    const transmitter = createTransmitter();
    const { verifier, time, reports } = start(t, transmitter);
    await until('a long poll', () => transmitter.polls.length === 2);
    await transmitter.send(ended(party(ids.agent), now));
    await until('a long poll', () => transmitter.polls.length === 3);
    transmitter.theStream().status = 'paused';
    await transmitter.send(ended(party(ids.other), now));
    time.elapsed += 60_000;
    transmitter.wake();
    await until('both ends are known', () => verifier.status().known === 2);
    await until('current', () => verifier.status().state === 'current');
    assert.deepEqual(
      reports.map(({ state }) => state).filter((state, index, all) => state !== all[index - 1]),
      ['current', 'silent', 'current'],
    );
    assert.equal(transmitter.theStream().status, 'enabled');
    assert.equal(transmitter.requests.filter((request) => request.startsWith('DELETE')).length, 1);
  });

  it('a stream that leaves events out is not used, and one that was changed is replaced', async (t) => {
    const [first = ''] = eventTypes;
    const transmitter = createTransmitter();
    transmitter.delivered = [first];
    const { verifier, time, reports } = start(t, transmitter);
    await until(
      'a second attempt',
      () => transmitter.requests.filter((r) => r.startsWith('DELETE')).length === 2,
    );
    assert.deepEqual([transmitter.polls, verifier.status().state], [[], 'silent']);
    assert.match(verifier.status().problem ?? '', /events/);
    transmitter.delivered = eventTypes;
    await verifier.ready();
    transmitter.theStream().delivered = [first];
    await until('a long poll', () => transmitter.polls.length === 2);
    time.elapsed += 60_000;
    transmitter.wake();
    await until('another stream', () => transmitter.theStream().delivered === eventTypes);
    await until('current', () => verifier.status().state === 'current');
    assert.deepEqual(
      reports.map(({ state }) => state),
      ['current', 'silent', 'current'],
    );
  });

  it('another answer than that of a poll does not say that nothing has ended', async (t) => {
    for (const answer of [
      '',
      'null',
      '[]',
      '{}',
      '{"sets":[]}',
      '{"sets":null}',
      '{"sets":{},"moreAvailable":1}',
    ]) {
      const transmitter = createTransmitter();
      let count = 0;
      transmitter.answer = (url) => {
        if (!url.includes('/poll/')) return undefined;
        count += 1;
        return new Response(answer, { headers: { 'content-type': 'application/json' } });
      };
      const { verifier } = start(t, transmitter);
      await until('a second attempt', () => count >= 2);
      assert.equal(verifier.status().state, 'silent', answer);
      assert.ok(verifier.status().problem);
      await verifier.close();
    }
  });

  it('every mutation of a genuine signal is neither used nor acknowledged, and is named in status().problem; the others of the answer are used', async (t) => {
    const forged = await forgeSignals(ended(party(ids.agent), now));
    for (const [what, token] of Object.entries(forged)) {
      const others = await Promise.all(
        ['chain-1', 'chain-2'].map((chain) => issueSignal(ended(opaque(chain), now))),
      );
      const transmitter = createTransmitter([others[0] ?? '', token, others[1] ?? '']);
      const { verifier } = start(t, transmitter);
      await until('a second attempt', () => transmitter.polls.length >= 2);
      const { known, state, problem } = verifier.status();
      const { queue } = transmitter.theStream();
      assert.deepEqual([known, state, [...queue.values()]], [2, 'silent', [token]], what);
      assert.ok(problem, what);
      await verifier.close();
    }
  });

  it('a signal under another id than its own is not used', async (t) => {
    const transmitter = createTransmitter();
    const token = await issueSignal(ended(party(ids.agent), now));
    let count = 0;
    transmitter.answer = (url) => {
      if (!url.includes('/poll/')) return undefined;
      count += 1;
      return Response.json({ sets: { [uuidV7(now, 7)]: token }, moreAvailable: false });
    };
    const { verifier } = start(t, transmitter);
    await until('a second attempt', () => count >= 2);
    assert.deepEqual([verifier.status().known, verifier.status().state], [0, 'silent']);
  });

  it('signals that are not genuine, or not understood, are neither used nor acknowledged', async (t) => {
    const good = ended(party(ids.agent), now);
    const [type = ''] = Object.keys(good.events as object);
    for (const [claims, typ] of [
      [{ ...good, iss: 'https://other.example' }],
      [{ ...good, aud: ids.agent }],
      [good, 'JWT'],
      [good, 'at+jwt'],
      [{ ...good, sub_id: { format: 'iss_sub', iss: 'https://other.example', sub: ids.agent } }],
      [{ ...good, sub_id: { format: 'email', email: 'a@b.example' } }],
      [{ ...good, sub_id: undefined }],
      [{ ...good, iat: undefined, events: { [type]: {} } }],
      [narrowed(1 as never, now)],
    ] as const) {
      const transmitter = createTransmitter([await issueSignal(claims as JWTPayload, typ)]);
      const { verifier } = start(t, transmitter);
      await until('a second attempt', () => transmitter.polls.length >= 2);
      assert.deepEqual([verifier.status().known, verifier.status().state], [0, 'silent']);
      assert.ok(verifier.status().problem);
      assert.equal(transmitter.theStream().queue.size, 1);
      await verifier.close();
    }
  });

  it('status().problem says that the scope is missing', async (t) => {
    const transmitter = createTransmitter();
    transmitter.answer = () =>
      Response.json({ code: 'INSUFFICIENT_SCOPE', message: 'needs scope tokens:read' }, { status: 403 });
    const { verifier } = start(t, transmitter);
    await until('the refusal', () => /tokens:read/.test(verifier.status().problem ?? ''));
  });

  it('close: the poll ends, and the stream is deleted; nothing is sent any more', async (t) => {
    const transmitter = createTransmitter();
    const { verifier } = start(t, transmitter);
    await until('a long poll', () => transmitter.polls.length === 2);
    await verifier.close();
    assert.equal(transmitter.streams.size, 0);
    assert.ok(transmitter.requests.at(-1)?.startsWith('DELETE'));
    const count = transmitter.requests.length;
    await transmitter.send(ended(party(ids.agent), now));
    await verifier.close();
    assert.deepEqual([transmitter.requests.length, verifier.status().known], [count, 0]);
  });

  it('ready() resolves with the status: current, or as it is when close() comes first', async (t) => {
    const { verifier } = start(t, createTransmitter());
    assert.deepEqual(await verifier.ready(), verifier.status());
    assert.equal(verifier.status().state, 'current');
    const transmitter = createTransmitter();
    transmitter.answer = () => new Response('down', { status: 502 });
    const closed = start(t, transmitter).verifier;
    const ready = closed.ready();
    await closed.close();
    for (const status of [ready, closed.ready()])
      assert.equal((await Promise.race([status, sleep(1_000)]))?.state, 'silent');
  });

  it('close while the stream is being made: it is deleted', async (t) => {
    const transmitter = createTransmitter();
    const made = Promise.withResolvers<void>();
    transmitter.answer = (url) => {
      transmitter.answer = () => undefined;
      return made.promise.then(() =>
        transmitter.fetch(url, { method: 'POST', signal: new AbortController().signal }),
      );
    };
    const { verifier } = start(t, transmitter);
    const closing = verifier.close();
    made.resolve();
    await closing;
    assert.deepEqual(
      transmitter.requests.map((request) => request.split(' ')[0]),
      ['POST', 'POST', 'DELETE'],
    );
    assert.equal(transmitter.streams.size, 0);
  });
});

describe('a program of Node.js', () => {
  /** A transmitter that fails at first, and whose polls take a while. */
  async function startTransmitter(t: TestContext): Promise<string> {
    let requests = 0;
    const server = createServer((request, response) => {
      requests += 1;
      request.resume();
      const isPoll = request.url?.includes('/poll/');
      const answer = isPoll
        ? { sets: {}, moreAvailable: false }
        : { stream_id: 's', aud: ids.other, events_delivered: eventTypes };
      response.writeHead(requests < 4 ? 502 : 200, { 'content-type': 'application/json' });
      setTimeout(() => response.end(JSON.stringify(answer)), isPoll ? 200 : 0);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  const run = async (t: TestContext, end: string) => {
    const program = `
      const { createVerifier } = await import(${JSON.stringify(new URL('../src/sdk.ts', import.meta.url).href)});
      const verifier = createVerifier({
        issuer: ${JSON.stringify(await startTransmitter(t))}, audience: 'https://orders.example.com',
        acceptAnyOrganization: true, subjects: 'any', revocation: 'signals',
        signals: { client: { fetch: (url, init) => fetch(url, init) }, whenSilent: 'refuse' },
      });
      ${end}
      console.log(verifier.status().state);`;
    return (await succeed(process.execPath, ['--input-type=module', '--eval', program])).trim();
  };

  it('goes on while it waits for ready() and does nothing else, and then ends although a poll is open', async (t) => {
    assert.equal(await run(t, 'await verifier.ready();'), 'current');
  });

  it('ends if nothing waits for ready(), and after close()', async (t) => {
    assert.equal(await run(t, ''), 'silent');
    assert.equal(await run(t, 'void verifier.ready(); await verifier.close();'), 'silent');
  });
});

it('TypeError for options that are missing or wrong', () => {
  const client = createTransmitter() as SignalsOptions['client'];
  for (const signals of [
    undefined,
    {},
    { whenSilent: 'refuse' },
    { client },
    { client, whenSilent: 'ignore' },
    { client, whenSilent: 'refuse', maxSilenceSeconds: 10 },
    { client, whenSilent: 'refuse', maxSilenceSeconds: Number.NaN },
    { client, whenSilent: 'refuse', maxEntries: 0 },
  ])
    assert.throws(
      () => createVerifier({ ...verifierOptions, revocation: 'signals', signals } as VerifierOptions),
      TypeError,
      JSON.stringify(signals),
    );
});
