/**
 * Random trees of delegations for resources, with grants that are narrowed, removed and widened in between. A token that is issued
 * never exceeds a link above it, nor the grant that its root holds at that moment.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodeJwt } from 'jose';
import { startApp } from '../../../test/support/harness.ts';
import { repetitions } from '../../../test/support/repetitions.ts';
import { type Client, createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import {
  createResourceRows,
  type ResourceRow,
} from '../../../test/support/scenarios/resources/resource-rows.ts';

const t = await startApp();
const { delegate, exchange, revoke, verify } = createDelegationClient(t);
const { insertResource, setGrant } = createResourceRows(t);
const operator = await t.token();

const words = ['orders:read', 'orders:write', 'orders:delete', 'orders:export'];
/** Enough agents for chains of five links. */
const cast: Client[] = await Promise.all(Array.from({ length: 4 }, () => t.agent({ allowedScopes: [] })));
const own = await Promise.all(cast.map((client) => t.token(undefined, client)));

interface Node {
  readonly chainId: string;
  readonly token: string;
  readonly scopes: readonly string[];
  readonly resource: number;
  readonly delegator: number;
  readonly delegatee: number;
  readonly parent: Node | undefined;
  readonly mayPass: boolean;
  ended: boolean;
}

const pathOf = (node: Node | undefined): Node[] => (node ? [...pathOf(node.parent), node] : []);
const rootOf = (node: Node): Node => pathOf(node)[0] as Node;

const nat = fc.nat(1_000);
const scopeSet = fc.subarray(words, { minLength: 1 });
/** Mostly scopes that can be delegated, so that trees grow; sometimes any scopes. */
const greedy = nat.map((n) => n % 6 === 0);
const gift = {
  from: nat,
  to: nat,
  resource: nat,
  scopes: scopeSet,
  mayPass: nat.map((n) => n % 5 > 0),
  greedy,
};
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('lend' as const), ...gift }) },
  { weight: 7, arbitrary: fc.record({ kind: fc.constant('pass' as const), ...gift }) },
  {
    weight: 7,
    arbitrary: fc.record({
      kind: fc.constant('redeem' as const),
      from: nat,
      scopes: fc.option(scopeSet),
      greedy,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('grant' as const),
      from: nat,
      resource: nat,
      scopes: fc.subarray(words),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('revoke' as const), from: nat }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function walk(steps: readonly Step[]): Promise<{ depths: number[]; refused: number }> {
  const resources: ResourceRow[] = [await insertResource(words), await insertResource(words)];
  const grants = cast.map(() => resources.map(() => [...words]));
  for (const { agentId } of cast) for (const resource of resources) await setGrant(agentId, resource, words);
  const nodes: Node[] = [];
  const depths: number[] = [];
  let refused = 0;

  const heldBy = (agent: number, resource: number): readonly string[] => grants[agent]?.[resource] ?? [];
  const effective = (node: Node): string[] =>
    heldBy(rootOf(node).delegator, node.resource).filter((scope) =>
      pathOf(node).every(({ scopes }) => scopes.includes(scope)),
    );
  const hasEnded = (node: Node) => pathOf(node).some(({ ended }) => ended);
  const pick = (n: number): Node | undefined =>
    n % 2 ? nodes.at(-1) : nodes[(n >> 1) % Math.max(1, nodes.length)];

  const add = async (parent: Node | undefined, wanted: Extract<Step, { mayPass: boolean }>) => {
    const delegator = parent ? parent.delegatee : wanted.from % cast.length;
    const delegatee = wanted.to % cast.length;
    const resource = parent && !wanted.greedy ? parent.resource : wanted.resource % resources.length;
    const allowed = parent ? effective(parent) : heldBy(delegator, resource);
    const within = wanted.scopes.filter((scope) => allowed.includes(scope));
    const scopes = wanted.greedy || within.length === 0 ? wanted.scopes : within;
    const answer = await delegate(String(own[delegator]), {
      delegateeId: cast[delegatee]?.agentId,
      scopes,
      resource: [resources[resource]?.identifier],
      allowRedelegation: wanted.mayPass,
      ...(parent && { parentToken: parent.token }),
    });
    const isAllowed =
      delegator !== delegatee &&
      scopes.every((scope) => allowed.includes(scope)) &&
      (!parent ||
        (!hasEnded(parent) && parent.mayPass && parent.resource === resource && pathOf(parent).length < 5));
    assert.equal(answer.status === 201, isAllowed, answer.text);
    if (answer.status !== 201) {
      refused += 1;
      return;
    }
    const { chainId, delegationToken: token } = answer.json;
    const { mayPass } = wanted;
    nodes.push({ chainId, token, scopes, resource, delegator, delegatee, parent, mayPass, ended: false });
  };

  const redeemOne = async (node: Node, scopes: readonly string[] | undefined) => {
    const scope = scopes && scopes.length > 0 ? { scope: scopes.join(' ') } : {};
    const { status, json, text } = await exchange(cast[node.delegatee] as Client, node.token, scope);
    const possible = effective(node);
    const isPossible =
      !hasEnded(node) && possible.length > 0 && (scopes ?? []).every((word) => possible.includes(word));
    assert.equal(status === 200, isPossible, text);
    if (status !== 200) {
      refused += 1;
      return;
    }
    const claims = decodeJwt(json.access_token);
    const carried = String(claims.scope).split(' ');
    assert.deepEqual(
      carried.toSorted(),
      (scopes && scopes.length > 0 ? [...scopes] : possible).toSorted(),
      'what every link lends and the root holds now',
    );
    assert.equal(claims.aud, resources[node.resource]?.identifier);
    assert.equal(claims.sub, cast[rootOf(node).delegator]?.agentId);
    depths.push(pathOf(node).length);
  };

  for (const wanted of steps) {
    const chosen = pick(wanted.from);
    switch (wanted.kind) {
      case 'lend':
        await add(undefined, wanted);
        break;
      case 'pass':
        if (chosen) await add(chosen, wanted);
        break;
      case 'redeem':
        if (!chosen) break;
        await redeemOne(
          chosen,
          wanted.scopes?.filter((scope) => wanted.greedy || effective(chosen).includes(scope)),
        );
        break;
      case 'grant': {
        const [agent, resource] = [wanted.from % cast.length, wanted.resource % resources.length];
        await setGrant(String(cast[agent]?.agentId), resources[resource] as ResourceRow, wanted.scopes);
        (grants[agent] as string[][])[resource] = [...wanted.scopes];
        break;
      }
      case 'revoke':
        if (!chosen) break;
        assert.equal((await revoke(operator, chosen.chainId)).status, 204);
        chosen.ended = true;
        break;
    }
  }
  for (const node of nodes.filter((each) => !hasEnded(each)).slice(-5)) {
    const { scopes } = (await verify(operator, node.token)).json;
    assert.deepEqual(scopes.toSorted(), effective(node).toSorted());
  }
  return { depths, refused };
}

describe('random trees of delegations for resources', () => {
  it("200 every token holds what all links lend and the root's grant has at that moment", async () => {
    let [tokens, deepest, refusals] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60, size: 'max' }), async (steps) => {
        const { depths, refused } = await walk(steps);
        tokens += depths.length;
        deepest = Math.max(deepest, ...depths);
        refusals += refused;
      }),
      { numRuns: repetitions(6, 20), interruptAfterTimeLimit: 120_000 },
    );
    assert.ok(
      tokens > repetitions(0, 10) && deepest > repetitions(0, 1) && refusals > repetitions(0, 10),
      `only ${tokens} tokens came about, ${deepest} deep, and ${refusals} refusals`,
    );
  });
});
