/** Route entries as Fastify schemas, and the OpenAPI document made from them (served at /openapi.json, committed as openapi.json). */
import Fastify, { type FastifySchema, type FastifyServerOptions } from 'fastify';
import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { ErrorEnvelope, TokenErrorBody } from '../../contract/shapes.ts';
import type { OpenApi } from './document/document.ts';
import { bodyFormats, mediaTypes, type RouteEntry } from './route.ts';

export type { OpenApi };

/** Of the HTTP API; it changes with the contract, not with each release. */
export const apiVersion = '1.0.0';

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

/** Fastify's types know only the compilers of its own packages. */
export type Compilers = NonNullable<
  NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']
>;

const unusedCompilers = {
  buildValidator: () => () => () => true,
  buildSerializer: () => () => () => '',
} as unknown as Compilers;

/**
 * Made when it is first asked for, on a server of its own that is never started: with Fastify's own compilers, which server.ts
 * replaces, the plugin and its YAML library are 132 of the 1,394 files that a start loaded, and 9 of 157 MB of idle memory.
 */
export const createDocument =
  (baseUrl: string, routes: readonly RouteEntry[]) => async (): Promise<OpenApi> => {
    const [{ default: swagger }, { completeDocument }] = await Promise.all([
      import('@fastify/swagger'),
      import('./document/document.ts'),
    ]);
    const server = Fastify({ schemaController: { compilersFactory: unusedCompilers } });
    await server.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: 'Countersign',
          version: apiVersion,
          description:
            'The identity provider for AI agents. Times are UTC; ids are UUIDs; failures carry code, message and details.',
          contact: { name: 'The operator of this instance', url: baseUrl },
          license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
        },
      },
    });
    for (const entry of bodyFormats.flatMap((format) =>
      routes.filter(({ accepts = 'json' }) => accepts === format),
    ))
      server.route({ method: entry.method, url: entry.path, schema: schemaOf(entry), handler: () => {} });
    await server.ready();
    return completeDocument(server.swagger() as unknown as OpenApi, baseUrl, routes);
  };
