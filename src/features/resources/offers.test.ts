/** A share is an offer until the other organization accepts it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import {
  allTenantScopes,
  createResourceClient,
  outcome,
  type TestAgent,
} from '../../../test/support/scenarios/resources/resources.ts';
import { limits } from '../../contract/limits.ts';

const t = await startApp();
const client = createResourceClient(t);
const { call, agentIn, tenant, resource, offer, accept, decline, unshare, grant, grantsOf, events } = client;

const hours = (count: number) => count * 3_600_000;

interface Parties {
  readonly owner: TestAgent;
  readonly receiver: TestAgent;
  readonly admin: TestAgent;
}

async function parties(): Promise<Parties> {
  const [owner, receiver] = [await tenant(), await tenant()];
  return { owner, receiver, admin: await client.adminOf(receiver.organizationId) };
}

const fresh = async (agent: TestAgent): Promise<TestAgent> => ({
  ...agent,
  token: await t.token(undefined, agent),
});

const actionsOf = async (organizationId: string) =>
  (await events(organizationId)).map(({ action }) => action);

const sharesOf = async (agent: { token: string }, query = '') =>
  (await call('GET', `/shares${query}`, agent.token)).json;

const tokenFor = (agent: TestAgent, identifier: string) =>
  t.askToken({
    grant_type: 'client_credentials',
    client_id: agent.clientId,
    client_secret: agent.clientSecret,
    resource: identifier,
  });

const introspect = async (token: string) =>
  (await t.form('/api/v1/token/introspect', { token }, await t.token())).json.active;

describe('an offer', () => {
  it('gives nothing until it is accepted: no grant, no token, and the resource is in no list but /shares', async () => {
    const { owner, receiver, admin } = await parties();
    const { resourceId, identifier, name } = await resource(owner, { name: 'Orders of the owner' });
    const offered = await offer(owner, resourceId, receiver.organizationId, ['refund', 'orders:read']);
    assert.equal(offered.status, 200, offered.text);
    assert.equal(offered.json.status, 'offered');

    assert.equal(
      outcome(await grant(admin, receiver.agentId, resourceId, ['refund'])),
      '404 RESOURCE_NOT_FOUND',
    );
    // Nor can an operator grant it.
    assert.equal(
      outcome(await grant({ token: await t.token() }, receiver.agentId, resourceId, ['refund'])),
      '404 RESOURCE_NOT_FOUND',
    );
    const refused = await tokenFor(receiver, identifier);
    assert.deepEqual([refused.status, refused.json.error], [400, 'invalid_target']);
    for (const path of [`/resources/${resourceId}`, `/resources/${resourceId}/grants`])
      assert.equal(outcome(await call('GET', path, receiver.token)), '404 RESOURCE_NOT_FOUND');
    const list = await call('GET', '/resources', receiver.token);
    assert.deepEqual([list.json.total, list.text.includes(name)], [0, false]);

    const { slug, name: ownerName } = (
      await call('GET', `/organizations/${owner.organizationId}`, await t.token())
    ).json;
    const { createdAt, updatedAt } = offered.json;
    assert.deepEqual(await sharesOf(receiver), {
      data: [
        {
          resourceId,
          identifier,
          name,
          verified: true,
          ownerId: owner.organizationId,
          ownerName,
          ownerSlug: slug,
          scopes: ['orders:read', 'refund'],
          offeredScopes: ['orders:read', 'refund'],
          status: 'offered',
          createdAt,
          updatedAt,
        },
      ],
      total: 1,
      page: 1,
      limit: 20,
    });
    // Another organization sees nothing of it.
    assert.equal((await sharesOf(owner)).total, 0);
  });

  it('200 when an admin accepts it; then it can be granted, and both sides show it as accepted', async () => {
    const { owner, receiver, admin } = await parties();
    const { resourceId, identifier } = await resource(owner);
    await offer(owner, resourceId, receiver.organizationId, ['refund']);
    const accepted = await accept(admin, resourceId);
    assert.equal(accepted.status, 200, accepted.text);
    const { status, scopes, offeredScopes } = accepted.json;
    assert.deepEqual([status, scopes, offeredScopes], ['accepted', ['refund'], []]);
    // Again without a change.
    assert.deepEqual((await accept(admin, resourceId)).json, accepted.json);
    assert.equal((await grant(admin, receiver.agentId, resourceId, ['refund'])).status, 200);
    assert.equal((await tokenFor(receiver, identifier)).status, 200);
    assert.equal((await call('GET', '/resources', receiver.token)).json.total, 1);
    const { data } = (await call('GET', `/resources/${resourceId}/shares`, owner.token)).json;
    assert.deepEqual([data[0].status, data[0].scopes], ['accepted', ['refund']]);
    assert.equal(
      (await actionsOf(receiver.organizationId)).filter((action) => action === 'share.accepted').length,
      1,
    );
  });

  it('of an operator is accepted at once', async () => {
    const { owner, receiver, admin } = await parties();
    const { resourceId } = await resource(owner);
    const operator = { token: await t.token() };
    const { json } = await offer(operator, resourceId, receiver.organizationId, ['refund']);
    assert.deepEqual([json.status, json.scopes, json.offeredScopes], ['accepted', ['refund'], []]);
    assert.equal((await grant(admin, receiver.agentId, resourceId, ['refund'])).status, 200);
    // What the owner offers and the operator shares does not wait any longer.
    await offer(owner, resourceId, receiver.organizationId, ['refund', 'orders:read']);
    const both = await offer(operator, resourceId, receiver.organizationId, ['refund', 'orders:read']);
    assert.deepEqual([both.json.scopes, both.json.offeredScopes], [['orders:read', 'refund'], []]);
  });

  it('403 FORBIDDEN to accept or decline for agents that are no admin; 404 SHARE_NOT_FOUND for others', async () => {
    const { owner, receiver, admin } = await parties();
    const { resourceId } = await resource(owner);
    await offer(owner, resourceId, receiver.organizationId, ['refund']);
    const member = await agentIn(receiver.organizationId, allTenantScopes, 'member');
    for (const caller of [receiver, member]) {
      assert.equal(outcome(await accept(caller, resourceId)), '403 FORBIDDEN');
      assert.equal(outcome(await decline(caller, resourceId)), '403 FORBIDDEN');
    }
    const foreign = await client.adminOf((await tenant()).organizationId);
    const ownAdmin = await client.adminOf(owner.organizationId);
    for (const caller of [foreign, ownAdmin]) {
      assert.equal(outcome(await accept(caller, resourceId)), '404 SHARE_NOT_FOUND');
      assert.equal(outcome(await decline(caller, resourceId)), '404 SHARE_NOT_FOUND');
    }
    assert.equal(outcome(await accept(admin, randomUUID())), '404 SHARE_NOT_FOUND');
    assert.equal(outcome(await accept(admin, 'x')), '400 VALIDATION_ERROR');
    const reader = await agentIn(receiver.organizationId, ['agents:read']);
    assert.equal(outcome(await call('GET', '/shares', reader.token)), '403 INSUFFICIENT_SCOPE');
  });

  it('200 lists by status and page, newest first, without deleted resources and owners', async () => {
    const { receiver, admin, owner } = await parties();
    const made = [await resource(owner), await resource(owner), await resource(owner)];
    for (const { resourceId } of made) {
      await offer(owner, resourceId, receiver.organizationId, ['refund']);
      t.clock.advance(1_000);
    }
    const [first, second, third] = made.map(({ resourceId }) => resourceId);
    await accept(admin, second ?? '');
    const ids = async (query = '') => {
      const { data, total } = await sharesOf(receiver, query);
      return [data.map((each: { resourceId: string }) => each.resourceId), total];
    };
    assert.deepEqual(await ids(), [[third, second, first], 3]);
    assert.deepEqual(await ids('?status=offered'), [[third, first], 2]);
    assert.deepEqual(await ids('?status=accepted'), [[second], 1]);
    assert.deepEqual(await ids('?limit=1&page=2'), [[second], 3]);
    assert.equal(
      outcome(await call('GET', '/shares?status=declined', receiver.token)),
      '400 VALIDATION_ERROR',
    );
    assert.equal((await call('DELETE', `/resources/${third}`, owner.token)).status, 204);
    assert.deepEqual(await ids(), [[second, first], 2]);
    assert.equal(outcome(await accept(admin, third ?? '')), '404 SHARE_NOT_FOUND');
    await call('DELETE', `/organizations/${owner.organizationId}`, await t.token());
    assert.deepEqual(await ids(), [[], 0]);
    assert.equal(outcome(await accept(admin, first ?? '')), '404 SHARE_NOT_FOUND');
  });
});

describe("the receiver's log and webhook queue", () => {
  it('has one share.offered after 60 changes of an offer in a row, also when it is withdrawn and made again', async () => {
    const { owner, receiver } = await parties();
    const { json: subscription } = await call('POST', '/webhooks', receiver.token, {
      name: 'All',
      url: 'https://receiver.invalid/hook',
      events: ['share.offered', 'share.declined', 'resource.shared', 'resource.unshared'],
    });
    const { resourceId } = await resource(owner, { name: 'Text of the owner' });
    for (let change = 0; change < 60; change += 1) {
      const scopes = change % 2 === 0 ? ['refund'] : ['refund', 'orders:read'];
      assert.equal((await offer(owner, resourceId, receiver.organizationId, scopes)).status, 200);
      if (change % 3 === 2)
        assert.equal((await unshare(owner, resourceId, receiver.organizationId)).status, 204);
    }
    assert.deepEqual(await actionsOf(receiver.organizationId), ['share.offered']);
    const { deliveries } = (await call('GET', `/webhooks/${subscription.id}/deliveries`, receiver.token))
      .json;
    assert.ok(deliveries.length <= 1, `${deliveries.length} deliveries`);
    // The owner's own log has every change.
    assert.ok((await actionsOf(owner.organizationId)).length > 60);
  });

  it('has one share.offered when a declined or left share is offered again later, and when an accepted one is widened', async () => {
    const { owner, receiver, admin } = await parties();
    const { resourceId } = await resource(owner);
    await offer(owner, resourceId, receiver.organizationId, ['refund']);
    await decline(admin, resourceId);
    t.clock.advance(hours(25));
    const [later, laterAdmin] = [await fresh(owner), await fresh(admin)];
    assert.equal((await offer(later, resourceId, receiver.organizationId, ['refund'])).status, 200);
    await accept(laterAdmin, resourceId);
    await offer(later, resourceId, receiver.organizationId, ['refund', 'orders:read']);
    const offers = (await actionsOf(receiver.organizationId)).filter((action) => action === 'share.offered');
    assert.equal(offers.length, 1);
  });

  it('gets no further event when an owner narrows and widens an accepted share many times', async () => {
    const { owner, receiver, admin } = await parties();
    const { resourceId } = await resource(owner);
    const both = ['refund', 'orders:read'];
    await offer(owner, resourceId, receiver.organizationId, both);
    await accept(admin, resourceId);
    await grant(admin, receiver.agentId, resourceId, both);
    const before = (await actionsOf(receiver.organizationId)).length;
    for (let change = 0; change < 30; change += 1)
      for (const scopes of [['refund'], both])
        await offer(owner, resourceId, receiver.organizationId, scopes);
    const after = (await actionsOf(receiver.organizationId)).slice(before);
    // Once for the scope that the receiver had accepted, in the share and in the grant.
    assert.deepEqual(after, ['grant.changed', 'resource.shared']);
    // The same by removing the share, and by changing the resource.
    for (let change = 0; change < 5; change += 1) {
      await unshare(owner, resourceId, receiver.organizationId);
      await offer(owner, resourceId, receiver.organizationId, both);
      for (const names of [['orders:read'], ['orders:read', 'orders:write', 'refund']])
        await call('PATCH', `/resources/${resourceId}`, owner.token, {
          scopes: names.map((name) => ({ name })),
        });
    }
    assert.deepEqual((await actionsOf(receiver.organizationId)).slice(before + 2), [
      'grant.removed',
      'resource.unshared',
    ]);
  });

  it('403 SHARE_LIMIT_EXCEEDED for more new offers in a day than the limit, also of resources that were deleted and registered again', async () => {
    const { owner, receiver, admin } = await parties();
    const other = await tenant();
    const { offersPerDay } = limits.share;
    let last = '';
    for (let count = 0; count < offersPerDay; count += 1) {
      last = (await resource(owner)).resourceId;
      assert.equal((await offer(owner, last, receiver.organizationId, ['refund'])).status, 200);
      await call('DELETE', `/resources/${last}`, owner.token);
    }
    const { resourceId } = await resource(owner);
    const refused = await offer(owner, resourceId, receiver.organizationId, ['refund']);
    assert.equal(outcome(refused), '403 SHARE_LIMIT_EXCEEDED');
    assert.deepEqual(refused.json.details, { limit: offersPerDay });
    assert.equal((await actionsOf(receiver.organizationId)).length, offersPerDay);
    // Neither other receivers nor other owners are affected.
    assert.equal((await offer(owner, resourceId, other.organizationId, ['refund'])).status, 200);
    const { resourceId: theirs } = await resource(other);
    assert.equal((await offer(other, theirs, receiver.organizationId, ['refund'])).status, 200);
    t.clock.advance(hours(24));
    const later = await fresh(owner);
    assert.equal((await offer(later, resourceId, receiver.organizationId, ['refund'])).status, 200);
    assert.equal((await accept(await fresh(admin), resourceId)).status, 200);
    // Rows of deleted resources are purged with the events of the receiver's log.
    const count = async () =>
      (
        await t.sql<{ count: number }>(
          'select count(*)::int as count from resource_share_offers where owner_id = $1 and organization_id = $2',
          [owner.organizationId, receiver.organizationId],
        )
      )[0]?.count;
    assert.equal(await count(), offersPerDay + 1);
    t.clock.advance(hours(24 * limits.auditRetentionDays));
    const { resourceId: next } = await resource(await fresh(owner));
    assert.equal((await offer(await fresh(owner), next, receiver.organizationId, ['refund'])).status, 200);
    assert.equal(await count(), 2);
  });

  for (const mode of ['open', 'verified'])
    it(`${mode}: has one share.offered, and 409 SHARE_DECLINED stays, when the resource is deleted and registered again`, async () => {
      const app = mode === 'open' ? t : await startApp({ RESOURCE_IDENTIFIERS: mode }, t);
      const again = createResourceClient(app);
      const { owner, receiver, admin } = await parties();
      const identifier = `https://${randomUUID()}.example/orders`;
      const register = async (spelling = identifier) =>
        (await again.resource(await fresh(owner), { identifier: spelling })).resourceId;
      const remove = async (resourceId: string) => {
        const { token } = await fresh(owner);
        assert.equal((await again.call('DELETE', `/resources/${resourceId}`, token)).status, 204);
      };
      const put = async (resourceId: string) =>
        outcome(await again.offer(await fresh(owner), resourceId, receiver.organizationId, ['refund']));
      let resourceId = await register();
      assert.equal(await put(resourceId), '200');
      await remove(resourceId);
      assert.equal((await sharesOf(receiver)).total, 0);
      resourceId = await register();
      assert.equal((await sharesOf(receiver)).total, 0);
      assert.equal(await put(resourceId), '200');
      assert.equal((await decline(admin, resourceId)).status, 204);
      for (const spelling of [identifier, `${identifier}/`, identifier]) {
        await remove(resourceId);
        resourceId = await register(spelling);
        // One of them is verified when it is deleted, so that its identifier stays reserved.
        if (spelling !== identifier)
          await again.call('POST', `/resources/${resourceId}/verify`, await t.token(), { approve: true });
        assert.equal(await put(resourceId), '409 SHARE_DECLINED');
      }
      const announced = async () =>
        (await actionsOf(receiver.organizationId)).filter((action) => action === 'share.offered').length;
      assert.equal(await announced(), 1);
      t.clock.advance(hours(48));
      assert.equal(await put(resourceId), '200');
      await remove(resourceId);
      t.clock.advance(hours(24 * 30));
      assert.equal(await put(await register()), '200');
      assert.equal(await announced(), 1);
      assert.equal((await sharesOf(await fresh(receiver))).total, 1);
    });
});

describe('an accepted share', () => {
  it('that is widened offers the added scopes again; narrowing acts at once', async () => {
    const { owner, receiver, admin } = await parties();
    const { resourceId, identifier } = await resource(owner);
    await offer(owner, resourceId, receiver.organizationId, ['refund', 'orders:read']);
    await accept(admin, resourceId);
    await grant(admin, receiver.agentId, resourceId, ['refund', 'orders:read']);
    const { json: issued } = await tokenFor(receiver, identifier);
    const wider = await offer(owner, resourceId, receiver.organizationId, [
      ...['refund', 'orders:read', 'orders:write'],
    ]);
    assert.deepEqual(
      [wider.json.status, wider.json.scopes, wider.json.offeredScopes],
      ['accepted', ['orders:read', 'refund'], ['orders:write']],
    );
    assert.equal(
      outcome(await grant(admin, receiver.agentId, resourceId, ['orders:write'])),
      '400 VALIDATION_ERROR',
    );
    const [{ scopes, offeredScopes }] = (await sharesOf(receiver)).data;
    assert.deepEqual([scopes, offeredScopes], [['orders:read', 'refund'], ['orders:write']]);
    assert.equal(await introspect(issued.access_token), true);
    // One request narrows and widens.
    const narrower = await offer(owner, resourceId, receiver.organizationId, ['refund', 'orders:write']);
    assert.deepEqual([narrower.json.scopes, narrower.json.offeredScopes], [['refund'], ['orders:write']]);
    assert.deepEqual(await grantsOf(admin, receiver.agentId), { [identifier]: ['refund'] });
    assert.equal(await introspect(issued.access_token), false);
    const accepted = await accept(admin, resourceId);
    assert.deepEqual(accepted.json.scopes, ['orders:write', 'refund']);
    assert.equal((await grant(admin, receiver.agentId, resourceId, ['orders:write'])).status, 200);
    // Scopes that are all new: nothing of the share is left in force.
    const replaced = await offer(owner, resourceId, receiver.organizationId, ['orders:read']);
    assert.deepEqual([replaced.json.status, replaced.json.scopes], ['offered', ['orders:read']]);
    assert.deepEqual(await grantsOf(admin, receiver.agentId), {});
    assert.equal(
      outcome(await call('GET', `/resources/${resourceId}`, receiver.token)),
      '404 RESOURCE_NOT_FOUND',
    );
  });

  it('loses an offered scope that the resource loses', async () => {
    const { owner, receiver, admin } = await parties();
    const { resourceId } = await resource(owner);
    await offer(owner, resourceId, receiver.organizationId, ['refund', 'orders:read']);
    await call('PATCH', `/resources/${resourceId}`, owner.token, { scopes: [{ name: 'refund' }] });
    assert.deepEqual((await sharesOf(receiver)).data[0].offeredScopes, ['refund']);
    assert.deepEqual((await accept(admin, resourceId)).json.scopes, ['refund']);
  });

  it('204 when the receiver leaves it: its grants and tokens end at once', async () => {
    const { owner, receiver, admin } = await parties();
    const { resourceId, identifier } = await resource(owner);
    await offer(owner, resourceId, receiver.organizationId, ['refund']);
    await accept(admin, resourceId);
    await grant(admin, receiver.agentId, resourceId, ['refund']);
    const { json: issued } = await tokenFor(receiver, identifier);
    assert.equal(await introspect(issued.access_token), true);
    assert.equal((await decline(admin, resourceId)).status, 204);
    assert.equal(await introspect(issued.access_token), false);
    assert.deepEqual(await grantsOf(admin, receiver.agentId), {});
    assert.equal((await tokenFor(receiver, identifier)).json.error, 'invalid_target');
    assert.equal((await sharesOf(receiver)).total, 0);
    assert.equal((await call('GET', `/resources/${resourceId}/shares`, owner.token)).json.total, 0);
    assert.equal(outcome(await decline(admin, resourceId)), '404 SHARE_NOT_FOUND');
    assert.equal(
      outcome(await offer(owner, resourceId, receiver.organizationId, ['refund'])),
      '409 SHARE_DECLINED',
    );
  });

  it('that existed before offers is accepted, can be left, and is announced once when it is widened', async () => {
    const { owner, receiver, admin } = await parties();
    const { resourceId } = await resource(owner);
    // As an earlier version of the service wrote it.
    await t.sql(
      `insert into resource_shares (resource_id, organization_id, scopes, created_at, updated_at)
       values ($1, $2, '{refund}', now(), now())`,
      [resourceId, receiver.organizationId],
    );
    assert.equal((await sharesOf(receiver)).data[0].status, 'accepted');
    assert.equal((await grant(admin, receiver.agentId, resourceId, ['refund'])).status, 200);
    await offer(owner, resourceId, receiver.organizationId, ['refund', 'orders:read']);
    await offer(owner, resourceId, receiver.organizationId, ['refund', 'orders:write']);
    const offers = (await actionsOf(receiver.organizationId)).filter((action) => action === 'share.offered');
    assert.equal(offers.length, 1);
    assert.equal((await decline(admin, resourceId)).status, 204);
  });
});

describe('after a refusal', () => {
  it("409 SHARE_DECLINED for the owner's PUT for 24 hours, with the time of its end; then 200", async () => {
    const { owner, receiver, admin } = await parties();
    const { resourceId } = await resource(owner);
    const put = async () =>
      offer(await fresh(owner), resourceId, receiver.organizationId, ['refund', 'orders:read']);
    await put();
    assert.equal((await decline(admin, resourceId)).status, 204);
    assert.equal((await sharesOf(receiver)).total, 0);
    const refused = await put();
    assert.equal(outcome(refused), '409 SHARE_DECLINED');
    const { retryAt } = refused.json.details;
    t.clock.advance(Date.parse(retryAt) - t.clock.now() - 60_000);
    assert.equal(outcome(await put()), '409 SHARE_DECLINED');
    assert.equal((await sharesOf(await fresh(receiver))).total, 0);
    t.clock.advance(60_000);
    const again = await put();
    assert.equal(again.json.status, 'offered', again.text);
  });

  it('the owner has the refusal in its log, without the agent and the address of the receiver', async () => {
    const { owner, receiver, admin } = await parties();
    const { resourceId } = await resource(owner);
    await offer(owner, resourceId, receiver.organizationId, ['refund']);
    await decline(admin, resourceId);
    const declined = (await events(owner.organizationId)).find(({ action }) => action === 'share.declined');
    assert.ok(declined);
    assert.equal(declined.metadata.organizationId, receiver.organizationId);
    assert.deepEqual(declined.metadata.offeredScopes, ['refund']);
    assert.equal(declined.userAgent, 'countersign');
    assert.ok(!JSON.stringify(await events(owner.organizationId)).includes(admin.agentId));
  });

  it('200 for an operator, who acts for both organizations', async () => {
    const { owner, receiver, admin } = await parties();
    const { resourceId } = await resource(owner);
    await offer(owner, resourceId, receiver.organizationId, ['refund']);
    await decline(admin, resourceId);
    const put = await offer({ token: await t.token() }, resourceId, receiver.organizationId, ['refund']);
    assert.equal(put.json.status, 'accepted', put.text);
  });
});
