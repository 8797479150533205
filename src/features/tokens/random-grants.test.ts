/**
 * Random grants, narrowings and removals of a resource's scopes, with tokens issued in between, own and delegated. An active token
 * carries only scopes that its owner holds now and has held since the token was issued; every other token of a holder stays active.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import { createGrants } from '../../../test/support/scenarios/resources/grants.ts';

const t = await startApp();
const { register, grant, removeGrant } = createGrants(t);
const { createDelegation, exchange } = createDelegationClient(t);
const all = ['read', 'write', 'delete'];

const subset = fc.subarray(all);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('grant' as const), scopes: subset }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('token' as const), scopes: subset }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delegated' as const), scopes: subset }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('check' as const), scopes: fc.constant([]) }) },
  // A minute after a change its values are cached again.
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), scopes: fc.constant([]) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function walk(steps: readonly Step[]): Promise<number> {
  const operator = await t.token();
  const { identifier, ...rest } = await register({ scopes: all });
  const resource = { identifier, ...rest };
  const [owner, actor] = [await t.agent(), await t.agent()];
  const chain = await createDelegation(await t.token(undefined, owner), actor, ['agents:read']);
  await t.sql('update delegations set scopes = $2, resource = $3 where chain_id = $1', [
    chain.chainId,
    all,
    [identifier],
  ]);
  let held: readonly string[] = [];
  const tokens: { token: string; scopes: string[]; ended: boolean }[] = [];

  const issue = async (delegated: boolean, named: readonly string[]) => {
    const more = { resource: identifier, ...(named.length > 0 && { scope: named.join(' ') }) };
    const { status, json } = delegated
      ? await exchange(actor, chain.delegationToken, more)
      : await t.askToken({
          grant_type: 'client_credentials',
          client_id: owner.clientId,
          client_secret: owner.clientSecret,
          ...more,
        });
    const expected = named.length > 0 ? named : held;
    const isHeld = held.length > 0 && expected.every((scope) => held.includes(scope));
    assert.deepEqual(
      [status, json.error],
      isHeld ? [200, undefined] : [400, held.length > 0 ? 'invalid_scope' : 'invalid_target'],
    );
    if (!isHeld) return;
    const scopes: string[] = json.scope.split(' ');
    assert.deepEqual(scopes.toSorted(), expected.toSorted());
    tokens.push({ token: json.access_token, scopes, ended: false });
  };
  const check = async () => {
    for (const { token, scopes, ended } of tokens) {
      const { active, scope } = (await t.form('/api/v1/token/introspect', { token }, operator)).json;
      assert.equal(active, !ended);
      if (active) assert.deepEqual(scope.split(' '), scopes);
    }
  };

  for (const { kind, scopes } of steps) {
    if (kind === 'check') await check();
    else if (kind === 'wait') t.clock.advance(61_000);
    else if (kind !== 'grant') await issue(kind === 'delegated', scopes);
    else {
      if (scopes.length > 0) await grant(owner.agentId, resource, scopes);
      else if (held.length > 0) await removeGrant(owner.agentId, resource);
      held = scopes;
      for (const token of tokens) token.ended ||= token.scopes.some((scope) => !held.includes(scope));
    }
  }
  await check();
  return tokens.length;
}

describe('random grants of a resource', () => {
  it('200 active exactly while its owner has held all of its scopes since it was issued', async () => {
    let tokens = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30, size: 'max' }), async (steps) => {
        tokens += await walk(steps);
      }),
      { numRuns: 15 },
    );
    assert.ok(tokens > 20, 'tokens were issued');
  });
});
