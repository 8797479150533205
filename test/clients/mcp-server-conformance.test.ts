/** The server scenarios of the MCP conformance package that apply to a server with tools and documents of its own. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { listen } from '../support/clients/listening.ts';
import { skipWithout } from '../support/harness.ts';
import { findProgram, startProgram } from '../support/programs.ts';

const program = findProgram('conformance');

/**
 * With the checks that do not apply. The other scenarios call tools, prompts and resources that a server has for this package alone, or test
 * sessions, sampling, elicitation and tasks, which ours does not have.
 */
const scenarios: Readonly<Record<string, readonly string[]>> = {
  'server-initialize': [],
  'server-stateless': [
    // They call tools for this package.
    'sep-2575-server-rejects-undeclared-capability',
    'sep-2575-missing-capability-http-400',
    'sep-2575-http-server-no-independent-requests-on-stream',
    'sep-2575-server-no-log-without-loglevel',
    // The lists change with a release only, and no capability promises a notification.
    'sep-2575-server-sends-subscription-ack',
    'sep-2575-server-tags-subscription-id',
  ],
  ping: [],
  'tools-list': [],
  'resources-list': [],
  'prompts-list': [],
  'sep-2164-resource-not-found': [],
  'dns-rebinding-protection': [],
  caching: [],
  'http-header-validation': [],
  'input-required-result-unsupported-methods': [],
};

const t = await listen({ RATE_LIMIT_PER_MINUTE: '100000' });
const token = await t.token();

/** The package sends no token, so this adds one, and says the address of the server where the package says its own. */
const proxy = createServer(async (request, response) => {
  const { method = 'GET', url = '/' } = request;
  const headers = new Headers({ authorization: `Bearer ${token}` });
  for (const [name, value] of Object.entries(request.headers))
    if (!['host', 'connection', 'content-length', 'transfer-encoding'].includes(name))
      headers.set(name, String(value));
  if (headers.get('origin') === origin) headers.set('origin', t.issuer);
  const body = await buffer(request);
  const answer = await fetch(t.issuer + url, { method, headers, ...(body.length > 0 && { body }) });
  const type = answer.headers.get('content-type');
  response.writeHead(answer.status, type === null ? {} : { 'content-type': type });
  response.end(await answer.bytes());
});
proxy.listen(0, '127.0.0.1');
await once(proxy, 'listening');
after(() => {
  proxy.closeAllConnections();
  proxy.close();
});
const origin = `http://localhost:${(proxy.address() as AddressInfo).port}`;

async function run(path: string, scenario: string) {
  const args = ['server', '--url', `${origin}/mcp`, '--scenario', scenario];
  const running = startProgram(process.execPath, [realpathSync(path), ...args], {
    env: { PATH: process.env.PATH },
  });
  await running.gone();
  const output = stripVTControlCharacters(running.output());
  const checks = [...output.matchAll(/^\S+ \[(\S+)\s*\] (SUCCESS|FAILURE|WARNING)/gm)];
  const named = (result: string) => checks.flatMap(([, name, found]) => (found === result ? [name] : []));
  return { output, passed: named('SUCCESS'), failed: [...named('FAILURE'), ...named('WARNING')] };
}

describe('the MCP conformance package', () => {
  for (const [scenario, notApplicable] of Object.entries(scenarios))
    it(`passes its server scenario ${scenario}`, async (context) => {
      if (program === undefined)
        return skipWithout(context, 'conformance (@modelcontextprotocol/conformance)');
      const { output, passed, failed } = await run(program, scenario);
      assert.ok(passed.length > 0, output);
      assert.deepEqual(failed, notApplicable, output);
    });
});
