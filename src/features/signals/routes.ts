import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { open, type RouteEntry, rootRoute, route, scope } from '../../kernel/http/route.ts';
import type { PollStream } from './poll.ts';
import {
  AddedSubject,
  NewStream,
  PollParams,
  PollRequest,
  PollResponse,
  pollMethod,
  pushMethod,
  RemovedSubject,
  StatusChange,
  Stream,
  StreamChange,
  StreamQuery,
  StreamReplacement,
  StreamStatus,
  StreamsQuery,
  VerificationRequest,
} from './schema.ts';
import type { SignalService } from './service.ts';

const common = { tag: 'Signals', limit: 'caller', access: scope('tokens:read') } as const;

/** `/.well-known/ssf-configuration` (SSF §7.1). */
const transmitterConfiguration = (issuer: string, pushEnabled: boolean) => ({
  spec_version: '1_0',
  issuer,
  jwks_uri: `${issuer}/.well-known/jwks.json`,
  delivery_methods_supported: [...(pushEnabled ? [pushMethod] : []), pollMethod],
  configuration_endpoint: `${issuer}/api/v1/ssf/stream`,
  status_endpoint: `${issuer}/api/v1/ssf/status`,
  add_subject_endpoint: `${issuer}/api/v1/ssf/subjects/add`,
  remove_subject_endpoint: `${issuer}/api/v1/ssf/subjects/remove`,
  verification_endpoint: `${issuer}/api/v1/ssf/verify`,
  authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
  default_subjects: 'ALL',
});

export const signalRoutes = (
  signals: SignalService,
  pollStream: PollStream,
  { issuer, pushEnabled }: { issuer: string; pushEnabled: boolean },
): RouteEntry[] => [
  rootRoute({
    id: 'ssfConfiguration',
    summary: 'How to learn at once which tokens have ended (Shared Signals Framework 1.0)',
    tag: 'Discovery',
    method: 'GET',
    url: '/.well-known/ssf-configuration',
    access: open(),
    limit: 'caller',
    schema: {
      response: {
        200: Type.Object(
          {},
          { additionalProperties: true, examples: [transmitterConfiguration(issuer, pushEnabled)] },
        ),
      },
    },
    handler({ header }) {
      header('cache-control', 'public, max-age=300');
      return transmitterConfiguration(issuer, pushEnabled);
    },
  }),
  route({
    ...common,
    id: 'createSignalStream',
    summary: 'Create a stream of signals; it begins with the signals that can still matter',
    description:
      'A stream that is polled needs `tokens:read`. One that is pushed to an address of yours needs `webhooks:write` as well.',
    method: 'POST',
    url: '/ssf/stream',
    schema: { body: NewStream, response: { 201: Stream } },
    errors: ['SIGNAL_STREAM_LIMIT_EXCEEDED', 'FORBIDDEN'],
    handler: ({ caller, body }) => signals.create(caller, body),
  }),
  route({
    ...common,
    id: 'getSignalStream',
    summary: 'Read one stream, or list those of the agent',
    description:
      'With `webhooks:write`, the list has all streams of the organization. They can be deleted; only the agent that created a stream changes it.',
    method: 'GET',
    url: '/ssf/stream',
    schema: {
      query: StreamsQuery,
      response: {
        200: Type.Union([Stream, Type.Array(Stream)]),
      },
    },
    errors: ['SIGNAL_STREAM_NOT_FOUND'],
    handler: ({ caller, query }) =>
      query.stream_id === undefined ? signals.list(caller) : signals.get(caller, query.stream_id),
  }),
  route({
    ...common,
    id: 'updateSignalStream',
    summary: 'Change some fields of a stream',
    method: 'PATCH',
    url: '/ssf/stream',
    schema: { body: StreamChange, response: { 200: Stream } },
    errors: ['SIGNAL_STREAM_NOT_FOUND', 'FORBIDDEN'],
    handler: ({ caller, body }) => signals.change(caller, body),
  }),
  route({
    ...common,
    id: 'replaceSignalStream',
    summary: 'Replace the fields of a stream; those that are left out get their defaults',
    method: 'PUT',
    url: '/ssf/stream',
    schema: { body: StreamReplacement, response: { 200: Stream } },
    errors: ['SIGNAL_STREAM_NOT_FOUND', 'FORBIDDEN'],
    handler: ({ caller, body }) => signals.replace(caller, body),
  }),
  route({
    ...common,
    id: 'deleteSignalStream',
    summary: 'Delete a stream, with the signals that wait in it',
    method: 'DELETE',
    url: '/ssf/stream',
    schema: { query: StreamQuery, response: { 204: Type.Null() } },
    errors: ['SIGNAL_STREAM_NOT_FOUND'],
    handler: ({ caller, query }) => signals.remove(caller, query.stream_id),
  }),
  route({
    ...common,
    id: 'getSignalStreamStatus',
    summary: 'Read the status of a stream',
    method: 'GET',
    url: '/ssf/status',
    schema: { query: StreamQuery, response: { 200: StreamStatus } },
    errors: ['SIGNAL_STREAM_NOT_FOUND'],
    handler: ({ caller, query }) => signals.status(caller, query.stream_id),
  }),
  route({
    ...common,
    id: 'setSignalStreamStatus',
    summary: 'Pause a stream, which goes on collecting; disable it, which drops its signals; or enable it',
    method: 'POST',
    url: '/ssf/status',
    schema: { body: StatusChange, response: { 200: StreamStatus } },
    errors: ['SIGNAL_STREAM_NOT_FOUND', 'FORBIDDEN'],
    handler: ({ caller, body }) => signals.setStatus(caller, body),
  }),
  route({
    ...common,
    id: 'verifySignalStream',
    summary: 'Send a verification event through a stream',
    method: 'POST',
    url: '/ssf/verify',
    limit: { perMinute: limits.signals.verificationsPerMinute, per: 'caller' },
    schema: { body: VerificationRequest, response: { 204: Type.Null() } },
    errors: ['SIGNAL_STREAM_NOT_FOUND', 'FORBIDDEN'],
    handler: ({ caller, body }) => signals.verify(caller, body),
  }),
  route({
    ...common,
    id: 'addSignalSubject',
    summary: 'Send signals about a subject again; all subjects are in a stream from the start',
    method: 'POST',
    url: '/ssf/subjects/add',
    schema: { body: AddedSubject, response: { 200: Type.Null() } },
    errors: ['SIGNAL_STREAM_NOT_FOUND', 'FORBIDDEN'],
    handler: ({ caller, body }) => signals.addSubject(caller, body),
  }),
  route({
    ...common,
    id: 'removeSignalSubject',
    summary: 'Send no more signals about a subject',
    method: 'POST',
    url: '/ssf/subjects/remove',
    schema: { body: RemovedSubject, response: { 204: Type.Null() } },
    errors: ['SIGNAL_STREAM_NOT_FOUND', 'SIGNAL_STREAM_LIMIT_EXCEEDED', 'FORBIDDEN'],
    handler: ({ caller, body }) => signals.removeSubject(caller, body),
  }),
  route({
    ...common,
    id: 'pollSignals',
    summary: 'Poll a stream for signals, and acknowledge those that were received (RFC 8936)',
    description: `Waits up to ${limits.signals.pollSeconds} seconds for the first signal. A signal comes again until it is acknowledged. Counts in a window of its own: ${limits.signals.pollsPerMinute} polls of an agent in a minute.`,
    method: 'POST',
    url: '/ssf/poll/:streamId',
    limit: 'afterVerification',
    quota: 'free',
    optionalBody: true,
    longLived: true,
    schema: { params: PollParams, body: PollRequest, response: { 200: PollResponse } },
    errors: ['SIGNAL_STREAM_NOT_FOUND'],
    async handler({ caller, params, body, header, countAgainst, endSignal, recheckAccess }) {
      await countAgainst({
        clientId: `signals:${caller.agentId}`,
        rateLimitPerMinute: limits.signals.pollsPerMinute,
      });
      header('cache-control', 'no-store');
      const { streamId } = params;
      return pollStream(caller, { streamId, request: body, ended: endSignal(), recheckAccess });
    },
  }),
];
