import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';

const t = await startApp();
const { createDelegation, redeem, revoke, listAgents } = createDelegationClient(t);
const operator = () => t.token();

const introspect = async (token: string, as: string) =>
  (await t.form('/api/v1/token/introspect', { token }, as)).json;
const patch = async (path: string, payload: object) =>
  assert.equal((await t.call('PATCH', `/api/v1/${path}`, { token: await operator(), payload })).status, 200);

/** Two agents of an organization of their own, a token of the second, and one by which it acts for the first. */
async function cast() {
  const payload = { name: 'Elsewhere', slug: `elsewhere-${crypto.randomUUID()}` };
  const { json } = await t.call('POST', '/api/v1/organizations', { token: await operator(), payload });
  const organization: string = json.organizationId;
  const make = () =>
    t.agent({ organization_id: organization, allowedScopes: ['agents:read', 'tokens:read'] });
  const [lender, holder] = [await make(), await make()];
  const own = await t.token(undefined, holder);
  const chain = await createDelegation(await t.token(undefined, lender), holder, [
    'agents:read',
    'tokens:read',
  ]);
  return { organization, lender, holder, own, chain, lent: await redeem(holder, chain) };
}

type Cast = Awaited<ReturnType<typeof cast>>;

interface Change {
  readonly of: 'own' | 'lent';
  change(cast: Cast): Promise<unknown>;
  /** What is told of the token afterwards: its scope, if it still is active, and what it can do. */
  readonly after: readonly [scope: string | undefined, answer: string];
}

const gone = [undefined, '401 UNAUTHORIZED'] as const;
const narrowed = ['tokens:read', '403 INSUFFICIENT_SCOPE'] as const;
const ended = [undefined, '403 DELEGATION_REVOKED'] as const;
const changes: Record<string, Change> = {
  'its agent may no longer hold a scope': {
    of: 'own',
    change: ({ holder }) => patch(`agents/${holder.agentId}`, { allowedScopes: ['tokens:read'] }),
    after: narrowed,
  },
  'its agent is suspended': {
    of: 'own',
    change: ({ holder }) => patch(`agents/${holder.agentId}`, { status: 'suspended' }),
    after: gone,
  },
  'its organization is suspended': {
    of: 'own',
    change: ({ organization }) => patch(`organizations/${organization}`, { status: 'suspended' }),
    after: [undefined, '403 ORG_SUSPENDED'],
  },
  'it is revoked': {
    of: 'own',
    change: ({ own }) => t.form('/api/v1/token/revoke', { token: own }, own),
    after: gone,
  },
  'the agent for which it acts may no longer hold a scope': {
    of: 'lent',
    change: ({ lender }) => patch(`agents/${lender.agentId}`, { allowedScopes: ['tokens:read'] }),
    after: narrowed,
  },
  'the agent for which it acts is suspended': {
    of: 'lent',
    change: ({ lender }) => patch(`agents/${lender.agentId}`, { status: 'suspended' }),
    after: ended,
  },
  'what it rests on is revoked': {
    of: 'lent',
    change: async ({ lender, chain }) => revoke(await t.token(undefined, lender), chain.chainId),
    after: ended,
  },
};

describe('a token whose status is cached', () => {
  const scopeAndStatus = async (token: string) => {
    const { scope } = await introspect(token, await operator());
    return [scope, await listAgents(token)];
  };
  /** The first answer comes from the database; by the third, everything that follows from it is remembered. */
  const standsFor = async (token: string, expected: Change['after']) => {
    for (let time = 0; time < 3; time += 1) assert.deepEqual(await scopeAndStatus(token), expected);
  };

  for (const [what, { of, change, after }] of Object.entries(changes)) {
    it(`is known anew at once when ${what}, and a minute later`, async () => {
      const all = await cast();
      await standsFor(all[of], ['agents:read tokens:read', '200']);
      await change(all);
      await standsFor(all[of], after);
      t.clock.advance(61_000);
      await standsFor(all[of], after);
    });
  }

  it('is told apart from another of the same agent', async () => {
    const { holder, own } = await cast();
    const less = await t.token('tokens:read', holder);
    for (let time = 0; time < 4; time += 1) {
      assert.deepEqual(await scopeAndStatus(own), ['agents:read tokens:read', '200']);
      assert.deepEqual(await scopeAndStatus(less), narrowed);
    }
  });

  it('is shown to its own organization and the operator only', async () => {
    const { own } = await cast();
    const otherTenant = (await cast()).own;
    for (let time = 0; time < 4; time += 1) {
      assert.equal((await introspect(own, own)).active, true);
      assert.deepEqual(await introspect(own, otherTenant), { active: false });
      assert.equal((await introspect(own, await operator())).active, true);
    }
  });
});

describe('an agent that was read again and again', () => {
  it('is shown as it is at once after a change, and a minute later', async () => {
    const { holder } = await cast();
    const ownerIs = async (owner: string) => {
      for (let time = 0; time < 3; time += 1) {
        const answer = await t.call('GET', `/api/v1/agents/${holder.agentId}`, { token: await operator() });
        assert.equal(answer.json.owner, owner);
      }
    };
    await patch(`agents/${holder.agentId}`, { owner: 'first' });
    t.clock.advance(61_000);
    await ownerIs('first');
    await patch(`agents/${holder.agentId}`, { owner: 'second' });
    await ownerIs('second');
    t.clock.advance(61_000);
    await ownerIs('second');
  });
});
