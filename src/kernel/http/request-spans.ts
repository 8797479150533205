/**
 * One span for each request, with the spans of its work below. Probes have none. Attributes are set when the request ends, because
 * only then its caller is known.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Span, Tracer } from '../observability/tracing.ts';
import { knownMethods } from './request.ts';

/** Added first, and only when tracing is on. */
export function addRequestSpans(server: FastifyInstance, tracer: Tracer): void {
  const spans = new WeakMap<FastifyRequest, Span>();
  const end = (request: FastifyRequest, status: number | undefined) => {
    const span = spans.get(request);
    if (span?.isRecording()) finish(span, request, status);
  };

  server.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.config.entry?.limit === 'none') return done();
    const { headers } = request;
    const span = tracer.startRoot(nameOf(request), { kind: 'server', headers });
    spans.set(request, span);
    // Also when the client has closed the connection: then there is no `onResponse`, and no status was sent.
    if (span.isRecording())
      reply.raw.once('close', () => end(request, reply.raw.writableFinished ? reply.statusCode : undefined));
    // Fastify restores it after it has read the body.
    tracer.run(span, done);
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    // A stream that stays open may last for hours.
    if (request.routeOptions.config.entry?.longLived) end(request, reply.statusCode);
    done(null, payload);
  });
  // For the log line: the response may end long after its handler.
  server.addHook('onResponse', (request, _, done) => tracer.run(spans.get(request), done));
}

const methodOf = ({ method }: FastifyRequest): string => (knownMethods.has(method) ? method : 'HTTP');

/** Never the path of the request itself: an unknown path can hold anything. */
const nameOf = (request: FastifyRequest): string => {
  const { url } = request.routeOptions;
  return url === undefined || request.is404 ? methodOf(request) : `${methodOf(request)} ${url}`;
};

function finish(span: Span, request: FastifyRequest, status: number | undefined): void {
  const { requestContext: context, routeOptions, is404 } = request;
  const { caller, client } = context ?? {};
  span.set({
    'http.request.method': knownMethods.has(request.method) ? request.method : '_OTHER',
    'http.response.status_code': status,
    'http.route': is404 ? undefined : routeOptions.url,
    'countersign.operation': routeOptions.config.entry?.id,
    'countersign.request_id': request.id,
    'countersign.agent_id': caller?.agentId ?? client?.clientId,
    'countersign.organization_id': caller?.organizationId ?? client?.organizationId,
  });
  if (status === undefined) span.end('client_closed');
  // Refusals are answers; only failures of ours are errors of the span.
  else span.end(status >= 500 ? String(status) : undefined);
}
