/** `countersign api METHOD PATH`: any request, with the account of the other commands. */
import type { Command } from 'commander';
import { readJson } from '../../../../sdk/typescript/src/response.ts';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { printJson } from '../../terminal.ts';
import type { AccountOptions } from '../account.ts';
import { addConnectionOptions } from '../connection-options.ts';

export function registerRaw(program: Command, io: Io): void {
  addConnectionOptions(
    program
      .command('api')
      .summary('send any request to the API')
      .description(
        'Sends a request to the API with a token of the account, and prints the answer: JSON as JSON, everything else as it is.',
      )
      .argument('<method>', 'GET, POST, PUT, PATCH or DELETE')
      .argument(
        '<path>',
        'path below /api/v1, e.g. /agents; names stand for ids, as in /agents/screener@example.com',
      )
      .option(
        '--query <name=value>',
        'parameter of the query; again for each',
        (text, before: string[]) => [...before, text],
        [],
      )
      .option('--body <json>', 'body: JSON, @file, or - for standard input')
      .option('--output <file>', 'write the answer to a file as it is')
      .option('--yes', 'do not ask before a DELETE'),
  )
    .addHelpText(
      'after',
      `
Examples:
  countersign api GET /agents --query status=active --query limit=5
  countersign api POST /agents --body @agent.json`,
    )
    .action(async (method, path, options) => sendRaw(io, method, path, options));
}

interface RawOptions extends AccountOptions {
  readonly query: readonly string[];
  readonly body?: string;
  readonly output?: string;
  readonly yes?: boolean;
}

async function sendRaw(io: Io, method: string, path: string, options: RawOptions): Promise<void> {
  const upper = method.toUpperCase();
  if (!/^(GET|POST|PUT|PATCH|DELETE|HEAD)$/.test(upper))
    throw new CommandError(`${method} is not a method; use GET, POST, PUT, PATCH or DELETE`, exitCodes.usage);
  const [plain = '', search = ''] = path.replace(/^(\/?api\/v1)?\/?/, '/').split('?');
  const query = new URLSearchParams([
    ...new URLSearchParams(search),
    ...options.query.map(pairOf),
  ]).toString();
  const { inputsOf, parseJson } = await import('./fields.ts');
  const body = options.body === undefined ? undefined : parseJson('--body', options.body, inputsOf(io));
  // In the path, because a name may come several times.
  const named = await idsIn(io, plain, options);
  const target = `${named}${query && `?${query}`}`;
  const request = {
    method: upper,
    path: target,
    query: {},
    headers: {},
    ...(body !== undefined && { body }),
  };
  if (upper === 'DELETE' && !options.yes) await requireConsent(io, named);
  const { connect } = await import('../connection.ts');
  const connection = connect(io, options);
  if (options.output !== undefined)
    return (await import('./files.ts')).saveAnswer(io, connection, request, options.output);
  const other = await connection.read(upper, target, request, async (response) => {
    const type = response.headers.get('content-type')?.split(';')[0] ?? '';
    if (!/^application\/(\w+\+)?json$/.test(type)) return response;
    printJson(io, (await readJson(response)) ?? null);
    return undefined;
  });
  if (other) return (await import('./files.ts')).printAnswer(io, other);
}

async function idsIn(io: Io, path: string, options: AccountOptions): Promise<string> {
  const [{ loadOperations }, { createIdOf }, { withIdsInPath }] = await Promise.all([
    import('./document.ts'),
    import('../names/resolve.ts'),
    import('../names/of-command.ts'),
  ]);
  return withIdsInPath(path, loadOperations(), createIdOf(io, options));
}

async function requireConsent(io: Io, path: string): Promise<void> {
  const { confirm, hasTerminal } = await import('../../prompt.ts');
  if (!hasTerminal(io))
    throw new CommandError(
      'a DELETE cannot be undone, and there is no terminal to ask on; give --yes',
      exitCodes.usage,
    );
  if (!(await confirm(io, `DELETE ${path}?`))) throw new CommandError('cancelled; nothing was changed');
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new CommandError(`--query ${text} is not of the form name=value`, exitCodes.usage);
  return [text.slice(0, at), text.slice(at + 1)];
}
