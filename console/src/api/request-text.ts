/** A request of the public API as text: a command for a terminal, or code with an SDK. None has a secret or the session. */
import { fillPath, withQuery } from '../../../sdk/typescript/src/request-rules.ts';
import { commandNames, type OperationId, operations } from './generated.ts';
import { literal, python, quoted, textOf, typescript, word } from './literals.ts';
import { pythonName } from './python-names.ts';
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
  return { method, template, path, params, query, body, stream, file: files[operation] };
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
export function pythonOf(request: RequestOf, origin: string): string {
  const { stream, file } = partsOf(request);
  const call = pythonCall(request);
  const print = stream ? [`for line in ${call}.lines():`, '    print(line)'] : [`print(${call})`];
  const write = [
    `with open(${python.text(file ?? '')}, "wb") as file:`,
    `    for chunk in ${call}.chunks():`,
    '        file.write(chunk)',
  ];
  return [
    'import os',
    '',
    'from countersign import Client',
    '',
    `client = Client(${python.text(origin)}, os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"])`,
    ...(file === undefined ? print : write),
    '',
  ].join('\n');
}

/** Values of the path and the body stand in their order, and filters by name. */
function pythonCall(request: RequestOf): string {
  const { template, params, query, body } = partsOf(request);
  const items = [
    ...[...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => python.text(String(params[name] ?? ''))),
    ...(body === undefined ? [] : [literal(body, python)]),
    ...Object.entries(query).map(([name, value]) => `${pythonName(name)}=${literal(value, python)}`),
  ];
  return `client.api.${pythonName(request.operation)}(${items.join(', ')})`;
}
