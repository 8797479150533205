/**
 * Completes the document that Fastify's plugin makes from the schemas: named components, sentences, examples, errors by status,
 * links and tags. Loaded by the first request of /openapi.json, so that it does not slow the start.
 */
import { ErrorEnvelope, TokenErrorBody } from '../../../contract/shapes.ts';
import { tags } from '../../../contract/tags.ts';
import type { RouteEntry } from '../route.ts';
import { exampleOf, type Schema } from './examples.ts';
import { failureComponents, failureExamples, failuresOf, headerComponents, rateHeaders } from './failures.ts';
import { linksOf } from './links.ts';
import { securityOf, securitySchemes } from './security.ts';
import { filterText, operationText, pathParameterText, sentence } from './texts.ts';

export type OpenApi = Record<string, unknown>;

interface Content {
  [type: string]: { schema?: unknown; example?: unknown };
}
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Record<string, unknown>;
  example?: unknown;
  examples?: Record<string, object>;
}
interface Operation {
  operationId: string;
  description?: string;
  security?: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; description?: string; content: Content };
  responses: Record<string, { description: string; content?: Content }>;
}

export function completeDocument(source: OpenApi, baseUrl: string, routes: readonly RouteEntry[]): OpenApi {
  const byId = new Map(routes.map((entry) => [entry.id, entry]));
  const { info, ...rest } = source;
  const { document, schemas } = nameComponents(rest);
  const paths = document.paths as Record<string, Record<string, Operation>>;
  for (const operations of Object.values(paths))
    for (const [method, operation] of Object.entries(operations)) {
      const entry = byId.get(operation.operationId);
      if (entry) operations[method] = completeOperation(operation, entry, routes);
    }
  const shown = routes.filter(({ hidden }) => !hidden);
  const used = new Set(shown.map(({ tag }) => tag));
  const responses = failureComponents(shown);
  return {
    openapi: document.openapi,
    info,
    servers: [{ url: baseUrl, description: 'This instance.' }],
    tags: Object.entries(tags)
      .filter(([name]) => used.has(name))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: securitySchemes(baseUrl),
      schemas: { ...schemas, ...failureSchemas() },
      responses,
      headers: headerComponents,
      examples: usedExamples(responses),
    },
  };
}

function completeOperation(
  { parameters, requestBody, responses, ...operation }: Operation,
  entry: RouteEntry,
  routes: readonly RouteEntry[],
): Operation {
  const links = linksOf(entry, routes);
  const successes = Object.entries(responses)
    .filter(([status]) => /^[23]\d\d$/.test(status))
    .map(([status, { content, description }]) => {
      const schema = entry.schema.response[Number(status)] as Schema;
      return [
        status,
        {
          description: schema.type === 'null' ? 'Done. The answer has no body.' : sentence(description),
          headers: { ...rateHeaders, ...headersOf(entry) },
          ...(content && { content: withExample(content, schema, 'response') }),
          ...(Object.keys(links).length > 0 && { links }),
        },
      ];
    });
  return {
    ...operation,
    description: operationText(entry),
    security: securityOf(entry.access),
    ...(parameters && { parameters: parameters.map((parameter) => completeParameter(parameter, entry)) }),
    ...(requestBody && {
      requestBody: {
        ...(requestBody.description && { description: sentence(requestBody.description) }),
        required: entry.optionalBody !== true,
        content: withExample(requestBody.content, entry.schema.body as Schema, 'request'),
      },
    }),
    responses: { ...Object.fromEntries(successes), ...failuresOf(entry) },
  };
}

const headersOf = ({ responseHeaders = {} }: RouteEntry) =>
  Object.fromEntries(
    Object.entries(responseHeaders).map(([name, description]) => [
      name,
      { description: sentence(description), schema: { type: 'string' } },
    ]),
  );

function withExample(content: Content, schema: Schema, direction: 'request' | 'response'): Content {
  const { value } = exampleOf(schema, direction);
  if (value === undefined) return content;
  return Object.fromEntries(
    Object.entries(content).map(([type, media]) => [type, { ...media, example: value }]),
  );
}

/** A parameter with a default is optional. */
function completeParameter(parameter: Parameter, entry: RouteEntry): Parameter {
  // An example of the schema has become one of the parameter, which cannot have both `example` and `examples`.
  const { example, ...rest } = parameter;
  const { name, schema = {}, description = '' } = rest;
  const value = example ?? parameterExample(name, schema as Schema);
  if (parameter.in === 'path' && /id$/i.test(name))
    return { ...parameter, description: pathParameterText(name, entry.path), example: value };
  const required = parameter.required === true && !('default' in schema);
  const isFilter = !required && !('default' in schema);
  const text = description ? sentence(description) : isFilter ? filterText(name) : '';
  return {
    ...rest,
    description: text,
    required,
    // The reference page leaves out a parameter with this mark; without it, the page would send the example.
    ...(value !== undefined && {
      examples: { default: { value, ...(!required && { 'x-disabled': true }) } },
    }),
  };
}

function parameterExample(name: string, schema: Schema): unknown {
  const body = exampleOf({ type: 'object', properties: { [name]: schema } }, 'response').value;
  return (body as Record<string, unknown>)[name];
}

const failureSchemas = () => ({
  Error: nameComponents({ ErrorEnvelope }).schemas.Error,
  TokenError: nameComponents({ TokenErrorBody }).schemas.TokenError,
});

/** Only the examples that a response refers to. */
function usedExamples(responses: unknown): Record<string, object> {
  const text = JSON.stringify(responses);
  return Object.fromEntries(
    Object.entries(failureExamples).filter(([name]) => text.includes(`"#/components/examples/${name}"`)),
  );
}

const hasDefault = (schema: unknown): boolean =>
  typeof schema === 'object' && schema !== null && 'default' in schema;

/**
 * A schema with a title becomes a named component: generated clients then have one `Agent` type instead of forty copies.
 * Descriptions become sentences, and fields with a default optional.
 */
function nameComponents(source: OpenApi): { document: OpenApi; schemas: Record<string, unknown> } {
  const schemas: Record<string, unknown> = {};
  const visit = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(visit);
    if (typeof node !== 'object' || node === null) return node;
    const copy: Record<string, unknown> = Object.fromEntries(
      Object.entries(node).map(([key, value]) => [
        key,
        ['example', 'examples', 'default', 'enum', 'const'].includes(key) ? value : visit(value),
      ]),
    );
    if ('documentedPattern' in copy) {
      copy.pattern = copy.documentedPattern;
      delete copy.documentedPattern;
    }
    if (copy.description === 'Default Response') copy.description = 'Success';
    if (typeof copy.description === 'string' && 'type' in copy) copy.description = sentence(copy.description);
    if (Array.isArray(copy.required)) {
      const properties = (copy.properties ?? {}) as Record<string, unknown>;
      copy.required = copy.required.filter((name) => !hasDefault(properties[name]));
    }
    const { title, type } = copy;
    if (typeof title !== 'string' || type !== 'object') return copy;
    schemas[title] = copy;
    return { $ref: `#/components/schemas/${title}` };
  };
  return { document: visit(source) as OpenApi, schemas };
}
