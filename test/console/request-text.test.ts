/** "Copy as…": a request of the console as curl, as a command, as TypeScript and as Python. */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { commandNames, type OperationId, operations } from '../../console/src/api/generated.ts';
import { literal, python, typescript } from '../../console/src/api/literals.ts';
import {
  commandLineOf,
  curlOf,
  pythonOf,
  type RequestOf,
  type RequestText,
  typescriptOf,
} from '../../console/src/api/request-text.ts';
import { apiCommands } from '../../src/commands/client/api/api-commands.ts';
import { loadOperations } from '../../src/commands/client/api/document.ts';
import { runSync, succeed, succeedSync } from '../support/child-process.ts';
import { listen } from '../support/clients/listening.ts';
import { newAgent } from '../support/harness.ts';

const origin = 'https://id.example.com';
const agentId = 'c7a1e9b0-4a38-4f0a-9a43-b14cf1d4c9a1';
const hostile = [
  `it's "quoted"`,
  '$(touch /tmp/x) `id` $HOME',
  'two\nlines\r\n\ttab',
  '!! \\ \\" %00 # ; & | < > * ?',
  'ünï – 漢字 👩‍💻',
  '\u202egnp.exe\u2066\u200b\ufeff\u2028\u{e0041}',
  '\u001b[31mred\u0007\u007f\u009b',
  '--yes',
  '@/etc/passwd',
  "'",
  '',
];

const folder = mkdtempSync(join(tmpdir(), 'countersign-copy-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const script = (name: string, text: string) => {
  writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
  chmodSync(join(folder, name), 0o755);
};

const textOf = (form: RequestText): string => ('text' in form ? form.text : assert.fail(form.reason));
const request = (operation: OperationId, input: RequestOf['input'] = {}): RequestOf => ({ operation, input });

/** The words that a program gets from a shell. */
function wordsOf(command: string): string[] {
  for (const name of ['curl', 'countersign']) script(name, `printf '%s\\0' "$@"`);
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, TOKEN: 'the-token' };
  return succeedSync('sh', ['-c', command], { env }).split('\0').slice(0, -1);
}

describe('a hostile value reaches the program as it is', () => {
  const listOf = (q: string) => request('listAgents', { query: { q, page: 1 } });
  const update = (owner: string) =>
    request('updateAgent', { params: { agentId }, body: { owner, labels: { [`${owner}!`]: owner } } });

  for (const value of hostile)
    it(JSON.stringify(value), () => {
      const query = value === '' ? '?page=1' : `?${new URLSearchParams({ q: value, page: '1' })}`;
      assert.deepEqual(wordsOf(curlOf(listOf(value), origin)), [
        `${origin}/api/v1/agents${query}`,
        '-H',
        'Authorization: Bearer the-token',
      ]);
      const [, , url, , , , , , body] = wordsOf(curlOf(update(value), origin));
      assert.equal(url, `${origin}/api/v1/agents/${agentId}`);
      assert.deepEqual(JSON.parse(body ?? ''), { owner: value, labels: { [`${value}!`]: value } });

      const words = wordsOf(textOf(commandLineOf(update(value), origin)));
      assert.deepEqual(words.slice(0, 4), ['agents', 'update', agentId, '--body']);
      assert.deepEqual(JSON.parse(words[4] ?? ''), { owner: value, labels: { [`${value}!`]: value } });
      const listed = wordsOf(textOf(commandLineOf(listOf(value), origin)));
      if (listed[0] === 'api') assert.deepEqual(listed.slice(1, 3), ['GET', `/agents${query}`]);
      else assert.equal(listed[listed.indexOf('--q') + 1], value || listed[0]);
      for (const text of [curlOf(update(value), origin), textOf(commandLineOf(listOf(value), origin))])
        assert.doesNotMatch(text.replaceAll('\n', ''), /[\p{Cc}\p{Cf}]/u);
    });
});

test('a value of TypeScript is the value, whatever it has', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const text = literal(value, typescript);
      assert.deepEqual(
        JSON.stringify(new Function(`return (${text})`)()),
        JSON.stringify(JSON.parse(JSON.stringify(value))),
        text,
      );
    }),
  );
  assert.deepEqual(
    Object.keys(new Function(`return ${literal(JSON.parse('{"__proto__":1}'), typescript)}`)()),
    ['__proto__'],
  );
});

const hasPython = runSync('sh', ['-c', 'command -v python3']).status === 0;
test('a value of Python is the value, whatever it has', { skip: !hasPython && 'no python3' }, () => {
  const values = [
    ...hostile,
    {
      [hostile[5] ?? '']: hostile,
      true: [true, false, null],
      none: {},
      numbers: [0, -1.5, 1e21],
      long: ['x'.repeat(90)],
    },
    ...fc.sample(fc.jsonValue({ stringUnit: 'grapheme' }), 100),
  ];
  const program = `import ast, json, sys\nprint(json.dumps([ast.literal_eval(one) for one in json.load(sys.stdin)]))`;
  const input = JSON.stringify(values.map((value) => literal(value, python)));
  assert.deepEqual(
    JSON.parse(succeedSync('python3', ['-c', program], { input })),
    JSON.parse(JSON.stringify(values)),
  );
});

test('secrets are placeholders in all forms, and the session is in none', () => {
  const body = {
    name: 'Login',
    clientSecret: 'hunter2',
    nested: [{ token: 'hunter2' }],
    tokenConditions: ['kept'],
  };
  const one = request('createConnection', { params: { orgId: agentId }, body });
  for (const text of [
    curlOf(one, origin),
    textOf(commandLineOf(one, origin)),
    typescriptOf(one, origin),
    pythonOf(one, origin),
  ]) {
    assert.doesNotMatch(text, /hunter2|cookie/i);
    assert.match(text, /<clientSecret>/);
    assert.match(text, /<token>/);
    assert.match(text, /kept/);
  }
});

test('an operation without a command is `countersign api`; one outside of the API says why it has none', () => {
  assert.match(
    textOf(
      commandLineOf(request('scaffoldAgent', { params: { agentId }, query: { language: 'go' } }), origin),
    ),
    /^countersign api GET '\/sdk\/scaffold\/c7.*\?language=go' \\\n {2}--output agent.zip \\\n/,
  );
  const outside = Object.keys(operations).find(
    (id) => !operations[id as OperationId].path.startsWith('/api/'),
  );
  assert.match(
    JSON.stringify(commandLineOf(request(outside as OperationId), origin)),
    /"reason":".* below \/api\/v1 only"/,
  );
});

test('each command has the flags of its filters, and the SDK each operation', () => {
  const flagOf = (name: string) =>
    `--${name
      .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
      .replaceAll('_', '-')
      .toLowerCase()}`;
  const commands = apiCommands(loadOperations()).filter(({ isShortcut }) => !isShortcut);
  assert.ok(commands.length > 100);
  for (const { operation, group, verb, fields } of commands) {
    const filters = fields.filter((field) => field.in === 'query');
    assert.equal(commandNames[operation.id as OperationId], `${group} ${verb}`);
    for (const { name, flag, kind } of filters) {
      assert.equal(`--${flag}`, flagOf(name), operation.id);
      assert.match(kind, /^(text|integer|boolean|list)$/, operation.id);
    }
  }
});

test('Python: a method for each operation, with the names of its filters', () => {
  const folder = new URL('../../sdk/python/src/countersign/api/', import.meta.url);
  const sources = readdirSync(folder)
    .filter((name) => name.endsWith('.py'))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))
    .join('\n');
  for (const { operation, fields } of apiCommands(loadOperations())) {
    const query = Object.fromEntries(
      fields.filter((field) => field.in === 'query').map(({ name }) => [name, 'x']),
    );
    const text = pythonOf(request(operation.id as OperationId, { query }), origin);
    const [, method, call = ''] = /client\.api\.(\w+)\(([\s\S]*?)\)(?:\)|\.lines|\.chunks)/.exec(text) ?? [];
    const [, parameters = ''] =
      new RegExp(`    def ${method}\\(\\s*self,?([\\s\\S]*?)\\) ->`).exec(sources) ?? [];
    const names = [...call.matchAll(/(\w+)="x"/g)].map(([, name]) => name);
    assert.equal(names.length, Object.keys(query).length, text);
    for (const name of names) assert.match(parameters, new RegExp(`\\b${name}: `), `${method} ${name}`);
    assert.match(sources, new RegExp(`    def ${method}\\(`));
  }
});

test('Python: lines are printed, and files are written', () => {
  const update = request('updateAgent', {
    params: { agentId },
    body: { owner: 'team', displayName: null, dpopBoundAccessTokens: true },
  });
  const begin = [
    'import os',
    '',
    'from countersign import Client',
    '',
    'client = Client("https://id.example.com", os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"])',
  ];
  const programOf = (...lines: string[]) => [...begin, ...lines, ''].join('\n');
  assert.equal(
    pythonOf(update, origin),
    programOf(
      `print(client.api.update_agent("${agentId}", {"owner": "team", "displayName": None, "dpopBoundAccessTokens": True}))`,
    ),
  );
  assert.equal(
    pythonOf(request('listAgents', { query: { status: 'active', label: ['a', 'b:c'], q: '' } }), origin),
    programOf('print(client.api.list_agents(status="active", label=["a", "b:c"]))'),
  );
  assert.equal(
    pythonOf(request('getUsage', { query: { from: '2030-01-01' } }), origin),
    programOf('print(client.api.get_usage(from_="2030-01-01"))'),
  );
  assert.equal(
    pythonOf(request('exportAudit'), origin),
    programOf('for line in client.api.export_audit().lines():', '    print(line)'),
  );
  assert.equal(
    pythonOf(request('scaffoldAgent', { params: { agentId }, query: { language: 'go' } }), origin),
    programOf(
      'with open("agent.zip", "wb") as file:',
      `    for chunk in client.api.scaffold_agent("${agentId}", language="go").chunks():`,
      '        file.write(chunk)',
    ),
  );
});

test('copied texts run against a server: curl, command line, TypeScript', async () => {
  const server = await listen();
  const token = await server.token();
  const owner = hostile
    .filter((text) => !/\p{Cc}/u.test(text))
    .join(' ')
    .trim();
  const { json: agent } = await server.call('POST', '/api/v1/agents', { token, payload: newAgent() });
  const { clientId, clientSecret } = server.operator;
  const root = fileURLToPath(new URL('../../', import.meta.url));
  script('countersign', `exec '${process.execPath}' '${root}src/main.ts' "$@"`);
  rmSync(join(folder, 'curl'), { force: true });
  const env = {
    ...{ PATH: `${folder}:${process.env.PATH}`, HOME: folder, TOKEN: token },
    ...{ COUNTERSIGN_CLIENT_ID: clientId, COUNTERSIGN_CLIENT_SECRET: clientSecret },
    ...{ CLIENT_ID: clientId, CLIENT_SECRET: clientSecret },
  };
  const inShell = async (text: string) => succeed('sh', ['-c', text], { env, cwd: folder });
  const inNode = async (text: string) => {
    const file = join(folder, 'program.ts');
    writeFileSync(
      file,
      text.replace('"@countersign/sdk"', JSON.stringify(`${root}sdk/typescript/src/sdk.ts`)),
    );
    return succeed(process.execPath, [file], { env, cwd: folder });
  };
  const listed = request('listAgents', { query: { status: 'active', limit: 5 } });
  const found = [
    await inShell(curlOf(listed, server.issuer)),
    await inShell(`${textOf(commandLineOf(listed, server.issuer))} --json`),
    await inNode(typescriptOf(listed, server.issuer)),
  ];
  for (const text of found) assert.match(text, new RegExp(agent.agentId));

  const ways: readonly ((one: RequestOf) => Promise<string>)[] = [
    (one) => inShell(curlOf(one, server.issuer)),
    (one) => inShell(textOf(commandLineOf(one, server.issuer))),
    (one) => inNode(typescriptOf(one, server.issuer)),
  ];
  for (const [index, send] of ways.entries()) {
    const changed = `${owner} ${index}`;
    await send(request('updateAgent', { params: { agentId: agent.agentId }, body: { owner: changed } }));
    const { json } = await server.call('GET', `/api/v1/agents/${agent.agentId}`, { token });
    assert.equal(json.owner, changed);
  }
});
