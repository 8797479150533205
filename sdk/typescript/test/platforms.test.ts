/** The same program on Deno, on Bun, in a page of a browser and in a worker, with a real server. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, normalize } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { createBrowser } from '../../../test/support/browser.ts';
import { succeed } from '../../../test/support/child-process.ts';
import { skipWithout } from '../../../test/support/harness.ts';
import { findBrowser, findProgram } from '../../../test/support/programs.ts';
import { startOrders } from './orders.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const sdk = fileURLToPath(new URL('..', import.meta.url));
const timeout = 120_000;
const connect = createBrowser();

/** A project with the built SDK and `jose`, as `npm install` would leave it. */
const project = mkdtempSync(join(tmpdir(), 'countersign-platforms-'));
after(() => rmSync(project, { recursive: true, force: true }));
const installed = join(project, 'node_modules/@countersign/sdk');
mkdirSync(installed, { recursive: true });
cpSync(join(sdk, 'package.json'), join(installed, 'package.json'));
cpSync(join(root, 'node_modules/jose'), join(project, 'node_modules/jose'), { recursive: true });
await succeed(join(root, 'node_modules/.bin/tsc'), [
  ...['-p', join(sdk, 'tsconfig.build.json')],
  ...['--outDir', join(installed, 'dist')],
]);
writeFileSync(join(project, 'package.json'), '{"private":true,"type":"module"}');
writeFileSync(
  join(project, 'use.mjs'),
  `import { createClient, createVerifier, startAuthorization, verifyAuditExport, verifyWebhook } from '@countersign/sdk';

export async function use({ issuer, audience, organizationId, agent, webhook, audit }) {
  const { clientId, clientSecret } = agent;
  const client = createClient({ issuer, clientId, auth: clientSecret });
  const { status } = await client.api.getAgent({ agentId: clientId });
  const verifier = createVerifier({ issuer, audience, organizationId, subjects: 'agents', revocation: 'none' });
  const { agentId, scopes } = await verifier.verify(await client.token({ resource: audience }));
  const refusal = await verifier.verify(await client.token()).catch(({ status, code }) => ({ status, code }));
  const { type } = await verifyWebhook(webhook.body, webhook.headers, webhook.secrets, { now: webhook.now * 1000 });
  const { events } = await verifyAuditExport(audit.lines, audit.checkpoint, { jwks: audit.jwks });
  const started = await startAuthorization({ issuer, clientId, resource: audience });
  const challenge = new URL(started.url).searchParams.get('code_challenge').length;
  return { status, agentId, scopes, refusal, type, events, challenge };
}
`,
);
writeFileSync(
  join(project, 'main.mjs'),
  `import { authorizeOnLoopback } from '@countersign/sdk/loopback';
import { use } from './use.mjs';
const settings = JSON.parse(process.env.SETTINGS);
const { issuer, audience: resource, agent: { clientId } } = settings;
const open = (url) => {
  const { searchParams } = new URL(url);
  const answer = new URLSearchParams({ error: 'access_denied', state: searchParams.get('state'), iss: issuer });
  fetch(searchParams.get('redirect_uri') + '?' + answer);
};
const loopback = await authorizeOnLoopback({ issuer, clientId, resource, open }).catch(({ code }) => code);
console.log(JSON.stringify({ ...(await use(settings)), loopback }));
`,
);
writeFileSync(
  join(project, 'worker.mjs'),
  `import { use } from './use.mjs';
self.onmessage = ({ data }) => use(data).then(postMessage, (error) => postMessage(String(error)));
postMessage('ready');
`,
);

/** Serves the project to the browser. A worker knows no import map, so the names of packages are replaced. */
const folders: Readonly<Record<string, string>> = {
  sdk: join(installed, 'dist'),
  jose: join(project, 'node_modules/jose/dist/webapi'),
};
const files = createServer(({ url = '/' }, response) => {
  const [, first = '', rest = ''] = /^\/(?:(\w+)\/)?(.*)$/.exec(normalize(url)) ?? [];
  if (rest === '') return response.setHeader('content-type', 'text/html').end('<!doctype html>');
  const file = join(folders[first] ?? project, rest);
  // A browser with windows asks for /favicon.ico.
  if (!existsSync(file)) return response.writeHead(404).end();
  const text = readFileSync(file, 'utf8')
    .replaceAll("from '@countersign/sdk'", "from '/sdk/sdk.js'")
    .replaceAll("from 'jose'", "from '/jose/index.js'");
  return response.setHeader('content-type', 'text/javascript').end(text);
});
files.listen(0, '127.0.0.1');
await once(files, 'listening');
after(() => files.close());
const origin = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;

const { issuer, organizationId, register, buyerOf } = await startOrders({ CORS_ORIGIN: origin });
const audience = 'https://orders.example.com';
const agent = await buyerOf(await register(audience));
const vectors = JSON.parse(readFileSync(join(root, 'sdk/vectors.json'), 'utf8'));
const [webhook] = vectors.webhooks;
const [audit] = vectors.auditExports;
const settings = { issuer, audience, organizationId, agent, webhook, audit };
const expected = {
  status: 'active',
  agentId: agent.agentId,
  scopes: ['orders:read'],
  refusal: { status: 401, code: 'invalid_token' },
  type: 'agent.created',
  events: JSON.parse(audit.lines.at(-1)).events,
  challenge: 43,
};

describe('the SDK runs', () => {
  for (const [name, args] of [
    ['node', []],
    ['deno', ['run', '--no-prompt', '--allow-env', '--allow-net', '--allow-read']],
    ['bun', []],
  ] as const)
    it(`on ${name}`, { timeout }, async (t) => {
      const program = findProgram(name);
      if (!program) return skipWithout(t, name);
      const env = { PATH: process.env.PATH, HOME: project, SETTINGS: JSON.stringify(settings) };
      const printed = await succeed(program, [...args, 'main.mjs'], { cwd: project, env, timeout });
      assert.deepEqual(JSON.parse(printed), { ...expected, loopback: 'access_denied' });
    });

  const inBrowser = (title: string, work: (page: Page) => Promise<unknown>) =>
    it(title, { timeout }, async (t) => {
      if (!findBrowser()) return skipWithout(t, 'Chromium');
      const page = await (await connect()).newPage();
      t.after(() => page.close());
      await page.goto(origin);
      assert.deepEqual(await work(page), expected);
    });
  const data = JSON.stringify(settings);

  inBrowser('in a page of a browser', (page) =>
    page.evaluate(`import('/use.mjs').then(({ use }) => use(${data}))`),
  );

  inBrowser('in a worker', (page) =>
    page.evaluate(`new Promise((resolve, reject) => {
      const worker = new Worker('/worker.mjs', { type: 'module' });
      worker.onerror = ({ message }) => reject(new Error(message));
      worker.onmessage = ({ data }) => (data === 'ready' ? worker.postMessage(${data}) : resolve(data));
    })`),
  );
});
