/** `countersign import keycloak` against a running server. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { startApplyServer } from '../support/scenarios/apply.ts';
import { keycloakApis, keycloakRealm } from '../support/scenarios/keycloak-realm.ts';

const { folder, countersign, agentBy, api } = await startApplyServer();
const file = join(folder, 'realm.json');
writeFileSync(file, JSON.stringify(keycloakRealm));
const apis = [...keycloakApis].flatMap(([client, address]) => ['--api', `${client}=${address}`]);
const run = (...options: string[]) =>
  countersign([
    ...['import', 'keycloak', file, '--email-domain', 'agents.shop.example', '--owner', 'platform'],
    ...apis,
    ...options,
  ]);
const screener = () => agentBy('screener@agents.shop.example');

it('a dry run changes nothing; --apply makes agents and grants; a second import plans nothing', async () => {
  const planned = await run();
  assert.equal(planned.code, 7, planned.output);
  assert.match(planned.stdout, /^Secrets are not imported/);
  assert.match(planned.stdout, /^ {2}client storefront: a public client/m);
  assert.match(planned.stdout, /^\+ agent screener@agents\.shop\.example /m);
  assert.match(planned.output, /dry run: nothing was changed/);
  assert.doesNotMatch(planned.output, /the secret of/);
  assert.equal(await screener(), undefined);

  const refused = await run('--apply');
  assert.equal(refused.code, 2, refused.output);
  assert.match(refused.output, /import needs --yes/);
  assert.equal(await screener(), undefined);

  const done = await run('--apply', '--yes');
  assert.equal(done.code, 0, done.output);
  assert.match(done.output, /user agent countersign-import\//);
  const agent = await screener();
  assert.deepEqual([agent.displayName, agent.allowedScopes], ['Order screener', []]);
  const { data: grants } = await api('GET', `/agents/${agent.agentId}/grants`);
  assert.deepEqual(
    grants.map((grant: { identifier: string; scopes: string[] }) => [grant.identifier, grant.scopes]),
    [['https://orders.shop.example', ['orders:read', 'orders:write']]],
  );
  assert.equal((await agentBy('stock-keeper@agents.shop.example')).status, 'suspended');

  const again = await run();
  assert.equal(again.code, 0, again.output);
  assert.match(again.stdout, /No difference\./);
});

it('--write makes a file for apply, without a server, and replaces none', async () => {
  const written = join(folder, 'identity.yaml');
  const result = await run('--write', written, '--url', 'http://127.0.0.1:1');
  assert.equal(result.code, 0, result.output);
  assert.match(readFileSync(written, 'utf8'), /^# An identity file[\s\S]+email: screener@agents/);
  const again = await run('--write', written);
  assert.match(again.output, /exists; name another file, or use --force/);
  const applied = await countersign(['apply', '-f', written, '--plan']);
  assert.equal(applied.code, 0, applied.output);
});

it('refuses an address that cannot identify an API', async () => {
  const result = await run('--api', 'unused-api=http://unused.shop.example/');
  assert.equal(result.code, 2, result.output);
  assert.match(result.output, /must be an absolute https:\/\/ URI/);
});
