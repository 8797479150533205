/** The packed package, installed into an empty project, used from TypeScript and from JavaScript on an older Node. */
import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { succeed } from '../../../test/support/child-process.ts';
import { listen } from '../../../test/support/clients/listening.ts';
import { skipWithout } from '../../../test/support/harness.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const sdk = fileURLToPath(new URL('..', import.meta.url));
const installMs = 240_000;
const npm = process.env.npm_execpath;
const project = mkdtempSync(join(tmpdir(), 'countersign-sdk-'));
after(() => rmSync(project, { recursive: true, force: true }));

const t = await listen();
const agent = await t.agent({ allowedScopes: ['agents:read'] });
const { email } = (await t.call('GET', `/api/v1/agents/${agent.agentId}`, { token: await t.token() })).json;
const env = { COUNTERSIGN_URL: t.issuer, CLIENT_ID: agent.clientId, CLIENT_SECRET: agent.clientSecret };

const quickstart =
  /<!-- quickstart -->\n```ts\n([\s\S]*?)```/.exec(readFileSync(join(sdk, 'README.md'), 'utf8'))?.[1] ?? '';

/** The oldest Node on the PATH that the package supports. */
async function olderNode(): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const node = join(folder, 'node');
    const version = await succeed(node, ['--version']).catch(() => '');
    const major = Number(/^v(\d+)/.exec(version)?.[1] ?? 0);
    if (major >= 20 && major < 24) return node;
  }
  return undefined;
}

const withNpm = (title: string, work: (test: TestContext) => Promise<void>) =>
  it(title, { timeout: 300_000 }, (test) => (npm ? work(test) : skipWithout(test, 'npm')));

describe('the packed package', () => {
  before(
    async () => {
      if (!npm) return;
      const pack = [npm, 'pack', '--pack-destination', project];
      await succeed(process.execPath, pack, { cwd: sdk });
      const archive = readdirSync(project).find((name) => name.endsWith('.tgz'));
      assert.ok(archive);
      writeFileSync(join(project, 'package.json'), '{"private":true,"type":"module"}');
      const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${archive}`];
      await succeed(process.execPath, [npm, ...install], { cwd: project, timeout: installMs });
    },
    { timeout: 300_000 },
  );

  withNpm('has the build and nothing that a user does not need', async () => {
    const files = readdirSync(join(project, 'node_modules/@countersign/sdk')).sort();
    assert.deepEqual(files, ['LICENSE', 'README.md', 'dist', 'package.json', 'src']);
    const { dependencies } = JSON.parse(
      readFileSync(join(project, 'node_modules/@countersign/sdk/package.json'), 'utf8'),
    );
    assert.deepEqual(Object.keys(dependencies), ['jose']);
    const packages = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'));
    assert.deepEqual(packages.sort(), ['@countersign', 'jose']);
  });

  withNpm('the quickstart of the README has five lines and runs, on an older Node, too', async (test) => {
    assert.equal(quickstart.trim().split('\n').length, 5);
    writeFileSync(join(project, 'whoami.mjs'), quickstart);
    const older = await olderNode();
    for (const node of [process.execPath, ...(older ? [older] : [])]) {
      const printed = await succeed(node, ['whoami.mjs'], { cwd: project, env });
      assert.equal(printed, `I am ${email}, and I am active.\n`);
    }
    if (!older) skipWithout(test, 'a Node from 20 to 23');
  });

  withNpm('JavaScript: each export without a peer can be imported', async () => {
    const node = (await olderNode()) ?? process.execPath;
    const names = ['', '/fastify', '/express', '/hono', '/loopback']
      .map((name) => `'@countersign/sdk${name}'`)
      .join(', ');
    const program = `for (const name of [${names}]) console.log(Object.keys(await import(name)).length > 0);`;
    const printed = await succeed(node, ['--input-type=module', '-e', program], { cwd: project });
    assert.equal(printed, 'true\n'.repeat(5));
  });

  withNpm('TypeScript: types in strict mode, and wrong uses are errors', async () => {
    mkdirSync(join(project, 'node_modules/@types'), { recursive: true });
    symlinkSync(join(root, 'node_modules/@types/node'), join(project, 'node_modules/@types/node'));
    symlinkSync(join(root, 'node_modules/undici-types'), join(project, 'node_modules/undici-types'));
    const compilerOptions = {
      strict: true,
      noEmit: true,
      module: 'nodenext',
      moduleResolution: 'nodenext',
      target: 'es2022',
      types: ['node'],
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
    };
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['quickstart.ts', 'program.ts'] }),
    );
    writeFileSync(join(project, 'quickstart.ts'), quickstart);
    writeFileSync(join(project, 'program.ts'), program);
    const tsc = join(root, 'node_modules/.bin/tsc');
    await succeed(tsc, ['-p', project]);
  });
});

/** `@ts-expect-error` fails where there is no error. */
const program = `
import { type Agent, ApiError, type Client, createClient, createVerifier, type PersonTokens, type Verifier } from '@countersign/sdk';
import { authorizeOnLoopback } from '@countersign/sdk/loopback';

const client: Client = createClient({ issuer: 'https://id.example', clientId: 'x', auth: async () => 'token' });
export const token: string = await client.token({ resource: 'https://api.example', scope: ['a'] });
export const agent: Agent = await client.api.getAgent({ agentId: 'x' });
export const nothing: undefined = await client.api.decommissionAgent({ agentId: 'x' });
export const lines: Response = await client.api.exportAudit();
const page = await client.api.listAgents({ query: { status: 'active' } });
export const total: number = page.total;
for await (const one of client.api.listAgents.all()) one.email satisfies string;
for await (const one of client.api.listWebhookDeliveries.all({ id: 'x' })) one.event_type satisfies string;
const init: RequestInit = { method: 'POST', headers: [['a', 'b']], body: new Blob([]), signal: null, keepalive: true };
export const answer: Response = await client.fetch('https://api.example', init);
export const likeFetch: (url: string | URL, init?: RequestInit) => Promise<Response> = client.fetch;
await client.redeem('x').fetch(new URL('https://api.example'), { method: 'POST', body: 'x', resource: 'https://api.example' });
try {
  await client.delegate({ delegateeId: 'x', scopes: ['agents:read'] });
} catch (error) {
  if (error instanceof ApiError) error.status satisfies number;
}
// @ts-expect-error the agent's id is missing
client.api.getAgent({});
// @ts-expect-error there is no such status
client.api.listAgents({ query: { status: 'gone' } });
// @ts-expect-error there is no such operation
client.api.dropAllTables();
// @ts-expect-error the operation has no pages
client.api.getAgent.all({ agentId: 'x' });
const tokens = { issuer: 'https://id.example', audience: 'https://api.example', organizationId: 'x', revocation: 'none' } as const;
export const verifier: Verifier = createVerifier({ ...tokens, subjects: 'any' });
export const subject: { type: 'person' | 'agent'; id: string } = (await verifier.verify('x')).subject;
const person = { issuer: 'https://id.example', clientId: 'x', resource: 'https://api.example' };
export const signedIn: PersonTokens = await authorizeOnLoopback({ ...person, open: console.log });
// @ts-expect-error there is no default for \`subjects\`
createVerifier(tokens);
// @ts-expect-error a list of scopes is required
client.delegate({ delegateeId: 'x' });
`;
