/** Runs a command: asks before it destroys something, sends the request, and shows the answer. */
import { randomUUID } from 'node:crypto';
import { CommandError, exitCodes } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { confirm, hasTerminal } from '../../prompt.ts';
import { print, printError, printJson } from '../../terminal.ts';
import type { AccountOptions } from '../account.ts';
import { connect } from '../connection.ts';
import type { ApiCommand } from './api-commands.ts';
import type { Schema } from './document.ts';
import { saveAnswer } from './files.ts';
import { readAllPages } from './pages.ts';
import type { ApiRequest } from './request.ts';
import {
  describeUnknownColumns,
  type Entry,
  isEntry,
  type List,
  printEntry,
  printRows,
  rowsIn,
} from './table.ts';

interface ExecuteOptions extends AccountOptions {
  readonly json?: boolean;
  readonly all?: boolean;
  readonly yes?: boolean;
  readonly output?: string;
  readonly columns?: string;
  /** Of the person who is signed in, in place of the organization. */
  readonly mine?: boolean;
}

export type Execute = (
  io: Io,
  command: ApiCommand,
  request: ApiRequest,
  options: ExecuteOptions,
) => Promise<void>;

export const execute: Execute = async (io, command, given, options) => {
  const request = { ...withIdempotencyKey(command, given), ...(options.mine && { own: true }) };
  if (options.all && options.output !== undefined)
    throw new CommandError(
      '--output writes one answer as it is; for all pages use --all --json and a pipe',
      exitCodes.usage,
    );
  if (isDestructive(command, request) && !options.yes) await requireConsent(io, command, request);
  const connection = connect(io, options);
  if (!command.isJson || options.output !== undefined)
    return saveAnswer(io, connection, request, options.output);
  const { method, path } = request;
  const answer = options.all
    ? await readAllPages(io, connection, command, request)
    : await connection.call<unknown>(method, path, request);
  requireObjects(answer, connection.url);
  showAnswer(io, command, answer, options);
};

/** The server may be anyone's. */
function requireObjects(answer: unknown, url: string): void {
  if (rowsIn(answer)?.rows.every(isEntry) === false)
    throw new CommandError(`${url} sent rows that are no objects; is it the address of Countersign?`);
}

/** So that the request can be sent again after a 503. */
function withIdempotencyKey({ operation }: ApiCommand, request: ApiRequest): ApiRequest {
  const name = operation.parameters.find((parameter) => /^idempotency-key$/i.test(parameter.name))?.name;
  return name === undefined ? request : { ...request, headers: { [name]: randomUUID(), ...request.headers } };
}

/** Also a change that ends something for good. */
const isDestructive = ({ isDestructive, finalStatus }: ApiCommand, { body }: ApiRequest): boolean =>
  isDestructive ||
  (finalStatus !== undefined && (body as { status?: unknown } | undefined)?.status === finalStatus);

async function requireConsent(io: Io, command: ApiCommand, { path, named }: ApiRequest): Promise<void> {
  const what = named === undefined ? path : `${path}: ${named}`;
  const question = `${command.summary.split(';')[0]} (${what})?`;
  if (!hasTerminal(io))
    throw new CommandError(
      `${command.group} ${command.verb} cannot be undone, and there is no terminal to ask on; give --yes`,
      exitCodes.usage,
    );
  if (!(await confirm(io, question))) throw new CommandError('cancelled; nothing was changed');
}

function showAnswer(io: Io, command: ApiCommand, answer: unknown, options: ExecuteOptions): void {
  warnOfSecrets(io, answer);
  const list = rowsIn(answer);
  if (options.json) printJson(io, answer ?? null);
  else if (answer === undefined || isEmptyEntry(answer)) print(io, 'Done.');
  else if (list === undefined) printEntry(io, chosen(answer as Entry, options.columns), terminalWidth(io));
  else if (list.rows.length === 0) printError(io, 'There are none.');
  else showList(io, command, answer, list, options);
}

const isEmptyEntry = (answer: unknown): boolean => isEntry(answer) && Object.keys(answer).length === 0;

const terminalWidth = ({ stdout }: Io) => (stdout.isTTY ? stdout.columns : undefined);

function showList(
  io: Io,
  command: ApiCommand,
  answer: unknown,
  { name, rows }: List,
  options: ExecuteOptions,
): void {
  printRows(io, rows, columnsOf(command, rows, name, options.columns), terminalWidth(io));
  const more = Object.entries(answer as Entry).filter(
    ([key]) => key !== name && !/^(total|page|limit|offset)$/.test(key),
  );
  if (name !== undefined && more.length > 0) printEntry(io, Object.fromEntries(more), terminalWidth(io));
  const { total } = answer as { total?: unknown };
  if (typeof total === 'number' && total > rows.length)
    printError(io, `${rows.length} of ${total}; --all shows the rest.`);
}

function chosen(entry: Entry, columns: string | undefined): Entry {
  if (columns === undefined) return entry;
  return Object.fromEntries(requireColumns(columns, Object.keys(entry)).map((name) => [name, entry[name]]));
}

function requireColumns(columns: string, known: readonly string[]): string[] {
  const wanted = columns.split(',').map((name) => name.trim());
  const unknown = wanted.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new CommandError(describeUnknownColumns(unknown, known), exitCodes.usage);
  return wanted;
}

/** The fields of an entry in the order of the schema; without lists of objects, which fill no cell. */
function columnsOf(
  command: ApiCommand,
  rows: readonly Entry[],
  listName: string | undefined,
  columns: string | undefined,
): string[] {
  const { answer } = command.operation;
  const list: Schema | undefined = listName === undefined ? answer : answer?.properties?.[listName];
  const properties = list?.items?.properties ?? {};
  const known = [...new Set([...Object.keys(properties), ...rows.flatMap((row) => Object.keys(row))])];
  if (columns !== undefined) return requireColumns(columns, known);
  const isNested = ({ type, items, anyOf }: Schema): boolean =>
    type === 'object' || items?.type === 'object' || (anyOf?.some(isNested) ?? false);
  return known.filter((name) => !(properties[name] && isNested(properties[name])));
}

const secretFields = /^(clientSecret|signingSecret|delegationToken|access_token|id_token)$/;

function warnOfSecrets(io: Io, answer: unknown): void {
  if (typeof answer !== 'object' || answer === null) return;
  const shown = Object.keys(answer).filter((name) => secretFields.test(name));
  if (shown.length > 0)
    printError(io, `Store ${shown.join(' and ')} now, in a safe place: it is not shown again.`);
}
