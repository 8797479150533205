/** Streams as receivers see them (SSF §8.1.1), and the checks of what they ask for. */
import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../contract/limits.ts';
import { type FieldProblem, validationError } from '../../kernel/http/input/validation.ts';
import { urlProblem } from '../../kernel/url-problem.ts';
import { supportedEvents } from './event-types.ts';
import {
  type NewDelivery,
  pollMethod,
  pushMethod,
  type Stream,
  type StreamChange,
  type StreamStatus,
} from './schema.ts';
import type { StoredStream } from './streams-store.ts';

/** Without a delivery, a receiver polls (SSF §8.1.1.1). */
export const pollDelivery: NewDelivery = { method: pollMethod };

export const methodOf = ({ method }: Pick<StoredStream, 'method'>): NewDelivery['method'] =>
  method === 'poll' ? pollMethod : pushMethod;

/** Of a poll stream, in seconds. */
export const timeoutOf = (method: NewDelivery['method'], given: number | undefined): number | null =>
  method === pollMethod ? (given ?? limits.signals.inactivitySeconds.default) : null;

const pollUrl = (issuer: string, streamId: string): string => `${issuer}/api/v1/ssf/poll/${streamId}`;

export function describeStream(stream: StoredStream, issuer: string): Stream {
  const { streamId, agentId, method, endpointUrl, eventsRequested, description, inactivityTimeout } = stream;
  const requested = eventsRequested ?? supportedEvents;
  return {
    stream_id: streamId,
    iss: issuer,
    aud: agentId,
    delivery:
      method === 'poll'
        ? { method: pollMethod, endpoint_url: pollUrl(issuer, streamId) }
        : { method: pushMethod, endpoint_url: endpointUrl ?? '' },
    events_supported: [...supportedEvents],
    events_requested: [...requested],
    events_delivered: supportedEvents.filter((type) => requested.includes(type)),
    ...(description !== null && { description }),
    ...(inactivityTimeout !== null && { inactivity_timeout: inactivityTimeout }),
  };
}

export const describeStatus = ({ streamId, status, statusReason }: StoredStream): StreamStatus => ({
  stream_id: streamId,
  status,
  ...(statusReason !== null && { reason: statusReason }),
});

const refuse = (field: string, message: string): never => {
  const problem: FieldProblem = { in: 'body', field, message };
  throw validationError('body', [problem]);
};

/** VALIDATION_ERROR unless the delivery can work. `stream`: the one that it replaces. */
export function requireDelivery(
  { method, endpoint_url, authorization_header }: NewDelivery,
  issuer: string,
  stream?: StoredStream,
): void {
  if (method === pollMethod) {
    const isOwn = stream !== undefined && endpoint_url === pollUrl(issuer, stream.streamId);
    if (endpoint_url !== undefined && !isOwn)
      refuse('delivery.endpoint_url', 'is given by us when the stream is polled: leave it out');
    if (authorization_header !== undefined)
      refuse('delivery.authorization_header', 'is for push streams only: leave it out');
    return;
  }
  const problem =
    endpoint_url === undefined
      ? 'is needed for a push stream'
      : urlProblem(endpoint_url, { allowHttp: false, allowQuery: true });
  if (problem !== undefined) refuse('delivery.endpoint_url', problem);
}

/** VALIDATION_ERROR when a receiver changes a field that only we may set. */
export function requireOwnFields(change: StreamChange, current: Stream): void {
  for (const field of ['iss', 'aud', 'events_supported', 'events_delivered'] as const)
    if (change[field] !== undefined && !isDeepStrictEqual(change[field], current[field]))
      refuse(field, 'is set by us: leave it out, or repeat its value');
}

export function requirePollStream(
  inactivityTimeout: number | undefined,
  method: NewDelivery['method'],
): void {
  if (inactivityTimeout !== undefined && method !== pollMethod)
    refuse('inactivity_timeout', 'is for poll streams only: leave it out');
}

/** Each stream keeps hundreds of them. */
const maxSubjectLength = 1_024;

export function requireShortSubject(subject: object): void {
  if (JSON.stringify(subject).length > maxSubjectLength)
    refuse('subject', `must have at most ${maxSubjectLength} characters as JSON`);
}
