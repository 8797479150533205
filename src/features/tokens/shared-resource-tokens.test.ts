/** Tokens for a resource of another organization, which shares it: narrowing the share or the resource ends them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createTenant } from '../../../test/support/scenarios/plans.ts';
import { createGrants, type TestResource } from '../../../test/support/scenarios/resources/grants.ts';

const t = await startApp();
const { register, grant, narrow, share, unshare } = createGrants(t);
const { organizationId: recipient } = t.operator;
const { organizationId: owner } = await createTenant(t);

/** An agent of the operator's organization, with tokens for all scopes and for one. */
async function shared() {
  const resource = await register({ organizationId: owner, scopes: ['read', 'write'] });
  const { agentId, clientId, clientSecret } = await t.agent();
  await grant(agentId, resource, ['read', 'write']);
  // What a change has invalidated is cached again a minute later.
  t.clock.advance(61_000);
  const issue = async (scope: string): Promise<string> => {
    const { status, text, json } = await t.askToken({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      resource: resource.identifier,
      scope,
    });
    assert.equal(status, 200, text);
    return json.access_token;
  };
  return { resource, both: await issue('read write'), one: await issue('read') };
}

const introspect = async (token: string) =>
  (await t.form('/api/v1/token/introspect', { token }, await t.token())).json;

const endings: Record<string, { end: (resource: TestResource) => Promise<unknown>; keeps: boolean }> = {
  'the share loses a scope': { end: (resource) => share(resource, recipient, ['read']), keeps: true },
  'the resource loses a scope': { end: (resource) => narrow(resource, ['read']), keeps: true },
  'the share is removed': { end: (resource) => unshare(resource, recipient), keeps: false },
};

describe('a token of a shared resource at introspection', () => {
  for (const [what, { end, keeps }] of Object.entries(endings)) {
    const others = keeps ? 'active without that scope' : 'with any scopes';
    it(`200 {active:false} at once when ${what}, and a minute later; ${others}`, async () => {
      const { resource, both, one } = await shared();
      for (const token of [both, one]) assert.equal((await introspect(token)).active, true);
      await end(resource);
      for (const wait of [0, 61_000]) {
        t.clock.advance(wait);
        assert.deepEqual(await introspect(both), { active: false });
        assert.equal((await introspect(one)).active, keeps);
      }
    });
  }
});
