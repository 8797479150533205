import { type Command, Option } from 'commander';
import type { Io } from '../../io.ts';
import { addConnectionOptions } from '../connection-options.ts';

/** `login`, `logout`, `profiles`, `whoami` and `token`. */
export function registerProfiles(program: Command, io: Io): void {
  program
    .command('login')
    .summary('sign in to a server, and store a profile for the other commands')
    .description(
      'Opens your browser, where you sign in to the console and allow it, and comes back by itself. With a client id, asks for its secret instead. Stores a profile in a file that only you can read. The profile becomes the current one.',
    )
    .option(
      '--url <address>',
      'address of the server, e.g. https://id.example.com (default: COUNTERSIGN_URL, else asked)',
    )
    .option('--profile <name>', 'name of the profile', 'default')
    .option(
      '--client-id <id>',
      'sign in as a client, with its secret instead of a browser: the UUID of an agent, no name (default: COUNTERSIGN_CLIENT_ID)',
    )
    .option('--insecure-http', 'send the secret over plain http to a server that is not on this machine')
    .option('--secret-stdin', 'read the client secret from standard input instead of asking for it')
    .addOption(
      new Option(
        '--code',
        'sign in with a one-time code of the console, where this machine has no browser; it is asked for, or read from standard input',
      ).conflicts(['clientId', 'secretStdin']),
    )
    .option('--no-browser', 'print the address instead of opening a browser')
    .addHelpText(
      'after',
      `
The client secret and the code are never options: other users of the machine could see them, and the shell would keep them in its history.
The client id is the id of the agent: the console shows it on the page of the agent under Identity. A name cannot be looked up before you have signed in.
The browser must be on this machine: it brings the answer to a port of 127.0.0.1. Where there is none, use --code: the console shows a code in its account menu, "Sign in to the command line". The variable BROWSER names another program, or none.
A profile of a browser or a code acts under your own name. It ends after 8 hours at most, or when you sign out of the session in the console that allowed it. When that session has ended without use, signing out of a later one does not end it; "countersign logout" does.

Examples:
  countersign login --url https://id.example.com
  countersign login --url https://id.example.com --code
  countersign login --url https://id.example.com --profile ci --client-id 7c9e6679-7425-40de-944b-e07fc1f90ae7 --secret-stdin < secret.txt`,
    )
    .action(async (options) => (await import('./login.ts')).login(io, options));

  program
    .command('logout')
    .summary('remove a profile from this machine')
    .description(
      'Removes a profile from this machine. A sign-in through a browser or with a code, and the access token of a client, end on the server; a client secret stays valid there.',
    )
    .option('--profile <name>', 'profile to remove (default: the current one)')
    .action(async (options) => (await import('./login.ts')).logout(io, options));

  const profiles = program
    .command('profiles')
    .summary('list the profiles, or choose the current one')
    .description('Lists the stored profiles; the current one has a star. Secrets are never shown.');
  profiles
    .command('list', { isDefault: true })
    .description('list the profiles')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./list.ts')).listProfiles(io, options));
  profiles
    .command('use')
    .description('make a profile the current one')
    .argument('<name>', 'name of the profile')
    .action(async (name) => (await import('./list.ts')).useProfile(io, name));

  addConnectionOptions(
    program
      .command('whoami')
      .summary('show which agent, organization and scopes you work with')
      .description(
        'Shows the server, the agent, its organization, the scopes of its token, and when its secret and its token expire.',
      )
      .option('--json', 'print JSON'),
  ).action(async (options) => (await import('./whoami.ts')).whoami(io, options));

  addConnectionOptions(
    program
      .command('token')
      .summary('get an access token')
      .description(
        'Gets an access token of the account, for the Countersign API or for an API of yours, and prints it.',
      )
      .option('--resource <identifier>', 'identifier of the API whose audience the token gets')
      .option('--scope <scopes>', 'scopes with spaces between them (default: all that the account may have)')
      .option('--decode', 'print the claims of the token instead of the token')
      .option('--json', 'print the whole answer as JSON'),
  )
    .addHelpText(
      'after',
      `
Examples:
  printf 'Authorization: Bearer %s' "$(countersign token)" | curl -H @- https://id.example.com/api/v1/agents
  countersign token --resource https://billing.example.com --scope "invoices:read" --decode`,
    )
    .action(async (options) => (await import('./whoami.ts')).printToken(io, options));
}
