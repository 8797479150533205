/** The request's headers: its id and origin, and the checks that come before the body is read. */
import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../fail.ts';
import type { RequestContext } from './access/identity.ts';
import { outerOf } from './access/inner-requests.ts';
import { normalizeAddress } from './address.ts';

declare module 'fastify' {
  interface FastifyRequest {
    requestContext: RequestContext | null;
  }
}

/** For labels: a client may write any word as its method. */
export const knownMethods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);

/** A client may send its own id, if it is safe in a log line and a header. */
export function requestId({ headers }: { headers: Record<string, string | string[] | undefined> }): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.-]{8,64}$/.test(given) ? given : randomUUID();
}

/**
 * RFC 9112 §3.2 requires Host, though we never read it. Of two Authorization headers Node keeps the first, and a proxy may
 * have checked the other.
 */
export function requireValidHeaders({ raw: { httpVersion, rawHeaders } }: FastifyRequest): void {
  const hosts = countHeader('host', rawHeaders);
  if (httpVersion === '1.1' && hosts === 0)
    throw new ApiError('VALIDATION_ERROR', { message: 'An HTTP/1.1 request must carry a Host header.' });
  if (hosts > 1 || countHeader('authorization', rawHeaders) > 1)
    throw new ApiError('VALIDATION_ERROR', {
      message: 'The headers Host and Authorization must not be given more than once.',
    });
}

/** `rawHeaders` alternates names and values. Comparing lengths first is cheap. */
function countHeader(name: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] as string;
    if (given.length === name.length && given.toLowerCase() === name) count += 1;
  }
  return count;
}

/** Bodies are read chunked or plain. A compressed body must not be taken for its text. */
export function requireReadableBody({ headers, routeOptions: { config } }: FastifyRequest): void {
  const { 'transfer-encoding': transfer, 'content-encoding': content } = headers;
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked')
    throw new ApiError('VALIDATION_ERROR', { message: onlyChunked });
  if (content === undefined || !config.entry) return;
  const hasBody = transfer !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (hasBody && !content.split(',').every(isIdentityCoding))
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', {
      message: 'The body must come as it is: no Content-Encoding is read.',
    });
}

export const onlyChunked = 'The Transfer-Encoding can be chunked and nothing else, without a Content-Length.';

const isIdentityCoding = (coding: string): boolean => ['', 'identity'].includes(coding.trim().toLowerCase());

/** `curl -d ''` and other clients send the content type of a form with an empty body. */
export function dropContentTypeOfEmptyBody({ headers, routeOptions }: FastifyRequest): void {
  if (headers['content-length'] === '0' && routeOptions.config.entry?.accepts !== 'form')
    delete headers['content-type'];
}

export const createRequestContext = (request: FastifyRequest): RequestContext => ({
  origin: outerOf(request.raw)?.origin ?? {
    requestId: request.id,
    // A client that has reset its connection has no address any more, although the type of `ip` says so.
    ipAddress: normalizeAddress(request.ip ?? '') ?? request.socket.remoteAddress ?? 'unknown',
    userAgent: (request.headers['user-agent'] ?? '').slice(0, 512),
  },
});
