/** TypeScript types from the OpenAPI document, for the typed client of the SDK, whose types the console uses, too. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly description?: string;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

export interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly required?: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Content; readonly required?: boolean };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export interface ListedOperation {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

/** All operations below a path, by operation id. */
export const operationsBelow = (prefix: string, { paths }: OpenApi): ListedOperation[] =>
  Object.entries(paths)
    .filter(([path]) => path.startsWith(prefix))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    )
    .sort((a, b) => (a.operation.operationId < b.operation.operationId ? -1 : 1));

/** One exported type for each schema of the document. */
export const schemaTypes = ({ components }: OpenApi): string[] =>
  Object.entries(components.schemas)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `export type ${name} = ${typeOf(schema)};\n`);

export function operationType(operation: Operation): string {
  const { parameters = [], requestBody } = operation;
  const parametersIn = (place: string) =>
    recordType(
      parameters
        .filter((parameter) => parameter.in === place)
        .map(({ name, required = false, schema }) => ({
          name,
          required: required || place === 'path',
          schema,
        })),
    );
  const body = requestBody ? bodyType(requestBody.content) : 'undefined';
  const answer = contentOfAnswer(operation);
  const response = answer ? (jsonType(answer) ?? 'globalThis.Response') : 'undefined';
  return `{ params: ${parametersIn('path')}; query: ${parametersIn('query')}; body: ${body}; response: ${response} }`;
}

const bodyType = (content: Content): string =>
  jsonType(content) ?? (content[formMediaType]?.schema ? typeOf(content[formMediaType].schema) : 'unknown');

const formMediaType = 'application/x-www-form-urlencoded';

export const takesForm = ({ requestBody }: Operation): boolean =>
  requestBody !== undefined && formMediaType in requestBody.content;

/** Whether the answer has a body that is not JSON. */
export const answersWithStream = (operation: Operation): boolean => {
  const content = contentOfAnswer(operation);
  return content !== undefined && jsonType(content) === undefined;
};

export const contentOfAnswer = ({ responses }: Operation): Content | undefined =>
  Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content;

function jsonType(content: Content): string | undefined {
  const schema = jsonSchemaOf(content);
  return schema && typeOf(schema);
}

/** The JSON of an answer or body. Undefined for CSV, ZIP and event streams. */
export const jsonSchemaOf = (content: Content): Schema | undefined =>
  Object.entries(content).find(([type]) => /^application\/([\w.-]+\+)?json$/.test(type))?.[1].schema;

export const bodySchemaOf = ({ requestBody }: Operation): Schema | undefined =>
  requestBody && (jsonSchemaOf(requestBody.content) ?? requestBody.content[formMediaType]?.schema ?? {});

export const scopesOf = ({ security = [] }: Operation): readonly string[] =>
  security.find((way) => way.oauth2)?.oauth2 ?? [];

function typeOf(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1) ?? 'unknown';
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.map((choice) => bracketed(typeOf(choice))).join(' | ');
  if (schema.allOf) return schema.allOf.map((part) => bracketed(typeOf(part))).join(' & ');
  const { type } = schema;
  if (Array.isArray(type)) return type.map((one) => typeOf({ ...schema, type: one })).join(' | ');
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return schema.items ? `${bracketed(typeOf(schema.items))}[]` : 'unknown[]';
    case 'object':
      return objectType(schema);
    default:
      return schema.properties ? objectType(schema) : 'unknown';
  }
}

const bracketed = (type: string): string => (/[|&]/.test(type) ? `(${type})` : type);

function objectType({ properties = {}, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties).map(([name, schema]) => ({
    name,
    required: required.includes(name),
    schema,
  }));
  const rest =
    typeof additionalProperties === 'object'
      ? typeOf(additionalProperties)
      : additionalProperties && 'unknown';
  if (fields.length === 0) return `Record<string, ${rest || 'unknown'}>`;
  return rest ? `${recordType(fields)} & Record<string, unknown>` : recordType(fields);
}

function recordType(fields: readonly { name: string; required: boolean; schema: Schema }[]): string {
  const parts = fields.map(({ name, required, schema }) => {
    const key = /^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name);
    // `undefined` is the same as absent in a request, which saves the pages many conditions.
    return `${key}${required ? '' : '?'}: ${typeOf(schema)}${required ? '' : ' | undefined'}`;
  });
  return `{ ${parts.join('; ')} }`;
}
