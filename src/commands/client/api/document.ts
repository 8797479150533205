/** The operations of the API, as openapi.json describes them. The file is generated from the route table and part of the package. */
import { readFileSync } from 'node:fs';
import { packageRoot } from '../../../kernel/package-root.ts';

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly examples?: { readonly default?: { readonly value: unknown } };
}

interface Content {
  readonly schema: Schema;
  readonly example?: unknown;
}

export interface Operation {
  readonly id: string;
  readonly method: string;
  /** Relative to /api/v1, with {parameters}. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly body?: { readonly type: string; readonly required: boolean } & Content;
  /** The media types of a success, and the schema of the JSON among them. */
  readonly answers: readonly string[];
  readonly answer?: Schema;
}

interface RawOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
}

const apiPrefix = '/api/v1';

/** Only the commands that are made of it read it: it has a size of 700 kB. */
export const loadOperations = (): Operation[] =>
  operationsOf(JSON.parse(readFileSync(new URL('openapi.json', packageRoot), 'utf8')) as Document);

export const operationsOf = (document: Document): Operation[] =>
  Object.entries(document.paths)
    .filter(([path]) => path.startsWith(`${apiPrefix}/`))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, raw]) => toOperation(document, method, path, raw)),
    );

function toOperation(document: Document, method: string, path: string, raw: RawOperation): Operation {
  const resolve = <T>(value: T) => withoutReferences(value, document) as T;
  const [type, content] = Object.entries(raw.requestBody?.content ?? {})[0] ?? [];
  const success = Object.entries(raw.responses).find(([status]) => status.startsWith('2'))?.[1];
  const answers = success?.content ?? {};
  const answer = answers['application/json']?.schema;
  return {
    id: raw.operationId,
    method: method.toUpperCase(),
    path: path.slice(apiPrefix.length),
    summary: raw.summary,
    description: raw.description ?? '',
    get parameters() {
      return (raw.parameters ?? []).map(resolve);
    },
    ...(type !== undefined &&
      content && {
        get body() {
          return {
            type,
            required: raw.requestBody?.required ?? false,
            example: content.example,
            schema: resolve(content.schema),
          };
        },
      }),
    answers: Object.keys(answers),
    ...(answer && {
      get answer() {
        return resolve(answer);
      },
    }),
  } as Operation;
}

/** References replaced by their targets. No schema of ours contains itself. */
function withoutReferences(node: unknown, document: Document): unknown {
  if (Array.isArray(node)) return node.map((item) => withoutReferences(item, document));
  if (typeof node !== 'object' || node === null) return node;
  const { $ref } = node as { $ref?: unknown };
  if (typeof $ref === 'string') return withoutReferences(targetOf($ref, document), document);
  return Object.fromEntries(
    Object.entries(node).map(([name, value]) => [name, withoutReferences(value, document)]),
  );
}

const targetOf = (reference: string, document: Document): unknown =>
  reference
    .split('/')
    .slice(1)
    .reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], document);
