/** For programs on the person's own computer, in Node.js, Deno and Bun: the browser comes back to a listener on loopback (RFC 8252). */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AuthorizationOptions, finishAuthorization, startAuthorization } from './authorization.ts';
import { AuthorizationError } from './errors.ts';
import type { PersonTokens } from './person-session.ts';

export interface LoopbackOptions extends AuthorizationOptions {
  /** Shows the address to the person: opens it in a browser, or prints it. */
  readonly open: (url: string) => unknown;
  /** As registered for the agent. `http://127.0.0.1/callback` by default. Without a port, any free one is used: the server ignores it. */
  readonly redirectUri?: string | undefined;
  /** For the whole of it. 300 by default. */
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal;
}

/** Signs a person in with their browser. Store the tokens with `save` of a PersonSession. */
export async function authorizeOnLoopback(options: LoopbackOptions): Promise<PersonTokens> {
  const { open, timeoutSeconds = 300, signal } = options;
  const address = readLoopback(options.redirectUri ?? 'http://127.0.0.1/callback');
  if (typeof open !== 'function') throw new TypeError('open must be a function that shows an address');
  if (!(timeoutSeconds > 0 && timeoutSeconds <= 3_600))
    throw new TypeError('timeoutSeconds must be a number above 0, and 3600 at most');
  signal?.throwIfAborted();
  const server = createServer();
  const limit = createLimit(timeoutSeconds, signal);
  try {
    server.listen({ host: address.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(address.port) });
    await Promise.race([once(server, 'listening'), limit.passed]);
    address.port = String((server.address() as AddressInfo).port);
    const authorization = await Promise.race([
      startAuthorization({ ...options, redirectUri: address.href }),
      limit.passed,
    ]);
    const callback = nextCallback(server, address, authorization.state);
    const opened = Promise.resolve(open(authorization.url)).then(() => callback);
    const { url, response } = await Promise.race([callback, opened, limit.passed]);
    try {
      const tokens = await Promise.race([finishAuthorization(url, authorization, options), limit.passed]);
      await answer(response, 200, 'You are signed in. You can close this window.');
      return tokens;
    } catch (error) {
      await answer(response, 400, 'Signing in has failed. Close this window, and look at the program.');
      throw error;
    }
  } finally {
    limit.clear();
    server.close();
    server.closeAllConnections();
  }
}

function readLoopback(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' || !['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname) || url.hash)
    throw new TypeError('redirectUri must be an http address of 127.0.0.1, [::1] or localhost');
  return url;
}

function createLimit(seconds: number, signal: AbortSignal | undefined) {
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<never>((_, rejectPromise) => {
    reject = rejectPromise;
  });
  // Without a listener at that moment, it would be an unhandled rejection.
  promise.catch(() => {});
  const abort = () => reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  const timer = setTimeout(
    () =>
      reject(
        new AuthorizationError('timeout', `the person did not sign in within ${seconds} s: start again`),
      ),
    seconds * 1000,
  );
  return {
    passed: promise,
    clear() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    },
  };
}

interface Callback {
  readonly url: string;
  readonly response: ServerResponse;
}

/** The first request with this state. Other programs and pages can reach the port, too: their requests do not count. */
function nextCallback(server: Server, address: URL, state: string): Promise<Callback> {
  return new Promise((resolve) => {
    let isDone = false;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const target = request.url ?? '';
      const url = URL.canParse(target, address.href) ? new URL(target, address) : undefined;
      const isCallback =
        !isDone &&
        url !== undefined &&
        request.method === 'GET' &&
        request.headers.host === address.host &&
        url.origin === address.origin &&
        url.pathname === address.pathname &&
        url.searchParams.get('state') === state;
      if (!isCallback) return void answer(response, 404, 'There is nothing here.');
      isDone = true;
      resolve({ url: url.href, response });
    });
  });
}

/** Until the browser has the page, or has gone away. */
async function answer(response: ServerResponse, status: number, text: string): Promise<void> {
  if (response.destroyed) return;
  const closed = once(response, 'close');
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    connection: 'close',
  });
  response.end(
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Countersign</title></head><body><p>${text}</p></body></html>`,
  );
  await closed;
}
