/** No sequence of grants, shares, narrowings and deletions leaves a grant beyond its resource or share. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { startApp } from '../../../test/support/harness.ts';
import { repetitions } from '../../../test/support/repetitions.ts';
import {
  createResourceChanges,
  expectedOf,
  someChange,
} from '../../../test/support/scenarios/resources/resource-changes.ts';

const t = await startApp();
const { granteeAt, newModel, shareWithRecipient, remove, send } = await createResourceChanges(t);

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

it('one after the other, every answer and every grant is as the model says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(someChange, { minLength: 1, maxLength: 15 }), async (changes) => {
      const { resourceId, model } = await newModel();
      for (const change of changes) {
        const expected = expectedOf(model, change);
        const answer = await send(resourceId, change);
        assert.equal(answer.status, expected, `${JSON.stringify(change)}: ${answer.text}`);
      }
      const grants = [...model.grants].map(
        ([who, scopes]) => [granteeAt(who).agentId, [...scopes].sort()] as const,
      );
      assert.deepEqual(await storedGrants(resourceId), new Map(grants));
      await remove(resourceId);
      assert.equal((await storedGrants(resourceId)).size, 0);
    }),
    { numRuns: repetitions(10, 40) },
  );
});

it('all at once, no grant exceeds the resource or the share', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(someChange, { minLength: 2, maxLength: 12 }), async (changes) => {
      const { resourceId } = await newModel();
      await shareWithRecipient(resourceId, ['a', 'b', 'c']);
      const answers = await Promise.all(changes.map((change) => send(resourceId, change)));
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
      await remove(resourceId);
    }),
    { numRuns: repetitions(6, 20) },
  );
});
