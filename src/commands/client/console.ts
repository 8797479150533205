/** `countersign console`: prints a link that signs a person in to the web console of a running server, once. */
import { CommandError, exitCodes } from '../command-error.ts';
import type { Io } from '../io.ts';
import { print, quoted } from '../terminal.ts';
import { type AccountOptions, accountFrom } from './account.ts';
import { connect, requestTimeoutMs } from './connection.ts';
import { readBody } from './http.ts';

const maxAnswerBytes = 64 * 1024;

export async function printConsoleLink(io: Io, options: AccountOptions): Promise<void> {
  const account = accountFrom(io, options);
  if ('session' in account)
    throw new CommandError(
      `the profile ${account.profile} was signed in from the console; open ${account.url}/console and sign in there`,
      exitCodes.notPermitted,
    );
  const answer = await connect(io, options).open('POST', '/console/links', {
    timeoutMs: requestTimeoutMs,
  });
  print(
    io,
    `${quoted(linkIn(await readBody(answer, maxAnswerBytes), account.url))}

Open it in a browser within a minute. It works once, and signs you in as ${account.clientId}.`,
  );
}

function linkIn(body: Buffer, server: string): string {
  try {
    const { url } = JSON.parse(body.toString());
    if (/^https?:$/.test(URL.parse(url)?.protocol ?? '')) return url;
  } catch {
    // No JSON.
  }
  throw new CommandError(`${server} sent no link; is it an older version, without a console?`);
}
