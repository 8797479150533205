/**
 * Random trees of delegations, with revocations, suspensions and narrowed agents in between. A token holds exactly what every
 * link above it lends and its subject may hold now, and no token works below a link that has ended.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { startApp } from '../../../test/support/harness.ts';
import { repetitions } from '../../../test/support/repetitions.ts';
import { type Client, createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import { organizationScopes } from '../../contract/scopes.ts';

const t = await startApp();
const { delegate, exchange, revoke } = createDelegationClient(t);

/** One of our links, as the test believes it to be. */
interface Node {
  readonly chainId: string;
  readonly token: string;
  readonly scopes: readonly string[];
  readonly delegator: number;
  readonly delegatee: number;
  readonly parent: Node | undefined;
  readonly mayPass: boolean;
  ended: boolean;
}
interface RedeemedToken {
  readonly token: string;
  readonly scopes: readonly string[];
  readonly node: Node;
}

const pathOf = (node: Node | undefined): Node[] => (node ? [...pathOf(node.parent), node] : []);

const scopeSet = fc.subarray([...organizationScopes], { minLength: 1 });
const nat = fc.nat(1_000);
/** Mostly scopes that can be delegated, so that trees grow; sometimes any scopes. */
const greedy = fc.integer({ min: 0, max: 5 }).map((n) => n === 0);
/** What is given, whether it is one's own or has been given before. */
const gift = {
  from: nat,
  to: nat,
  scopes: scopeSet,
  mayPass: nat.map((n) => n % 5 > 0),
  greedy,
  redeemed: fc.boolean(),
};

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('lend' as const), ...gift }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('pass' as const), ...gift }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('redeem' as const),
      from: nat,
      greedy,
      scopes: fc.option(scopeSet),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('revoke' as const), from: nat }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('suspend' as const), from: nat }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('narrow' as const), from: nat, scopes: scopeSet }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function walk(steps: readonly Step[], ceilings: readonly (readonly string[])[]): Promise<number[]> {
  const operator = await t.token();
  const allowed = ceilings.map((scopes) => [...scopes]);
  const cast: Client[] = await Promise.all(allowed.map((allowedScopes) => t.agent({ allowedScopes })));
  const own = await Promise.all(cast.map((client) => t.token(undefined, client)));
  const nodes: Node[] = [];
  const redeemedTokens: RedeemedToken[] = [];
  const patch = (index: number, payload: object) =>
    t.call('PATCH', `/api/v1/agents/${cast[index]?.agentId}`, { token: operator, payload });
  const subjectOf = (node: Node): readonly string[] => allowed[pathOf(node)[0]?.delegator ?? -1] ?? [];
  const endedAbove = (node: Node) => pathOf(node).some(({ ended }) => ended);
  const redeemed = async (node: Node, scopes?: readonly string[]) => {
    const scope = scopes ? { scope: scopes.join(' ') } : {};
    const { status, json } = await exchange(cast[node.delegatee] as Client, node.token, scope);
    if (status !== 200) return;
    assert.ok(!endedAbove(node), 'nothing is issued below a link that has ended');
    redeemedTokens.push({ token: json.access_token, scopes: json.scope.split(' ').filter(Boolean), node });
  };
  const add = async (
    token: string,
    parent: Node | undefined,
    delegator: number,
    delegatee: number,
    wanted: Extract<Step, { mayPass: boolean }>,
  ) => {
    const reachable =
      (parent ? redeemedTokens.find(({ node }) => node === parent)?.scopes : allowed[delegator]) ?? [];
    const within = wanted.scopes.filter((scope) => reachable.includes(scope));
    const scopes = wanted.greedy || within.length === 0 ? wanted.scopes : within;
    const allowRedelegation = wanted.mayPass;
    const { status, json } = await delegate(token, {
      delegateeId: cast[delegatee]?.agentId,
      scopes,
      allowRedelegation,
    });
    if (status !== 201) return;
    assert.ok(
      !parent || (!endedAbove(parent) && parent.mayPass && pathOf(parent).length < 5),
      'nothing is added where nothing may be',
    );
    const subject = parent ? subjectOf(parent) : (allowed[delegator] ?? []);
    const above = parent ? parent.scopes.filter((scope) => subject.includes(scope)) : subject;
    assert.deepEqual(
      scopes.filter((scope) => !above.includes(scope)),
      [],
      'a link only narrows',
    );
    const node: Node = {
      chainId: json.chainId,
      token: json.delegationToken,
      scopes,
      delegator,
      delegatee,
      parent,
      mayPass: allowRedelegation,
      ended: false,
    };
    nodes.push(node);
    if (wanted.redeemed) await redeemed(node);
  };
  /** The newest half of the time, so that trees grow deep. */
  const pick = <T>(list: readonly T[], n: number): T | undefined =>
    n % 2 ? list.at(-1) : list[(n >> 1) % Math.max(1, list.length)];

  for (const wanted of steps) {
    const chosen = pick(nodes, wanted.from);
    const index = wanted.from % cast.length;
    switch (wanted.kind) {
      case 'lend':
        await add(String(own[index]), undefined, index, wanted.to % cast.length, wanted);
        break;
      case 'pass': {
        const source = pick(redeemedTokens, wanted.from);
        if (source)
          await add(source.token, source.node, source.node.delegatee, wanted.to % cast.length, wanted);
        break;
      }
      case 'redeem':
        if (!chosen) break;
        await redeemed(
          chosen,
          wanted.scopes?.filter((scope) => wanted.greedy || chosen.scopes.includes(scope)),
        );
        break;
      case 'revoke':
        if (!chosen) break;
        assert.equal((await revoke(operator, chosen.chainId)).status, 204);
        chosen.ended = true;
        break;
      case 'suspend':
        await patch(index, { status: 'suspended' });
        await patch(index, { status: 'active' });
        own[index] = await t.token(undefined, cast[index]);
        for (const node of nodes) if (node.delegator === index || node.delegatee === index) node.ended = true;
        break;
      case 'narrow':
        await patch(index, { allowedScopes: wanted.scopes });
        allowed[index] = [...wanted.scopes];
        break;
    }
  }

  for (const { token, scopes, node } of redeemedTokens) {
    const { active, scope = '' } = (await t.form('/api/v1/token/introspect', { token }, operator)).json;
    assert.equal(active, !endedAbove(node), 'alive exactly as long as every link is');
    if (!active) continue;
    const now = String(scope).split(' ').filter(Boolean);
    for (const each of pathOf(node)) {
      assert.deepEqual(
        scopes.filter((word) => !each.scopes.includes(word)),
        [],
        'within every link',
      );
    }
    const expected = scopes.filter((word) => subjectOf(node).includes(word));
    assert.deepEqual(now, expected, 'what the subject may hold, no more and no less');
  }
  return redeemedTokens.map(({ node }) => pathOf(node).length);
}

describe('random trees of delegations', () => {
  it('200 every token holds what all links lend and the subject may hold; none outlives a link', async () => {
    let [tokens, deepest] = [0, 0];
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 30, maxLength: 60, size: 'max' }),
        fc.array(fc.subarray([...organizationScopes]), { minLength: 3, maxLength: 5 }),
        async (steps, ceilings) => {
          const walked = await walk(steps, ceilings);
          tokens += walked.length;
          deepest = Math.max(deepest, ...walked);
        },
      ),
      { numRuns: repetitions(8, 30), interruptAfterTimeLimit: 120_000 },
    );
    assert.ok(
      tokens > repetitions(5, 50) && deepest > repetitions(0, 2),
      `only ${tokens} tokens came about, ${deepest} deep`,
    );
  });
});
