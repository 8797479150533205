/** The arguments with which a command sends the example of its operation: for its help, for the reference page, and for the tests. */
import { kindOf } from '../names/kinds.ts';
import type { ApiCommand } from './api-commands.ts';
import type { Field } from './fields.ts';

/**
 * `withOptional` adds the filters of the query. `secretFile` names the file of a secret field. `forReaders`: names in place of ids, and no
 * options that only repeat a default.
 */
export function exampleArguments(
  command: ApiCommand,
  options: {
    readonly withOptional?: boolean;
    readonly secretFile?: string;
    readonly forReaders?: boolean;
  } = {},
): string[] {
  const ids = command.args.map(({ examples, name }) => {
    const kind = options.forReaders ? kindOf(command.operation.path, name) : undefined;
    return kind?.example ?? String(examples?.default?.value ?? `<${name}>`);
  });
  const flags = command.fields
    .filter((field) => field.example !== undefined)
    .filter((field) => field.in === 'body' || field.isRequired || options.withOptional)
    .filter((field) => field.isRequired || !options.forReaders || !saysNothing(field.example))
    .flatMap((field) => flagsOf(field, field.example, options.secretFile ?? `${field.name}.txt`));
  return [command.group, command.verb, ...ids, ...flags];
}

const saysNothing = (value: unknown): boolean => value === false || JSON.stringify(value) === '{}';

function flagsOf(field: Field, value: unknown, secretFile: string): string[] {
  const flag = `--${field.flag}`;
  if (value === null) return [`--no-${field.flag}`];
  if (field.kind === 'secret') return [flag, secretFile];
  if (field.kind === 'boolean') return [value ? flag : `--no-${field.flag}`];
  if (field.kind !== 'list') return [flag, typeof value === 'string' ? value : JSON.stringify(value)];
  const items = Array.isArray(value) ? value : [value];
  const isPlain = items.every((item) => typeof item === 'string' && !item.includes(','));
  return [flag, isPlain ? items.join(',') : JSON.stringify(items)];
}
