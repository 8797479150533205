/** No sequence of grants, shares, narrowings and deletions leaves a grant beyond its resource or share. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { startApp } from '../../../test/support/harness.ts';
import { allTenantScopes, createResourceClient } from '../../../test/support/scenarios/resources.ts';

const t = await startApp();
const { call, agentIn, tenant, resource, share, unshare, grant, revoke } = createResourceClient(t);

const owner = await tenant();
const recipient = await tenant();
const admin = await agentIn(recipient.organizationId, allTenantScopes, 'admin');
/** Two of the owner, two of the recipient; each with the caller that grants. */
const grantees = [
  { agent: owner, by: owner, own: true },
  { agent: await agentIn(owner.organizationId), by: owner, own: true },
  { agent: recipient, by: admin, own: false },
  { agent: admin, by: admin, own: false },
];

type Scopes = readonly string[];
interface Model {
  resource: Scopes;
  share: Scopes | undefined;
  readonly grants: Map<number, Scopes>;
}
type Step =
  | { readonly act: 'patch' | 'share'; readonly scopes: Scopes }
  | { readonly act: 'unshare' }
  | { readonly act: 'grant'; readonly who: number; readonly scopes: Scopes }
  | { readonly act: 'revoke'; readonly who: number };

const isWithin = (some: Scopes, all: Scopes) => some.every((name) => all.includes(name));
const usable = ({ resource: all, share: shared }: Model, who: number): Scopes =>
  grantees[who]?.own ? all : (shared ?? []);

/** The grants that remain within the resource and the share. */
function narrow(model: Model): void {
  if (model.share) {
    model.share = model.share.filter((name) => model.resource.includes(name));
    if (model.share.length === 0) model.share = undefined;
  }
  for (const [who, scopes] of [...model.grants]) {
    const kept = scopes.filter((name) => usable(model, who).includes(name));
    if (kept.length > 0) model.grants.set(who, kept);
    else model.grants.delete(who);
  }
}

/** Applies the step to the model; returns the expected status. */
function expectedOf(model: Model, step: Step): number {
  switch (step.act) {
    case 'patch':
      model.resource = step.scopes;
      break;
    case 'share':
      if (!isWithin(step.scopes, model.resource)) return 400;
      model.share = step.scopes;
      break;
    case 'unshare':
      if (!model.share) return 404;
      model.share = undefined;
      break;
    case 'grant':
      if (!grantees[step.who]?.own && !model.share) return 404;
      if (!isWithin(step.scopes, usable(model, step.who))) return 400;
      model.grants.set(step.who, step.scopes);
      break;
    case 'revoke':
      if (!model.grants.delete(step.who)) return 404;
      break;
  }
  narrow(model);
  return step.act === 'unshare' || step.act === 'revoke' ? 204 : 200;
}

function send(resourceId: string, step: Step) {
  const { agent, by } = grantees['who' in step ? step.who : 0] ?? { agent: owner, by: owner };
  switch (step.act) {
    case 'patch':
      return call('PATCH', `/resources/${resourceId}`, owner.token, {
        scopes: step.scopes.map((name) => ({ name })),
      });
    case 'share':
      return share(owner, resourceId, recipient.organizationId, step.scopes);
    case 'unshare':
      return unshare(owner, resourceId, recipient.organizationId);
    case 'grant':
      return grant(by, agent.agentId, resourceId, step.scopes);
    case 'revoke':
      return revoke(by, agent.agentId, resourceId);
  }
}

const storedGrants = async (resourceId: string) =>
  new Map(
    (
      await t.sql<{ agentId: string; scopes: string[] }>(
        `select agent_id as "agentId", array(select jsonb_object_keys(scopes)) as scopes
         from resource_grants where resource_id = $1`,
        [resourceId],
      )
    ).map(({ agentId, scopes }) => [agentId, scopes.sort()]),
  );

const someScopes = fc.subarray(['a', 'b', 'c', 'd'], { minLength: 1 });
const who = fc.nat({ max: grantees.length - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ act: fc.constantFrom('patch' as const, 'share' as const), scopes: someScopes }),
  fc.constant({ act: 'unshare' as const }),
  { arbitrary: fc.record({ act: fc.constant('grant' as const), who, scopes: someScopes }), weight: 3 },
  fc.record({ act: fc.constant('revoke' as const), who }),
);

const newModel = async () => {
  const scopes = ['a', 'b', 'c', 'd'];
  const { resourceId } = await resource(owner, { scopes: scopes.map((name) => ({ name })) });
  const model: Model = { resource: scopes, share: undefined, grants: new Map() };
  return { resourceId, model };
};

it('one after the other, every answer and every grant is as the model says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 15 }), async (steps) => {
      const { resourceId, model } = await newModel();
      for (const each of steps) {
        const expected = expectedOf(model, each);
        const answer = await send(resourceId, each);
        assert.equal(answer.status, expected, `${JSON.stringify(each)}: ${answer.text}`);
      }
      const grants = [...model.grants].map(([index, scopes]) => [
        grantees[index]?.agent.agentId,
        [...scopes].sort(),
      ]);
      assert.deepEqual(await storedGrants(resourceId), new Map(grants as [string, string[]][]));
      await call('DELETE', `/resources/${resourceId}`, owner.token);
      assert.equal((await storedGrants(resourceId)).size, 0);
    }),
    { numRuns: 40 },
  );
});

it('all at once, no grant exceeds the resource or the share', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
      const { resourceId } = await newModel();
      await share(owner, resourceId, recipient.organizationId, ['a', 'b', 'c']);
      const answers = await Promise.all(steps.map((each) => send(resourceId, each)));
      assert.deepEqual(
        answers.filter(({ status }) => status >= 500),
        [],
      );
      const beyond = await t.sql(
        `select g.agent_id from resource_grants g join resources r using (resource_id)
           left join resource_shares s on s.resource_id = g.resource_id and s.organization_id = g.organization_id
           cross join lateral jsonb_object_keys(g.scopes) as held (name)
         where g.resource_id = $1 and (
           not r.scopes @> jsonb_build_array(jsonb_build_object('name', held.name))
           or (g.organization_id <> r.organization_id and (s.scopes is null or held.name <> all (s.scopes))))`,
        [resourceId],
      );
      assert.deepEqual(beyond, []);
      await call('DELETE', `/resources/${resourceId}`, owner.token);
    }),
    { numRuns: 20 },
  );
});
