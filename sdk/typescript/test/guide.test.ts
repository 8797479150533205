/** The program of docs/guides/protecting-your-api.md, as the guide gives it out. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort, startProgram, until } from '../../../test/support/programs.ts';
import { startOrders } from './orders.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const guide = readFileSync(join(root, 'docs/guides/protecting-your-api.md'), 'utf8');
const [, program = ''] = /<!-- sdk -->\n```js\n(.*?)```/s.exec(guide) ?? [];

it('200 within the grant, 403 beyond it, 401 for other tokens', async () => {
  // Within the repository, so that the packages are found.
  const cache = join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'guide-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const source = (path: string) => new URL(`../src/${path}`, import.meta.url).href;
  const file = join(folder, 'orders.mjs');
  writeFileSync(
    file,
    program
      .replace("'@countersign/sdk/fastify'", `'${source('adapters/fastify.ts')}'`)
      .replace("'@countersign/sdk'", `'${source('sdk.ts')}'`),
  );

  const { t, issuer, organizationId, register, buyerOf, clientOf } = await startOrders();
  const api = await t.agent({ allowedScopes: ['tokens:read'] });
  const port = await freePort();
  const audience = `http://localhost:${port}`;
  const env = {
    ...process.env,
    ...{ ISSUER: issuer, AUDIENCE: audience, ORGANIZATION_ID: organizationId, PORT: String(port) },
    ...{ CLIENT_ID: api.clientId, CLIENT_SECRET: api.clientSecret },
  };
  const running = startProgram(process.execPath, [file], { env });
  await until('the program answers', () => fetch(audience), running);

  const buyer = await buyerOf(await register(audience));
  const client = clientOf(buyer, [audience]);
  const answer = await client.fetch(`${audience}/orders`);
  assert.deepEqual([answer.status, await answer.json()], [200, { agent: buyer.agentId, orders: [] }]);
  assert.equal((await client.fetch(`${audience}/orders`, { method: 'POST' })).status, 403);
  const authorization = `Bearer ${await client.token()}`;
  assert.equal((await fetch(`${audience}/orders`, { headers: { authorization } })).status, 401);
  assert.equal((await fetch(`${audience}/orders`)).status, 401);
});
