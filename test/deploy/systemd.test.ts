/** deploy/systemd: systemd accepts the units, they are hardened, and every variable in them is one of ours. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Variable, variables } from '../../src/kernel/config/variables.ts';
import { runSync } from '../support/child-process.ts';
import { createEmptyDatabase, skipWithout } from '../support/harness.ts';
import { findProgram, startProgram } from '../support/programs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'deploy/systemd');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
const units = [
  'countersign@serve.service',
  'countersign@worker.service',
  'countersign-witness.service',
  'countersign-backup.service',
  'countersign-backup.timer',
];
/** Of `systemd-analyze security`, in tenths: 0 is best, 100 worst. */
const maxExposure = 15;

const known: readonly Variable<unknown>[] = Object.values(variables);
const secrets = known.filter(({ orFile }) => orFile).map(({ env }) => env);
const fileOf = (env: string) => env.toLowerCase().replaceAll('_', '-');

/** `Key=value` lines, the ones of `#Key=value` too. */
const lines = (text: string, key: string, { commented = false } = {}): string[] =>
  [...text.matchAll(new RegExp(`^${commented ? '#?' : ''}${key}=(.*)$`, 'gm'))].map(
    ([, value = '']) => value,
  );

const assignments = (text: string, options?: { commented: boolean }): [string, string][] =>
  lines(text, 'Environment', options)
    .flatMap((line) => line.split(' '))
    .map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]);

/** A root with our units, those of systemd, and a program for each that ours start. */
function systemRoot(t: TestContext): string {
  const system = mkdtempSync(join(tmpdir(), 'countersign-systemd-'));
  t.after(() => rmSync(system, { recursive: true, force: true }));
  for (const path of ['usr/lib/systemd/system', 'lib/systemd/system'])
    if (existsSync(join('/', path)))
      cpSync(join('/', path), join(system, 'usr/lib/systemd/system'), {
        recursive: true,
        dereference: false,
      });
  cpSync(folder, join(system, 'etc/systemd/system'), { recursive: true });
  for (const unit of ['countersign@.service', 'countersign-witness.service', 'countersign-backup.service']) {
    for (const command of lines(read(unit), 'ExecStart')) {
      const program = join(system, command.split(' ')[0] ?? '');
      mkdirSync(dirname(program), { recursive: true });
      writeFileSync(program, '#!/bin/sh\n');
      chmodSync(program, 0o755);
    }
  }
  return system;
}

describe('deploy/systemd', () => {
  it('systemd-analyze verify has nothing to say', (t) => {
    const analyze = findProgram('systemd-analyze');
    if (!analyze) return skipWithout(t, 'systemd-analyze');
    const args = ['verify', '--man=no', `--root=${systemRoot(t)}`, ...units];
    const { status, stdout, stderr } = runSync(analyze, args);
    assert.equal(stdout + stderr, '');
    assert.equal(status, 0);
  });

  for (const unit of units.filter((name) => name.endsWith('.service'))) {
    it(`${unit}: the exposure is at most ${maxExposure / 10}`, (t) => {
      const analyze = findProgram('systemd-analyze');
      if (!analyze) return skipWithout(t, 'systemd-analyze');
      const options = [
        '--offline=yes',
        `--threshold=${maxExposure}`,
        `--root=${systemRoot(t)}`,
        '--no-pager',
      ];
      const { status, stdout, stderr } = runSync(analyze, ['security', ...options, unit]);
      assert.equal(status, 0, stdout + stderr);
      assert.match(stdout, /Overall exposure level/);
    });
  }

  it('each variable exists, and no secret is one', () => {
    const names = new Set(known.map(({ env }) => env));
    const inUnit = assignments(read('countersign@.service'), { commented: true });
    const inFile = read('countersign.env')
      .split('\n')
      .filter((line) => line && !line.startsWith('#'));
    for (const [name, value] of [...inUnit, ...inFile.map((line) => line.split('=') as [string, string])]) {
      const isFile = name.endsWith('_FILE') && secrets.includes(name.slice(0, -5));
      assert.ok(isFile || (names.has(name) && !secrets.includes(name)), name);
      if (isFile) assert.equal(value, `%d/${fileOf(name.slice(0, -5))}`);
    }
  });

  it('each variable that may be a file has a credential; the required ones are loaded', () => {
    const text = read('countersign@.service');
    const credential = (env: string) => `${fileOf(env)}:/etc/countersign/secrets/${fileOf(env)}`;
    const all = lines(text, 'LoadCredential', { commented: true });
    assert.deepEqual(all.toSorted(), secrets.map(credential).sort());
    assert.deepEqual(
      assignments(text, { commented: true })
        .filter(([name]) => name.endsWith('_FILE'))
        .map(([name]) => name.slice(0, -5))
        .sort(),
      secrets.toSorted(),
    );
    const loaded = lines(text, 'LoadCredential');
    const required = known.filter((variable) => variable.required).map(({ env }) => env);
    for (const env of [...required, 'DATA_ENCRYPTION_KEY', 'METRICS_TOKEN'])
      assert.ok(loaded.includes(credential(env)), env);
    // systemd refuses to start when a credential is missing, and the server when a file is.
    const files = assignments(text).filter(([name]) => name.endsWith('_FILE'));
    assert.equal(files.length, loaded.length);
  });

  it('the service has more time to stop than the server takes', () => {
    const [seconds] = lines(read('countersign@.service'), 'TimeoutStopSec');
    assert.ok(Number(seconds) >= 20, `${seconds}`);
  });

  it('the keys of the guide work, and `countersign …` runs with the settings and secrets of the services', async (t) => {
    if (!findProgram('openssl')) return skipWithout(t, 'openssl');
    const etc = mkdtempSync(join(tmpdir(), 'countersign-etc-'));
    t.after(() => rmSync(etc, { recursive: true, force: true }));
    mkdirSync(join(etc, 'secrets'));
    const keys = runSync('/bin/sh', [
      '-euc',
      step('3. Keys and secrets').replaceAll('/etc/countersign', etc),
    ]);
    assert.equal(keys.status, 0, keys.stderr);
    writeFileSync(join(etc, 'secrets/database-url'), `${await createEmptyDatabase()}\n`);
    writeFileSync(join(etc, 'secrets/redis-url'), 'memory://\n');
    const loaded = lines(read('countersign@.service'), 'LoadCredential').map((line) => line.split(':')[0]);
    assert.deepEqual(
      readdirSync(join(etc, 'secrets')).sort(),
      loaded.toSorted(),
      'the unit loads the files that the guide makes',
    );

    cpSync(join(folder, 'countersign.env'), join(etc, 'countersign.env'));
    const script = read('countersign')
      .replace('settings=/etc/countersign\n', `settings=${etc}\n`)
      .replace('"$program/node"', process.execPath)
      .replace('"$program/node_modules/countersign/bin/countersign.js"', join(root, 'bin/countersign.js'));
    const program = startProgram('/bin/sh', ['-c', script, 'countersign', 'bootstrap', '--json'], {
      env: { PATH: process.env.PATH },
      cwd: etc,
    });
    assert.equal(await program.gone(), 0, program.output());
    assert.equal(JSON.parse(program.stdout()).baseUrl, 'https://id.example.com');
  });

  describe('the command `countersign`', () => {
    const ofShells = new Set(['PATH', 'PWD', 'OLDPWD', 'SHLVL', '_']);
    const fixed = { NODE_ENV: 'production', HOST: '127.0.0.1' };
    /** The variables with which it starts a program. */
    const runWrapper = (t: TestContext, envFile: string, secretNames: readonly string[] = []) => {
      const etc = mkdtempSync(join(tmpdir(), 'countersign-etc-'));
      t.after(() => rmSync(etc, { recursive: true, force: true }));
      mkdirSync(join(etc, 'secrets'));
      for (const name of secretNames) writeFileSync(join(etc, 'secrets', name), 'x\n');
      writeFileSync(join(etc, 'countersign.env'), envFile);
      const printer = join(etc, 'print.cjs');
      writeFileSync(printer, 'console.log(JSON.stringify(process.env))');
      const script = read('countersign')
        .replace('settings=/etc/countersign\n', `settings=${etc}\n`)
        .replace('"$program/node"', process.execPath)
        .replace('"$program/node_modules/countersign/bin/countersign.js"', printer);
      const { status, stdout, stderr } = runSync('/bin/sh', ['-c', script, 'countersign', 'doctor'], {
        env: { PATH: process.env.PATH },
        cwd: etc,
      });
      const env = Object.fromEntries(
        Object.entries<string>(JSON.parse(stdout || '{}')).filter(([name]) => !ofShells.has(name)),
      );
      return { status, stderr, env, etc };
    };

    it('skips backup copies among the secrets, and starts without secrets', (t) => {
      const names = [
        'database-url',
        'database-url~',
        'data-encryption-key.old',
        '.redis-url.swp',
        '2',
        'Key',
      ];
      const { status, stderr, env, etc } = runWrapper(t, '', names);
      assert.deepEqual([status, stderr], [0, '']);
      assert.deepEqual(env, { ...fixed, DATABASE_URL_FILE: join(etc, 'secrets/database-url') });
      const empty = runWrapper(t, '');
      assert.deepEqual([empty.status, empty.stderr], [0, '']);
      assert.deepEqual(empty.env, fixed);
    });

    const lines: readonly [line: string, expected: Record<string, string>][] = [
      ['NAME=Acme Corp', { NAME: 'Acme Corp' }],
      ['NAME="Acme Corp"', { NAME: 'Acme Corp' }],
      ["NAME='Acme Corp'  ", { NAME: 'Acme Corp' }],
      ['  NAME = Acme Corp \r', { NAME: 'Acme Corp' }],
      ["NAME=O'Brien", { NAME: "O'Brien" }],
      ['NAME="it\'s"', { NAME: "it's" }],
      [
        'NAME=$(touch made) `touch made` $HOME; touch made',
        { NAME: '$(touch made) `touch made` $HOME; touch made' },
      ],
      ['NAME=a=b # c', { NAME: 'a=b # c' }],
      ['NAME=*', { NAME: '*' }],
      ['NAME=', { NAME: '' }],
      ['NAME=""', { NAME: '' }],
      ['HOST=::1', { HOST: '::1' }],
      ['# NAME=a', {}],
      ['; NAME=a', {}],
      ['touch made', {}],
      ['not-a-name=a', {}],
      ['', {}],
    ];
    for (const [line, expected] of lines)
      it(`reads the setting ${JSON.stringify(line)} as systemd does`, (t) => {
        for (const text of [`A=1\n${line}\nB=2\n`, `A=1\nB=2\n${line}`]) {
          const { status, stderr, env, etc } = runWrapper(t, text);
          assert.deepEqual([status, stderr], [0, '']);
          assert.deepEqual(env, { ...fixed, A: '1', B: '2', ...expected });
          assert.ok(!existsSync(join(etc, 'made')));
        }
      });
    for (const line of ['NAME=a\\', 'NAME="a', 'NAME="', 'NAME="a"b"'])
      it(`refuses the setting ${JSON.stringify(line)}`, (t) => {
        const { status, stderr } = runWrapper(t, `${line}\n`);
        assert.equal(status, 1);
        assert.match(stderr, /^countersign: .*countersign\.env: NAME has .*\n$/);
      });
  });

  it('the guide installs every file of the folder, and Caddy accepts its configuration', (t) => {
    const named =
      step('4. Service')
        .match(/^install .*$/gm)
        ?.join(' ')
        .split(/\s+/) ?? [];
    const others = [...ofWitness.matchAll(/deploy\/systemd\/(\S+)/g)].map(([, name]) => name);
    for (const name of readdirSync(folder)) assert.ok([...named, ...others].includes(name), name);
    const caddy = findProgram('caddy');
    if (!caddy) return skipWithout(t, 'caddy');
    const commands = step('5. TLS');
    const [, file = ''] =
      /^install --mode=0644 \/opt\/countersign\/node_modules\/countersign\/(\S+)/.exec(commands) ?? [];
    const [, unit = ''] = /<<CADDY\n([\s\S]*\n)CADDY\n/.exec(commands) ?? [];
    const env = Object.fromEntries(assignments(unit.replace('$name', 'id.example.com')));
    assert.deepEqual(Object.keys(env), ['COUNTERSIGN_HOST', 'COUNTERSIGN_NODES']);
    const args = ['adapt', '--adapter', 'caddyfile', '--config', join(root, file)];
    const { status, stdout, stderr } = runSync(caddy, args, { env: { ...process.env, ...env } });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /"host":\["id\.example\.com"\]/);
    assert.match(stdout, /"upstreams":\[\{"dial":"127\.0\.0\.1:3000"\}\]/);
    assert.doesNotMatch(stderr, /"level":"(warn|error)"/);
  });
});

const ofWitness = readFileSync(join(root, 'docs/operations/run-a-witness.md'), 'utf8');

it('the settings of a witness are those of its unit, and Caddy accepts its configuration', (t) => {
  const [, settings = ''] = /witness\.env <<'ENV'\n([\s\S]*?)ENV\n/.exec(ofWitness) ?? [];
  const [command = ''] = lines(read('countersign-witness.service'), 'ExecStart');
  for (const [, name = ''] of settings.matchAll(/^(\w+)=/gm)) assert.ok(command.includes(name), name);
  const caddy = findProgram('caddy');
  if (!caddy) return skipWithout(t, 'caddy');
  const [, config = ''] = /For Caddy:\n\n```\n([\s\S]*?)```/.exec(ofWitness) ?? [];
  const file = join(mkdtempSync(join(tmpdir(), 'countersign-caddy-')), 'Caddyfile');
  t.after(() => rmSync(dirname(file), { recursive: true, force: true }));
  writeFileSync(file, config);
  const args = ['adapt', '--adapter', 'caddyfile', '--config', file];
  const { status, stdout, stderr } = runSync(caddy, args);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /"path":\["\/add-checkpoint"\]/);
  assert.match(stdout, /"dial":"127\.0\.0\.1:8787"/);
  assert.doesNotMatch(stderr, /"level":"(warn|error)"/);
});

/** The first commands of a step in the guide. */
function step(title: string): string {
  const guide = readFileSync(join(root, 'docs/operations/one-machine.md'), 'utf8');
  const [, commands] = /```sh\n([\s\S]*?)```/.exec(guide.slice(guide.indexOf(`## ${title}`))) ?? [];
  assert.ok(commands, title);
  return commands;
}
