/** `countersign console`: prints a link that signs a person in to the web console of a running server, once. */
import { readJson } from '../../../sdk/typescript/src/response.ts';
import { CommandError, exitCodes } from '../command-error.ts';
import type { Io } from '../io.ts';
import { print, quoted } from '../terminal.ts';
import { type AccountOptions, accountFrom } from './account.ts';
import { connect } from './connection.ts';

const maxAnswerBytes = 64 * 1024;

export async function printConsoleLink(io: Io, options: AccountOptions): Promise<void> {
  const account = accountFrom(io, options);
  if ('session' in account)
    throw new CommandError(
      `the profile ${account.profile} was signed in from the console; open ${account.url}/console and sign in there`,
      exitCodes.notPermitted,
    );
  const answer = await connect(io, options).read('POST', '/console/links', {}, (response) =>
    readJson(response, maxAnswerBytes),
  );
  print(
    io,
    `${quoted(linkIn(answer, account.url))}

Open it in a browser within a minute. It works once, and signs you in as ${account.clientId}.`,
  );
}

function linkIn(answer: unknown, server: string): string {
  const { url } = (answer ?? {}) as { readonly url?: unknown };
  if (typeof url === 'string' && /^https?:$/.test(URL.parse(url)?.protocol ?? '')) return url;
  throw new CommandError(`${server} sent no link; is it an older version, without a console?`);
}
