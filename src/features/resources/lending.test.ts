/** What people may lend at a resource: `peopleScopes` and `approvers`. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createResourceClient, newResource } from '../../../test/support/scenarios/resources/resources.ts';

const t = await startApp();
const { call, tenant, resource, share } = createResourceClient(t);

const personIn = async (organizationId: string): Promise<string> => {
  const payload = { issuer: 'https://login.example.com', subject: randomUUID(), name: 'Ada', role: 'member' };
  const answer = await call('POST', `/organizations/${organizationId}/people`, await t.token(), payload);
  assert.equal(answer.status, 201, answer.text);
  return answer.json.personId;
};

describe('peopleScopes and approvers', () => {
  it('201 and 200 with scopes and people of the owner; ids in upper case are the same', async () => {
    const owner = await tenant();
    const personId = await personIn(owner.organizationId);
    const lending = { peopleScopes: ['orders:read'], approvers: [personId.toUpperCase()] };
    const { resourceId, ...made } = await resource(owner, lending);
    assert.deepEqual([made.peopleScopes, made.approvers], [['orders:read'], [personId]]);
    const changed = await call('PATCH', `/resources/${resourceId}`, owner.token, {
      peopleScopes: ['refund'],
    });
    assert.deepEqual([changed.json.peopleScopes, changed.json.approvers], [['refund'], [personId]]);
  });

  it('400 VALIDATION_ERROR for other scopes, unknown and foreign people, and more than fifty', async () => {
    const owner = await tenant();
    const foreign = await personIn((await tenant()).organizationId);
    const { resourceId } = await resource(owner);
    const wrong: [string, Record<string, unknown>][] = [
      ['peopleScopes[1]', { peopleScopes: ['orders:read', 'orders:delete'] }],
      ['approvers[0]', { approvers: [randomUUID()] }],
      ['approvers[0]', { approvers: [foreign] }],
      ['approvers', { approvers: Array.from({ length: 51 }, () => randomUUID()) }],
    ];
    for (const [field, change] of wrong)
      for (const answer of [
        await call('POST', '/resources', owner.token, newResource(change)),
        await call('PATCH', `/resources/${resourceId}`, owner.token, change),
      ])
        assert.deepEqual([answer.status, answer.json.details?.fields?.[0]?.field], [400, field], answer.text);
  });

  it('200 without the scopes that the resource loses', async () => {
    const owner = await tenant();
    const { resourceId } = await resource(owner, { peopleScopes: ['orders:read', 'refund'] });
    const scopes = [{ name: 'orders:read' }];
    const { status, json } = await call('PATCH', `/resources/${resourceId}`, owner.token, { scopes });
    assert.deepEqual([status, json.peopleScopes], [200, ['orders:read']]);
  });

  it('200 without approvers for an organization that it is shared with', async () => {
    const [owner, partner] = [await tenant(), await tenant()];
    const approvers = [await personIn(owner.organizationId)];
    const made = await resource(owner, { peopleScopes: ['orders:read'], approvers });
    await share(owner, made.resourceId, partner.organizationId, ['orders:read']);
    const { status, json } = await call('GET', `/resources/${made.resourceId}`, partner.token);
    assert.deepEqual([status, json.peopleScopes, json.approvers], [200, ['orders:read'], []]);
  });
});
