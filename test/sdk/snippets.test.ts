/** The TypeScript of README, docs, SDK and console, as a reader pastes it into a project with strict settings. */
import assert from 'node:assert/strict';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type RequestOf, typescriptOf } from '../../console/src/api/request-text.ts';
import { snippetsFor } from '../../console/src/pages/apis/snippets.ts';
import { runSync } from '../support/child-process.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
// Within the repository, so that the packages are found.
const cache = join(root, 'node_modules/.cache');
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, 'snippets-'));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Snippet {
  /** Page and number, for the name of the file. */
  readonly name: string;
  readonly text: string;
  readonly isJavaScript?: boolean;
}

/** Examples in JavaScript that use the SDK count, too: readers paste them into TypeScript. */
function snippetsOf(page: string): Snippet[] {
  const markdown = readFileSync(join(root, page), 'utf8');
  const blocks = [...markdown.matchAll(/^( *)```(ts|js)\n(.*?)^ *```/gms)]
    .filter(([, , language, text = '']) => language === 'ts' || usesSdk(text))
    .map(([, indent = '', , text = '']) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''));
  const programs = [...markdown.matchAll(/^cat > \S+\.(?:mjs|js|ts) <<'END'\n(.*?)^END$/gms)].map(
    ([, text = '']) => text,
  );
  const name = page.replaceAll(/[^\w-]/g, '_');
  return [...blocks, ...programs].map((text, index) => ({ name: `${name}-${index + 1}`, text }));
}

const sdkNames = [
  ...readFileSync(join(root, 'sdk/typescript/src/sdk.ts'), 'utf8').matchAll(
    /^ *(?!type\b)([a-z]\w+),$|export \{ (?!type )([a-z]\w+)[ ,]/gm,
  ),
].map(([, listed, single]) => listed ?? single ?? '');
const usesSdk = (text: string): boolean =>
  text.includes('@countersign/sdk') ||
  /\bclient\.\w/.test(text) ||
  sdkNames.some((name) => text.includes(`${name}(`));

/** What the text around a snippet says is there. Names that a snippet declares itself hide these. */
const surroundings = `
import type * as sdk from '@countersign/sdk';
import type * as loopback from '@countersign/sdk/loopback';
import type { RequestHandler } from 'express';
import type { FastifyInstance } from 'fastify';
import type { readFile as read } from 'node:fs/promises';
import type { StreamableHTTPClientTransport as Transport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
declare global {
  ${sdkNames.map((name) => `const ${name}: typeof sdk.${name};`).join('\n  ')}
  const authorizeOnLoopback: typeof loopback.authorizeOnLoopback;
  const readFile: typeof read;
  const StreamableHTTPClientTransport: typeof Transport;
  const client: sdk.Client, helper: sdk.Client, own: sdk.Client;
  const verifier: sdk.Verifier;
  const issuer: string, apiUrl: string, audience: string, organizationId: string, clientId: string, auth: string, clientSecret: string;
  const agentId: string, delegateeId: string, company: string, companyClientId: string, idToken: string;
  const storage: sdk.TokenStorage;
  const checkpoint: sdk.AuditCheckpoint;
  const open: (url: string) => void;
  const request: Request;
  const rawBody: string, newSecret: string, oldSecret: string;
  const app: FastifyInstance;
  const handler: RequestHandler;
}
`;

const pages = globSync(['README.md', 'docs/**/*.md', 'sdk/typescript/*.md', 'scaffolds/typescript/*.md'], {
  cwd: root,
});
const api = {
  identifier: 'https://api.example.com',
  organizationId: 'x',
  scopes: [{ name: 'orders:read', description: '' }],
};
const origin = 'https://id.example.com';
const requests: readonly RequestOf[] = [
  { operation: 'listAgents', input: { query: { status: 'active', limit: 5 } } },
  { operation: 'updateAgent', input: { params: { agentId: 'x' }, body: { owner: 'team' } } },
  { operation: 'exportAudit', input: {} },
  { operation: 'scaffoldAgent', input: { params: { agentId: 'x' }, query: { language: 'go' } } },
];
const snippets: Snippet[] = [
  ...pages.flatMap(snippetsOf),
  ...snippetsFor(api, origin)
    .filter(({ id }) => id === 'node')
    .map(({ text }) => ({ name: 'console-verify', text, isJavaScript: true })),
  ...requests.map((one, index) => ({
    name: `console-request-${index + 1}`,
    text: typescriptOf(one, origin),
  })),
];

/** What the commands of the guides set for their programs. */
const environment = `
declare namespace NodeJS {
  interface ProcessEnv {
    ISSUER: string; AUDIENCE: string; ORGANIZATION_ID: string; CLIENT_ID: string; CLIENT_SECRET: string;
    PORT: string; PERSON: string; WHEN_SILENT?: 'introspect' | 'accept' | 'refuse';
  }
}
`;

const source = '../../../sdk/typescript/src';
const strict = { strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true };
const options = {
  ...strict,
  ...{
    noEmit: true,
    module: 'nodenext',
    target: 'esnext',
    types: ['node'],
    lib: ['esnext', 'dom', 'dom.iterable'],
  },
  ...{ skipLibCheck: true, allowImportingTsExtensions: true, allowJs: true, checkJs: true },
  paths: {
    '@countersign/sdk': [`${source}/sdk.ts`],
    '@countersign/sdk/loopback': [`${source}/loopback.ts`],
    '@countersign/sdk/*': [`${source}/adapters/*.ts`],
  },
};
// Parameters of JavaScript have no types.
const javascript = { ...options, noImplicitAny: false };

function compile(file: string, compilerOptions: object, include: readonly string[]): void {
  writeFileSync(join(folder, file), JSON.stringify({ compilerOptions, include }));
  const { status, stdout } = runSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(folder, file)]);
  assert.equal(status, 0, stdout);
}

writeFileSync(join(folder, 'package.json'), '{"type":"module"}');

it('every TypeScript snippet compiles in strict mode', { timeout: 300_000 }, () => {
  assert.ok(snippets.length >= 25, `${snippets.length} snippets`);
  for (const { name, text, isJavaScript } of snippets)
    writeFileSync(join(folder, `${name}.${isJavaScript ? 'mjs' : 'ts'}`), `${text}\nexport {};\n`);
  writeFileSync(join(folder, 'surroundings.d.ts'), surroundings);
  compile('tsconfig.json', options, ['*.ts']);
  compile('javascript.json', javascript, ['*.mjs', '*.d.ts']);
});

it('every program of the guides compiles in strict mode', { timeout: 300_000 }, () => {
  const programs = globSync('docs/**/*.{mjs,js,ts}', { cwd: root });
  assert.ok(programs.length >= 14, `${programs.length} programs`);
  mkdirSync(join(folder, 'environment'));
  writeFileSync(join(folder, 'environment/variables.d.ts'), environment);
  compile('programs.json', javascript, ['environment/*.d.ts', ...programs.map((path) => join(root, path))]);
});
