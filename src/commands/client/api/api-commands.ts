/** All commands that are made of operations: their names, arguments, flags, and how their answers are shown. */
import { type CommandName, nameOf, shortcuts, withoutCommand } from './command-names.ts';
import type { Operation, Parameter, Schema } from './document.ts';
import { type Field, fieldOf, isAuthentication } from './fields.ts';

export interface ApiCommand extends CommandName {
  readonly operation: Operation;
  readonly summary: string;
  readonly description: string;
  readonly args: readonly Parameter[];
  readonly fields: readonly Field[];
  /** Fields of the body that are sent unless they are given. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Fields that a shortcut sets. */
  readonly preset: Readonly<Record<string, unknown>>;
  readonly isShortcut: boolean;
  readonly paging: 'page' | 'offset' | undefined;
  readonly isDestructive: boolean;
  /** A value of the field `status` that ends something for good. */
  readonly finalStatus: string | undefined;
  readonly isJson: boolean;
}

/** Besides every DELETE: these end a secret or a token that programs may be using. */
const destructive = new Set(['rotateCredential', 'rotateWebhookSecret', 'revokeToken']);

/** A suspended person can be activated, but not what agents could do for the person. */
const finalStatuses: Readonly<Record<string, string>> = {
  updateAgent: 'decommissioned',
  updatePerson: 'suspended',
};

/** An agent gets only the scopes of this service's API that the user names, not the instance's default. */
const bodyDefaults: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  createAgent: { allowedScopes: [] },
};

export function apiCommands(operations: readonly Operation[]): ApiCommand[] {
  const paths = operations.map(({ path }) => path);
  const own = operations
    .filter(({ id }) => !(id in withoutCommand))
    .map((operation) => toCommand(operation, nameOf(operation, paths)));
  const more = shortcuts.flatMap(({ name, operation: id, body, summary }) => {
    const operation = operations.find((one) => one.id === id);
    const isDestructive = body.status !== undefined && body.status === finalStatuses[id];
    return operation
      ? [
          {
            ...toCommand(operation, name),
            summary,
            preset: body,
            isShortcut: true,
            fields: [],
            isDestructive,
          },
        ]
      : [];
  });
  return [...own, ...more];
}

/** Arguments and fields are made when a command needs them: there are a hundred commands, and one runs. */
function toCommand(operation: Operation, name: CommandName): ApiCommand {
  const { id, method, answers, summary, description } = operation;
  let parameters: readonly Parameter[] | undefined;
  let fields: readonly Field[] | undefined;
  const parametersOnce = () => {
    parameters ??= operation.parameters;
    return parameters;
  };
  return {
    ...name,
    operation,
    summary,
    description,
    get args() {
      return parametersOnce().filter((parameter) => parameter.in === 'path');
    },
    get fields() {
      fields ??= fieldsOf(operation, parametersOnce(), name.group);
      return fields;
    },
    defaults: bodyDefaults[id] ?? {},
    preset: {},
    isShortcut: false,
    get paging() {
      const has = (wanted: string) =>
        parametersOnce().some((parameter) => parameter.in === 'query' && parameter.name === wanted);
      if (!has('limit')) return undefined;
      return has('page') ? 'page' : has('offset') ? 'offset' : undefined;
    },
    isDestructive: method === 'DELETE' || destructive.has(id),
    finalStatus: finalStatuses[id],
    isJson: answers.length === 0 || answers.some((type) => /^application\/(\w+\+)?json$/.test(type)),
  };
}

function fieldsOf({ body }: Operation, parameters: readonly Parameter[], group: string): Field[] {
  const fromParameters = parameters
    .filter((parameter) => parameter.in !== 'path')
    .map(({ name, in: place, schema, required = false, description, examples }) =>
      fieldOf(name, schema, {
        in: place === 'header' ? 'header' : 'query',
        required,
        group,
        description,
        example: examples?.default?.value,
      }),
    );
  const example = (body?.example ?? {}) as Readonly<Record<string, unknown>>;
  const properties: Readonly<Record<string, Schema>> = body?.schema.properties ?? {};
  const fromBody = Object.entries(properties)
    .filter(([name]) => !isAuthentication(name))
    .map(([name, schema]) =>
      fieldOf(name, schema, {
        in: 'body',
        required: body?.schema.required?.includes(name) ?? false,
        group,
        example: example[name],
      }),
    );
  const isHeader = (field: Field) => field.in === 'header';
  return [
    ...fromParameters.filter((field) => !isHeader(field)),
    ...fromBody,
    ...fromParameters.filter(isHeader),
  ];
}
