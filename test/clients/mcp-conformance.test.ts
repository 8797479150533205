/** The authorization-server scenarios of the MCP conformance package, with a person in a browser. */
import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { describe, it } from 'node:test';
import { listenForPeople } from '../support/clients/listening.ts';
import { skipWithout } from '../support/harness.ts';
import { findProgram, freePort, startProgram, until } from '../support/programs.ts';

const program = findProgram('conformance');
const scenario = await listenForPeople();
const { issuer, resource, member, agree } = scenario;
const redirectUri = 'http://127.0.0.1/callback';

// The package never sends a secret to a server that also admits public clients.
const clients: Record<string, () => Promise<string>> = {
  'a registered client': async () => (await scenario.publicClient(redirectUri)).clientId,
  'a client with a metadata document': async () =>
    scenario.documentClient({ redirect_uris: [redirectUri] }).clientId,
};

describe('the MCP conformance package', () => {
  for (const [kind, register] of Object.entries(clients))
    it(`passes its scenarios for authorization servers with ${kind}`, async (context) => {
      if (program === undefined)
        return skipWithout(context, 'conformance (@modelcontextprotocol/conformance)');
      const port = await freePort();
      const run = startProgram(
        process.execPath,
        [
          realpathSync(program),
          'authorization',
          ...['--url', issuer, '--resource', resource.identifier, '--port', String(port)],
          ...['--client-id', await register()],
        ],
        { env: { PATH: process.env.PATH } },
      );
      const address = await until(
        'the address for the browser',
        async () => /https?:\/\/\S+\/authorize\?\S+/.exec(run.output())?.[0],
        run,
      );
      const { browser } = await member();
      await fetch(await agree(browser, address));
      assert.equal(await run.gone(), 0, run.output());
      for (const name of ['authorization-server-metadata-endpoint', 'authorization-code-grant'])
        assert.match(run.output(), new RegExp(`✓ ${name}: [1-9]\\d* passed, 0 failed`));
    });
});
