import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import {
  allTenantScopes,
  createResourceClient,
  outcome,
} from '../../../test/support/scenarios/resources/resources.ts';
import { nilUuid } from '../../kernel/ids.ts';

const t = await startApp();
const { call, agentIn, tenant, resource, offer, share, unshare, grant, grantsOf, events } =
  createResourceClient(t);
const { createDelegation, redeem } = createDelegationClient(t);
const owner = await tenant();

describe('PUT /resources/{resourceId}/shares/{organizationId}', () => {
  it('200, again without a change and without an event; the list shows it', async () => {
    const own = await tenant();
    const { organizationId } = await tenant();
    const { resourceId } = await resource(own);
    const first = await offer(own, resourceId, organizationId.toUpperCase(), ['refund', 'orders:read']);
    assert.equal(first.status, 200, first.text);
    const { createdAt } = first.json;
    const expected = {
      resourceId,
      organizationId,
      scopes: ['orders:read', 'refund'],
      offeredScopes: ['orders:read', 'refund'],
      status: 'offered',
      createdAt,
      updatedAt: createdAt,
    };
    assert.deepEqual(first.json, expected);
    t.clock.advance(1_000);
    assert.deepEqual(
      (await offer(own, resourceId, organizationId, ['orders:read', 'refund'])).json,
      expected,
    );
    assert.deepEqual((await call('GET', `/resources/${resourceId}/shares`, own.token)).json, {
      data: [{ ...expected, agentCount: 0 }],
      total: 1,
      page: 1,
      limit: 20,
    });
    assert.equal(
      (await events(own.organizationId)).filter(({ action }) => action === 'share.offered').length,
      1,
    );
    const widened = await offer(own, resourceId, organizationId, ['orders:read', 'refund', 'orders:write']);
    assert.equal(widened.json.createdAt, createdAt);
    assert.ok(widened.json.updatedAt > createdAt);
  });

  it('200 lists for each organization how many of its agents hold a grant, not which', async () => {
    const own = await tenant();
    const [first, second] = [await tenant(), await tenant()];
    const { resourceId } = await resource(own);
    await grant(own, own.agentId, resourceId, ['refund']);
    for (const { organizationId } of [first, second]) {
      await share(own, resourceId, organizationId, ['refund', 'orders:read']);
      t.clock.advance(1_000);
    }
    const admin = await agentIn(first.organizationId, allTenantScopes, 'admin');
    for (const { agentId } of [first, admin]) await grant(admin, agentId, resourceId, ['refund']);
    const { json } = await call('GET', `/resources/${resourceId}/shares`, own.token);
    assert.deepEqual(
      json.data.map(({ organizationId, agentCount }: Record<string, unknown>) => [
        organizationId,
        agentCount,
      ]),
      [
        [second.organizationId, 0],
        [first.organizationId, 2],
      ],
    );
    assert.ok(!JSON.stringify(json).includes(admin.agentId));
  });

  it('the other organization has an event of its own, without the agent and the address of the owner', async () => {
    const other = await tenant();
    const { resourceId, identifier } = await resource(owner);
    await share(owner, resourceId, other.organizationId, ['refund']);
    await unshare(owner, resourceId, other.organizationId);
    const theirs = (await events(other.organizationId)).filter(({ agentId }) => agentId === nilUuid);
    assert.deepEqual(
      theirs.map(({ action }) => action),
      ['share.offered', 'resource.unshared'],
    );
    for (const { action, agentId, ipAddress, userAgent, metadata } of theirs) {
      assert.deepEqual([agentId, ipAddress, userAgent], [nilUuid, '127.0.0.1', 'countersign']);
      const { scopes, offeredScopes, ...facts } = metadata;
      assert.deepEqual(offeredScopes ?? scopes, ['refund']);
      assert.deepEqual(facts, {
        resourceId,
        identifier,
        organizationId: other.organizationId,
        ownerId: owner.organizationId,
        requestId: 'shared-resource',
        ...(action === 'share.offered' && { verified: true }),
      });
    }
    const ours = (await events(owner.organizationId)).filter(
      ({ metadata }) => metadata.resourceId === resourceId,
    );
    assert.deepEqual(
      ours.map(({ action, agentId }) => [action, agentId]),
      [
        ['resource.created', owner.agentId],
        ['share.offered', owner.agentId],
        // The owner learns of the acceptance, not which agent made it.
        ['resource.shared', nilUuid],
        ['share.accepted', nilUuid],
        ['resource.unshared', owner.agentId],
      ],
    );
  });

  it('400 VALIDATION_ERROR for no scopes, unknown scopes, a scope twice, unknown fields and the owner itself', async () => {
    const { resourceId } = await resource(owner);
    const { organizationId } = await tenant();
    for (const scopes of [[], ['unknown'], ['refund', 'refund'], ['agents:read']])
      assert.equal(outcome(await share(owner, resourceId, organizationId, scopes)), '400 VALIDATION_ERROR');
    const path = `/resources/${resourceId}/shares/${organizationId}`;
    assert.equal(
      outcome(await call('PUT', path, owner.token, { scopes: ['refund'], to: 1 })),
      '400 VALIDATION_ERROR',
    );
    assert.equal(outcome(await call('PUT', path, owner.token, {})), '400 VALIDATION_ERROR');
    const self = await share(owner, resourceId, owner.organizationId, ['refund']);
    assert.equal(outcome(self), '400 VALIDATION_ERROR');
    assert.match(self.json.message, /organizationId owns the API/);
  });

  it('404 ORG_NOT_FOUND for an unknown or deleted organization; 404 SHARE_NOT_FOUND to end a share that is not there', async () => {
    const { resourceId } = await resource(owner);
    const gone = await tenant();
    assert.equal(
      (await call('DELETE', `/organizations/${gone.organizationId}`, await t.token())).status,
      204,
    );
    for (const organizationId of [randomUUID(), gone.organizationId])
      assert.equal(outcome(await share(owner, resourceId, organizationId, ['refund'])), '404 ORG_NOT_FOUND');
    assert.equal(outcome(await unshare(owner, resourceId, gone.organizationId)), '404 SHARE_NOT_FOUND');
  });

  it('403 FORBIDDEN for a delegated caller whose own agent may not hold resources:write; narrowing is allowed', async () => {
    const { resourceId } = await resource(owner);
    const { organizationId } = await tenant();
    const borrower = await agentIn(owner.organizationId, []);
    const holder = await agentIn(owner.organizationId, allTenantScopes);
    const delegated = async (to: typeof borrower) =>
      ({ token: await redeem(to, await createDelegation(owner.token, to, ['resources:write'])) }) as const;
    const borrowed = await delegated(borrower);
    const refused = await share(borrowed, resourceId, organizationId, ['refund']);
    assert.equal(outcome(refused), '403 FORBIDDEN');
    assert.match(refused.json.message, /resources:write/);
    assert.equal(
      (await share(await delegated(holder), resourceId, organizationId, ['refund', 'orders:read'])).status,
      200,
    );
    assert.equal((await share(borrowed, resourceId, organizationId, ['refund'])).status, 200);
  });
});

describe('narrowing', () => {
  it('a share that loses scopes takes them from the grants of that organization; widening it again does not give them back', async () => {
    const [other, third] = [await tenant(), await tenant()];
    const { resourceId, identifier } = await resource(owner);
    const admin = await agentIn(other.organizationId, allTenantScopes, 'admin');
    const both = await agentIn(other.organizationId);
    const one = await agentIn(other.organizationId);
    const thirdAdmin = await agentIn(third.organizationId, allTenantScopes, 'admin');
    for (const { organizationId } of [other, third])
      await share(owner, resourceId, organizationId, ['orders:read', 'refund']);
    await grant(owner, owner.agentId, resourceId, ['refund']);
    await grant(admin, both.agentId, resourceId, ['orders:read', 'refund']);
    await grant(admin, one.agentId, resourceId, ['refund']);
    await grant(thirdAdmin, third.agentId, resourceId, ['refund']);
    assert.equal((await share(owner, resourceId, other.organizationId, ['orders:read'])).status, 200);
    assert.deepEqual(await grantsOf(admin, both.agentId), { [identifier]: ['orders:read'] });
    assert.deepEqual(await grantsOf(admin, one.agentId), {});
    assert.deepEqual(await grantsOf(thirdAdmin, third.agentId), { [identifier]: ['refund'] });
    assert.deepEqual(await grantsOf(owner, owner.agentId), { [identifier]: ['refund'] });
    await share(owner, resourceId, other.organizationId, ['orders:read', 'refund']);
    assert.deepEqual(await grantsOf(admin, both.agentId), { [identifier]: ['orders:read'] });

    const changes = (await events(other.organizationId)).filter(({ action, metadata }) =>
      action.startsWith('grant.') ? metadata.reason !== undefined : false,
    );
    assert.deepEqual(
      changes.map(({ action, agentId, metadata: { scopes, reason, ...rest } }) => [
        action,
        agentId,
        scopes,
        reason,
        rest,
      ]),
      [
        ['grant.changed', both.agentId, ['orders:read'], 'resource.shared'],
        ['grant.removed', one.agentId, ['refund'], 'resource.shared'],
      ].map(([action, agentId, scopes, reason]) => [
        action,
        agentId,
        scopes,
        reason,
        {
          agentId,
          resourceId,
          identifier,
          requestId: 'shared-resource',
          ...(action === 'grant.changed' && { narrowed: true }),
        },
      ]),
    );
    assert.ok(
      changes.every(({ ipAddress, userAgent }) => ipAddress === '127.0.0.1' && userAgent === 'countersign'),
    );
    const log = JSON.stringify(await events(other.organizationId));
    assert.ok(!log.includes(owner.agentId));
    // Nor does the owner learn of the agents of the other organization.
    assert.ok(!JSON.stringify(await events(owner.organizationId)).includes(both.agentId));
  });

  it('a resource that loses scopes takes them from shares and grants of all organizations', async () => {
    const [other, third] = [await tenant(), await tenant()];
    const { resourceId, identifier } = await resource(owner);
    const admin = await agentIn(other.organizationId, allTenantScopes, 'admin');
    await share(owner, resourceId, other.organizationId, ['orders:read', 'refund']);
    await share(owner, resourceId, third.organizationId, ['refund']);
    const mine = await agentIn(owner.organizationId);
    await grant(owner, mine.agentId, resourceId, ['orders:read', 'orders:write', 'refund']);
    await grant(admin, other.agentId, resourceId, ['refund']);
    const scopes = [{ name: 'orders:write' }, { name: 'orders:read' }];
    assert.equal((await call('PATCH', `/resources/${resourceId}`, owner.token, { scopes })).status, 200);
    assert.deepEqual(await grantsOf(owner, mine.agentId), { [identifier]: ['orders:write', 'orders:read'] });
    assert.deepEqual(await grantsOf(admin, other.agentId), {});
    const { json } = await call('GET', `/resources/${resourceId}/shares`, owner.token);
    assert.deepEqual(
      json.data.map((each: { organizationId: string; scopes: string[] }) => [
        each.organizationId,
        each.scopes,
      ]),
      [[other.organizationId, ['orders:read']]],
    );
    assert.equal(
      outcome(await call('GET', `/resources/${resourceId}`, third.token)),
      '404 RESOURCE_NOT_FOUND',
    );
    const actions = async (organizationId: string) =>
      (await events(organizationId))
        .filter(
          ({ metadata }) => metadata.reason === 'resource.updated' && metadata.identifier === identifier,
        )
        .map(({ action }) => action)
        .sort();
    assert.deepEqual(await actions(other.organizationId), ['grant.removed', 'resource.shared']);
    assert.deepEqual(await actions(third.organizationId), ['resource.unshared']);
    assert.deepEqual(await actions(owner.organizationId), [
      'grant.changed',
      'resource.shared',
      'resource.unshared',
    ]);
  });

  it('the end of a share or resource removes the grants that rest on it', async () => {
    const other = await tenant();
    const admin = await agentIn(other.organizationId, allTenantScopes, 'admin');
    const { resourceId } = await resource(owner);
    const use = async () => {
      await share(owner, resourceId, other.organizationId, ['refund']);
      assert.equal((await grant(admin, other.agentId, resourceId, ['refund'])).status, 200);
    };
    await use();
    assert.equal((await unshare(owner, resourceId, other.organizationId)).status, 204);
    assert.deepEqual(await grantsOf(admin, other.agentId), {});
    await use();
    assert.equal((await call('DELETE', `/resources/${resourceId}`, owner.token)).status, 204);
    assert.deepEqual(await grantsOf(admin, other.agentId), {});
    assert.deepEqual(
      (await events(other.organizationId)).map(({ action, metadata }) => [action, metadata.reason]),
      [
        ['share.offered', undefined],
        ['resource.shared', 'share.accepted'],
        ['share.accepted', undefined],
        ['grant.changed', undefined],
        ['grant.removed', 'resource.unshared'],
        ['resource.unshared', undefined],
        ['resource.shared', 'share.accepted'],
        ['share.accepted', undefined],
        ['grant.changed', undefined],
        ['grant.removed', 'resource.deleted'],
        ['resource.unshared', 'resource.deleted'],
      ],
    );
  });
});
