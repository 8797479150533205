/** The requests about one stream of signals (SSF 1.0), which is polled (RFC 8936). */
import { ConnectionError } from '../errors.ts';
import { unlessAborted } from '../platform.ts';
import { eitherOf } from '../request-loop.ts';
import { discard, readError, readJson } from '../response.ts';
import { eventTypes } from './event.ts';

/** A client of this SDK; its agent needs the scope `tokens:read`. Or any fetch that authenticates. */
export interface SignalsClient {
  fetch(
    url: string,
    init: {
      readonly method: 'GET' | 'POST' | 'DELETE';
      readonly headers: Readonly<Record<string, string>>;
      readonly body?: string;
      readonly scope: string;
      readonly signal: AbortSignal;
    },
  ): Promise<Response>;
}

export interface Stream {
  readonly id: string;
  readonly audience: string;
}

export interface Poll {
  /** The ids that are acknowledged. */
  readonly ack: readonly string[];
  /** Waits until there is something. */
  readonly isLong: boolean;
  /** How many requests before it failed, one after the other. */
  readonly failures: number;
}

export interface PollAnswer {
  readonly sets: readonly (readonly [jti: string, token: string])[];
  readonly hasMore: boolean;
}

export interface Streams {
  /** `closed` does not end it: the server may have made the stream already. */
  create(): Promise<Stream>;
  /** If it fails, the server deletes the stream after a while. */
  remove(stream: Stream): Promise<void>;
  /** Throws StreamChanged if the stream leaves something out, or is not enabled: a poll of such a stream is answered as if nothing happened. */
  check(stream: Stream): Promise<void>;
  poll(stream: Stream, poll: Poll): Promise<PollAnswer>;
}

/** The stream leaves events out that end tokens, or sends none. */
export class StreamChanged extends Error {}

/** The server deletes a stream that was not polled for so long. It keeps signals longer, for the next stream. */
const inactivitySeconds = 300;
/** The server answers a long poll after this time at the latest. */
export const longPollMs = 25_000;
export const pollTimeoutMs = 35_000;
const requestTimeoutMs = 10_000;
/** After a failure, and twice as long after each further one: a connection that a dying process of the server got is never answered. */
const firstRetryTimeoutMs = 500;
const maxEvents = 500;
const maxAnswerBytes = 16 * 1024 * 1024;

interface SendOptions {
  readonly body?: object;
  readonly timeoutMs?: number;
  readonly ends?: AbortSignal;
}

export function createStreams({
  issuer,
  client,
  description,
  closed,
}: {
  readonly issuer: string;
  readonly client: SignalsClient;
  readonly description: string;
  /** Ends checks and polls. */
  readonly closed: AbortSignal;
}): Streams {
  const api = `${issuer}/api/v1/ssf`;
  const { signal: lasting } = new AbortController();
  const addressOf = ({ id }: Stream, what = 'stream') => `${api}/${what}?stream_id=${id}`;

  const send = async <Answer>(
    [method, url]: readonly ['GET' | 'POST' | 'DELETE', string],
    read: (response: Response) => Answer | Promise<Answer>,
    { body, timeoutMs = requestTimeoutMs, ends = closed }: SendOptions = {},
  ): Promise<Answer> => {
    const signal = eitherOf(ends, AbortSignal.timeout(timeoutMs));
    const request = client.fetch(url, {
      method,
      headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      scope: 'tokens:read',
      signal,
    });
    // Also if the fetch of the program does not look at the signal, or its body stalls.
    return unlessAborted(signal, request.then(read));
  };

  const remove = async (stream: Stream): Promise<void> => {
    try {
      await send(['DELETE', addressOf(stream)], discard, { ends: lasting });
    } catch {}
  };

  return {
    async create() {
      const body = {
        delivery: { method: 'urn:ietf:rfc:8936' },
        events_requested: eventTypes,
        inactivity_timeout: inactivitySeconds,
        description,
      };
      const answer = await send(['POST', `${api}/stream`], readAnswer, { body, ends: lasting });
      const { stream_id: id, aud: audience } = answer;
      if (typeof id !== 'string' || typeof audience !== 'string' || !/^[\w-]{1,100}$/.test(id))
        throw unusable('no usable stream');
      const stream = { id, audience };
      if (hasAllEvents(answer)) return stream;
      await remove(stream);
      throw unusable('a stream without the events that end tokens');
    },

    remove,

    async check(stream) {
      if (!hasAllEvents(await send(['GET', addressOf(stream)], readAnswer)))
        throw new StreamChanged('the stream was changed: it leaves out events that end tokens');
      const { status } = await send(['GET', addressOf(stream, 'status')], readAnswer);
      if (status !== 'enabled')
        throw new StreamChanged('the stream was paused or disabled: it sends no events');
    },

    async poll({ id }, { ack, isLong, failures }) {
      const answer = await send(['POST', `${api}/poll/${id}`], readAnswer, {
        body: { maxEvents, returnImmediately: !isLong, ack },
        timeoutMs: isLong ? pollTimeoutMs : timeoutAfter(failures),
      });
      return readPoll(answer);
    },
  };
}

const timeoutAfter = (failures: number): number =>
  failures === 0 ? requestTimeoutMs : Math.min(requestTimeoutMs, firstRetryTimeoutMs * 2 ** (failures - 1));

type Fields = Readonly<Record<string, unknown>>;

const unusable = (what: string) => new ConnectionError('invalid_response', `the server sent ${what}`);

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

async function readAnswer(response: Response): Promise<Fields> {
  if (!response.ok) throw await readError(response);
  const answer = await readJson(response, maxAnswerBytes);
  if (!isFields(answer)) throw unusable('no JSON object');
  return answer;
}

/** Anything else could be the answer of a proxy, and is no reason to believe that nothing has ended. */
function readPoll({ sets, moreAvailable = false }: Fields): PollAnswer {
  if (!isFields(sets) || typeof moreAvailable !== 'boolean') throw unusable('no answer to a poll');
  const entries = Object.entries(sets).map(([jti, token]) => [jti, String(token)] as const);
  return { sets: entries, hasMore: moreAvailable };
}

const hasAllEvents = ({ events_delivered: delivered }: Fields): boolean =>
  Array.isArray(delivered) && eventTypes.every((type) => delivered.includes(type));
