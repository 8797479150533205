/**
 * The OpenAPI document is complete: every operation and parameter is described, every body and answer has an example, and each
 * example is valid. A failure says what a new route must add, and where.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ajv, type ErrorObject } from 'ajv';
import addFormats from 'ajv-formats';
import { createApp } from '../../src/app.ts';
import { scopes } from '../../src/contract/scopes.ts';
import { tags } from '../../src/contract/tags.ts';
import { loadConfig } from '../../src/kernel/config/config.ts';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { exampleOf, type Schema } from '../../src/kernel/http/document/examples.ts';
import type { RouteEntry } from '../../src/kernel/http/route.ts';
import { createLog } from '../../src/kernel/observability/log.ts';

const { privatePem, publicPem } = generateKeyPair();
const app = await createApp({
  config: loadConfig({
    DATABASE_URL: 'postgres://unused@localhost/unused',
    REDIS_URL: 'memory://',
    JWT_PRIVATE_KEY: privatePem,
    JWT_PUBLIC_KEY: publicPem,
  }),
  log: createLog({ level: 'silent' }),
});
// biome-ignore lint/suspicious/noExplicitAny: a document of many shapes; a wrong guess fails the assertion that follows
const document: any = await app.http.openapi();
const routes = app.routes.filter(({ hidden }) => !hidden);
await app.close();

const ajv = new Ajv({ allErrors: true, strict: false, useDefaults: true });
(addFormats as unknown as (ajv: Ajv) => void)(ajv);
ajv.addKeyword({ keyword: 'documentedPattern', macro: (pattern: string) => ({ pattern }) });

const problemsOf = (schema: Schema, value: unknown): string[] =>
  // A copy: validation fills in defaults.
  ajv.validate(schema, structuredClone(value))
    ? []
    : (ajv.errors ?? []).map(({ instancePath, message }: ErrorObject) => `${instancePath || '/'} ${message}`);

/** `POST /api/v1/agents (createAgent)` */
const nameOf = ({ method, path, id }: RouteEntry) => `${method} ${path} (${id})`;
const schemaFile = 'the schema.ts of its feature';

function bodiesOf(entry: RouteEntry): { what: string; schema: Schema; direction: 'request' | 'response' }[] {
  const { body, response } = entry.schema;
  return [
    ...(body ? [{ what: 'request body', schema: body as Schema, direction: 'request' } as const] : []),
    ...Object.entries(response).map(
      ([status, schema]) => ({ what: status, schema: schema as Schema, direction: 'response' }) as const,
    ),
  ];
}

const none = (problems: string[]) =>
  assert.ok(problems.length === 0, `\n${[...new Set(problems)].join('\n')}`);

describe('the OpenAPI document', () => {
  it('has an example for every request body and success answer', () => {
    const missing = routes.flatMap((entry) =>
      bodiesOf(entry).flatMap(({ what, schema, direction }) =>
        exampleOf(schema, direction).missing.map(
          (field) =>
            `${nameOf(entry)}, ${what}: ${field} has no example. Add \`examples: ['…']\` to this field in ${schemaFile}, or its name to src/contract/examples.ts.`,
        ),
      ),
    );
    none(missing);
  });
  it('has only examples that their own schema accepts', () => {
    const wrong = routes.flatMap((entry) =>
      bodiesOf(entry).flatMap(({ what, schema, direction }) => {
        const { value, missing } = exampleOf(schema, direction);
        if (value === undefined || missing.length > 0) return [];
        return problemsOf(schema, value).map(
          (problem) =>
            `${nameOf(entry)}, ${what}: the example is not valid: ${problem}. Give this field \`examples\` of its own in ${schemaFile}.`,
        );
      }),
    );
    none(wrong);
  });
  it('shows these examples', () => {
    for (const entry of routes) {
      const operation = document.paths[entry.path.replaceAll(/:(\w+)/g, '{$1}')][entry.method.toLowerCase()];
      const contents = [operation.requestBody, ...Object.values(operation.responses)]
        .flatMap((part) => Object.values(part?.content ?? {}))
        .filter((media) => (media as { schema: Schema }).schema.format !== 'binary');
      for (const media of contents)
        assert.ok('example' in (media as object) || 'examples' in (media as object), nameOf(entry));
    }
  });
  it('proposes requests without filters and without empty strings', () => {
    const paths = Object.values<Record<string, Operation>>(document.paths);
    const operations = paths.flatMap((methods) => Object.values<Operation>(methods));
    for (const { operationId, parameters = [], requestBody } of operations) {
      for (const { name, required, examples = {} } of parameters)
        for (const example of Object.values(examples))
          assert.ok(required || example['x-disabled'], `${operationId}: ${name} would be filled in`);
      for (const { example } of Object.values(requestBody?.content ?? {}))
        assert.doesNotMatch(JSON.stringify(example ?? null), /""/, operationId);
    }
  });
  it('describes every operation and every parameter in sentences', () => {
    const problems: string[] = [];
    for (const [path, methods] of Object.entries<Record<string, Operation>>(document.paths))
      for (const [method, operation] of Object.entries(methods)) {
        const name = `${method.toUpperCase()} ${path} (${operation.operationId})`;
        if (!/^[A-Z"].*[^.]$/.test(operation.summary ?? '') || (operation.summary ?? '').length > 100)
          problems.push(
            `${name}: \`summary\` must be one line of at most 100 characters, with a capital and without a full stop; move the rest to \`description\` of the route entry.`,
          );
        if (!/^[A-Z].*\.$/s.test(operation.description ?? ''))
          problems.push(`${name}: \`description\` of the route entry must be sentences.`);
        for (const { name: parameter, in: part, description } of operation.parameters ?? [])
          if (!/^[A-Z`"].*[.]$/s.test(description ?? ''))
            problems.push(
              `${name}: the ${part} parameter ${parameter} has no description. Add \`description: '…'\` to it in ${schemaFile}.`,
            );
      }
    none(problems);
  });
  it('declares every tag, tokens and agents first', () => {
    for (const entry of routes)
      assert.ok(tags[entry.tag], `${nameOf(entry)}: add the tag ${entry.tag} to src/contract/tags.ts`);
    const names = document.tags.map(({ name }: { name: string }) => name);
    assert.deepEqual(names.slice(0, 2), ['Tokens', 'Agents']);
    assert.equal(names.length, new Set(routes.map(({ tag }) => tag)).size);
  });
  it('has an oauth2 scheme with all scopes, and names the scope of each operation', () => {
    const { oauth2 } = document.components.securitySchemes;
    assert.deepEqual(Object.keys(oauth2.flows.clientCredentials.scopes).sort(), [...scopes].sort());
    assert.equal(oauth2.flows.clientCredentials.tokenUrl, 'http://localhost:3000/api/v1/token');
    assert.deepEqual(document.paths['/api/v1/agents'].post.security, [
      { oauth2: ['agents:write'] },
      { bearer: [] },
    ]);
  });
  it('links a created object to the operations on it', () => {
    const links = (path: string, status: string) => document.paths[path].post.responses[status].links ?? {};
    assert.deepEqual(links('/api/v1/agents', '201').generateCredential.parameters, {
      agentId: '$response.body#/agentId',
    });
    assert.ok(links('/api/v1/token', '200').introspectToken);
    assert.ok(links('/api/v1/organizations', '201').getOrganization);
  });
  it('has links to existing operations with existing parameters only', () => {
    const byId = new Map(routes.map((entry) => [entry.id, entry]));
    for (const entry of routes)
      for (const { to, parameters = {}, requestBody = {} } of entry.links ?? []) {
        const target = byId.get(to);
        assert.ok(target, `${nameOf(entry)}: there is no operation ${to}`);
        const { params, body } = target.schema as { params?: Schema; body?: Schema };
        for (const name of Object.keys(parameters))
          assert.ok(params?.properties?.[name], `${nameOf(entry)} → ${to}: no parameter ${name}`);
        for (const name of Object.keys(requestBody))
          assert.ok(body?.properties?.[name], `${nameOf(entry)} → ${to}: no field ${name}`);
      }
  });
});

interface Operation {
  operationId: string;
  summary?: string;
  description?: string;
  parameters?: {
    name: string;
    in: string;
    required?: boolean;
    description?: string;
    examples?: Record<string, { 'x-disabled'?: boolean }>;
  }[];
  requestBody?: { content: Record<string, { example?: unknown }> };
}
