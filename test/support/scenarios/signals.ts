/** A receiver of signals: makes streams, polls them, and verifies the security event tokens. */
import assert from 'node:assert/strict';
import { createLocalJWKSet, jwtVerify } from 'jose';
import type { Answer, TestApp } from '../harness.ts';

export const pushMethod = 'urn:ietf:rfc:8935';
export const pollMethod = 'urn:ietf:rfc:8936';

export interface Receiver {
  readonly streamId: string;
  readonly audience: string;
  readonly token: string;
}

export interface Signal {
  readonly jti: string;
  readonly sub_id: Readonly<Record<string, unknown>>;
  /** `session-revoked` and so on. */
  readonly type: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into claims of every shape, and a wrong guess fails the assertion that follows
  readonly event: any;
}

/** Only the agent that made a stream changes it: makes this agent the one. */
export const giveStream = (t: TestApp, streamId: string, agentId: string) =>
  t.sql(
    `update signal_streams set agent_id = $2, organization_id = (select organization_id from agents where agent_id = $2)
     where stream_id = $1`,
    [streamId, agentId],
  );

export function createSignalClient(t: TestApp, issuer = 'http://countersign.test') {
  const ssf = (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    token: string,
    payload?: object,
  ): Promise<Answer> => t.call(method, `/api/v1/ssf${path}`, { token, ...(payload && { payload }) });

  const create = (token: string, more: object = {}) =>
    ssf('POST', '/stream', token, { delivery: { method: pollMethod }, ...more });

  const receiver = async (token: string, more: object = {}): Promise<Receiver> => {
    const answer = await create(token, more);
    assert.equal(answer.status, 201, answer.text);
    return { streamId: answer.json.stream_id, audience: answer.json.aud, token };
  };

  const read = async (jti: string, set: string, audience: string): Promise<Signal> => {
    const keys = createLocalJWKSet((await t.call('GET', '/.well-known/jwks.json')).json);
    const { payload } = await jwtVerify(set, keys, { issuer, audience, typ: 'secevent+jwt' });
    assert.equal(payload.jti, jti);
    const [[type, event], ...others] = Object.entries(payload.events as object) as [[string, unknown]];
    assert.equal(others.length, 0);
    return {
      jti,
      sub_id: payload.sub_id as Signal['sub_id'],
      type: type.slice(type.lastIndexOf('/') + 1),
      event,
    };
  };

  const pollRaw = ({ streamId, token }: Receiver, payload: object = {}) =>
    ssf('POST', `/poll/${streamId}`, token, payload);

  /** The signals of one answer, without acknowledging them. */
  const poll = async (
    receiver: Receiver,
    payload: object = { returnImmediately: true },
  ): Promise<Signal[]> => {
    const answer = await pollRaw(receiver, payload);
    assert.equal(answer.status, 200, answer.text);
    return Promise.all(
      Object.entries(answer.json.sets as Record<string, string>).map(([jti, set]) =>
        read(jti, set, receiver.audience),
      ),
    );
  };

  /** All signals, acknowledged. */
  const drain = async (receiver: Receiver): Promise<Signal[]> => {
    const all: Signal[] = [];
    for (let ack: string[] = []; ; ) {
      const found = await poll(receiver, { returnImmediately: true, ack });
      if (found.length === 0) return all;
      all.push(...found);
      ack = found.map(({ jti }) => jti);
    }
  };

  return { ssf, create, receiver, read, pollRaw, poll, drain };
}
