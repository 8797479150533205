/** The typed client of the TypeScript SDK: types of every operation, and a table that says how each is sent. */
import {
  answersWithStream,
  type ListedOperation,
  type OpenApi,
  operationsBelow,
  operationType,
  schemaTypes,
  scopesOf,
  takesForm,
} from './api-types.ts';

export function sdkClient(document: OpenApi): string {
  const operations = operationsBelow('/', document);
  return [
    '/** Generated from the route table by `npm run openapi`; do not edit. */',
    '',
    ...schemaTypes(document),
    '/** Parameters of the path, query, body and answer of each operation, by operation id. */',
    'export interface Operations {',
    ...operations.map(({ operation }) => `  ${operation.operationId}: ${operationType(operation)};`),
    '}',
    '',
    'export type OperationId = keyof Operations;',
    '',
    'export interface OperationEntry {',
    '  readonly method: string;',
    '  readonly path: string;',
    '  /** The scopes that the operation needs. Empty when every access token will do. Absent when it needs no token. */',
    '  readonly scopes?: readonly string[];',
    '  /** The body is a form. Otherwise it is JSON. */',
    '  readonly form?: true;',
    '  /** The answer is no JSON: an archive, an export or a stream of events. */',
    '  readonly stream?: true;',
    '  /** The server repeats its answer for the same Idempotency-Key. */',
    '  readonly idempotencyKey?: true;',
    '}',
    '',
    'export const operations: Readonly<Record<OperationId, OperationEntry>> = {',
    ...operations.map((listed) => `  ${listed.operation.operationId}: ${entryOf(listed)},`),
    '};',
    '',
  ].join('\n');
}

function entryOf({ path, method, operation }: ListedOperation): string {
  const { parameters = [], security = [] } = operation;
  const needsToken = security.some((way) => way.oauth2);
  const takesKey = parameters.some((parameter) => parameter.name === 'Idempotency-Key');
  const fields = [
    `method: '${method.toUpperCase()}'`,
    `path: '${path}'`,
    needsToken && `scopes: ${JSON.stringify(scopesOf(operation))}`,
    takesForm(operation) && 'form: true',
    answersWithStream(operation) && 'stream: true',
    takesKey && 'idempotencyKey: true',
  ];
  return `{ ${fields.filter(Boolean).join(', ')} }`;
}
