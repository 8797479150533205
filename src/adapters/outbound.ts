/**
 * The outbound port on undici: connections to public addresses only (outbound/connector.ts), no redirect followed, the
 * whole call within its time and the answer within its size. undici is loaded when the first call is made.
 */
import type { Agent, Dispatcher } from 'undici';
import {
  type Outbound,
  type OutboundAnswer,
  OutboundProblem,
  type OutboundReason,
  type OutboundRequest,
} from '../kernel/outbound.ts';
import type { Resolve } from './outbound/resolve.ts';

export interface OutboundOptions {
  /** Opens everything: for receivers and issuers inside the operator's own network. */
  readonly allowPrivate: boolean;
  /** The system's name servers, unless a test has its own. */
  readonly resolve?: Resolve;
  /** What counts as public, where a test has only loopback addresses to call so. */
  readonly isPublic?: (address: string) => boolean;
}

const connectTimeoutMs = 10_000;

export function createOutbound(options: OutboundOptions): Outbound {
  let opening: Promise<Agent> | undefined;
  let closed = false;

  const exchange = async (url: URL, request: OutboundRequest, signal: AbortSignal) => {
    opening ??= openAgent(options);
    const agent = await opening;
    if (closed) throw new OutboundProblem('unreachable', 'this process is stopping');
    const response = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: request.method,
      headers: { ...request.headers },
      body: request.body ?? null,
      signal,
    });
    return { status: response.statusCode, headers: response.headers, ...(await read(response, request)) };
  };

  const send = async (request: OutboundRequest): Promise<OutboundAnswer> => {
    const url = targetOf(request.url);
    const deadline = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    // undici hears the signal only once it has a connection, so the clock runs beside it.
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        deadline.abort();
        const message = `${url.host} did not answer in full within ${request.timeoutMs} ms`;
        reject(new OutboundProblem('timeout', message));
      }, request.timeoutMs);
    });
    const exchanged = exchange(url, request, deadline.signal);
    exchanged.catch(() => {});
    try {
      return await Promise.race([exchanged, late]);
    } catch (error) {
      throw problemOf(error, url.host);
    } finally {
      clearTimeout(timer);
    }
  };

  return {
    send,
    async close() {
      closed = true;
      await (await opening)?.destroy();
    },
  };
}

async function openAgent({ allowPrivate, resolve, isPublic }: OutboundOptions): Promise<Agent> {
  const [undici, addresses, connector, names] = await Promise.all([
    import('undici'),
    import('./outbound/addresses.ts'),
    import('./outbound/connector.ts'),
    import('./outbound/resolve.ts'),
  ]);
  return new undici.Agent({
    connect: connector.createConnector(
      {
        resolve: resolve ?? names.createResolve(),
        mayConnect: allowPrivate ? () => true : (isPublic ?? addresses.isPublicAddress),
        localNames: allowPrivate,
      },
      connectTimeoutMs,
    ),
    pipelining: 1,
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

/** Leaving the loop early ends the connection, so that no more is sent than was read. */
async function read({ body }: Dispatcher.ResponseData, { maxBytes, longAnswer }: OutboundRequest) {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size <= maxBytes) continue;
    if (longAnswer === 'cut') return { body: Buffer.concat(chunks).subarray(0, maxBytes), cut: true };
    throw new OutboundProblem('tooLarge', `the answer is longer than ${maxBytes} bytes`);
  }
  return { body: Buffer.concat(chunks), cut: false };
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
