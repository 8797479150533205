import { createServer } from 'node:http';
import { test, after } from 'node:test';
import { startApp } from '../support/harness.ts';
import { findProgram, freePort } from '../support/programs.ts';
import { succeed } from '../support/child-process.ts';
import { spawn } from 'node:child_process';

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const t = await startApp({ BASE_URL: url });
await t.app.http.server.listen({ host: '127.0.0.1', port });
const token = await t.token();
const proxy = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const headers = new Headers();
  for (const [k, v] of Object.entries(request.headers)) if (!['host','connection','content-length','transfer-encoding'].includes(k)) headers.set(k, String(v));
  if (headers.get('origin') === `http://${request.headers.host}`) headers.set('origin', url);
  headers.set('authorization', `Bearer ${token}`);
  const answer = await fetch(url + request.url, { method: request.method, headers, ...(body.length ? { body } : {}) });
  response.writeHead(answer.status, Object.fromEntries([...answer.headers].filter(([k]) => !['content-length','connection','transfer-encoding','content-encoding'].includes(k))));
  response.end(Buffer.from(await answer.arrayBuffer()));
});
await new Promise<void>((r) => proxy.listen(0, '127.0.0.1', r));
after(() => proxy.close());
test('conformance', async () => {
  const { port: p } = proxy.address() as any;
  for (const args of [['--scenario','server-stateless','-o','/tmp/mcp-out'],['--scenario','dns-rebinding-protection','-o','/tmp/mcp-out'],['--scenario','caching','-o','/tmp/mcp-out']]) {
  const child = spawn('conformance', ['server', '--url', `http://127.0.0.1:${p}/mcp`, ...args], { stdio: ['ignore', 2, 2] });
  await new Promise((r) => child.on('exit', r));
  }
});
