/** A request of the public API as text: a command for a terminal, or code with an SDK. None has a secret or the session. */
import { fillPath, withQuery } from '../../../sdk/typescript/src/request-rules.ts';
import { commandNames, type OperationId, operations } from './generated.ts';
import { literal, python, quoted, textOf, typescript, word } from './literals.ts';
import type { AnyInput } from './request.ts';

/** A text, or why there is none. */
export type RequestText = { readonly text: string } | { readonly reason: string };

export interface RequestOf {
  readonly operation: OperationId;
  readonly input: AnyInput;
}

type Values = Readonly<Record<string, unknown>>;

const prefix = '/api/v1';

/** Operations that answer with a file that is no text, and its name. */
const files: Readonly<Partial<Record<OperationId, string>>> = {
  getAuditArchive: 'audit-day.jsonl.zst',
  scaffoldAgent: 'agent.zip',
};

/** A request without secrets, and without filters that are empty. */
function partsOf({ operation, input }: RequestOf) {
  const { method, path: template, stream = false } = operations[operation];
  const params = (input.params ?? {}) as Values;
  const path = fillPath(template, (name) => String(params[name] ?? ''));
  const query = Object.fromEntries(
    Object.entries(input.query ?? {}).filter(
      ([, value]) => value !== undefined && value !== null && value !== '',
    ),
  );
  const body = input.body === undefined ? undefined : withoutSecrets(JSON.parse(JSON.stringify(input.body)));
  return { method, path, params, query, body, stream, file: files[operation] };
}

const secretNames = /(secret|token|password|assertion)$/i;

/** A placeholder such as `<clientSecret>` in place of each secret. */
function withoutSecrets(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return value !== '' && secretNames.test(name) ? `<${name}>` : value;
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutSecrets(item, key)]));
}

/** A curl command with a Bearer token of `$TOKEN`. */
export function curlOf(request: RequestOf, origin: string): string {
  const { method, path, query, body, file } = partsOf(request);
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(origin + withQuery(path, query))}`,
    '-H "Authorization: Bearer $TOKEN"',
  ];
  if (body !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${quoted(textOf(body))}`);
  if (file !== undefined) lines.push(`-o ${file}`);
  return lines.join(' \\\n  ');
}

/** A command of `countersign`: the one of the operation, or `countersign api`. */
export function commandLineOf(request: RequestOf, origin: string): RequestText {
  const { method, path, params, query, body, file } = partsOf(request);
  if (!path.startsWith(`${prefix}/`))
    return { reason: `the command line calls the API below ${prefix} only` };
  const name = commandNames[request.operation];
  const values = operations[request.operation].path
    .matchAll(/\{(\w+)\}/g)
    .map(([, param = '']) => params[param])
    .toArray();
  const flags = Object.entries(query).map(([key, value]) => flagOf(key, value));
  const isPlain = values.every(isPlainWord) && flags.every((flag) => flag !== undefined);
  const isObject = body === undefined || (typeof body === 'object' && body !== null && !Array.isArray(body));
  const lines =
    name !== undefined && isPlain && isObject
      ? [['countersign', name, ...values.map(String).map(word)].join(' '), ...flags]
      : [`countersign api ${method} ${quoted(withQuery(path, query).slice(prefix.length))}`];
  if (body !== undefined) lines.push(`--body ${quoted(textOf(body))}`);
  if (file !== undefined) lines.push(`--output ${file}`);
  return { text: [...lines, `--url ${word(origin)}`].join(' \\\n  ') };
}

/** Undefined: the value cannot stand in the flag of a command. */
function flagOf(name: string, value: unknown): string | undefined {
  const flag = `--${name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase()}`;
  if (typeof value === 'boolean') return value ? flag : flag.replace('--', '--no-');
  const items = [value].flat();
  const fits = items.every(
    (item) => isPlainWord(item) && (!Array.isArray(value) || isPlainItem(String(item))),
  );
  return fits ? `${flag} ${word(items.join(','))}` : undefined;
}

/** A list takes commas, spaces, JSON and the names of files for its own. */
const isPlainItem = (text: string): boolean => /^[^\s,@[{]([^,]*[^\s,])?$/.test(text);
/** It is no option, and a terminal shows all of it. */
const isPlainWord = (value: unknown): boolean =>
  (typeof value === 'string' || typeof value === 'number') &&
  /^[^-\p{C}\p{Z}][^\p{C}\p{Zl}\p{Zp}]*$/u.test(String(value));

/** A program with the SDK for TypeScript. */
export function typescriptOf(request: RequestOf, origin: string): string {
  const { params, query, body, stream, file } = partsOf(request);
  const input = {
    ...params,
    ...(Object.keys(query).length > 0 && { query }),
    ...(body !== undefined && { body }),
  };
  const hasInput = Object.keys(input).length > 0;
  const call = `await client.api.${request.operation}(${hasInput ? literal(input, typescript) : ''})`;
  return [
    ...(file === undefined ? [] : ['import { writeFile } from "node:fs/promises";']),
    'import { createClient } from "@countersign/sdk";',
    '',
    'const { CLIENT_ID: clientId = "", CLIENT_SECRET: auth = "" } = process.env;',
    `const client = createClient({ issuer: ${typescript.text(origin)}, clientId, auth });`,
    ...(stream
      ? [
          `const response = ${call};`,
          file === undefined
            ? 'console.log(await response.text());'
            : `await writeFile(${typescript.text(file)}, new Uint8Array(await response.arrayBuffer()));`,
        ]
      : [`console.log(${call});`]),
    '',
  ].join('\n');
}

/** A program with the SDK for Python. */
export function pythonOf(request: RequestOf, origin: string): RequestText {
  const { method, path, stream, file, query, body } = partsOf(request);
  if (!path.startsWith(`${prefix}/`))
    return { reason: `the SDK for Python calls the API below ${prefix} only` };
  if (file !== undefined)
    return { reason: 'the SDK for Python reads JSON and lines, and the answer is a file' };
  const where = python.text(path.slice(prefix.length));
  const call = pythonCall(stream ? 'lines' : method, where, query, body);
  return {
    text: [
      'import os',
      '',
      'from countersign import Client',
      '',
      `client = Client(${python.text(origin)}, os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"])`,
      ...(stream ? [`for line in ${call}:`, '    print(line)'] : [`print(${call})`]),
      '',
    ].join('\n'),
  };
}

function pythonCall(method: string, where: string, query: Values, body: unknown): string {
  const hasQuery = Object.keys(query).length > 0;
  const json = body === undefined ? [] : [`json=${literal(body, python)}`];
  const short = method.toLowerCase();
  if (short === 'get' || short === 'lines') {
    const named = Object.entries(query).map(([name, value]) => `${name}=${literal(value, python)}`);
    const filters = Object.keys(query).every(isPythonName) ? named : [`**${literal(query, python)}`];
    return `client.${short}(${[where, ...filters].join(', ')})`;
  }
  if (!hasQuery && (short !== 'delete' || body === undefined))
    return `client.${short}(${[where, ...json].join(', ')})`;
  const params = hasQuery ? [`params=${literal(query, python)}`] : [];
  return `client.request(${[python.text(method), where, ...params, ...json].join(', ')})`;
}

const pythonWords = new Set(
  (
    'and as assert async await break class continue def del elif else except finally for from global if import in is ' +
    'lambda nonlocal not or pass raise return try while with yield self path'
  ).split(' '),
);
const isPythonName = (name: string): boolean => /^[a-z_]\w*$/i.test(name) && !pythonWords.has(name);
