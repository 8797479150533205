/** Commander's commands for the operations of the API, and `countersign api` for requests of any kind. */
import { type Command, Option } from 'commander';
import type { Io } from '../../io.ts';
import { printError } from '../../terminal.ts';
import { addConnectionOptions } from '../connection-options.ts';
import { type Kind, kindOf, namesOf } from '../names/kinds.ts';
import { type ApiCommand, apiCommands } from './api-commands.ts';
import { loadOperations, type Operation } from './document.ts';
import { exampleArguments } from './example.ts';
import type { Execute } from './execute.ts';
import { type Field, singular } from './fields.ts';

export interface RegisterOptions {
  /** The words of the command line: only the group that they name is registered whole. All groups without. */
  readonly words?: readonly string[];
  readonly operations?: readonly Operation[];
  readonly execute?: Execute;
}

export function registerApi(program: Command, io: Io, options: RegisterOptions = {}): void {
  const commands = apiCommands(options.operations ?? loadOperations());
  const execute: Execute =
    options.execute ?? (async (...all) => (await import('./execute.ts')).execute(...all));
  for (const [name, members] of Map.groupBy(commands, ({ group }) => group)) {
    const existing = program.commands.find((command) => command.name() === name);
    const group = existing ?? program.command(name).description(descriptionOf(name, members));
    const noun = nouns[name];
    const summary = noun ? `${noun}: ${summaryOf(members)}` : summaryOf(members);
    group.summary([existing?.description(), summary].filter(Boolean).join('; '));
    if (options.words === undefined || options.words.includes(name))
      for (const command of members) registerCommand(group, io, command, execute);
  }
}

/** Names for the things of a group that has the word of its path. */
const nouns: Readonly<Record<string, string>> = { resources: 'APIs', tiers: 'plans' };

const summaryOf = (members: readonly ApiCommand[]): string => members.map(({ verb }) => verb).join(', ');

const descriptionOf = (name: string, members: readonly ApiCommand[]): string =>
  `Operations on ${nouns[name] ?? name.replaceAll('-', ' ')}: ${summaryOf(members)}.`;

function registerCommand(group: Command, io: Io, command: ApiCommand, execute: Execute): void {
  const own = group
    .command(command.verb, { isDefault: command.verb === 'get' && command.args.length === 0 })
    .summary(command.summary.charAt(0).toLowerCase() + command.summary.slice(1))
    .description([`${command.summary}.`, command.description].filter(Boolean).join(' '));
  for (const [index, { name, description = '' }] of command.args.entries())
    own.argument(
      `<${argumentName(command, index, name)}>`,
      withNames(description.replace(/\.$/, ''), kindOf(command.operation.path, name)),
    );
  own.optionsGroup('Fields:');
  for (const field of command.fields)
    for (const option of optionsOf(field, kindOf(command.operation.path, field.name))) own.addOption(option);
  if (command.operation.body && !command.isShortcut)
    own.option(
      '--body <json>',
      'the whole body: JSON, @file, or - for standard input; the fields above count more',
    );
  own.optionsGroup('Output:');
  if (command.isJson) own.option('--json', 'print the answer as JSON');
  if (command.isJson && command.operation.answers.length > 0)
    own.option('--columns <names>', 'fields to show, with commas between them');
  if (command.paging) own.option('--all', 'read all pages');
  if (command.operation.answers.length > 0)
    own.option('--output <file>', 'write the answer to a file as it is');
  if (command.isDestructive || command.finalStatus !== undefined)
    own.option('--yes', 'do not ask before the change');
  own.optionsGroup('Connection:');
  addConnectionOptions(own);
  own.addHelpText(
    'after',
    `\nExample:\n  countersign ${exampleArguments(command, { forReaders: true }).map(shellQuoted).join(' ')}`,
  );
  own.action(async (...received: unknown[]) => {
    const options = own.opts();
    const given = new Map<string, unknown>();
    for (const option of own.options) {
      const value = options[option.attributeName()];
      if (value !== undefined) given.set(option.long?.replace(/^--(no-)?/, '') ?? '', value);
    }
    const { buildRequest } = await import('./request.ts');
    const { askForSecret } = await import('./ask-for-secret.ts');
    const { createIdOf } = await import('../names/resolve.ts');
    const { withIds } = await import('../names/of-command.ts');
    const args = received.slice(0, command.args.length).map(String);
    // A field of the request, such as the client id of a connection, is none of the account.
    const { clientId: _, clientSecret: __, ...others } = options;
    const { options: complete, inputs } = await askForSecret(io, command, given);
    const found: string[] = [];
    const idOf = createIdOf(io, others as never, (label) => {
      found.push(label);
      printError(io, `using ${label}`);
    });
    const words = await withIds(command, { args, options: complete }, idOf);
    const request = {
      ...buildRequest(command, words.args, words.options, inputs),
      ...(found.length > 0 && { named: found.join(', ') }),
    };
    await execute(io, command, request, others as never);
  });
}

/** The API names some ids `id`. */
const argumentName = (command: ApiCommand, index: number, name: string): string => {
  if (name !== 'id') return name;
  const before = command.operation.path.split('/{')[index]?.split('/').at(-1) ?? '';
  return `${singular(before)}Id`;
};

const withNames = (description: string, kind: Kind | undefined): string =>
  [description, kind && namesOf(kind)].filter(Boolean).join('; ');

function optionsOf(field: Field, named: Kind | undefined): Option[] {
  const { flag, kind, isNullable, isRequired } = field;
  const description = [withNames(field.description, named), isRequired ? 'required' : '']
    .filter(Boolean)
    .join('; ');
  if (kind === 'boolean')
    return [new Option(`--${flag}`, description), new Option(`--no-${flag}`, 'the opposite')];
  const option = new Option(`--${flag} <${placeholders[kind]}>`, description);
  // Not `.choices()`: a wrong value is reported in the words of the schema.
  if (field.choices.length > 0) option.argChoices = [...field.choices];
  if (kind === 'list' || kind === 'map')
    option.argParser((text, before: string[] | undefined) => [
      ...(Array.isArray(before) ? before : []),
      text,
    ]);
  return isNullable ? [option, new Option(`--no-${flag}`, 'set it to nothing')] : [option];
}

const placeholders = {
  text: 'text',
  integer: 'number',
  list: 'list',
  map: 'key:value',
  json: 'json',
  secret: 'file',
} as const;

const shellQuoted = (word: string): string =>
  /^[\w@%+=:,./<>-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
