/**
 * No sequence of grants, shares, narrowings and delegations, all over HTTP, lets a token exceed what its root holds: neither when it is
 * issued nor at any later introspection. The root is the agent itself, or the first delegator of a chain.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { startApp } from '../../../test/support/harness.ts';
import { repetitions } from '../../../test/support/repetitions.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import {
  type Change,
  createResourceChanges,
  expectedOf,
  isWithin,
  someChange,
  someGrantee,
  someScopes,
} from '../../../test/support/scenarios/resources/resource-changes.ts';

const t = await startApp();
const { granteeAt, newModel, remove, send } = await createResourceChanges(t);
const { delegate, exchange } = createDelegationClient(t);

/** The agents of an organization are neighbours: 0 and 1, 2 and 3. */
const neighbourOf = (who: number): number => who ^ 1;

interface Chain {
  readonly root: number;
  readonly delegatee: number;
  readonly links: number;
  /** Those that all links lend. */
  readonly scopes: readonly string[];
  readonly token: string;
}
interface Wanted {
  readonly scopes: readonly string[];
  /** Otherwise only those that can be had, so that most requests succeed. */
  readonly greedy: boolean;
}
type Use =
  | ({ readonly act: 'token'; readonly who: number } & Wanted)
  | ({ readonly act: 'lend'; readonly who: number } & Wanted)
  | ({ readonly act: 'pass'; readonly chain: number } & Wanted)
  | ({ readonly act: 'redeem'; readonly chain: number } & Wanted)
  | { readonly act: 'check' };

const wanted = { scopes: someScopes, greedy: fc.nat(5).map((n) => n === 0) };
const chain = fc.nat(100);
const someUse: fc.Arbitrary<Use> = fc.oneof(
  fc.record({ act: fc.constant('token' as const), who: someGrantee, ...wanted }),
  fc.record({ act: fc.constant('lend' as const), who: someGrantee, ...wanted }),
  fc.record({ act: fc.constant('pass' as const), chain, ...wanted }),
  fc.record({ act: fc.constant('redeem' as const), chain, ...wanted }),
  fc.constant({ act: 'check' as const }),
);
const isChange = (step: Change | Use): step is Change =>
  ['patch', 'share', 'unshare', 'grant', 'revoke'].includes(step.act);

async function walk(steps: readonly (Change | Use)[]) {
  const operator = await t.token();
  const { resourceId, identifier, model } = await newModel();
  const chains: Chain[] = [];
  const tokens: { token: string; scopes: string[]; root: number; delegated: boolean; ended: boolean }[] = [];
  const heldBy = (who: number) => model.grants.get(who) ?? [];

  const lentBy = ({ root, scopes }: Chain) => scopes.filter((name) => heldBy(root).includes(name));
  const choose = ({ scopes, greedy }: Wanted, possible: readonly string[]) => {
    const within = scopes.filter((name) => possible.includes(name));
    return greedy || within.length === 0 ? scopes : within;
  };

  const lend = async (from: number, want: Wanted, parent?: Chain) => {
    const delegatee = neighbourOf(from);
    const allowed = parent ? lentBy(parent) : heldBy(from);
    const scopes = choose(want, allowed);
    const answer = await delegate(granteeAt(from).token, {
      delegateeId: granteeAt(delegatee).agentId,
      scopes,
      resource: [identifier],
      allowRedelegation: true,
      ...(parent && { parentToken: parent.token }),
    });
    const links = (parent?.links ?? 0) + 1;
    const isAllowed = isWithin(scopes, allowed) && links <= 5;
    assert.equal(answer.status === 201, isAllowed, answer.text);
    if (!isAllowed) return;
    const { delegationToken: token } = answer.json;
    chains.push({ root: parent?.root ?? from, delegatee, links, scopes, token });
  };

  /** With a chain its delegatee asks, otherwise the root itself. */
  const issue = async (root: number, want: Wanted, from?: Chain) => {
    const possible = from ? lentBy(from) : heldBy(root);
    const named = choose(want, possible);
    const form = { resource: identifier, scope: named.join(' ') };
    const { clientId: client_id, clientSecret: client_secret } = granteeAt(root);
    const { status, json, text } = from
      ? await exchange(granteeAt(from.delegatee), from.token, form)
      : await t.askToken({ grant_type: 'client_credentials', client_id, client_secret, ...form });
    const isPossible = isWithin(named, possible);
    assert.equal(status, isPossible ? 200 : 400, text);
    if (!isPossible) return;
    const scopes: string[] = json.scope.split(' ');
    assert.deepEqual(scopes.toSorted(), [...named].sort());
    tokens.push({ token: json.access_token, scopes, root, delegated: Boolean(from), ended: false });
  };

  const check = async () => {
    for (const { token, scopes, ended } of tokens) {
      const { active, scope } = (await t.form('/api/v1/token/introspect', { token }, operator)).json;
      assert.equal(active, !ended);
      if (active) assert.deepEqual(scope.split(' '), scopes);
    }
  };

  const use = async (step: Use) => {
    if (step.act === 'check') return check();
    if (step.act === 'lend') return lend(step.who, step);
    if (step.act === 'token') return issue(step.who, step);
    const chosen = chains[step.chain % chains.length];
    if (!chosen) return;
    if (step.act === 'pass') await lend(chosen.delegatee, step, chosen);
    else await issue(chosen.root, step, chosen);
  };

  for (const step of steps) {
    if (!isChange(step)) {
      await use(step);
      continue;
    }
    const expected = expectedOf(model, step);
    const answer = await send(resourceId, step);
    assert.equal(answer.status, expected, `${JSON.stringify(step)}: ${answer.text}`);
    for (const token of tokens) token.ended ||= !isWithin(token.scopes, heldBy(token.root));
  }
  await check();
  const ended = tokens.filter((token) => token.ended).length;
  assert.equal((await remove(resourceId)).status, 204);
  model.grants.clear();
  for (const token of tokens) token.ended = true;
  await check();
  return { own: tokens.filter(({ delegated }) => !delegated).length, all: tokens.length, ended };
}

it('200 active exactly while its root has held all of its scopes since it was issued', async () => {
  let [own, delegated, ended] = [0, 0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(someChange, { arbitrary: someUse, weight: 3 }), {
        minLength: 25,
        maxLength: 50,
        size: 'max',
      }),
      async (steps) => {
        // Something to lose: full grants, half of them through a share.
        const all = ['a', 'b', 'c', 'd'];
        const grants = [0, 1, 2, 3].map((who): Change => ({ act: 'grant', who, scopes: all }));
        const counts = await walk([{ act: 'share', scopes: all }, ...grants, ...steps]);
        own += counts.own;
        delegated += counts.all - counts.own;
        ended += counts.ended;
      },
    ),
    { numRuns: repetitions(6, 20), interruptAfterTimeLimit: 120_000 },
  );
  assert.ok(
    own > repetitions(0, 20) && delegated > repetitions(0, 10) && ended > repetitions(0, 10),
    `only ${own} own and ${delegated} delegated tokens, of which ${ended} ended`,
  );
});
