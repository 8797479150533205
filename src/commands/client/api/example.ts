/** The arguments with which a command sends the example of its operation: for its help, for the reference page, and for the tests. */
import type { ApiCommand } from './api-commands.ts';
import type { Field } from './fields.ts';

/** `withOptional` adds the filters of the query. `secretFile` names the file of a secret field. */
export function exampleArguments(
  command: ApiCommand,
  options: { readonly withOptional?: boolean; readonly secretFile?: string } = {},
): string[] {
  const ids = command.args.map(({ examples, name }) => String(examples?.default?.value ?? `<${name}>`));
  const flags = command.fields
    .filter((field) => field.example !== undefined)
    .filter((field) => field.in === 'body' || field.isRequired || options.withOptional)
    .flatMap((field) => flagsOf(field, field.example, options.secretFile ?? `${field.name}.txt`));
  return [command.group, command.verb, ...ids, ...flags];
}

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
