/**
 * The outbound port on undici: connections to public addresses only (connector.ts), no redirects, one timeout for the whole call
 * and a size limit for the response. undici is imported by the first call.
 */
import type { Resolver } from 'node:dns/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent, Dispatcher } from 'undici';
import { type Span, tracer } from '../../kernel/observability/tracing.ts';
import {
  type Outbound,
  OutboundProblem,
  type OutboundReason,
  type OutboundRequest,
  type OutboundResponse,
} from '../../kernel/ports/outbound.ts';
import type { Delay } from './connector.ts';
import type { Resolve } from './resolve.ts';

export interface OutboundOptions {
  /** Allows private addresses, for receivers and issuers inside the operator's own network. */
  readonly allowPrivate: boolean;
  /** Default: the system's name servers. */
  readonly resolve?: Resolve;
  /** For TXT records. Default: the system's name servers. */
  readonly resolver?: Resolver;
  /** For tests, which have loopback addresses only. */
  readonly isPublic?: (address: string) => boolean;
  /** Default: a timer. */
  readonly delay?: Delay;
}

const connectTimeoutMs = 10_000;

export function createOutbound(options: OutboundOptions): Outbound {
  let opening: Promise<Agent> | undefined;
  let closed = false;

  return {
    async send(request) {
      const url = targetOf(request.url);
      opening ??= openAgent(options);
      const agent = await opening;
      if (closed) throw new OutboundProblem('unreachable', 'this process is stopping');
      const span = tracer && startSpan(url, request.method);
      try {
        const response = await exchange(
          agent,
          url,
          tracer ? continuing(span ?? tracer.current(), request) : request,
        );
        span?.set({ 'http.response.status_code': response.status });
        span?.end();
        return response;
      } catch (error) {
        const problem = problemOf(error, url.host);
        span?.end(problem);
        throw problem;
      }
    },
    async textRecords(name) {
      const { isLocalName } = await import('./addresses.ts');
      if (!options.allowPrivate && isLocalName(name)) return [];
      const { createResolver, resolveText } = await import('./resolve.ts');
      try {
        return await resolveText(options.resolver ?? createResolver(), name);
      } catch (error) {
        throw new OutboundProblem('unreachable', `the name servers gave no answer for ${name}`, {
          cause: error,
          detail: String(error),
        });
      }
    },
    async close() {
      closed = true;
      await (await opening)?.destroy();
    },
  };
}

/** The host only: path and query may be a secret of the receiver. */
const startSpan = ({ protocol, hostname, port }: URL, method: string): Span | undefined =>
  tracer?.startChild(method, {
    kind: 'client',
    attributes: {
      'http.request.method': method,
      'url.scheme': protocol.slice(0, -1),
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    },
  });

/** W3C Trace Context: the receiver can continue the trace. */
const continuing = (span: Span | undefined, request: OutboundRequest): OutboundRequest => ({
  ...request,
  headers: { ...request.headers, ...span?.headers() },
});

/**
 * Uses `dispatch`, undici's lowest level: a stream for each response would cost as much as the rest of the call. A call that ends
 * early closes its connection, so that the receiver stops sending.
 */
function exchange(agent: Agent, url: URL, request: OutboundRequest): Promise<OutboundResponse> {
  const { method, headers = {}, body = null, timeoutMs, maxBytes, overflow } = request;
  const { promise, resolve, reject } = Promise.withResolvers<OutboundResponse>();
  const chunks: Buffer[] = [];
  let size = 0;
  let head: Pick<OutboundResponse, 'status' | 'headers'> = { status: 0, headers: {} };
  let connection: Dispatcher.DispatchController | undefined;
  let aborted: OutboundProblem | undefined;

  const answer = (cut: boolean) =>
    resolve({ ...head, body: Buffer.concat(chunks).subarray(0, maxBytes), truncated: cut });
  const abort = (problem: OutboundProblem) => {
    aborted = problem;
    connection?.abort(problem);
    reject(problem);
  };
  // It also covers the lookup and the connection, for which undici has no callback.
  const timer = setTimeout(
    () => abort(new OutboundProblem('timeout', `${url.host} did not answer in full within ${timeoutMs} ms`)),
    timeoutMs,
  );
  agent.dispatch(
    { origin: url.origin, path: url.pathname + url.search, method, headers: { ...headers }, body },
    {
      onRequestStart(controller) {
        connection = controller;
        if (aborted) controller.abort(aborted);
      },
      onResponseStart(_, status, received) {
        head = { status, headers: received };
      },
      onResponseData(_, chunk) {
        chunks.push(chunk);
        size += chunk.length;
        if (size <= maxBytes) return;
        if (overflow === 'truncate') answer(true);
        abort(new OutboundProblem('tooLarge', `the answer is longer than ${maxBytes} bytes`));
      },
      onResponseEnd: () => answer(false),
      onResponseError: (_, error) => reject(error),
    },
  );
  return promise.finally(() => clearTimeout(timer));
}

const timerDelay: Delay = (milliseconds, signal) => sleep(milliseconds, undefined, { signal, ref: false });

async function openAgent({
  allowPrivate,
  resolve,
  isPublic,
  delay = timerDelay,
}: OutboundOptions): Promise<Agent> {
  const [undici, addresses, connector, names] = await Promise.all([
    import('undici'),
    import('./addresses.ts'),
    import('./connector.ts'),
    import('./resolve.ts'),
  ]);
  return new undici.Agent({
    connect: connector.createConnector(
      {
        resolve: resolve ?? names.createResolve(),
        mayConnect: allowPrivate ? () => true : (isPublic ?? addresses.isPublicAddress),
        localNames: allowPrivate,
        delay,
      },
      connectTimeoutMs,
    ),
    pipelining: 1,
    // Most receivers close a connection after some idle seconds; a request sent at that moment would be lost.
    keepAliveTimeout: 1_000,
    // The receiver's Keep-Alive header cannot extend it.
    keepAliveMaxTimeout: 1_000,
    // The timeout of each call covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

function targetOf(text: string): URL {
  if (!URL.canParse(text)) throw new OutboundProblem('protocol', 'the address is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new OutboundProblem('protocol', `calls are made by http and https only, not ${url.protocol}`);
  if (url.username || url.password)
    throw new OutboundProblem('protocol', 'the address must not carry credentials');
  return url;
}

const reasons: Record<string, OutboundReason> = {
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  ETIMEDOUT: 'timeout',
  UND_ERR_SOCKET: 'unreachable',
  UND_ERR_DESTROYED: 'unreachable',
  UND_ERR_CLOSED: 'unreachable',
  ECONNREFUSED: 'unreachable',
  ECONNRESET: 'unreachable',
  EPIPE: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EADDRNOTAVAIL: 'unreachable',
  ENOTFOUND: 'unreachable',
  ENODATA: 'unreachable',
  EAI_AGAIN: 'unreachable',
  ESERVFAIL: 'unreachable',
  ETIMEOUT: 'unreachable',
};

/** Errors that are not about reaching the receiver are about its protocol: TLS or HTTP. */
function problemOf(error: unknown, host: string): OutboundProblem {
  if (error instanceof OutboundProblem) return error;
  const { code = '', message = '' } = error as { code?: string; message?: string };
  const text = message || code || String(error);
  return new OutboundProblem(reasons[code] ?? 'protocol', `${host}: ${text}`, { cause: error });
}
