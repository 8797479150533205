/** Every operation as a command: its name, and the request that it sends for the example of the operation. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Command } from 'commander';
import { ioFor } from '../../../../test/support/commands-in-process.ts';
import { createProgram, pathOf } from '../../program/program.ts';
import { registerServerCommands } from '../../program/server-commands.ts';
import { registerClientCommands } from '../client-commands.ts';
import { kindOf } from '../names/kinds.ts';
import { apiCommands } from './api-commands.ts';
import { withoutCommand } from './command-names.ts';
import { loadOperations } from './document.ts';
import { exampleArguments } from './example.ts';
import { registerApi } from './register-api.ts';
import type { ApiRequest } from './request.ts';

const operations = loadOperations();
const io = ioFor({});
const commands = apiCommands(operations);
const main = commands.filter(({ isShortcut }) => !isShortcut);
const folder = mkdtempSync(join(tmpdir(), 'countersign-api-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const secret = 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln';
const secretFile = join(folder, 'token.txt');
writeFileSync(secretFile, `${secret}\n`);
const id = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

/** The request that the words send; nothing is sent. */
async function requestOf(words: readonly string[]): Promise<ApiRequest> {
  let sent: ApiRequest | undefined;
  const program = createProgram('', '0', io);
  registerServerCommands(program, io);
  registerApi(program, io, {
    operations,
    words,
    execute: async (_io, _command, request) => {
      sent = request;
    },
  });
  await program.parseAsync(words, { from: 'user' });
  assert.ok(sent, words.join(' '));
  return sent;
}

const refusalOf = async (words: readonly string[]): Promise<string> => {
  try {
    await requestOf(words);
  } catch (error) {
    return (error as Error).message;
  }
  return assert.fail(`${words.join(' ')} was not refused`);
};

describe('the names of the commands', () => {
  it('every operation is exactly one command, or is listed with a reason', () => {
    const missing = operations.filter(
      (operation) =>
        main.filter((command) => command.operation.id === operation.id).length !==
        (operation.id in withoutCommand ? 0 : 1),
    );
    assert.deepEqual(
      missing.map((operation) => operation.id),
      [],
    );
    for (const reason of Object.values(withoutCommand)) assert.ok(reason.length > 20);
    const unknown = Object.keys(withoutCommand).filter((name) => !operations.some((one) => one.id === name));
    assert.deepEqual(unknown, []);
  });

  it('no two commands have the same name, and none the name of a server command', () => {
    const program = createProgram('', '0', io);
    registerServerCommands(program, io);
    const taken = program.commands.flatMap((command) => [
      ...(command.commands.length === 0 ? [command.name()] : []),
      ...command.commands.map((inner) => `${command.name()} ${inner.name()}`),
    ]);
    const names = [...taken, ...commands.map(({ group, verb }) => `${group} ${verb}`)];
    assert.deepEqual(
      names.filter((name, index) => names.indexOf(name) !== index),
      [],
    );
    assert.deepEqual(
      commands.filter(({ group }) => taken.includes(group)),
      [],
    );
    for (const { group, verb } of commands) assert.match(`${group} ${verb}`, /^[a-z-]+ [a-z-]+$/);
  });

  it('no two flags of a command are the same', () => {
    for (const { group, verb, fields } of commands) {
      const flags = fields.map(({ flag }) => flag);
      assert.equal(new Set(flags).size, flags.length, `${group} ${verb}: ${flags.join(' ')}`);
    }
  });

  it('no secret is a flag', () => {
    const secrets = commands.flatMap(({ fields }) =>
      fields.filter(({ name }) => /secret$|token$|assertion$/i.test(name)),
    );
    assert.ok(secrets.length >= 4);
    for (const { flag, kind } of secrets) assert.deepEqual([kind, /-file$/.test(flag)], ['secret', true]);
  });
});

describe('all commands, also those of the server', () => {
  const program = createProgram('', '0', io);
  registerServerCommands(program, io);
  registerClientCommands(program, io, { operations });
  const withInner = (command: Command): Command[] => [command, ...command.commands.flatMap(withInner)];
  const all = program.commands.flatMap(withInner);

  it('have a description in sentences, and one for each option', () => {
    assert.ok(all.length > 130, String(all.length));
    for (const command of all) {
      assert.match(command.createHelp().commandDescription(command), /^[A-Z].*[.)]$/s, pathOf(command));
      for (const { long, description, hidden, argChoices } of command.options)
        assert.ok(hidden || argChoices || description.length > 3, `${pathOf(command)} ${long}`);
    }
  });

  const helpOf = (command: Command): string => {
    let text = '';
    command.configureOutput({ writeOut: (part) => (text += part) });
    command.outputHelp();
    return text;
  };

  it('have examples with options that they have; none deletes without showing it first', () => {
    const byPath = new Map(all.map((command) => [pathOf(command).replace(/^\S+ /, ''), command]));
    let examples = 0;
    for (const command of all)
      for (const [, line = ''] of helpOf(command).matchAll(/^ {2}(?:\S.* [|&]+ )?countersign (.+)$/gm)) {
        const words = line.split(/ (?:&&|\|) /)[0]?.split(' ') ?? [];
        const path = [3, 2, 1]
          .map((length) => words.slice(0, length).join(' '))
          .find((one) => byPath.has(one));
        const known = byPath.get(path ?? '')?.options.flatMap(({ long, short }) => [long, short]);
        assert.ok(known, line);
        const unknown = words.filter((word) => /^--?[a-z]/.test(word) && !known.includes(word));
        assert.deepEqual(unknown, [], line);
        if (line.includes('--prune')) assert.match(line, /--plan/);
        examples += 1;
      }
    assert.ok(examples > commands.length, String(examples));
  });

  it('have examples with names where ids are, and without options that only repeat a default', () => {
    for (const command of commands) {
      const [, , ...words] = exampleArguments(command, { forReaders: true });
      for (const [index, { name }] of command.args.entries())
        if (kindOf(command.operation.path, name))
          assert.doesNotMatch(words[index] ?? '<', /^<|^[\da-f-]{36}$/);
      assert.doesNotMatch(words.join(' '), /--no-| \{\}( |$)/, command.summary);
    }
  });

  it('take a name for every id, except of things that have none', () => {
    const nameless = [
      ...['approvalId', 'chainId', 'eventId', 'deliveryId', 'streamId', 'stream_id', 'lastEventId'],
      // Of a client at an OpenID provider.
      'connections clientId',
    ];
    const without = commands.flatMap(({ group, operation: { path }, args, fields }) =>
      [...args, ...fields]
        .filter(({ name }) => /(Id|_id)$/.test(name) && kindOf(path, name) === undefined)
        .filter(({ name }) => !nameless.includes(name) && !nameless.includes(`${group} ${name}`))
        .map(({ name }) => `${group} ${name}`),
    );
    assert.deepEqual(without, []);
  });

  it('take no secret, token or code as the value of an option: others could see it', () => {
    const options = all.flatMap((command) => command.options.map((option) => ({ command, option })));
    for (const { command, option } of options)
      if (option.required && /(secret|token|code|password|assertion)$/.test(option.long ?? ''))
        assert.match(option.flags, /<file>$/, `${pathOf(command)} ${option.flags}`);
  });
});

describe('the request of a command for the example of its operation', () => {
  for (const command of commands) {
    const { operation, fields } = command;
    it(`${command.group} ${command.verb}: ${operation.method} ${operation.path}`, async () => {
      const words = exampleArguments(command, { withOptional: true, secretFile }).map((word) =>
        /^<\w+>$/.test(word) ? id : word,
      );
      const request = await requestOf(words);
      assert.equal(request.method, operation.method);
      const ids = command.args.map(({ examples }) => String(examples?.default?.value ?? id));
      let next = 0;
      assert.equal(
        request.path,
        operation.path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(ids[next++] ?? '')),
      );
      const examples = (place: string) =>
        Object.fromEntries(
          fields
            .filter((field) => field.in === place && field.example !== undefined)
            .map(({ name, kind, example }) => [name, kind === 'secret' ? secret : example]),
        );
      assert.deepEqual(request.query, examples('query'));
      assert.deepEqual(request.headers, examples('header'));
      const expected = command.isShortcut ? command.preset : { ...command.defaults, ...examples('body') };
      const body = request.body instanceof URLSearchParams ? Object.fromEntries(request.body) : request.body;
      assert.deepEqual(body ?? {}, expected);
    });
  }
});

describe('flags', () => {
  const create = ['agents', 'create', '--email', 'a@example.com', '--agent-type', 'custom'];
  const rest = ['--version', '1.0.0', '--owner', 'me', '--deployment-env', 'staging'];

  it('take lists with commas, repeated, or as JSON', async () => {
    for (const given of [
      ['--capabilities', 'a:b,c:d'],
      ['--capabilities', 'a:b', '--capabilities', 'c:d'],
      ['--capabilities', '["a:b","c:d"]'],
    ]) {
      const { body } = await requestOf([...create, ...rest, ...given]);
      assert.deepEqual((body as { capabilities: unknown }).capabilities, ['a:b', 'c:d']);
    }
  });

  it('take labels as key:value, repeated, with commas, or as JSON', async () => {
    const labels = { team: 'talent', 'cost-center': '4711', url: 'a:b', empty: '' };
    for (const given of [
      ['--labels', 'team:talent,cost-center:4711', '--labels', 'url:a:b, empty:'],
      ['--labels', JSON.stringify(labels)],
      ['--labels', '{"team":"x"}', '--labels', 'team:talent,cost-center:4711,url:a:b,empty:'],
    ])
      assert.deepEqual((await requestOf(['agents', 'update', id, ...given])).body, { labels });
    assert.deepEqual((await requestOf(['agents', 'update', id, '--labels', ''])).body, { labels: {} });
    const list = [
      'agents',
      'list',
      '--label',
      'team:talent',
      '--label',
      'env',
      '--sort',
      'name',
      '--order',
      'desc',
    ];
    assert.deepEqual((await requestOf(list)).query, {
      label: ['team:talent', 'env'],
      sort: 'name',
      order: 'desc',
    });
  });

  it('give a new agent no scopes but those that they name', async () => {
    const scopesOf = async (given: readonly string[]) =>
      (
        (await requestOf([...create, ...rest, '--capabilities', 'a:b', ...given])).body as {
          allowedScopes: unknown;
        }
      ).allowedScopes;
    assert.deepEqual(await scopesOf([]), []);
    assert.deepEqual(await scopesOf(['--allowed-scopes', 'agents:read']), ['agents:read']);
    assert.deepEqual(await scopesOf(['--body', '{"allowedScopes":["tokens:read"]}']), ['tokens:read']);
  });

  it('take a plain name for an object with one required field, or the object', async () => {
    const words = ['resources', 'create', '--name', 'x', '--identifier', 'https://api.example.com'];
    const plain = await requestOf([...words, '--scopes', 'a:read,b:read']);
    assert.deepEqual((plain.body as { scopes: unknown }).scopes, [{ name: 'a:read' }, { name: 'b:read' }]);
    const whole = await requestOf([...words, '--scopes', '[{"name":"a:read","description":"x"}]']);
    assert.deepEqual((whole.body as { scopes: unknown }).scopes, [{ name: 'a:read', description: 'x' }]);
  });

  it('count more than --body, which is JSON or a file', async () => {
    const file = join(folder, 'agent.json');
    const agent = { email: 'b@example.com', owner: 'file', capabilities: ['a:b'] };
    writeFileSync(file, JSON.stringify(agent));
    for (const body of [JSON.stringify(agent), `@${file}`]) {
      const request = await requestOf([...create, ...rest, '--body', body]);
      assert.deepEqual(request.body, {
        ...agent,
        email: 'a@example.com',
        agentType: 'custom',
        version: '1.0.0',
        owner: 'me',
        deploymentEnv: 'staging',
        allowedScopes: [],
      });
    }
  });

  it('set a boolean with and without --no-, and a nullable field to nothing', async () => {
    const update = ['webhooks', 'update', id];
    assert.deepEqual((await requestOf([...update, '--active'])).body, { active: true });
    assert.deepEqual((await requestOf([...update, '--no-active'])).body, { active: false });
    const { body } = await requestOf(['resources', 'update', id, '--no-description']);
    assert.deepEqual(body, { description: null });
  });

  it('are refused before anything is sent, in the words of the schema', async () => {
    for (const [words, says] of [
      [['approvals', 'show', 'x'], 'approvalId must be a UUID'],
      [['agents', 'list', '--limit', '500'], '--limit must be at most 100'],
      [['agents', 'list', '--limit', 'ten'], '--limit must be of type integer'],
      [['agents', 'list', '--status', 'x'], '--status must be one of active, suspended, decommissioned'],
      [
        [...create, ...rest, '--capabilities', 'a'],
        '--capabilities[0] must be of the form resource:action, such as resume:read',
      ],
      [[...create, ...rest, '--capabilities', 'a:b', '--email', 'x'], '--email must be an e-mail address'],
      [['agents', 'update', id], /^nothing to change: give at least one of --agent-type, /],
      [['agents', 'update', id, '--labels', 'team'], '--labels must be key:value; team has no colon'],
      [['agents', 'update', id, '--labels', 'Team:x'], /^--labels must be an object with keys of 1 to 63 /],
      [['agents', 'list', '--label', 'Team'], /^--label\[0\] must be a label as key:value, /],
      [['agents', 'create', '--body', '{'], /^--body is not valid JSON/],
      [['agents', 'create', '--body', '[]'], '--body must be a JSON object'],
      [['agents', 'create', '--body', '@/nowhere'], /^cannot read \/nowhere: ENOENT/],
      [['agents', 'create', '--body', '@/dev/zero'], '/dev/zero holds more than 1048576 bytes (1 MiB)'],
      [['tokens', 'introspect', '--token-file', '/dev/zero'], /^\/dev\/zero holds more than/],
      [['agents', 'update', id, '--body', '{"x":1}'], 'x is not a field of this operation'],
      [['agents', 'set-keys', id, '--keys', 'x'], /^--keys is not valid JSON/],
      [['webhooks', 'create', '--name', 'x'], '--webhook-url is required; --events is required'],
    ] as [string[], string | RegExp][]) {
      const refused = await refusalOf(words);
      if (typeof says === 'string') assert.equal(refused, says);
      else assert.match(refused, says);
    }
  });
});
