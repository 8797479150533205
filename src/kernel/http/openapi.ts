/** Route entries as Fastify schemas, and the OpenAPI document made from them (served at /openapi.json, committed as openapi.json). */
import swagger from '@fastify/swagger';
import type { FastifyInstance, FastifySchema } from 'fastify';
import Type from 'typebox';
import { limits } from '../../contract/limits.ts';
import { ErrorEnvelope, TokenErrorBody } from '../../contract/shapes.ts';
import { type Access, mediaTypes, type RouteEntry } from './route.ts';

export type OpenApi = Record<string, unknown>;

export function schemaOf(entry: RouteEntry): FastifySchema {
  const { params, query, body, response } = entry.schema;
  const failure = entry.failures === 'oauth' ? TokenErrorBody : ErrorEnvelope;
  const success = Object.entries(response).map(([status, schema]) => [
    status,
    entry.produces ? { description: 'Success', content: contentOf(entry, schema) } : schema,
  ]);
  return {
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(body && { body }),
    ...(entry.idempotent && { headers: IdempotencyHeaders }),
    response: { ...Object.fromEntries(success), '4xx': failure, '5xx': failure },
    ...{
      operationId: entry.id,
      summary: entry.summary,
      tags: [entry.tag],
      hide: entry.hidden ?? false,
      security: securityOf(entry.access),
      ...(entry.failures !== 'oauth' && {
        description: `${ownLimit(entry)}Errors: ${errorsOf(entry).join(', ')}.`,
      }),
      ...(entry.accepts === 'form' && { consumes: [mediaTypes.form] }),
    },
  };
}

/** Read by kernel/http/input/idempotency.ts, which refuses a malformed one. */
const IdempotencyHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: limits.idempotencyKeyLength,
      pattern: '^[!-~]+$',
      description: `A key of your choice. A request that is sent again with the same key and body within ${limits.idempotencyHours} hours gets the first response and creates nothing.`,
    }),
  ),
});

const contentOf = ({ produces = '', alsoProduces = [] }: RouteEntry, schema: unknown) =>
  Object.fromEntries([produces, ...alsoProduces].map((type) => [mediaTypeOf(type), { schema }]));

/** Without parameters: Fastify looks up the response schema by the bare media type. */
const mediaTypeOf = (produces: string): string => produces.split(';')[0] as string;

/** The entry's own errors, and those that follow from its access and schema. */
function errorsOf({ access, schema, quota, idempotent, errors = [] }: RouteEntry): string[] {
  const identified = !['open', 'client', 'secret'].includes(access.kind);
  return [
    ...(schema.params || schema.query || schema.body ? ['VALIDATION_ERROR'] : []),
    ...(identified ? ['UNAUTHORIZED', 'ORG_SUSPENDED'] : []),
    ...('scope' in access && access.scope ? ['INSUFFICIENT_SCOPE'] : []),
    ...(access.kind === 'policy' ? ['FORBIDDEN'] : []),
    ...errors,
    ...(idempotent ? ['IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_KEY_MISMATCH'] : []),
    'RATE_LIMIT_EXCEEDED',
    ...(identified && quota !== 'free' ? ['tier_limit_exceeded'] : []),
  ];
}

const ownLimit = ({ limit }: RouteEntry): string =>
  typeof limit === 'object' ? `At most ${limit.perMinute} requests a minute for each ${limit.per}. ` : '';

/** Must be called before routes are mounted: the plugin listens for them. */
export async function documentRoutes(
  server: FastifyInstance,
  baseUrl: string,
  routes: readonly RouteEntry[],
): Promise<() => OpenApi> {
  const optionalBodies = new Set(routes.filter(({ optionalBody }) => optionalBody).map(({ id }) => id));
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Countersign',
        version: '1.0.0',
        description:
          'The identity provider for AI agents. Times are UTC; ids are UUIDs; failures carry code, message and details.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: baseUrl }],
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            bearerFormat: 'JWT',
            description: 'An access token from POST /api/v1/token.',
          },
          clientBasic: {
            type: 'http',
            scheme: 'basic',
            description: 'Client id and secret; the form fields do as well.',
          },
        },
      },
    },
    transformObject: (document) =>
      nameComponents(
        ('openapiObject' in document ? document.openapiObject : document.swaggerObject) as OpenApi,
        optionalBodies,
      ) as never,
  });
  return () => server.swagger() as unknown as OpenApi;
}

function securityOf(access: Access): Record<string, string[]>[] {
  switch (access.kind) {
    case 'scope':
      return [{ bearer: [access.scope] }];
    case 'clientOrScope':
      return [{ bearer: [access.scope] }, { clientBasic: [] }];
    case 'policy':
      return [{ bearer: access.scope ? [access.scope] : [] }];
    case 'bearer':
      return [{ bearer: [] }];
    case 'secret':
      return access.secret === undefined ? [] : [{ bearer: [] }];
    case 'client':
      return [{ clientBasic: [] }, {}];
    case 'open':
      return [];
  }
}

const hasDefault = (schema: unknown): boolean =>
  typeof schema === 'object' && schema !== null && 'default' in schema;

/** A schema with a title becomes a named component: generated clients then have one `Agent` type instead of forty copies. */
function nameComponents(document: OpenApi, optionalBodies: ReadonlySet<string>): OpenApi {
  const schemas: Record<string, unknown> = {};
  const visit = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(visit);
    if (typeof node !== 'object' || node === null) return node;
    const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, visit(value)]));
    if (copy.description === 'Default Response') copy.description = 'Success';
    // Fields with a default, and some bodies, are optional.
    if (copy.in === 'query' && hasDefault(copy.schema)) copy.required = false;
    if (Array.isArray(copy.required)) {
      const properties = (copy.properties ?? {}) as Record<string, unknown>;
      copy.required = copy.required.filter((name) => !hasDefault(properties[name]));
    }
    if (optionalBodies.has(String(copy.operationId)))
      copy.requestBody = { ...(copy.requestBody as object), required: false };
    const { title, type } = copy;
    if (typeof title !== 'string' || type !== 'object') return copy;
    schemas[title] = copy;
    return { $ref: `#/components/schemas/${title}` };
  };
  const { info, ...rest } = document;
  const visited = visit(rest) as OpenApi;
  const components = visited.components as object | undefined;
  return { ...visited, info, components: { ...components, schemas } };
}
