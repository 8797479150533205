/**
 * `countersign login` through a browser: the console asks the person, and sends a code to a server on a loopback port of this machine
 * (RFC 8252). The code is of use only with the verifier that this process keeps (RFC 7636). docs/decisions/027-command-line-sign-in.md.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { hasTerminal } from '../../prompt.ts';
import { printError, quoted } from '../../terminal.ts';
import { openBrowser } from './open-browser.ts';
import { isCode } from './session.ts';

interface BrowserLogin {
  readonly code: string;
  readonly verifier: string;
  /** Tells the browser how it ended, and closes the port. */
  finish(problem?: string): Promise<void>;
}

/** As long as a person may need to sign in at a provider. */
const timeoutMs = 10 * 60_000;

const random = () => randomBytes(32).toString('base64url');

export async function receiveCode(io: Io, url: string, openIt: boolean): Promise<BrowserLogin> {
  const verifier = random();
  const state = random();
  const answer = Promise.withResolvers<{ query: URLSearchParams; response: ServerResponse }>();
  const server = createServer((request, response) => {
    // Any page of the web can send any path here, also one that is no address, such as `//`.
    const target = URL.parse(request.url ?? '/', 'http://127.0.0.1');
    if (request.method !== 'GET' || target?.pathname !== '/callback')
      return void response.writeHead(404).end();
    // Only our own page knows the state.
    if (!isSame(target.searchParams.get('state') ?? '', state))
      return void page(response, 400, 'This is not the answer that the command line waits for.');
    answer.resolve({ query: target.searchParams, response });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const timer = setTimeout(
    () =>
      answer.reject(
        new CommandError(
          `no sign-in at ${quoted(url)} within ${timeoutMs / 60_000} minutes; without a browser on this machine, use --code`,
          exitCodes.notSignedIn,
        ),
      ),
    timeoutMs,
  );
  const close = async () => {
    clearTimeout(timer);
    server.close();
    server.closeAllConnections();
  };
  try {
    const { port } = server.address() as AddressInfo;
    const address = `${url}/console/command-line?${new URLSearchParams({
      port: String(port),
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })}`;
    const isOpen = openIt && (await openBrowser(io, address));
    printError(
      io,
      `${isOpen ? 'Your browser asks you to sign in the command line. If it shows nothing, open' : 'Open this address in a browser on this machine to sign in'}:\n\n  ${address}\n\nWaiting. Ctrl-C cancels. If the browser is on another machine, use --code instead.${hasTerminal(io) ? '' : ' A script needs --client-id and --secret-stdin.'}`,
    );
    const { query, response } = await answer.promise;
    const finish = async (problem?: string) => {
      const text = problem ?? 'The command line is signed in. You can close this page.';
      await page(response, problem === undefined ? 200 : 400, text);
      await close();
    };
    const code = query.get('code') ?? '';
    const mixUp = otherServer(url, query.get('iss'));
    if (isCode(code) && mixUp === undefined) return { code, verifier, finish };
    await finish('The command line was not signed in. You can close this page.');
    if (mixUp !== undefined) throw new CommandError(mixUp);
    throw new CommandError(
      query.get('error') === 'access_denied'
        ? 'cancelled in the browser; nothing was stored'
        : `${quoted(url)} sent no code; is it the address of Countersign?`,
    );
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * RFC 9207: `iss` is the origin of the page that made the code. A server that sends the browser on to the page of another server would
 * get that one's code together with our verifier.
 */
function otherServer(url: string, iss: string | null): string | undefined {
  const { origin } = new URL(url);
  if (iss === origin) return undefined;
  return iss === null
    ? `the answer of the browser does not name its server (iss is missing), so it may not be from ${quoted(origin)}; nothing was sent. Update the server, or use --code`
    : `the answer of the browser is from ${quoted(iss)}, and not from ${quoted(origin)}; nothing was sent. If you mean that server, run \`countersign login --url ${quoted(iss)}\``;
}

/** Only our own sentences: nothing of the request is in them. */
const page = (response: ServerResponse, status: number, text: string): Promise<void> =>
  new Promise((resolve) => {
    // The browser may have gone already.
    if (response.destroyed) return resolve();
    response.once('close', resolve);
    response
      .writeHead(status, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': "default-src 'none'",
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        connection: 'close',
      })
      .end(`<!doctype html><html lang="en"><title>Countersign</title><p>${text}</p></html>\n`);
  });

const isSame = (given: string, wanted: string): boolean => {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
};
