/**
 * The outbound port on undici: connections to public addresses only (outbound/connector.ts), no redirect followed, the
 * whole call within its time and the answer within its size. undici is loaded when the first call is made.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent, Dispatcher } from 'undici';
import {
  type Outbound,
  OutboundProblem,
  type OutboundReason,
  type OutboundRequest,
  type OutboundResponse,
} from '../../kernel/ports/outbound.ts';
import type { Pause } from './connector.ts';
import type { Resolve } from './resolve.ts';

export interface OutboundOptions {
  /** Opens everything: for receivers and issuers inside the operator's own network. */
  readonly allowPrivate: boolean;
  /** The system's name servers, unless a test has its own. */
  readonly resolve?: Resolve;
  /** What counts as public, where a test has only loopback addresses to call so. */
  readonly isPublic?: (address: string) => boolean;
  /** A timer, unless a test decides when the time is up. */
  readonly pause?: Pause;
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
      try {
        return await exchange(agent, url, request);
      } catch (error) {
        throw problemOf(error, url.host);
      }
    },
    async close() {
      closed = true;
      await (await opening)?.destroy();
    },
  };
}

/**
 * By `dispatch`, the innermost way that undici has: a stream for each answer would cost as much as the rest of the call. Whoever
 * leaves before the end takes the connection along, so that no more is sent than was read.
 */
function exchange(agent: Agent, url: URL, request: OutboundRequest): Promise<OutboundResponse> {
  const { method, headers = {}, body = null, timeoutMs, maxBytes, overflow } = request;
  const { promise, resolve, reject } = Promise.withResolvers<OutboundResponse>();
  const chunks: Buffer[] = [];
  let size = 0;
  let said: Pick<OutboundResponse, 'status' | 'headers'> = { status: 0, headers: {} };
  let connection: Dispatcher.DispatchController | undefined;
  let left: OutboundProblem | undefined;

  const answer = (cut: boolean) =>
    resolve({ ...said, body: Buffer.concat(chunks).subarray(0, maxBytes), truncated: cut });
  const leave = (problem: OutboundProblem) => {
    left = problem;
    connection?.abort(problem);
    reject(problem);
  };
  // It covers the look-up and the connection too, of which undici says nothing before they are there.
  const timer = setTimeout(
    () => leave(new OutboundProblem('timeout', `${url.host} did not answer in full within ${timeoutMs} ms`)),
    timeoutMs,
  );
  agent.dispatch(
    { origin: url.origin, path: url.pathname + url.search, method, headers: { ...headers }, body },
    {
      onRequestStart(controller) {
        connection = controller;
        if (left) controller.abort(left);
      },
      onResponseStart(_, status, received) {
        said = { status, headers: received };
      },
      onResponseData(_, chunk) {
        chunks.push(chunk);
        size += chunk.length;
        if (size <= maxBytes) return;
        if (overflow === 'truncate') answer(true);
        leave(new OutboundProblem('tooLarge', `the answer is longer than ${maxBytes} bytes`));
      },
      onResponseEnd: () => answer(false),
      onResponseError: (_, error) => reject(error),
    },
  );
  return promise.finally(() => clearTimeout(timer));
}

const timer: Pause = (milliseconds, signal) => sleep(milliseconds, undefined, { signal, ref: false });

async function openAgent({
  allowPrivate,
  resolve,
  isPublic,
  pause = timer,
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
        pause,
      },
      connectTimeoutMs,
    ),
    pipelining: 1,
    // Most receivers close a connection that has been idle for some seconds; what is sent at that moment would be lost on the way.
    keepAliveTimeout: 1_000,
    // Whatever the receiver says of it.
    keepAliveMaxTimeout: 1_000,
    // The deadline of each call covers both.
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

/** Whatever is not known to be a matter of reaching the other side is a matter of how it speaks: TLS, HTTP. */
function problemOf(error: unknown, host: string): OutboundProblem {
  if (error instanceof OutboundProblem) return error;
  const { code = '', message = '' } = error as { code?: string; message?: string };
  const said = message || code || String(error);
  return new OutboundProblem(reasons[code] ?? 'protocol', `${host}: ${said}`, { cause: error });
}
